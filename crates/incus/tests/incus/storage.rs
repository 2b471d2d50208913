//! Snapshots, images and volumes, on one member and from one to another.

use std::collections::BTreeMap;

use base::Cause;
use suanli_incus::{Copy, Devices, Settings, VolumeAt};

use crate::site::Site;

fn words(pairs: &[(&str, &str)]) -> Settings {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn incus_keeps_states_and_makes_others_of_them() {
    let site = Site::of_run();
    let incus = site.project("client-states").await;
    let done = async |begun: base::Result<suanli_incus::Operation>| incus.wait(&begun.unwrap()).await.unwrap();
    let sh = async |name: &str, line: &str| {
        let (out, code) = incus.run(name, &["sh", "-c", line]).await.unwrap();
        assert_eq!(code, 0, "{line}");
        String::from_utf8_lossy(&out).trim().to_owned()
    };
    site.running(&incus, "one").await;
    sh("one", "echo first > /root/state").await;
    done(incus.snapshot("one", "s1").await).await;
    sh("one", "echo second > /root/state").await;
    let names: Vec<_> = incus.snapshots("one").await.unwrap().into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["s1"]);

    // A copy of the snapshot, while the original runs; on another member where there is one.
    let root: Devices =
        BTreeMap::from([("root".to_owned(), words(&[("type", "disk"), ("path", "/"), ("pool", &site.pool)]))]);
    let other = site.members.get(1).map(|m| m.name.as_str());
    let copy = Copy { name: "two", from: "one/s1", config: Settings::new(), devices: root };
    done(incus.copy(&copy, other).await).await;
    done(incus.start("two").await).await;
    assert_eq!(sh("two", "cat /root/state").await, "first");
    if let Some(other) = other {
        assert_eq!(incus.instance("two").await.unwrap().value.location, other);
    }

    let mut told = Vec::new();
    let alias = format!("saved-{}", std::process::id());
    let about = words(&[("user.suanli.account", "acc-1")]);
    let fingerprint = incus.publish("one/s1", &alias, &about, |progress| told.push(progress)).await.unwrap();
    assert_eq!(incus.image_named(&alias).await.unwrap(), fingerprint);
    let image = incus.images().await.unwrap().into_iter().find(|i| i.fingerprint == fingerprint).unwrap();
    assert!(image.size > 0 && image.properties["user.suanli.account"] == "acc-1");
    let again = incus.publish("one/s1", &alias, &about, drop).await.unwrap_err();
    assert_eq!(again.cause(), Cause::AlreadyExists, "{again}");
    done(incus.delete_image(&fingerprint).await).await;
    assert_eq!(incus.image_named(&alias).await.unwrap_err().cause(), Cause::NotFound);

    done(incus.stop("one", -1, true).await).await;
    done(incus.restore("one", "s1").await).await;
    done(incus.start("one").await).await;
    assert_eq!(sh("one", "cat /root/state").await, "first");
    done(incus.delete_snapshot("one", "s1").await).await;
    assert!(incus.snapshots("one").await.unwrap().is_empty());
    for name in ["one", "two"] {
        site.gone(&incus, name).await;
    }
}

#[tokio::test]
async fn incus_keeps_volumes_apart_from_instances() {
    let site = Site::of_run();
    let incus = site.project("client-volumes").await;
    let name = format!("vol-{}", std::process::id());
    let here = VolumeAt { pool: &site.pool, name: &name, member: site.target() };
    incus.create_volume(here, 64, &words(&[("user.suanli.volume", "vol-1")])).await.unwrap();
    let twice = incus.create_volume(here, 64, &Settings::new()).await.unwrap_err();
    assert_eq!(twice.cause(), Cause::AlreadyExists, "{twice}");
    let volume = incus.volume(here).await.unwrap();
    assert_eq!((volume.config["size"].as_str(), volume.used_by.len()), ("64MiB", 0));

    let mut new = site.instance("holder");
    let disk = words(&[("type", "disk"), ("path", "/workspace"), ("pool", &site.pool), ("source", &name)]);
    new.devices.insert("workspace".into(), disk);
    incus.wait(&incus.create(&new, site.target()).await.unwrap()).await.unwrap();
    incus.wait(&incus.start("holder").await.unwrap()).await.unwrap();
    let sh = async |line: &str| incus.run("holder", &["sh", "-c", line]).await.unwrap().1;
    assert_eq!(sh("echo kept > /workspace/file").await, 0);
    assert_ne!(sh("dd if=/dev/urandom of=/workspace/big bs=1M count=90 && sync").await, 0, "the limit holds");
    assert_eq!(sh("rm -f /workspace/big").await, 0);
    assert_eq!(incus.volume(here).await.unwrap().used_by.len(), 1);
    let refused = incus.delete_volume(here).await.unwrap_err();
    assert!(refused.message().contains("use"), "{refused}");
    incus.snapshot_volume(here, "s1").await.unwrap();
    assert_eq!(sh("echo changed > /workspace/file").await, 0);
    site.gone(&incus, "holder").await;

    incus.restore_volume(here, "s1").await.unwrap();
    assert!(incus.volume_space(here).await.unwrap().usage >= 0);
    if let Some(other) = site.members.get(1) {
        incus.copy_volume(here, &other.name, drop).await.unwrap();
        let there = VolumeAt { member: Some(&other.name), ..here };
        assert_eq!(incus.volume(there).await.unwrap().location, other.name);
        incus.delete_volume(here).await.unwrap();
        assert_eq!(incus.volume(here).await.unwrap_err().cause(), Cause::NotFound);
        let mut new = site.instance("reader");
        let disk = words(&[("type", "disk"), ("path", "/workspace"), ("pool", &site.pool), ("source", &name)]);
        new.devices.insert("workspace".into(), disk);
        incus.wait(&incus.create(&new, Some(&other.name)).await.unwrap()).await.unwrap();
        incus.wait(&incus.start("reader").await.unwrap()).await.unwrap();
        let (out, _) = incus.run("reader", &["cat", "/workspace/file"]).await.unwrap();
        assert_eq!(&out[..], b"kept\n");
        site.gone(&incus, "reader").await;
        incus.delete_volume(there).await.unwrap();
    } else {
        incus.delete_volume(here).await.unwrap();
    }
}
