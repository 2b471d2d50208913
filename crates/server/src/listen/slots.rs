//! Room for connections, in total and per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::group;
use crate::observed::Limit;

/// How many connections are open, and from where.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    most_per_address: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl Slots {
    pub(super) fn new(most: usize, most_per_address: usize) -> Arc<Self> {
        Arc::new(Self { most, most_per_address, taken: Mutex::default() })
    }

    /// Room for one connection until the slot is dropped. All who come through a
    /// proxy on this machine share its address, so loopback has only the total.
    pub(super) fn take(self: &Arc<Self>, ip: IpAddr) -> Result<Slot, Limit> {
        let address = (!ip.is_loopback()).then(|| group(ip));
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.total >= self.most {
            return Err(Limit::Connections);
        }
        if let Some(address) = address {
            let count = taken.by_address.get(&address).copied().unwrap_or(0);
            if count >= self.most_per_address {
                return Err(Limit::ConnectionsOfAddress);
            }
            taken.by_address.insert(address, count + 1);
        }
        taken.total += 1;
        drop(taken);
        Ok(Slot { slots: self.clone(), address })
    }
}

/// One connection's room.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    address: Option<IpAddr>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.total -= 1;
        if let Some(address) = self.address
            && let Some(count) = taken.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                taken.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_cannot_take_the_room_of_the_others() {
        let slots = Slots::new(5, 2);
        let held = [slots.take(ip("203.0.113.1")).unwrap(), slots.take(ip("203.0.113.1")).unwrap()];
        assert_eq!(slots.take(ip("203.0.113.1")).unwrap_err(), Limit::ConnectionsOfAddress);
        let other = slots.take(ip("203.0.113.2")).unwrap();
        drop(held);
        assert!(slots.take(ip("203.0.113.1")).is_ok());
        drop(other);
        assert!(slots.taken.lock().unwrap().by_address.is_empty(), "addresses that left are forgotten");
    }

    #[test]
    fn loopback_has_only_the_total() {
        let slots = Slots::new(5, 2);
        let held: Vec<_> = (0..5).map(|_| slots.take(ip("127.0.0.1")).unwrap()).collect();
        assert_eq!(slots.take(ip("127.0.0.1")).unwrap_err(), Limit::Connections);
        assert_eq!(slots.take(ip("203.0.113.2")).unwrap_err(), Limit::Connections);
        drop(held);
        assert!(slots.take(ip("203.0.113.2")).is_ok());
    }
}
