//! One network namespace, one pair of interfaces and one packet filter for every
//! instance. The filter stands on the host's side, out of the renter's reach.

use std::net::Ipv4Addr;

use base::{Cause, Error, Result};

use super::command;
use crate::config::{NetworkConfig, NetworkMode};

/// Ports that carry outgoing mail: open, they would get the node's address onto
/// block lists of every mail provider.
const MAIL_PORTS: &str = "25, 465, 587";
/// Where clouds keep the credentials of the machine itself.
const METADATA: [&str; 2] = ["169.254.0.0/16", "100.100.100.200"];

/// What instances get for a network on this host.
#[derive(Clone, Debug)]
pub struct Network {
    config: NetworkConfig,
    usable: bool,
    refuse: &'static str,
    resolvers: Vec<Ipv4Addr>,
    notices: Vec<String>,
}

/// Names and addresses of one instance's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The namespace, as below /run/netns.
    pub namespace: String,
    /// The host's interface.
    pub interface: String,
    /// The packet filter's table.
    pub table: String,
    /// Address of the host's end.
    pub host: Ipv4Addr,
    /// Address of the instance.
    pub inside: Ipv4Addr,
}

impl Link {
    /// Names and addresses for an instance, or `None` when the subnet is used up.
    pub fn new(config: &NetworkConfig, slug: &str, index: u32) -> Option<Self> {
        let block = u32::from(config.subnet.block(index)?);
        Some(Self {
            namespace: format!("suanli-{slug}"),
            interface: format!("sl-{slug}"),
            table: format!("suanli-{slug}"),
            host: Ipv4Addr::from(block + 1),
            inside: Ipv4Addr::from(block + 2),
        })
    }
}

impl Network {
    /// Tries out, on a namespace and a table of its own, what the host allows.
    pub async fn detect(config: NetworkConfig) -> Self {
        let mut network = Self { config, usable: false, refuse: "drop", resolvers: resolvers(), notices: Vec::new() };
        if let Err(error) = network.needed() {
            network.notices.push(error.message().to_owned());
            return network;
        }
        let probe = format!("suanli-probe-{}", std::process::id());
        let tried = try_namespace(&probe).await.and(try_table(&probe, "drop").await);
        if let Err(error) = tried {
            tracing::warn!(%error, "no network for instances");
            network
                .notices
                .push(format!("instances have no network beyond their own loopback on this host: {}", error.message()));
            return network;
        }
        network.usable = true;
        if try_table(&probe, REJECT).await.is_ok() {
            network.refuse = REJECT;
        }
        network.forward();
        network
    }

    /// No network beyond loopback, and nothing tried.
    pub fn absent(config: NetworkConfig) -> Self {
        Self { config, usable: false, refuse: "drop", resolvers: Vec::new(), notices: Vec::new() }
    }

