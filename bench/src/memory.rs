//! Memory of a server at rest, and with instances.

use std::time::Duration;

use api::instance::InstanceQuery;
use base::{Error, Result};
use control::{Clock, SystemClock};

use crate::figure::Figure;
use crate::host::{Memory, memory};
use crate::rows;
use crate::server::{self, Server};
use crate::within::within;

/// After this a server has nothing left to do from what came before.
const AT_REST: Duration = Duration::from_secs(3);

/// Instances at the first and at the second look.
const FEW: usize = 1_000;
const MANY: usize = 10_000;

/// Memory on a server of its own.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    server::during(None, async |server| within(measure(server)).await).await
}

async fn measure(server: &Server) -> Result<Vec<Figure>> {
    let clock = SystemClock::start();
    let operator = server.operator().await?;
    let renter = server.renter(&operator, "bench").await?;
    tokio::time::sleep(AT_REST).await;
    let (serve, agent) = (memory(server.pid()?)?, memory(server.agent()?)?);

    let store = store::open(&server.sqlite()).await?;
    let cards = usize::try_from(rows::CARDS).map_err(Error::internal)?;
    rows::machines(&store, MANY / cards, clock.now()).await?;
    let owner = rows::owner_of(&renter.client).await?;
    let free = rows::free(&store).await?;
    let (first, rest) = free.split_at_checked(FEW).ok_or_else(|| Error::internal("the fleet is too small"))?;
    rows::running(&store, &owner, first, clock.now()).await?;
    let few = served(server, &renter.client, FEW).await?;
    let owner = rows::another(&store, &owner, 0, clock.now()).await?;
    rows::running(&store, &owner, rest, clock.now()).await?;
    let many = served(server, &renter.client, MANY).await?;
    Ok(tell(serve, agent, few, many))
}

/// Memory after every instance was listed once, page by page.
async fn served(server: &Server, client: &client::Client, wanted: usize) -> Result<Memory> {
    let found = client.all_instances(&InstanceQuery::default()).await?;
    if found.len() != wanted {
        return Err(Error::internal(format!("{} instances were listed, {wanted} are in the store", found.len())));
    }
    drop(found);
    tokio::time::sleep(AT_REST).await;
    memory(server.pid()?)
}

fn tell(serve: Memory, agent: Memory, few: Memory, many: Memory) -> Vec<Figure> {
    let mib = |kib: u64| kib as f64 / 1024.0;
    let grown = |from: Memory, to: Memory, instances: usize| {
        (to.pss as f64 - from.pss as f64) / 1024.0 * 1000.0 / instances as f64
    };
    let rows = "running instances are rows with segment and allocation on 1,250 simulated machines, put into SQLite by the \
                bench and listed once over the API; no agent or process stands behind them; caches of 5 database \
                connections (up to 64 MiB each) are in it";
    vec![
        Figure::new("memory.serve.rss", mib(serve.rss), "MiB", 1)
            .note("3 s after two log-ins; password hashing included"),
        Figure::new("memory.serve.pss", mib(serve.pss), "MiB", 1),
        Figure::new("memory.agent.rss", mib(agent.rss), "MiB", 1),
        Figure::new("memory.agent.pss", mib(agent.pss), "MiB", 1),
        Figure::new("memory.serve.pss_10000", mib(many.pss), "MiB", 1).beside("at rest", mib(serve.pss)).note(rows),
        Figure::new("memory.serve.first_1000", grown(serve, few, FEW), "MiB", 1)
            .note("growth of PSS from 0 to 1,000 instances, the fleet's rows included"),
        Figure::new("memory.serve.per_1000", grown(few, many, MANY - FEW), "MiB", 1)
            .note("growth of PSS per 1,000 instances from 1,000 to 10,000"),
    ]
}
