//! What an instance must not see, reach or use up.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use std::os::unix::fs::MetadataExt;

use common::{Node, host, pids_of, spec};
use engine::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_do_not_see_each_other() {
    let node = Node::new("rtx4090x8").await;
    let cards = node.cards().await;
    let (a, b) = (node.rent(&cards[0..1]).await, node.rent(&cards[3..4]).await);
    let (a, b) = (&a.instance.id, &b.instance.id);
    node.ok(a, "echo secret > /workspace/secret; chmod 666 /workspace/secret; sleep 1111 >/dev/null 2>&1 &").await;

    let uid = |id| std::fs::metadata(node.folder(id).join("home")).unwrap().uid();
    assert_ne!(uid(a), uid(b));
    assert_eq!(pids_of(uid(a)).len(), pids_of(uid(b)).len() + 1, "the sleeper belongs to the first alone");

    assert_eq!(node.ok(b, "ls /workspace").await, "");
    assert_eq!(node.shell(b, "pgrep -f 'sleep 111[1]'").await.code, 1);
    let state = node.config.state_dir.display();
    assert_ne!(node.shell(b, &format!("ls {state} /mnt/instances")).await.code, 0);

    // Even outside the walls the other's user has no way in.
    let secret = node.folder(a).join("workspace/secret");
    let outside = |user: u32| {
        let user = user.to_string();
        let arguments = ["--reuid", &user, "--regid", &user, "--clear-groups", "cat"];
        std::process::Command::new("setpriv").args(arguments).arg(&secret).output().unwrap().status.success()
    };
    // The test's folder is closed above the agent's own; open the way to it.
    host("chmod", &["0711", node.path().to_str().unwrap()]);
    assert!(outside(uid(a)), "the way to the file is open, so the next line means something");
    assert!(!outside(uid(b)));

    for id in [a, b] {
        let alive = node.engine.list().await.unwrap();
        let instance = alive.into_iter().find(|i| i.instance.id == *id).unwrap().instance;
        node.engine.delete(&instance).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_own_cards_show_by_number_and_in_the_library() {
    let node = Node::new("mixed-lab").await;
    let info = node.engine.info().await.unwrap();
    let mine = &info.devices[2..4];
    let spec = node.rent(&mine.iter().map(|d| d.uuid.clone()).collect::<Vec<_>>()).await;
    let id = &spec.instance.id;
    let numbers = node.ok(id, "for d in /dev/nvidia*; do stat -c '%n %Hr:%Lr' $d; done").await;
    let expected: Vec<String> =
        mine.iter().map(|d| format!("{} 195:{}", d.paths[0], d.paths[0].trim_start_matches("/dev/nvidia"))).collect();
    assert_eq!(numbers, expected.join("\n"));

    let program = "
import ctypes
n = ctypes.CDLL('libnvidia-ml.so.1')
assert n.nvmlInit_v2() == 0
count = ctypes.c_uint()
assert n.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
for i in range(count.value):
    d, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    assert n.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(d)) == 0
    assert n.nvmlDeviceGetUUID(d, name, 96) == 0
    print(name.value.decode())
";
    let seen = node.ok(id, &format!("/usr/bin/python3 -c \"{program}\"")).await;
    assert_eq!(seen.lines().collect::<Vec<_>>(), spec.devices);
    let text = node.ok(id, "cat /opt/suanli/cards.toml").await;
    for other in info.devices.iter().filter(|d| !spec.devices.contains(&d.uuid)) {
        assert!(!text.contains(&other.uuid), "a neighbour's card shows");
    }
    assert_ne!(node.shell(id, "echo > /opt/suanli/cards.toml").await.code, 0);
    node.engine.delete(&spec.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernels_dangerous_corners_are_closed() {
    let node = Node::new("rtx4090x8").await;
    let spec = node.rent(&[]).await;
    let id = &spec.instance.id;
    for refused in [
        "unshare --user true",
        "unshare --net true",
        "mount -t tmpfs none /tmp",
        "touch /usr/x",
        "touch /x",
        "touch /etc/x",
        "echo x >> /etc/passwd",
        "mknod /tmp/null c 1 3",
        "cat /etc/shadow",
        "ls /root",
        "test -e /etc/ssh",
        "kill -0 2147483647",
        "ip link add dummy0 type dummy",
        "dmesg",
    ] {
        assert_ne!(node.shell(id, refused).await.code, 0, "`{refused}` must be refused");
    }
    // By number, because few programs call them: (call, arguments, expected errno).
    let program = "
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    ctypes.set_errno(0)
    r = libc.syscall(*[ctypes.c_long(x) for x in a])
    return errno.errorcode[ctypes.get_errno()] if r == -1 else 'allowed'
print(call(250, 0), call(321, 0, 0, 0), call(425, 1, 0), call(435, 0, 0), call(323, 0), call(56, 0x10000000 | 17, 0, 0, 0, 0))
print(call(0x40000000 + 39), call(135, 0xffffffff) == 'allowed', call(135, 8))
import fcntl
try:
    fcntl.ioctl(0, 0x5412, b'x')
except OSError as e:
    print(errno.errorcode[e.errno])
";
    if cfg!(target_arch = "x86_64") {
        let seen = node.ok(id, &format!("/usr/bin/python3 -c \"{program}\" 2>&1")).await;
        assert_eq!(seen, "EPERM EPERM ENOSYS ENOSYS EPERM EPERM\nENOSYS True EPERM\nEPERM");
    }
    assert_eq!(
        node.ok(id, "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | awk '{print $2}'").await,
        "0000000000000000\n1"
    );
    // Ordinary programs are not in the way of the filters.
    node.ok(id, "python3 -c 'import threading,subprocess; t=threading.Thread(target=print); t.start(); t.join(); subprocess.run([\"true\"], check=True)'").await;
    node.ok(
        id,
        "getent passwd renter && getent hosts localhost && test -w /tmp && test -w /dev/shm && test -w /var/tmp",
    )
    .await;
    node.engine.delete(&spec.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_and_processes_are_limited_and_the_instance_survives() {
    let node = Node::new("rtx4090x8").await;
    let spec = node.rent(&[]).await;
    let id = &spec.instance.id;
    let hungry = node.shell(id, "/usr/bin/python3 -c 'b = bytearray(400 << 20); print(len(b))'").await;
    assert_eq!(hungry.code, 137, "{hungry:?}");
    assert_eq!(node.ok(id, "/usr/bin/python3 -c 'b = bytearray(100 << 20); print(len(b))'").await, "104857600");

    let many = node.shell(id, "for i in $(seq 200); do sleep 50 & done 2>&1; wait").await;
    assert!(many.code != 0 || many.out.contains("fork"), "{many:?}");
    assert!(pids_of(node.config.uid_base).len() <= 64);
    // The limit counts threads of the helper too: the last caller's may be ending still.
    common::eventually("there is room for one more", async || node.can(id, "kill -9 -1; true").await).await;
    node.ok(id, "echo alive").await;
    assert!(node.engine.list().await.unwrap()[0].running);
    node.engine.delete(&spec.instance).await.unwrap();
    assert!(pids_of(node.config.uid_base).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renters_secrets_do_not_show_on_the_node() {
    let node = Node::new("rtx4090x8").await;
    let mut wanted = spec(&[]);
    wanted.env.insert("TOKEN".into(), "s3cret-of-a-renter".into());
    wanted.env.insert("LD_PRELOAD".into(), "/workspace/evil.so".into());
    node.engine.create(&wanted).await.unwrap();
    node.engine.start(&wanted.instance).await.unwrap();
    assert_eq!(node.ok(&wanted.instance.id, "echo $TOKEN").await, "s3cret-of-a-renter");
    let pids = pids_of(node.config.uid_base);
    assert!(pids.len() >= 2, "bubblewrap and the first process");
    for pid in pids {
        let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap();
        assert!(!String::from_utf8_lossy(&line).contains("s3cret"));
    }
    let log = std::fs::read_to_string(node.folder(&wanted.instance.id).join("init.log")).unwrap();
    assert!(!log.contains("evil.so"), "a program outside the walls was given the renter's environment: {log}");
    node.engine.delete(&wanted.instance).await.unwrap();
}

/// The secret for the server is a file that only the renter's user reads.
#[tokio::test(flavor = "multi_thread")]
async fn the_token_inside_is_a_file_for_its_renter_alone() {
    let node = Node::new("rtx4090x8").await;
    let cards = node.cards().await;
    let mut wish = spec(&cards[0..1]);
    wish.token = Some("suanli_inside".into());
    wish.env.insert("SUANLI_URL".into(), "https://gpu.example".into());
    node.engine.create(&wish).await.unwrap();
    node.engine.start(&wish.instance).await.unwrap();
    let id = &wish.instance.id;
    assert_eq!(
        node.ok(id, "stat -c '%a %u' /run/suanli/token; cat /run/suanli/token; id -u").await,
        "400 1000\nsuanli_inside1000"
    );
    // Beside it is what the command line needs to use it.
    let told = node.ok(id, "cat /run/suanli/url; echo; cat /run/suanli/instance").await;
    assert_eq!(told, format!("https://gpu.example\n{id}"));
    assert_ne!(node.shell(id, "env | grep suanli_inside").await.code, 0);
    let file = node.folder(id).join("run/token");
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o400);
    // The next run has its own.
    let mut again = common::next(&wish);
    again.token = Some("suanli_second".into());
    node.engine.stop(&wish.instance, base::Span::from_secs(1)).await.unwrap();
    assert!(!file.exists());
    node.engine.create(&again).await.unwrap();
    node.engine.start(&again.instance).await.unwrap();
    assert_eq!(node.ok(id, "cat /run/suanli/token").await, "suanli_second");
    node.engine.delete(&again.instance).await.unwrap();
}