    /// Routing between interfaces is off on a fresh machine.
    fn forward(&mut self) {
        const SWITCH: &str = "/proc/sys/net/ipv4/ip_forward";
        if self.config.mode == NetworkMode::Closed {
            self.notices.push("instances have no way out of this node: its network mode is closed".into());
            return;
        }
        if std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() == "1") {
            return;
        }
        match std::fs::write(SWITCH, "1") {
            Ok(()) => tracing::info!("IPv4 forwarding was switched on so that instances reach the outside"),
            Err(error) => self.notices.push(format!(
                "instances have no way out of this node: IPv4 forwarding could not be switched on ({error})"
            )),
        }
        if self.resolvers.is_empty() {
            self.notices
                .push("instances cannot resolve names: the node names no resolver that they could reach".into());
        }
    }

    /// What instances lack, in sentences.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether instances get a network of their own, beyond loopback.
    pub fn usable(&self) -> bool {
        self.usable
    }

    /// Resolvers that instances may ask.
    pub fn resolvers(&self) -> &[Ipv4Addr] {
        if self.config.mode == NetworkMode::Closed { &[] } else { &self.resolvers }
    }

    /// Checks that the commands are there.
    ///
    /// # Errors
    /// `host-incomplete` naming the package.
    pub fn needed(&self) -> Result<()> {
        command::need("ip", "iproute2")?;
        command::need("nft", "nftables")?;
        Ok(())
    }

    /// Names and addresses of an instance's network.
    ///
    /// # Errors
    /// `engine-failed` when the subnet is used up.
    pub fn link(&self, slug: &str, index: u32) -> Result<Link> {
        Link::new(&self.config, slug, index).ok_or_else(|| {
            Error::new(Cause::EngineFailed, "the node has no more addresses for instances")
                .hint("give the agent a larger subnet")
        })
    }

    /// How many instances the subnet has room for.
    pub fn capacity(&self) -> u32 {
        self.config.subnet.blocks()
    }

    /// Makes the network of one instance, from whatever an earlier try left.
    ///
    /// # Errors
    /// `engine-failed` with the words of the command that failed.
    pub async fn create(&self, link: &Link) -> Result<()> {
        self.remove(link).await?;
        // The filter first: there is no moment at which the interface is open.
        command::run("nft", &["-f", "-"], &self.rules(link)).await?;
        let Link { namespace, interface, host, inside, .. } = link;
        let outer = format!(
            "netns add {namespace}\n\
             link add {interface} type veth peer name eth0 netns {namespace}\n\
             address add {host}/30 dev {interface}\n\
             link set {interface} up\n"
        );
        command::run("ip", &["-batch", "-"], &outer).await?;
        let inner = format!(
            "link set lo up\naddress add {inside}/30 dev eth0\nlink set eth0 up\nroute add default via {host}\n"
        );
        command::run("ip", &["-n", namespace, "-batch", "-"], &inner).await?;
        Ok(())
    }

    /// Removes the network of one instance; missing parts are fine.
    ///
    /// # Errors
    /// `engine-failed` with the words of the command that failed.
    pub async fn remove(&self, link: &Link) -> Result<()> {
        if std::path::Path::new("/sys/class/net").join(&link.interface).exists() || in_other_view(&link.interface) {
            // Gone at once with its peer; with the namespace alone it would linger.
            let _ = command::run("ip", &["link", "delete", &link.interface], "").await;
        }
        if std::path::Path::new("/run/netns").join(&link.namespace).exists() {
            command::run("ip", &["netns", "delete", &link.namespace], "").await?;
        }
        let table = &link.table;
        let order = format!("add table inet {table}\ndelete table inet {table}\n");
        command::run("nft", &["-f", "-"], &order).await?;
        Ok(())
    }

    /// The packet filter of one instance, in nft's language.
    fn rules(&self, link: &Link) -> String {
        let Link { table, interface, inside, .. } = link;
        let refuse = self.refuse;
        let subnet = self.config.subnet;
        let out = match self.config.mode {
            NetworkMode::Closed => format!("    {refuse}\n"),
            NetworkMode::Nat => {
                let mut walled: Vec<String> = METADATA.iter().map(|m| (*m).to_owned()).collect();
                walled.push(subnet.to_string());
                walled.extend(self.config.blocked.iter().map(ToString::to_string));
                let mut out = format!("    ip saddr != {inside} drop\n    meta nfproto ipv6 {refuse}\n");
                for resolver in &self.resolvers {
                    out += &format!("    ip daddr {resolver} meta l4proto {{ tcp, udp }} th dport 53 accept\n");
                }
                for network in walled {
                    out += &format!("    ip daddr {network} {refuse}\n");
                }
                out + &format!("    tcp dport {{ {MAIL_PORTS} }} {refuse}\n")
            }
        };
        let nat = match self.config.mode {
            NetworkMode::Closed => String::new(),
            NetworkMode::Nat => format!(
                "  chain nat {{\n    type nat hook postrouting priority srcnat; policy accept;\n    \
                 ip saddr {inside} oifname != \"{interface}\" masquerade\n  }}\n"
            ),
        };
        format!(
            "table inet {table} {{\n\
             \x20 chain out {{\n{out}  }}\n\
             \x20 chain forward {{\n    type filter hook forward priority filter; policy accept;\n    \
             oifname \"{interface}\" ct state established,related accept\n    \
             oifname \"{interface}\" drop\n    iifname \"{interface}\" jump out\n  }}\n\
             \x20 chain input {{\n    type filter hook input priority filter; policy accept;\n    \
             iifname != \"{interface}\" accept\n    ct state established,related accept\n    {refuse}\n  }}\n\
             {nat}}}\n"
        )
    }
}

