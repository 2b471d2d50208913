//! Choosing: the fullest node that fits, and on it the devices that are linked
//! among themselves and leave linked devices behind.

use base::{Cause, Error, Result};

use crate::fleet::{Device, Node, Placement, Request};

/// Sets that are compared one by one before the search stops at the best so far:
/// every way to take half of a node of 16.
const MOST_SETS: usize = 12_870;

/// Finds a node and devices.
///
/// # Errors
/// `more-than-exist` when no node could ever hold the request, `no-capacity`
/// when one could but not now; the message says what is in the way.
pub fn place(nodes: &[Node], request: &Request) -> Result<Placement> {
    let wanted = usize::try_from(request.count).unwrap_or(0);
    let mut best: Option<(usize, i64, &Node)> = None;
    for node in nodes.iter().filter(|n| is_allowed(n, request)) {
        let free = node.free_of(&request.gpu).len();
        if free < wanted || node.free_cpus < request.cpus || node.free_memory_mib < request.memory_mib {
            continue;
        }
        let rank = (free - wanted, node.free_cpus, node);
        if best.as_ref().is_none_or(|b| (rank.0, rank.1, &rank.2.id) < (b.0, b.1, &b.2.id)) {
            best = Some(rank);
        }
    }
    let Some((_, _, node)) = best else {
        return Err(why_not(nodes, request));
    };
    let chosen = linked_set(&node.free_of(&request.gpu), wanted);
    Ok(Placement { node: node.id.clone(), devices: chosen.into_iter().map(|d| d.id.clone()).collect() })
}

fn is_allowed(node: &Node, request: &Request) -> bool {
    node.ready
        && request.pinned.as_ref().is_none_or(|pinned| *pinned == node.id)
        && request.isolation.as_ref().is_none_or(|wanted| *wanted == node.isolation)
}

/// Links inside the set and links among what stays: more of the first, then of
/// the second, then the lowest positions.
fn linked_set<'d>(free: &[&'d Device], wanted: usize) -> Vec<&'d Device> {
    let mut best: Option<((usize, usize), Vec<usize>)> = None;
    let mut set: Vec<usize> = (0..wanted).collect();
    for _ in 0..MOST_SETS {
        let inside: Vec<_> = set.iter().filter_map(|i| free.get(*i).copied()).collect();
        let left: Vec<_> = free.iter().enumerate().filter(|(i, _)| !set.contains(i)).map(|(_, d)| *d).collect();
        let rank = (links(&inside), links(&left));
        if best.as_ref().is_none_or(|(b, _)| rank > *b) {
            best = Some((rank, set.clone()));
        }
        if !next_set(&mut set, free.len()) {
            break;
        }
    }
    best.map(|(_, set)| set.iter().filter_map(|i| free.get(*i).copied()).collect()).unwrap_or_default()
}

fn links(devices: &[&Device]) -> usize {
    devices.iter().map(|d| devices.iter().filter(|e| d.linked_to.contains(&e.index)).count()).sum()
}

/// The next set of as many positions below `len` in dictionary order.
fn next_set(set: &mut [usize], len: usize) -> bool {
    let size = set.len();
    let Some(place) = (0..size).rev().find(|i| set[*i] < len - size + i) else {
        return false;
    };
    set[place] += 1;
    for i in place + 1..size {
        set[i] = set[i - 1] + 1;
    }
    true
}

