//! What Incus is told: the project, and what each container is.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ::incus::{Devices, NewProject, Settings};
use base::{Cause, Error, Result};
use domain::device::DeviceFacts;
use engine::InstanceSpec;
use rustix::fs::{major, minor};

use super::{INSTANCE, Site};
use crate::config::IncusConfig;
use crate::meta::Folders;

/// Major number of NVIDIA's character devices.
const NVIDIA_MAJOR: u32 = 195;
/// Where the helper and the fake cards' library show inside.
pub const OPT: &str = "/opt/suanli";

fn settings<const N: usize>(pairs: [(&str, &str); N]) -> Settings {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The project that holds all containers of the zone. Renters never speak to Incus;
/// the restrictions keep a fault of ours from reaching the host.
pub fn project(config: &IncusConfig, state_dir: &Path) -> NewProject {
    let mut all = settings([
        ("features.images", "false"),
        ("features.profiles", "true"),
        ("features.storage.volumes", "false"),
        ("restricted", "true"),
        ("restricted.containers.nesting", "allow"),
        ("restricted.containers.privilege", "isolated"),
        ("restricted.devices.disk", "allow"),
        ("restricted.devices.gpu", "allow"),
        ("restricted.devices.nic", "allow"),
        ("restricted.devices.unix-char", "allow"),
        ("restricted.snapshots", "allow"),
        ("restricted.virtual-machines.lowlevel", "block"),
    ]);
    all.insert("restricted.devices.disk.paths".into(), state_dir.display().to_string());
    NewProject {
        name: config.project.clone(),
        description: "Instances of Suanli; made and removed by it".into(),
        config: all,
    }
}

/// Settings of a container.
pub fn config(spec: &InstanceSpec) -> Settings {
    let mut all = settings([
        // Only the server decides when an instance runs.
        ("boot.autostart", "false"),
        // Renters never speak to Incus, from inside neither.
        ("security.guestapi", "false"),
        ("security.idmap.isolated", "true"),
        ("security.privileged", "false"),
    ]);
    all.extend([
        (INSTANCE.to_owned(), spec.instance.id.to_string()),
        ("user.suanli.slug".to_owned(), spec.instance.slug.to_string()),
        ("limits.cpu".to_owned(), spec.cpus.max(1).to_string()),
        ("limits.memory".to_owned(), format!("{}MiB", spec.memory_mib)),
        ("limits.processes".to_owned(), spec.max_processes.to_string()),
    ]);
    all
}

/// Devices of a container, and the numbers of its cards' nodes.
///
/// # Errors
/// `device-lost` when a real card's node is gone.
pub fn devices(
    config: &IncusConfig,
    site: &Site,
    folders: &Folders,
    spec: &InstanceSpec,
    cards: &[DeviceFacts],
) -> Result<(Devices, BTreeSet<String>)> {
    let mut root = settings([("type", "disk"), ("path", "/")]);
    root.insert("pool".into(), config.pool.clone());
    // A fake card comes with the disk of the real one, which the machine that plays it need not have.
    if site.limits_disks && spec.disk_mib > 0 && !cards.iter().any(|card| card.fake) {
        root.insert("size".into(), format!("{}MiB", spec.disk_mib));
    }
    let mut nic = settings([
        ("type", "nic"),
        ("name", "eth0"),
        ("security.mac_filtering", "true"),
        ("security.ipv4_filtering", "true"),
        // Instances of one bridge do not see each other.
        ("security.port_isolation", "true"),
    ]);
    nic.insert("network".into(), config.network.clone());
    let shown = |from: &Path, at: &str| {
        let mut disk = settings([("type", "disk"), ("path", at)]);
        disk.insert("source".into(), from.display().to_string());
        disk
    };
    let mut opt = shown(&folders.opt(), OPT);
    opt.insert("readonly".into(), "true".into());
    let mut all: Devices = BTreeMap::from([
        ("root".to_owned(), root),
        ("eth0".to_owned(), nic),
        ("suanli".to_owned(), opt),
        ("suanli-run".to_owned(), shown(&folders.run(), &format!("{OPT}/run"))),
    ]);
    let mut numbers = BTreeSet::new();
    for (index, card) in cards.iter().enumerate() {
        for (part, path) in card.paths.iter().enumerate() {
            let (major, minor) = number(path, card.fake)?;
            if !numbers.insert(format!("{major}:{minor}")) {
                continue;
            }
            let mut node = settings([("type", "unix-char"), ("mode", "0666")]);
            node.insert("path".into(), path.clone());
            node.insert("major".into(), major.to_string());
            node.insert("minor".into(), minor.to_string());
            all.insert(format!("card{index}-{part}"), node);
        }
    }
    Ok((all, numbers))
}

/// Major and minor number of a card's node.
fn number(path: &str, fake: bool) -> Result<(u32, u32)> {
    if fake {
        let digits = path.trim_start_matches(|c: char| !c.is_ascii_digit());
        let number = digits.parse().map_err(|_| Error::internal(format!("a fake card without a number: {path}")))?;
        return Ok((NVIDIA_MAJOR, number));
    }
    let found = std::fs::metadata(path).map_err(|e| {
        Error::new(Cause::DeviceLost, format!("the node has no device {path} any more"))
            .hint("check the card and its driver on the node")
            .context(e)
    })?;
    Ok((major(found.rdev()), minor(found.rdev())))
}
