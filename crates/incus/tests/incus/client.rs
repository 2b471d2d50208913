//! Life cycle, commands, files, events, and both ways to reach it.

use std::collections::BTreeMap;

use base::Cause;
use bytes::Bytes;
use suanli_incus::{Endpoint, ExecRequest, FileKind, Incus, NewProject, Piece, Settings, Status, Update};

use crate::site::Site;

#[tokio::test]
async fn incus_says_what_it_is_and_has() {
    let site = Site::of_run();
    let incus = site.project("client-what").await;
    let server = incus.server().await.unwrap();
    assert!(server.can("projects") && !server.can("no-such-extension"));
    assert_eq!(server.auth, "trusted");
    assert!(!server.environment.server_version.is_empty());
    let pool = incus.pools().await.unwrap().into_iter().find(|p| p.name == site.pool).unwrap();
    assert!(pool.limits_disks());
    let clustered = server.environment.server_clustered;
    assert_eq!(clustered, site.members.len() > 1);
    if clustered {
        let members = incus.members().await.unwrap();
        assert_eq!(members.len(), site.members.len());
        assert!(members.iter().all(|m| m.status == "Online"), "{members:?}");
    }
    let target = clustered.then_some(site.members[0].name.as_str());
    assert!(incus.pool_resources(&site.pool, target).await.unwrap().space.total > 0);
    assert!(incus.resources(target).await.unwrap().memory.total > 0);
}

