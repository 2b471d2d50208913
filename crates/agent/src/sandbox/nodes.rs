//! Device nodes of an instance: its own cards and nothing else.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use domain::device::DeviceFacts;
use rustix::fs::{CWD, FileType, Mode, major, makedev, minor, mknodat};

use crate::files;

/// Major number of NVIDIA's character devices.
const NVIDIA_MAJOR: u32 = 195;

/// A device node that shows inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Path on the host.
    pub from: PathBuf,
    /// Path inside.
    pub at: String,
    /// `major:minor`.
    pub number: String,
}

/// The nodes of one instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// What to mount.
    pub nodes: Vec<Node>,
    /// What could not be made, in sentences.
    pub notices: Vec<String>,
}

impl Nodes {
    /// The device numbers that must be seen inside, no more and no fewer.
    pub fn numbers(&self) -> BTreeSet<String> {
        self.nodes.iter().map(|n| n.number.clone()).collect()
    }
}

fn number(rdev: u64) -> String {
    format!("{}:{}", major(rdev), minor(rdev))
}

/// Finds or makes the nodes of `cards` for the host user `uid`; what must be made
/// goes to `folder`.
///
/// # Errors
/// `device-lost` when a real card's node is gone; `disk-full` or `engine-failed`.
pub fn prepare(folder: &Path, uid: u32, cards: &[DeviceFacts]) -> Result<Nodes> {
    files::remove_folder(folder)?;
    files::folder(folder, 0o755, None)?;
    let mut all = Nodes::default();
    for card in cards {
        for path in &card.paths {
            if all.nodes.iter().any(|n| n.at == *path) {
                continue;
            }
            let rdev = match std::fs::metadata(path) {
                Ok(found) if found.file_type().is_char_device() && !card.fake => {
                    // Most drivers make their nodes for everybody; then the real one serves.
                    if found.permissions().mode() & 0o006 == 0o006 {
                        all.nodes.push(Node { from: path.into(), at: path.clone(), number: number(found.rdev()) });
                        continue;
                    }
                    found.rdev()
                }
                _ if card.fake => makedev(NVIDIA_MAJOR, fake_minor(path)?),
                _ => {
                    return Err(Error::new(Cause::DeviceLost, format!("the node has no device {path} any more"))
                        .hint("check the card and its driver on the node"));
                }
            };
            match make(folder, uid, path, rdev)? {
                Some(node) => all.nodes.push(node),
                None => all.notices.push(format!("{path} is missing: this host lets the agent make no device nodes")),
            }
        }
    }
    Ok(all)
}

fn fake_minor(path: &str) -> Result<u32> {
    let digits = path.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse().map_err(|_| Error::internal(format!("a fake card's device node has no number: {path}")))
}

/// A node only for this instance's user; `None` where the host forbids it.
fn make(folder: &Path, uid: u32, path: &str, rdev: u64) -> Result<Option<Node>> {
    let own = folder.join(path.trim_start_matches('/').replace('/', "-"));
    match mknodat(CWD, &own, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, rdev) {
        Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => return Ok(None),
        other => other.map_err(|e| files::error("make the device node", &own, &e.into()))?,
    }
    chown(&own, Some(uid), Some(uid)).map_err(|e| files::error("change the owner of", &own, &e))?;
    Ok(Some(Node { from: own, at: path.to_owned(), number: number(rdev) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(path: &str, fake: bool) -> DeviceFacts {
        DeviceFacts {
            uuid: format!("GPU-{path}"),
            name: "Test".into(),
            serial: None,
            memory_mib: 1,
            pci: "0000:00:00.0".into(),
            numa: None,
            index: 0,
            paths: vec![path.into()],
            links: vec![],
            power_limit_w: None,
            driver: None,
            fake,
        }
    }

    #[test]
    fn fake_cards_get_nodes_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("dev");
        let nodes = prepare(&folder, 654_321, &[card("/dev/nvidia3", true)]).unwrap();
        assert_eq!(nodes.numbers(), BTreeSet::from(["195:3".to_owned()]), "{:?}", nodes.notices);
        let made = std::fs::metadata(&nodes.nodes[0].from).unwrap();
        assert_eq!((made.uid(), made.mode() & 0o777), (654_321, 0o600));
        assert_eq!(prepare(&folder, 654_321, &[card("/dev/nvidia3", true)]).unwrap(), nodes);
    }

    #[test]
    fn real_nodes_serve_where_everybody_may_use_them() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("dev");
        // Stands for a card's node: it exists everywhere and is open to everybody.
        let nodes = prepare(&folder, 654_321, &[card("/dev/null", false)]).unwrap();
        assert_eq!(nodes.nodes[0].from, Path::new("/dev/null"));
        let gone = prepare(&folder, 654_321, &[card("/dev/nvidia-gone", false)]).unwrap_err();
        assert_eq!(gone.cause(), Cause::DeviceLost);
    }
}