const REJECT: &str = "reject with icmpx admin-prohibited";

/// `/sys` may show another network namespace than the one the agent is in.
fn in_other_view(interface: &str) -> bool {
    std::fs::read_to_string("/proc/self/net/dev").is_ok_and(|text| text.contains(&format!("{interface}:")))
}

async fn try_namespace(name: &str) -> Result<()> {
    command::run("ip", &["netns", "add", name], "").await?;
    command::run("ip", &["netns", "delete", name], "").await.map(drop)
}

async fn try_table(name: &str, verdict: &str) -> Result<()> {
    let rules = format!("table inet {name} {{\n  chain c {{\n    {verdict}\n  }}\n}}\ndelete table inet {name}\n");
    command::run("nft", &["-f", "-"], &rules).await.map(drop)
}

/// The host's resolvers, without those on its loopback, which instances cannot reach.
fn resolvers() -> Vec<Ipv4Addr> {
    // A local stub keeps the real ones in its own file.
    ["/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .map(|text| parse_resolvers(&text))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn parse_resolvers(text: &str) -> Vec<Ipv4Addr> {
    text.lines()
        .filter_map(|l| l.trim().strip_prefix("nameserver"))
        .filter_map(|rest| rest.trim().parse::<Ipv4Addr>().ok())
        .filter(|address| !address.is_loopback() && !address.is_unspecified())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(mode: NetworkMode) -> (Network, Link) {
        let config = NetworkConfig { mode, blocked: vec!["10.0.0.0/8".parse().unwrap()], ..NetworkConfig::default() };
        let link = Link::new(&config, "abcdefghjk", 3).unwrap();
        let resolvers = vec![Ipv4Addr::new(192, 0, 2, 53)];
        (Network { config, usable: true, refuse: "drop", resolvers, notices: Vec::new() }, link)
    }

    #[test]
    fn names_fit_the_kernels_limits() {
        let (_, link) = network(NetworkMode::Nat);
        assert!(link.interface.len() <= 15);
        assert_eq!((link.host, link.inside), (Ipv4Addr::new(10, 231, 0, 13), Ipv4Addr::new(10, 231, 0, 14)));
    }

    #[test]
    fn resolvers_on_the_hosts_loopback_are_left_out() {
        let text = "search x\nnameserver 127.0.0.53\nnameserver 192.0.2.1\nnameserver fe80::1\n";
        assert_eq!(parse_resolvers(text), [Ipv4Addr::new(192, 0, 2, 1)]);
    }

    #[test]
    fn walls_come_after_the_resolver_and_before_the_way_out() {
        let (network, link) = network(NetworkMode::Nat);
        let rules = network.rules(&link);
        let at = |what: &str| rules.find(what).unwrap_or_else(|| panic!("{what} is missing in {rules}"));
        assert!(at("192.0.2.53") < at("10.0.0.0/8"));
        assert!(rules.contains("ip daddr 169.254.0.0/16 drop"));
        assert!(rules.contains("tcp dport { 25, 465, 587 } drop"));
        assert!(rules.contains("masquerade"));
    }

    #[test]
    fn a_closed_network_has_no_way_out() {
        let (network, link) = network(NetworkMode::Closed);
        let rules = network.rules(&link);
        assert!(!rules.contains("masquerade") && !rules.contains("dport"), "{rules}");
        assert!(network.resolvers().is_empty());
    }
}