#[tokio::test]
async fn incus_moves_an_instance_through_its_life() {
    let site = Site::of_run();
    let incus = site.project("client-life").await;
    let mut events = incus.events().await.unwrap();
    site.running(&incus, "life-g1").await;
    assert_eq!(incus.instances().await.unwrap().len(), 1);
    let state = incus.state("life-g1").await.unwrap();
    assert!(state.pid > 0 && state.status_code == Status::RUNNING);
    let again = match incus.start("life-g1").await {
        Ok(begun) => incus.wait(&begun).await,
        Err(error) => Err(error),
    };
    let again = again.unwrap_err();
    assert_eq!(again.cause(), Cause::AlreadyExists, "{again}");
    incus.wait(&incus.stop("life-g1", -1, true).await.unwrap()).await.unwrap();
    incus.wait(&incus.rename("life-g1", "life-g2").await.unwrap()).await.unwrap();
    assert_eq!(incus.instance("life-g1").await.unwrap_err().cause(), Cause::NotFound);

    let seen = incus.instance("life-g2").await.unwrap();
    assert_eq!(seen.value.status_code, Status::STOPPED);
    let mut config = seen.value.config.clone();
    config.insert("user.suanli.test".into(), "1".into());
    let update = Update { config, devices: seen.value.devices, profiles: Vec::new() };
    incus.wait(&incus.update("life-g2", &update, seen.etag.as_deref()).await.unwrap()).await.unwrap();
    let late = incus.update("life-g2", &update, seen.etag.as_deref()).await.unwrap_err();
    assert_eq!(late.cause(), Cause::StaleGeneration, "{late}");
    assert_eq!(incus.instance("life-g2").await.unwrap().value.config["user.suanli.test"], "1");
    let twice = match incus.create(&site.instance("life-g2"), site.target()).await {
        Ok(begun) => incus.wait(&begun).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(twice.cause(), Cause::AlreadyExists, "{twice}");
    incus.wait(&incus.delete("life-g2").await.unwrap()).await.unwrap();

    let mut actions = Vec::new();
    while actions.last().is_none_or(|last| last != "instance-deleted") {
        let event = events.next().await.unwrap().unwrap();
        if event.instance().is_some_and(|name| name.starts_with("life-")) {
            actions.push(event.action().to_owned());
        }
    }
    for action in ["instance-created", "instance-started", "instance-renamed"] {
        assert!(actions.iter().any(|a| a == action), "{action} in {actions:?}");
    }
}

#[tokio::test]
async fn incus_runs_commands_and_moves_files() {
    let site = Site::of_run();
    let incus = site.project("client-exec").await;
    site.running(&incus, "exec").await;
    let (out, code) = incus.run("exec", &["sh", "-c", "echo out; exit 7"]).await.unwrap();
    assert_eq!((&out[..], code), (&b"out\n"[..], 7));

    let command = ["sh", "-c", "cat; echo $WORD >&2"].map(str::to_owned).to_vec();
    let environment = BTreeMap::from([("WORD".to_owned(), "done".to_owned())]);
    let mut exec = incus.exec("exec", &ExecRequest { command, environment, window: None }).await.unwrap();
    exec.send(Bytes::from_static(b"typed")).await.unwrap();
    exec.end_of_input().await;
    let mut pieces = Vec::new();
    while let Some(piece) = exec.next().await {
        pieces.push(piece);
    }
    assert!(pieces.contains(&Piece::Out(Bytes::from_static(b"typed"))), "{pieces:?}");
    assert!(pieces.contains(&Piece::Err(Bytes::from_static(b"done\n"))), "{pieces:?}");
    assert_eq!(exec.exit().await.unwrap(), 0);

    // A terminal: its size, a new size, a signal.
    let command = ["sh", "-c", "stty size; trap 'stty size; exit 3' WINCH; while :; do sleep 0.1; done"];
    let command = command.map(str::to_owned).to_vec();
    let request = ExecRequest { command, window: Some((24, 80)), ..ExecRequest::default() };
    let mut exec = incus.exec("exec", &request).await.unwrap();
    let shown = async |exec: &mut suanli_incus::Exec, what: &str| {
        let mut text = String::new();
        while !text.contains(what) {
            match exec.next().await {
                Some(Piece::Out(bytes)) => text.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("{other:?} before {what:?} in {text:?}"),
            }
        }
    };
    shown(&mut exec, "24 80").await;
    exec.resize(30, 100).await.unwrap();
    shown(&mut exec, "30 100").await;
    assert_eq!(exec.exit().await.unwrap(), 3);
    let command = ["sleep", "1000"].map(str::to_owned).to_vec();
    let mut exec = incus.exec("exec", &ExecRequest { command, ..ExecRequest::default() }).await.unwrap();
    exec.signal(9).await.unwrap();
    assert_eq!(exec.exit().await.unwrap(), 137);

    incus.push("exec", "/root/a file", Bytes::from_static(b"content"), 0o640).await.unwrap();
    incus.make_folder("exec", "/root/folder", 0o755).await.unwrap();
    assert_eq!(incus.pull("exec", "/root/a file").await.unwrap(), FileKind::File(Bytes::from_static(b"content")));
    let names = incus.pull("exec", "/root").await.unwrap();
    assert_eq!(names, FileKind::Folder(vec!["a file".into(), "folder".into()]));
    assert_eq!(incus.pull("exec", "/root/none").await.unwrap_err().cause(), Cause::NotFound);
    let (out, _) = incus.run("exec", &["stat", "-c", "%a %u", "/root/a file"]).await.unwrap();
    assert_eq!(&out[..], b"640 0\n");
    site.gone(&incus, "exec").await;
}

#[test]
fn incus_is_reached_over_tls_and_only_the_right_one() {
    let site = Site::of_run();
    // No cable leads from the machine to the members: this thread goes to their network.
    let network = std::fs::File::open(&site.switch_netns).unwrap();
    std::thread::spawn(move || {
        use std::os::fd::AsFd;
        rustix::thread::move_into_link_name_space(network.as_fd(), Some(rustix::thread::LinkNameSpaceType::Network))
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut identity = std::fs::read(&site.client_cert).unwrap();
            identity.extend(std::fs::read(&site.client_key).unwrap());
            let server = std::fs::read(&site.server_cert).unwrap();
            let address = format!("https://{}", site.members[0].address);
            let incus = Incus::new(Endpoint::https(&address, &identity, &server).unwrap(), "default");
            assert_eq!(incus.server().await.unwrap().auth, "trusted");
            let mut events = incus.events().await.unwrap();
            let project = NewProject { name: "client-tls".into(), description: String::new(), config: Settings::new() };
            incus.in_project("client-tls").ensure_project(&project).await.unwrap();
            drop(events.next());

            // A certificate that is not the one that was pinned: ours, for example.
            let wrong = std::fs::read(&site.client_cert).unwrap();
            let wrong = Incus::new(Endpoint::https(&address, &identity, &wrong).unwrap(), "default");
            let error = wrong.server().await.unwrap_err();
            assert_eq!(error.cause(), Cause::Unavailable);
            assert!(error.context_text().unwrap().contains("another certificate"), "{error}");
        });
    })
    .join()
    .unwrap();
}