fn why_not(nodes: &[Node], request: &Request) -> Error {
    let Request { gpu, count, .. } = request;
    let wanted = usize::try_from(*count).unwrap_or(usize::MAX);
    let refuse = |cause, message: String, hint: &str| Error::new(cause, message).hint(hint);
    let total: usize = nodes.iter().map(|n| n.total_of(gpu)).sum();
    let largest = nodes.iter().map(|n| n.total_of(gpu)).max().unwrap_or(0);
    if total == 0 && wanted > 0 {
        return refuse(Cause::MoreThanExist, format!("this site has no {gpu}"), "`suanli offers` lists what it has");
    }
    if largest < wanted {
        return refuse(
            Cause::MoreThanExist,
            format!("{count} × {gpu} on one machine were asked for; the largest machine has {largest}"),
            "ask for fewer cards, or for several instances",
        );
    }
    if let Some(pinned) = &request.pinned
        && let Some(node) = nodes.iter().find(|n| n.id == *pinned)
    {
        if !node.ready {
            return refuse(
                Cause::NoCapacity,
                format!("its data are on {}, which is out of reach now", node.name),
                "start it again when the machine is back",
            );
        }
        if node.free_of(gpu).len() < wanted {
            return refuse(
                Cause::NoCapacity,
                format!("its data are on {}, where {} × {gpu} are free now", node.name, node.free_of(gpu).len()),
                "start it with fewer cards, or later",
            );
        }
    }
    if let Some(wanted) = &request.isolation
        && !nodes.iter().any(|n| n.isolation == *wanted)
    {
        return refuse(
            Cause::NotOffered,
            format!("no machine of this site offers isolation `{wanted}`"),
            "leave it out to take what the site has",
        );
    }
    if !nodes.iter().any(|n| n.ready && n.total_of(gpu) >= wanted) {
        return refuse(
            Cause::NoCapacity,
            format!("every machine with {gpu} is out of reach or closed for new instances"),
            "try again later, or take another card",
        );
    }
    let fits = |n: &&Node| is_allowed(n, request) && n.free_of(gpu).len() >= wanted;
    if let Some(node) = nodes.iter().find(fits) {
        let (cpus, memory) = (node.free_cpus, node.free_memory_mib / 1024);
        return refuse(
            Cause::NoCapacity,
            format!("cards are free, but only {cpus} CPU cores and {memory} GiB of memory beside them"),
            "ask for fewer cores or less memory with --cpus and --memory",
        );
    }
    let free: usize = nodes.iter().filter(|n| n.ready).map(|n| n.free_of(gpu).len()).sum();
    let set = nodes.iter().filter(|n| n.ready).map(|n| n.free_of(gpu).len()).max().unwrap_or(0);
    refuse(
        Cause::NoCapacity,
        if free >= wanted {
            format!("{free} × {gpu} are free, but at most {set} of them on one machine")
        } else {
            format!("{free} of {total} × {gpu} are free now")
        },
        "wait for one to become free, ask for fewer, or take another card: `suanli offers`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{DeviceId, NodeId, Timestamp};
    use proptest::prelude::*;

    fn node(n: u128, free: &[bool], links: &[(i64, i64)]) -> Node {
        Node {
            id: NodeId::new(Timestamp::EPOCH, n),
            name: format!("n{n}"),
            ready: true,
            isolation: "container".into(),
            free_cpus: 64,
            free_memory_mib: 1 << 20,
            devices: free
                .iter()
                .enumerate()
                .map(|(i, free)| {
                    let index = i64::try_from(i).unwrap();
                    Device {
                        id: DeviceId::new(Timestamp::EPOCH, n << 8 | i as u128),
                        index,
                        gpu: Some("g".into()),
                        free: *free,
                        ok: true,
                        linked_to: links
                            .iter()
                            .flat_map(|(a, b)| [(*a, *b), (*b, *a)])
                            .filter(|(a, _)| *a == index)
                            .map(|(_, b)| b)
                            .collect(),
                    }
                })
                .collect(),
        }
    }

    fn request(count: i64) -> Request {
        Request { gpu: "g".into(), count, cpus: 1, memory_mib: 1, isolation: None, pinned: None }
    }

    fn positions(node: &Node, placement: &Placement) -> Vec<i64> {
        node.devices.iter().filter(|d| placement.devices.contains(&d.id)).map(|d| d.index).collect()
    }

    #[test]
    fn pairs_stay_together() {
        let n = node(1, &[true; 4], &[(0, 1), (2, 3)]);
        assert_eq!(positions(&n, &place(std::slice::from_ref(&n), &request(2)).unwrap()), [0, 1]);
        let n = node(1, &[true, false, true, true], &[(0, 1), (2, 3)]);
        assert_eq!(positions(&n, &place(std::slice::from_ref(&n), &request(2)).unwrap()), [2, 3]);
        assert_eq!(
            positions(&n, &place(std::slice::from_ref(&n), &request(1)).unwrap()),
            [0],
            "the pair is left whole"
        );
    }

    #[test]
    fn the_fullest_node_that_fits_is_taken() {
        let nodes = [node(1, &[true; 4], &[]), node(2, &[true, true, false, false], &[])];
        assert_eq!(place(&nodes, &request(2)).unwrap().node, nodes[1].id);
        assert_eq!(place(&nodes, &request(3)).unwrap().node, nodes[0].id);
    }

    #[test]
    fn every_refusal_has_its_true_cause() {
        let nodes = [node(1, &[true, false], &[]), node(2, &[true, false], &[])];
        let cause = |r: &Request| place(&nodes, r).unwrap_err();
        assert_eq!(cause(&request(3)).cause(), Cause::MoreThanExist);
        let split = cause(&request(2));
        assert_eq!(split.cause(), Cause::NoCapacity);
        assert!(split.message().contains("at most 1 of them on one machine"), "{split}");
        let tight = cause(&Request { cpus: 100, ..request(1) });
        assert!(tight.message().contains("64 CPU cores"), "{tight}");
        assert_eq!(cause(&Request { gpu: "h".into(), ..request(1) }).cause(), Cause::MoreThanExist);
        assert_eq!(cause(&Request { isolation: Some("vm".into()), ..request(1) }).cause(), Cause::NotOffered);
        let pinned = Request { pinned: Some(nodes[0].id.clone()), ..request(2) };
        assert!(cause(&pinned).message().contains("its data are on n1"));
    }

    proptest! {
        #[test]
        fn only_free_devices_of_one_node_are_given(free in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 0..9), 1..5), count in 1..9i64) {
            let nodes: Vec<_> = free.iter().enumerate().map(|(i, f)| node(i as u128, f, &[(0, 1), (2, 3)])).collect();
            let fits = free.iter().any(|f| f.iter().filter(|f| **f).count() as i64 >= count);
            match place(&nodes, &request(count)) {
                Ok(placement) => {
                    let node = nodes.iter().find(|n| n.id == placement.node).unwrap();
                    prop_assert_eq!(placement.devices.len() as i64, count);
                    for id in &placement.devices {
                        prop_assert!(node.devices.iter().any(|d| d.id == *id && d.free));
                    }
                    prop_assert_eq!(place(&nodes, &request(count)).unwrap(), placement);
                }
                Err(error) => {
                    prop_assert!(!fits);
                    prop_assert!(error.hint_text().is_some());
                }
            }
        }
    }
}
