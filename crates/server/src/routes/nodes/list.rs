//! `GET /v1/nodes`

use std::collections::BTreeMap;

use api::operator::{NodeDevice, NodeView, Nodes};
use axum::Json;
use axum::extract::State;
use base::NodeId;
use store::{fleet, instances, nodes};

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;

/// Every machine with its cards (operator).
#[utoipa::path(get, path = "/v1/nodes", operation_id = "nodes", tag = "nodes",
    responses((status = 200, body = Nodes), (status = 403, body = api::problem::Problem)))]
pub async fn nodes(State(app): State<App>, _: Operator<does::SeeSite>) -> ApiResult<Json<Nodes>> {
    let mut db = app.store.read().await?;
    let all = nodes::list(&mut db).await?;
    let mut by_node: BTreeMap<NodeId, Vec<NodeDevice>> = BTreeMap::new();
    for d in fleet::devices(&mut db, "").await? {
        let holder = match &d.held_by {
            Some(id) => instances::get(&mut db, id).await?.map(|i| i.slug.to_string()),
            None => None,
        };
        by_node.entry(d.node).or_default().push(NodeDevice {
            index: d.facts.index,
            sample: app.reach.sample(&d.facts.uuid),
            uuid: d.facts.uuid,
            name: d.facts.name,
            gpu: d.gpu,
            state: if d.ok { "ok" } else { "lost" }.into(),
            fake: d.facts.fake,
            held_by: holder,
        });
    }
    let view = |n: nodes::Node| {
        let devices = by_node.remove(&n.id).unwrap_or_default();
        NodeView {
            fake: devices.iter().any(|d| d.fake),
            devices,
            id: n.id,
            name: n.name,
            state: n.state,
            isolation: n.isolation,
            cpus: n.cpus,
            memory_mib: n.memory_mib,
            proven_until: n.proven_until,
            seen_at: n.seen_at,
            notices: n.notices,
        }
    };
    Ok(Json(Nodes { nodes: all.into_iter().map(view).collect() }))
}
