//! One function for each operation of the API.
//!
//! `reference` is an instance's id, slug or unambiguous name; `account` an
//! account's id or name. Every function fails with the server's own refusal, or
//! with `unavailable` when the server cannot be reached.

use api::Page;
use api::account::{AccountView, Balance, CreateAccount, CreatedAccount, TopUp, ToppedUp};
use api::bill::{AccountQuery, Bill, BillQuery};
use api::event::{EventQuery, EventView};
use api::instance::{InstanceQuery, InstanceView, RentRequest, RulesChange, StartRequest, UsageView, Why};
use api::offer::{OfferQuery, Offers, QuoteView};
use api::operator::{AuditReport, CloseIncident, IncidentView, Incidents, LintView, Nodes, PriceBookText, PricesView};
use api::recovery::{AcceptRecovery, RecoveryAccepted, RecoveryView};
use api::session::{LoginRequest, LoginResponse, WhoAmI};
use base::Result;
use domain::catalogue::GpuModel;
use http::Method;

use crate::http::Call;
use crate::{Client, Key};

impl Client {
    /// Whether the server process answers at all. Errors: `unavailable`.
    pub async fn healthz(&self) -> Result<()> {
        self.probe("healthz").await.map(drop)
    }

    /// Version of the server, from the `Server: suanli/…` header of its answers;
    /// `None` where something on the way hides it. Errors: `unavailable`.
    pub async fn server_version(&self) -> Result<Option<String>> {
        let headers = self.probe("healthz").await?;
        let name = headers.get(http::header::SERVER).and_then(|value| value.to_str().ok());
        Ok(name.and_then(|name| name.strip_prefix("suanli/")).map(str::to_owned))
    }

    /// Whether the server can do its work. Errors: `unavailable`.
    pub async fn readyz(&self) -> Result<()> {
        self.probe("readyz").await.map(drop)
    }

    /// Signs in; the answer holds a fresh token. Errors: `unauthenticated`.
    pub async fn login(&self, request: &LoginRequest) -> Result<LoginResponse> {
        self.json(Call::new(Method::POST, &["login"]).body(request)?).await
    }

