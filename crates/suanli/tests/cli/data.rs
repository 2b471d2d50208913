//! What the test server tells.

use api::account::{AccountView, Balance, CreatedAccount, ToppedUp};
use api::event::EventView;
use api::instance::{DeviceUsage, DeviceView, InstanceView, Reason, UsageView, Why};
use api::offer::{Offer, Offers, QuoteView};
use api::operator::{AuditReport, IncidentView, Incidents, NodeDevice, NodeView, Nodes};
use api::quota::{Amounts, ProjectView, Projects, Quotas};
use api::session::{Membership, UserView, WhoAmI};
use base::{
    AccountId, Cause, EventId, IncidentId, InstanceId, Money, NodeId, PostingId, Rate, SegmentId, Slug, Timestamp,
    UserId,
};
use billing::bill::{Bill, BillEntry, BillInput, BillInstance, BillSegment, Item};
use domain::device::DeviceSample;
use domain::instance::{Desired, State};

pub fn at(text: &str) -> Timestamp {
    format!("2026-03-01T{text}Z").parse().unwrap()
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

pub fn instance_id() -> InstanceId {
    InstanceId::new(at("10:00:00"), 7)
}

pub fn account_id() -> AccountId {
    AccountId::new(at("09:00:00"), 3)
}

pub fn device(index: i64) -> DeviceView {
    DeviceView {
        index,
        uuid: format!("GPU-fake-0000-{index}"),
        serial: Some(format!("FAKE000{index}")),
        name: "NVIDIA GeForce RTX 4090".into(),
        fake: true,
    }
}

pub fn sample(index: i64) -> DeviceSample {
    DeviceSample {
        uuid: format!("GPU-fake-0000-{index}"),
        at: at("11:00:00"),
        gpu_util_pct: Some(93),
        memory_used_mib: Some(12_288),
        power_mw: Some(405_000),
        sm_clock_mhz: Some(2_520),
        temperature_c: Some(66),
        lost: index == 1,
    }
}

pub fn instance(state: State, reason: Option<Reason>) -> InstanceView {
    let holds = state.row().holds_cards;
    InstanceView {
        id: instance_id(),
        slug: Slug::new(12_345),
        name: "训练 box".into(),
        project: None,
        account: account_id(),
        state,
        desired: Desired::Running,
        state_since: at("10:00:09"),
        deadline_at: state.row().deadline.map(|span| at("10:00:09").after(span)),
        reason,
        gpu: "rtx-4090-24g".into(),
        gpu_name: "RTX 4090 24G".into(),
        count: 2,
        devices: if holds { vec![device(0), device(1)] } else { vec![] },
        node: holds.then(|| "lab-1".into()),
        isolation: holds.then(|| "none".into()),
        cpus: 16,
        memory_gib: 64,
        disk_gib: 200,
        plan: "on-demand".into(),
        rate: rate("3.60"),
        price_version: "89abcdef01234567".into(),
        cost_so_far: money("0.421337"),
        rules: vec!["stops after 2h without activity".into()],
        stop_rules: Default::default(),
        notices: vec!["this host cannot limit memory".into()],
        on_start: Some("python3 train.py".into()),
        on_start_exit: None,
        created_at: at("10:00:00"),
        ready_at: (state == State::Running).then(|| at("10:00:09")),
    }
}

pub fn reason(code: Cause) -> Reason {
    Reason { code, message: "somebody else took the last card".into(), hint: Some("try again with one card".into()) }
}

pub fn why() -> Why {
    Why {
        id: instance_id(),
        state: State::Stopped,
        summary: "It was stopped after 20 s without activity.".into(),
        reason: Some(Reason { code: Cause::Idle, message: "no activity for 20s".into(), hint: None }),
        next: vec!["nothing happens by itself".into()],
        suggestions: vec!["`suanli start` starts it again".into(), "rent with --stop-idle off".into()],
    }
}

pub fn usage() -> UsageView {
    UsageView {
        at: at("11:00:00"),
        cpu_milli: 3_250,
        cpus: 16,
        memory_used_mib: 12_600,
        memory_mib: 65_536,
        processes: 12,
        sessions: 1,
        last_active_at: at("10:59:58"),
        activity: "card 0 at 93 %".into(),
        devices: [0, 1]
            .map(|i| DeviceUsage {
                device: device(i),
                memory_mib: 24_564,
                power_limit_w: Some(450),
                sample: Some(sample(i)),
            })
            .into(),
    }
}

pub fn offers() -> Offers {
    let offer = |name: &str, isolation: &str, fake: bool, on_demand: Option<Rate>| Offer {
        gpu: name.to_lowercase().replace(' ', "-"),
        name: name.into(),
        vram_gib: 24,
        free: if fake { 6 } else { 0 },
        total: 8,
        largest_free_set: if fake { 4 } else { 0 },
        largest_set: 8,
        isolation: isolation.into(),
        fake,
        demonstration_price: fake,
        on_demand,
        cpus: 8,
        memory_gib: 32,
        disk_gib: 100,
    };
    Offers {
        currency: "CNY".into(),
        price_version: "89abcdef01234567".into(),
        counted_at: at("11:00:00"),
        offers: vec![
            offer("RTX 4090 24G", "none", true, Some(rate("1.80"))),
            offer("A100 80G SXM4", "container", false, None),
        ],
    }
}

pub fn quote() -> QuoteView {
    let book = billing::PriceBook::demonstration().unwrap();
    let request = billing::QuoteRequest::new("rtx-4090-24g", 2);
    let mut quote = billing::quote(&book, domain::catalogue::Catalogue::builtin(), &request).unwrap();
    // The book may be edited; what is shown of it here must not change with it.
    quote.price_version = "89abcdef01234567".into();
    QuoteView {
        quote,
        currency: "CNY".into(),
        free_now: 4,
        balance: money("100"),
        held: money("1.80"),
        money_ends_at: Some("2026-03-02T14:00:00Z".parse().unwrap()),
        stop_note: "gives the cards back at once; the data stay".into(),
        rules: vec!["stops after 2h without activity".into()],
    }
}

pub fn balance() -> Balance {
    Balance {
        account: account_id(),
        name: "lab".into(),
        currency: "CNY".into(),
        available: money("99.50"),
        posted: money("100"),
        unposted: money("0.50"),
        held: money("3.60"),
        burn: rate("3.60"),
        money_ends_at: Some("2026-03-02T14:00:00Z".parse().unwrap()),
    }
}

pub fn bill() -> Bill {
    Bill::new(BillInput {
        account: account_id(),
        zone: "Asia/Shanghai".into(),
        currency: "CNY".into(),
        month: "2026-03".into(),
        as_of: at("12:00:00"),
        instances: vec![BillInstance {
            id: instance_id(),
            name: "训练 box".into(),
            project: None,
            gpu: "RTX 4090 24G".into(),
            count: 2,
            plan: billing::Plan::OnDemand,
            fake: true,
            segments: vec![BillSegment {
                id: SegmentId::new(at("10:00:09"), 1),
                item: Item::Device,
                from: at("10:00:09"),
                to: Some(at("10:20:09")),
                rate: rate("3.60"),
                price_version: "89abcdef01234567".into(),
                serials: vec!["FAKE0000".into(), "FAKE0001".into()],
                posted_before: Money::ZERO,
                posted: money("1.20"),
                proven_until: Some(at("10:20:09")),
                evidence: Some("the helper saw both cards and a shell ran".into()),
                ended: Some("stopped by the renter".into()),
            }],
            lost: vec![],
        }],
        entries: vec![BillEntry { at: at("09:00:00"), what: "top-up".into(), amount: money("100") }],
    })
    .unwrap()
}

pub fn account() -> AccountView {
    AccountView {
        id: account_id(),
        name: "lab".into(),
        currency: "CNY".into(),
        time_zone: "Asia/Shanghai".into(),
        balance: money("100"),
        created_at: at("09:00:00"),
    }
}

pub fn created() -> CreatedAccount {
    CreatedAccount { account: account(), user: "lab".into(), password: Some("one-time-secret".into()) }
}

pub fn topped_up() -> ToppedUp {
    ToppedUp { posting: PostingId::new(at("09:00:01"), 1), amount: money("100"), balance: money("100") }
}

pub fn user() -> UserView {
    UserView {
        id: UserId::new(at("09:00:00"), 1),
        name: "ann".into(),
        email: None,
        email_verified: false,
        operator: true,
        operator_role: None,
        totp: false,
        identity: "none".into(),
    }
}

pub fn me() -> WhoAmI {
    WhoAmI {
        user: user(),
        accounts: vec![Membership {
            id: account_id(),
            name: "lab".into(),
            role: "owner".into(),
            currency: "CNY".into(),
            time_zone: "Asia/Shanghai".into(),
        }],
        providers: vec![],
        csrf: None,
        token: None,
    }
}

pub fn event(seq: i64, message: &str) -> EventView {
    EventView {
        id: EventId::new(at("10:00:00"), u128::from(seq.unsigned_abs())),
        seq,
        at: at("10:00:00").after(base::Span::from_secs(seq)),
        subject: instance_id().to_string(),
        kind: "state-changed".into(),
        message: message.into(),
        data: serde_json::json!({}),
    }
}

pub fn nodes() -> Nodes {
    let card = |index: i64| NodeDevice {
        index,
        uuid: format!("GPU-fake-0000-{index}"),
        name: "NVIDIA GeForce RTX 4090".into(),
        gpu: Some("rtx-4090-24g".into()),
        state: if index == 1 { "lost" } else { "ok" }.into(),
        fake: true,
        held_by: (index == 0).then(|| "a00000001h".into()),
        sample: (index == 0).then(|| sample(0)),
    };
    Nodes {
        nodes: vec![NodeView {
            id: NodeId::new(at("09:00:00"), 1),
            name: "lab-1".into(),
            state: "ready".into(),
            isolation: "none".into(),
            fake: true,
            cpus: 64,
            memory_mib: 262_144,
            proven_until: at("11:00:00"),
            seen_at: at("11:00:01"),
            notices: vec!["cannot limit memory".into()],
            devices: vec![card(0), card(1)],
        }],
    }
}

pub fn incidents() -> Incidents {
    Incidents {
        incidents: vec![IncidentView {
            id: IncidentId::new(at("10:30:00"), 1),
            kind: "stuck".into(),
            subject: instance_id().to_string(),
            opened_at: at("10:30:00"),
            closed_at: None,
            owner: "operator".into(),
            action: "look at the node".into(),
            detail: "stopping took longer than 1m".into(),
        }],
    }
}

pub fn closed_incident() -> IncidentView {
    let [incident]: [IncidentView; 1] = incidents().incidents.try_into().unwrap();
    IncidentView { closed_at: Some(at("10:45:00")), ..incident }
}

pub fn audit(differences: &[&str]) -> AuditReport {
    AuditReport {
        at: at("11:00:00"),
        accounts: 2,
        segments: 5,
        postings: 17,
        differences: differences.iter().map(|d| (*d).to_owned()).collect(),
    }
}

pub fn totp() -> api::totp::TotpPrepared {
    api::totp::TotpPrepared { secret: "ABCDEF".into(), uri: "otpauth://totp/x".into() }
}

pub fn recovery_codes() -> api::totp::RecoveryCodes {
    api::totp::RecoveryCodes { recovery_codes: vec!["aaaa-bbbb".into(), "cccc-dddd".into()] }
}

pub fn settings() -> api::site::SettingsView {
    use api::site::{MailView, ProviderView, Secret, SettingsView};
    SettingsView {
        name: "Lab".into(),
        sign_up: "invitation".into(),
        approval: false,
        public_url: "https://gpu.example".into(),
        identity_required: true,
        identity_url: Secret { set: false },
        providers: vec![ProviderView {
            id: "lab".into(),
            label: "Lab ID".into(),
            issuer: "https://id.example".into(),
            client_id: "suanli".into(),
            client_secret: Secret { set: true },
        }],
        mail: MailView {
            url: Secret { set: true },
            server: Some("smtps://gpu@mail.example".into()),
            from: Some("gpu@site.example".into()),
        },
    }
}

pub fn quotas() -> Quotas {
    Quotas {
        quotas: Amounts { cards_total: Some(2), spend_per_day: Some(money("50")), ..Amounts::default() },
        used: Amounts {
            cards: [("rtx-4090-24g".to_owned(), 2)].into(),
            cards_total: Some(2),
            instances: Some(1),
            storage_gib: Some(200),
            spend_per_day: Some(money("7.20")),
        },
    }
}

pub fn projects() -> Projects {
    let Quotas { quotas, used } = quotas();
    let nothing = Amounts {
        cards_total: Some(0),
        instances: Some(0),
        storage_gib: Some(0),
        spend_per_day: Some(Money::ZERO),
        ..Amounts::default()
    };
    let limited = Amounts { instances: Some(3), ..Amounts::default() };
    Projects {
        items: vec![
            ProjectView { project: "audio".parse().unwrap(), quotas: limited, used: nothing },
            ProjectView { project: "视觉".parse().unwrap(), quotas, used },
        ],
    }
}
