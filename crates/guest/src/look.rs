//! What the helper sees: the proof that the instance has exactly its cards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use link::Control;

/// What is seen below `dev`.
pub fn seen(dev: &Path, on_start_exit: Option<i32>) -> Control {
    let mut devices = BTreeMap::new();
    for folder in [dev.to_owned(), dev.join("dri")] {
        let in_dri = folder != dev;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            // Of the entry itself: a link made inside must not pass for a device.
            let Ok(facts) = entry.metadata() else { continue };
            if facts.file_type().is_char_device() && is_card(&name.to_string_lossy(), in_dri) {
                let number = facts.rdev();
                let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
                devices.insert(entry.path().to_string_lossy().into_owned(), number);
            }
        }
    }
    Control::Seen { devices, uid: rustix::process::getuid().as_raw(), on_start_exit }
}

fn is_card(name: &str, in_dri: bool) -> bool {
    if in_dri {
        return name.starts_with("renderD");
    }
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    numbered("nvidia")
        || ["nvidia-uvm", "davinci", "hygon"].iter().any(|prefix| name.starts_with(prefix))
        || ["nvidiactl", "kfd", "mkfd"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_told_from_other_devices() {
        for name in ["nvidia0", "nvidia15", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "davinci3", "kfd", "mkfd"] {
            assert!(is_card(name, false), "{name}");
        }
        for name in ["null", "nvidia", "nvidia-modeset", "nvidia0x", "tty", "kfd0", "renderD128"] {
            assert!(!is_card(name, false), "{name}");
        }
        assert!(is_card("renderD128", true));
        assert!(!is_card("card0", true));
    }

    #[test]
    fn files_and_links_are_no_devices() {
        let dev = tempfile::tempdir().unwrap();
        fs::write(dev.path().join("nvidia0"), "").unwrap();
        std::os::unix::fs::symlink("/dev/null", dev.path().join("nvidia1")).unwrap();
        let Control::Seen { devices, .. } = seen(dev.path(), Some(3)) else { unreachable!() };
        assert!(devices.is_empty(), "{devices:?}");
    }
}