    /// Takes the client's own token back. Errors: `unauthenticated`.
    pub async fn logout(&self) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["logout"])).await.map(drop)
    }

    /// Who the token belongs to. Errors: `unauthenticated`.
    pub async fn whoami(&self) -> Result<WhoAmI> {
        self.json(Call::new(Method::GET, &["whoami"])).await
    }

    /// What can be rented now, cheapest first.
    pub async fn offers(&self, query: &OfferQuery) -> Result<Offers> {
        self.json(Call::new(Method::GET, &["offers"]).query(query)?).await
    }

    /// The catalogue of GPU models.
    pub async fn gpus(&self) -> Result<Vec<GpuModel>> {
        self.json(Call::new(Method::GET, &["gpus"])).await
    }

    /// The frozen price of a rent request; changes nothing.
    pub async fn quote(&self, request: &RentRequest) -> Result<QuoteView> {
        self.json(Call::new(Method::POST, &["quotes"]).body(request)?).await
    }

    /// Asks for an instance. Sent again with the same key where no answer came.
    pub async fn rent(&self, request: &RentRequest, key: &Key) -> Result<InstanceView> {
        self.json(Call::new(Method::POST, &["instances"]).body(request)?.key(key)).await
    }

    /// One page of the caller's instances, newest first.
    pub async fn instances(&self, query: &InstanceQuery) -> Result<Page<InstanceView>> {
        self.json(Call::new(Method::GET, &["instances"]).query(query)?).await
    }

    /// Every instance that fits, over all pages.
    pub async fn all_instances(&self, query: &InstanceQuery) -> Result<Vec<InstanceView>> {
        let mut query = InstanceQuery { limit: Some(200), ..query.clone() };
        let mut found = Vec::new();
        loop {
            let page = self.instances(&query).await?;
            found.extend(page.items);
            match page.next_cursor {
                Some(cursor) if query.cursor.as_ref() != Some(&cursor) => query.cursor = Some(cursor),
                _ => return Ok(found),
            }
        }
    }

    /// One instance.
    pub async fn instance(&self, reference: &str) -> Result<InstanceView> {
        self.json(Call::new(Method::GET, &["instances", reference])).await
    }

    /// Stops an instance; its data stay.
    pub async fn stop(&self, reference: &str) -> Result<InstanceView> {
        self.json(Call::new(Method::POST, &["instances", reference, "stop"]).body(&serde_json::json!({}))?).await
    }

    /// Starts an instance that is at rest.
    pub async fn start(&self, reference: &str, request: &StartRequest) -> Result<InstanceView> {
        self.json(Call::new(Method::POST, &["instances", reference, "start"]).body(request)?).await
    }

    /// Releases an instance; its data go.
    pub async fn release(&self, reference: &str) -> Result<InstanceView> {
        self.json(Call::new(Method::POST, &["instances", reference, "release"]).body(&serde_json::json!({}))?).await
    }

    /// Changes the stop rules that the request names.
    pub async fn set_rules(&self, reference: &str, request: &RulesChange) -> Result<InstanceView> {
        self.json(Call::new(Method::PUT, &["instances", reference, "rules"]).body(request)?).await
    }

    /// Why an instance waits, stopped or failed.
    pub async fn why(&self, reference: &str) -> Result<Why> {
        self.json(Call::new(Method::GET, &["instances", reference, "why"])).await
    }

    /// Current use of an instance and its cards.
    pub async fn usage(&self, reference: &str) -> Result<UsageView> {
        self.json(Call::new(Method::GET, &["instances", reference, "usage"])).await
    }

    /// One page of an instance's events after position `after`, oldest first.
    pub async fn instance_events(&self, reference: &str, after: Option<i64>) -> Result<Page<EventView>> {
        let query = EventQuery { after, subject: None };
        self.json(Call::new(Method::GET, &["instances", reference, "events"]).query(&query)?).await
    }

    /// Every event of an instance, oldest first, over all pages.
    pub async fn all_instance_events(&self, reference: &str) -> Result<Vec<EventView>> {
        let mut found: Vec<EventView> = Vec::new();
        loop {
            let page = self.instance_events(reference, found.last().map(|event| event.seq)).await?;
            let more = page.next_cursor.is_some() && !page.items.is_empty();
            found.extend(page.items);
            if !more {
                return Ok(found);
            }
        }
    }

    /// An account's money.
    pub async fn balance(&self, query: &AccountQuery) -> Result<Balance> {
        self.json(Call::new(Method::GET, &["balance"]).query(query)?).await
    }

    /// An account's bill for a month.
    pub async fn bill(&self, query: &BillQuery) -> Result<Bill> {
        self.json(Call::new(Method::GET, &["bill"]).query(query)?).await
    }

    /// Every account (operator).
    pub async fn accounts(&self) -> Result<Vec<AccountView>> {
        self.json(Call::new(Method::GET, &["accounts"])).await
    }

    /// Makes an account (operator).
    pub async fn create_account(&self, request: &CreateAccount, key: &Key) -> Result<CreatedAccount> {
        self.json(Call::new(Method::POST, &["accounts"]).body(request)?.key(key)).await
    }

    /// Adds money to an account (operator).
    pub async fn top_up(&self, account: &str, request: &TopUp, key: &Key) -> Result<ToppedUp> {
        self.json(Call::new(Method::POST, &["accounts", account, "topups"]).body(request)?.key(key)).await
    }

    /// The price book in force.
    pub async fn prices(&self) -> Result<PricesView> {
        self.json(Call::new(Method::GET, &["prices"])).await
    }

    /// Puts a price book into force (operator).
    pub async fn load_prices(&self, book: &PriceBookText) -> Result<PricesView> {
        self.json(Call::new(Method::PUT, &["prices"]).body(book)?).await
    }

    /// Checks a price book against the one in force (operator).
    pub async fn lint_prices(&self, book: &PriceBookText) -> Result<LintView> {
        self.json(Call::new(Method::POST, &["prices", "lint"]).body(book)?).await
    }

    /// The machines (operator).
    pub async fn nodes(&self) -> Result<Nodes> {
        self.json(Call::new(Method::GET, &["nodes"])).await
    }

    /// The books recomputed (operator).
    pub async fn audit(&self) -> Result<AuditReport> {
        self.json(Call::new(Method::GET, &["audit"])).await
    }

    /// Whether the site is in recovery, and how books and machines differ (operator).
    pub async fn recovery(&self) -> Result<RecoveryView> {
        self.json(Call::new(Method::GET, &["recovery"])).await
    }

    /// Ends recovery if what was seen is still so (operator).
    pub async fn accept_recovery(&self, request: &AcceptRecovery) -> Result<RecoveryAccepted> {
        self.json(Call::new(Method::POST, &["recovery", "accept"]).body(request)?).await
    }

    /// Missed deadlines and broken laws (operator).
    pub async fn incidents(&self) -> Result<Incidents> {
        self.json(Call::new(Method::GET, &["incidents"])).await
    }

    /// Closes an incident by hand (operator).
    pub async fn close_incident(&self, id: &str, request: &CloseIncident) -> Result<IncidentView> {
        self.json(Call::new(Method::POST, &["incidents", id, "close"]).body(request)?).await
    }
}
