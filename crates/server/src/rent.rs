//! From a rent request to a priced wish: everything that can be refused without
//! looking at the money is refused here, with one true cause.

use api::instance::RentRequest;
use base::{Cause, Error, Rate, Result, Timestamp};
use billing::{Plan, Quote, QuoteRequest, quote};
use domain::catalogue::GpuModel;
use domain::name::check_name;
use domain::project::Project;
use domain::rules::Rules;
use store::fleet;

use crate::rules::rules;
use crate::state::App;

/// Most variables in an environment, and most bytes of one.
const MOST_ENV: usize = 200;
const MOST_ENV_BYTES: usize = 32 * 1024;

/// Longest start command, bytes.
const MOST_COMMAND: usize = 64 * 1024;

/// What a request means.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its frozen price.
    pub quote: Quote,
    /// The renter's own name for it, if he gave one.
    pub name: Option<String>,
    /// What it is a part of.
    pub project: Option<Project>,
    /// When it stops by itself.
    pub rules: Rules,
    /// Cards of the model free on one machine now.
    pub free_now: i64,
}

/// A plan by its word.
///
/// # Errors
/// `invalid-request` naming the plans.
pub fn plan(text: &str) -> Result<Plan> {
    text.parse()
}

/// Checks a request and prices it.
///
/// # Errors
/// The first thing that is wrong with it.
pub async fn wish(app: &App, request: &RentRequest, zone: &str, now: Timestamp) -> Result<Wish> {
    let model = model(app, &request.gpu).await?;
    let plan = request.plan.as_deref().map_or(Ok(Plan::OnDemand), plan)?;
    let name = request.name.as_deref().map(check_name).transpose()?;
    let project = request.project.as_deref().map(str::parse).transpose()?;
    let rules = rules(&request.rules, zone, now)?;
    check_inside(request)?;
    let wanted = QuoteRequest {
        plan,
        cpus: request.cpus,
        memory_gib: request.memory_gib,
        disk_gib: request.disk_gib,
        ..QuoteRequest::new(model.slug.clone(), request.count.unwrap_or(1))
    };
    let quote = quote(&app.book(), app.catalogue, &wanted)?;
    check_disk(&quote)?;
    let free_now = check_stock(app, &quote, request.isolation.as_deref()).await?;
    Ok(Wish { quote, name, project, rules, free_now })
}

/// The GPU model that a name means on this site: where it fits several catalogue
/// entries, the one that the site has, if it has only one.
///
/// # Errors
/// `unknown-gpu`, `ambiguous-gpu`, or the database's.
pub async fn model(app: &App, name: &str) -> Result<&'static GpuModel> {
    let offers = crate::stock::offers(app).await?;
    app.catalogue.resolve_among(name, |m| offers.offers.iter().any(|o| o.gpu == m.slug))
}

/// Disk beyond what the cards bring would have to be billed by itself, also while
/// stopped; until that exists it is refused instead of given away or forgotten.
fn check_disk(quote: &Quote) -> Result<()> {
    if quote.disk_rate == Rate::ZERO {
        return Ok(());
    }
    Err(Error::new(Cause::NotOffered, format!("{} GiB of disk is more than these cards bring", quote.disk_gib))
        .hint("leave --disk out to take what is included"))
}

/// Refuses at once what this site could never or cannot now give. What passes
/// may still lose a race, which placement then tells.
///
/// # Errors
/// `more-than-exist`, `no-capacity`, `not-offered`, or the database's.
pub async fn check_stock(app: &App, quote: &Quote, isolation: Option<&str>) -> Result<i64> {
    let rows = {
        let mut db = app.store.read().await?;
        fleet::stock(&mut db, &quote.model).await?
    };
    let total: i64 = rows.iter().map(|r| r.total).sum();
    let largest = rows.iter().map(|r| r.total).max().unwrap_or(0);
    let refuse = |cause, message: String, hint: &str| Err(Error::new(cause, message).hint(hint));
    if total == 0 {
        let what = format!("this site has no {}", quote.name);
        return refuse(Cause::MoreThanExist, what, "`suanli offers` lists what it has");
    }
    if let Some(wanted) = isolation {
        if !["container", "vm", "node"].contains(&wanted) {
            let what = format!("`{}` is not a kind of isolation", wanted.escape_debug());
            return refuse(Cause::InvalidRequest, what, "use container, vm or node");
        }
        // Placement does not know the wish, so it can be granted only where every machine fits it.
        if rows.iter().any(|r| r.isolation != wanted) {
            let what = format!("isolation `{wanted}` cannot be chosen for {} on this site", quote.name);
            return refuse(Cause::NotOffered, what, "leave --isolation out to take what the site has");
        }
    }
    if quote.count > largest {
        let what = format!(
            "{} × {} on one machine were asked for; the largest machine has {largest}",
            quote.count, quote.name
        );
        return refuse(Cause::MoreThanExist, what, "ask for fewer cards, or for several instances");
    }
    let free = rows.iter().filter(|r| r.ready).map(|r| r.free).max().unwrap_or(0);
    if quote.count > free {
        let all: i64 = rows.iter().filter(|r| r.ready).map(|r| r.free).sum();
        let what = if all >= quote.count {
            format!("{all} × {} are free, but at most {free} of them on one machine", quote.name)
        } else {
            format!("{all} of {total} × {} are free now", quote.name)
        };
        return refuse(
            Cause::NoCapacity,
            what,
            "wait for one to become free, ask for fewer, or take another card: `suanli offers`",
        );
    }
    Ok(free)
}

fn check_inside(request: &RentRequest) -> Result<()> {
    let bad = |message: String| Err(Error::new(Cause::InvalidRequest, message));
    let bytes: usize = request.env.iter().map(|(k, v)| k.len() + v.len()).sum();
    if request.env.len() > MOST_ENV || bytes > MOST_ENV_BYTES {
        return bad(format!(
            "the environment is too large: at most {MOST_ENV} variables and {} KiB",
            MOST_ENV_BYTES / 1024
        ));
    }
    for (name, value) in &request.env {
        let fine = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if name.is_empty() || !fine || name.as_bytes()[0].is_ascii_digit() || value.contains('\0') {
            return bad(format!("`{}` is not a variable that an environment can have", name.escape_debug()));
        }
    }
    match &request.on_start {
        Some(command) if command.trim().is_empty() => bad("the start command is empty".into()),
        Some(command) if command.len() > MOST_COMMAND || command.contains('\0') => {
            bad(format!("the start command is longer than {} KiB or has a zero byte", MOST_COMMAND / 1024))
        }
        _ => Ok(()),
    }
}
