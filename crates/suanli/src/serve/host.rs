//! Where things live on this host.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};

/// The folder for a user's data (XDG).
///
/// # Errors
/// No home.
pub fn data_home() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("XDG_DATA_HOME").filter(|d| !d.is_empty()) {
        return Ok(PathBuf::from(dir));
    }
    let home = std::env::var_os("HOME").filter(|h| !h.is_empty());
    let home = home.ok_or_else(|| {
        Error::new(Cause::InvalidRequest, "there is no home folder for the data").hint("name one with --data DIR")
    })?;
    Ok(PathBuf::from(home).join(".local/share"))
}

/// Where a root agent keeps instances that belong to this data folder: instances
/// have users of their own, who cannot pass through anybody's home.
pub fn agent_state(data: &Path) -> PathBuf {
    let name: String =
        data.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Path::new("/var/lib/suanli/agents").join(name.trim_matches('-'))
}

/// Users and addresses of the instances of one agent, from where it keeps them: two
/// agents of one machine that shared a user would end each other's programs.
pub fn own_ranges(state: &Path) -> (u32, String) {
    let fnv = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    let place = state.as_os_str().as_encoded_bytes().iter().fold(2_166_136_261, fnv);
    let place = (place >> 16) ^ (place & 0xffff);
    let subnet = format!("10.{}.{}.0/20", 224 + place / 16 % 16, place % 16 * 16);
    (600_000 + place % 4_096 * 65_536, subnet)
}

/// The first folder on the way to `path` that `uid` cannot pass through.
pub fn closed_to(path: &Path, uid: u32, gid: u32) -> Option<PathBuf> {
    let folders: Vec<_> = path.ancestors().skip(1).collect();
    let closed = |folder: &&&Path| {
        let Ok(meta) = std::fs::metadata(folder) else {
            return true;
        };
        let mode = meta.mode();
        let pass = if meta.uid() == uid {
            mode & 0o100
        } else if meta.gid() == gid {
            mode & 0o010
        } else {
            mode & 0o001
        };
        pass == 0
    };
    folders.iter().rev().find(closed).map(|folder| folder.to_path_buf())
}

#[cfg(test)]
mod ranges {
    use super::*;

    #[test]
    fn agents_of_one_machine_have_ranges_of_their_own() {
        let (a, b) =
            (own_ranges(Path::new("/var/lib/suanli/agents/a")), own_ranges(Path::new("/var/lib/suanli/agents/b")));
        assert_eq!(a, own_ranges(Path::new("/var/lib/suanli/agents/a")), "the same after a restart");
        assert!(a.0.abs_diff(b.0) >= 65_536, "{a:?} {b:?}");
        assert_ne!(a.1, b.1);
    }
}
