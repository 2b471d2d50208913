//! The network of instances, between namespaces that the test made: the "node" is
//! one, the "outside" is another, and the machine's own network is in neither.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use std::process::{Child, Command, Stdio};

use base::Slug;
use common::{Node, host, traces};
use engine::Engine;
use suanli_agent::NetworkMode;

/// Addresses of documentation: they exist nowhere.
const OUTSIDE: &str = "198.51.100.2";
const METADATA: &str = "169.254.169.254";
const OPERATOR: &str = "203.0.113.7";

struct Lab {
    inner: String,
    outer: String,
    listener: Child,
}

impl Lab {
    fn new() -> Self {
        let name = Slug::new(
            u128::from(std::process::id()) << 20
                | u128::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()),
        );
        let (inner, outer) = (format!("tn-{name}"), format!("to-{name}"));
        let ip = |arguments: &str| host("ip", &arguments.split(' ').collect::<Vec<_>>());
        ip(&format!("netns add {inner}"));
        ip(&format!("netns add {outer}"));
        ip(&format!("link add up0 netns {inner} type veth peer name down0 netns {outer}"));
        for namespace in [&inner, &outer] {
            ip(&format!("-n {namespace} link set lo up"));
        }
        ip(&format!("-n {inner} addr add 198.51.100.1/24 dev up0"));
        ip(&format!("-n {inner} link set up0 up"));
        ip(&format!("-n {inner} route add default via {OUTSIDE}"));
        for address in [OUTSIDE, METADATA, OPERATOR, "100.100.100.200"] {
            ip(&format!("-n {outer} addr add {address}/24 dev down0"));
        }
        ip(&format!("-n {outer} link set down0 up"));
        let program = "
import socket, threading
def serve(port):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('0.0.0.0', port)); s.listen(16)
    while True:
        c, peer = s.accept(); c.sendall(('you are ' + peer[0]).encode()); c.close()
for p in (25, 80, 465, 587): threading.Thread(target=serve, args=(p,)).start()
print('listening', flush=True)
";
        let mut listener = Command::new("nsenter")
            .args([&format!("--net=/run/netns/{outer}"), "/usr/bin/python3", "-c", program])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(listener.stdout.take().unwrap()), &mut line).unwrap();
        assert_eq!(line.trim(), "listening");
        Self { inner, outer, listener }
    }

    async fn node(&self, mode: NetworkMode) -> Node {
        let mut node = Node::prepared("rtx4090x8");
        node.namespace = Some(self.inner.clone());
        node.config.network.mode = mode;
        node.config.network.blocked = vec!["203.0.113.0/24".parse().unwrap()];
        node.begin().await;
        node
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.listener.kill();
        let _ = self.listener.wait();
        for namespace in [&self.inner, &self.outer] {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}

/// A shell command that prints what the other side says.
fn connect(address: &str, port: u16) -> String {
    format!(
        "/usr/bin/python3 -c \"import socket; s = socket.create_connection(('{address}', {port}), 2); print(s.recv(99).decode())\""
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_out_is_open_but_for_mail_metadata_and_the_operator() {
    let lab = Lab::new();
    let node = lab.node(NetworkMode::Nat).await;
    let (a, b) = (node.rent(&[]).await, node.rent(&[]).await);
    let id = &a.instance.id;

    assert_eq!(node.ok(id, &connect(OUTSIDE, 80)).await, "you are 198.51.100.1", "by the node's own address");
    for port in [25, 465, 587] {
        assert_ne!(node.shell(id, &connect(OUTSIDE, port)).await.code, 0, "mail by port {port}");
    }
    for (address, what) in [(METADATA, "metadata"), ("100.100.100.200", "metadata"), (OPERATOR, "the operator")] {
        let from_node =
            host("nsenter", &[&format!("--net=/run/netns/{}", lab.inner), "sh", "-c", &connect(address, 80)]);
        assert!(from_node.starts_with("you are"), "{what} answers the node, so the next line means something");
        assert_ne!(node.shell(id, &connect(address, 80)).await.code, 0, "{what}");
    }

    // The neighbour listens to all the world, and is still out of reach; so is the node.
    let other = &b.instance.id;
    let listen = "/usr/bin/python3 -c \"import socket; s = socket.socket(); s.bind(('0.0.0.0', 8080)); s.listen(); c, _ = s.accept(); c.sendall(b'reached'); c.close()\" >/dev/null 2>&1 & echo";
    node.ok(other, listen).await;
    let address = node.ok(other, "hostname -I").await;
    let address = address.split_whitespace().next().unwrap();
    let gateway = node.ok(id, "ip route show default | cut -d' ' -f3").await;
    assert!(gateway.starts_with("10."), "{gateway}");
    assert_ne!(node.shell(id, &connect(address, 8080)).await.code, 0, "a neighbour");
    let mut service = Command::new("nsenter")
        .args([&format!("--net=/run/netns/{}", lab.inner), "/usr/bin/python3", "-c"])
        .arg("import socket; s = socket.socket(); s.bind(('0.0.0.0', 22)); s.listen(); s.accept()")
        .spawn()
        .unwrap();
    assert_ne!(node.shell(id, &connect(&gateway, 22)).await.code, 0, "a service of the node");
    service.kill().unwrap();
    service.wait().unwrap();
    assert_eq!(node.ok(other, &connect("127.0.0.1", 8080)).await, "reached", "the neighbour did listen all along");

    for spec in [&a, &b] {
        node.engine.delete(&spec.instance).await.unwrap();
        assert_eq!(traces(&spec.instance.slug), Vec::<String>::new());
    }
    let left = host("nsenter", &[&format!("--net=/run/netns/{}", lab.inner), "nft", "list", "tables"]);
    assert_eq!(left, "", "filters are left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_network_lets_nothing_out() {
    let lab = Lab::new();
    let node = lab.node(NetworkMode::Closed).await;
    let spec = node.rent(&[]).await;
    let id = &spec.instance.id;
    assert_ne!(node.shell(id, &connect(OUTSIDE, 80)).await.code, 0);
    node.ok(id, "/usr/bin/python3 -m http.server 8080 >/dev/null 2>&1 & echo").await;
    common::eventually("loopback works", || async {
        node.shell(id, "/usr/bin/python3 -c \"import socket; socket.create_connection(('127.0.0.1', 8080), 2)\"")
            .await
            .code
            == 0
    })
    .await;
    node.engine.delete(&spec.instance).await.unwrap();
}
