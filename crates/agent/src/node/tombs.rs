//! Generations that were deleted, or stopped before they were made, so that an
//! order that was under way for a long time cannot bring one back.

use std::path::{Path, PathBuf};

use base::{InstanceId, Result};

use crate::files;

/// Kept at most; an order does not stay under way for a thousand deletions.
const KEPT: usize = 1_000;

/// The highest generation of each instance that must not be made any more.
#[derive(Debug)]
pub struct Tombs {
    dir: PathBuf,
}

impl Tombs {
    /// Takes up the folder and removes the oldest beyond what is kept.
    ///
    /// # Errors
    /// As [`files::folder`].
    pub fn open(dir: &Path) -> Result<Self> {
        files::folder(dir, 0o700, None)?;
        let entries = std::fs::read_dir(dir).map_err(|e| files::error("read", dir, &e))?;
        let mut names: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        // Ids begin with their time of creation, so the oldest come first.
        names.sort();
        let extra = names.len().saturating_sub(KEPT);
        for old in names.iter().take(extra) {
            let _ = std::fs::remove_file(old);
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// The highest generation that is over, if one was noted.
    pub fn generation(&self, id: &InstanceId) -> Option<i64> {
        std::fs::read_to_string(self.dir.join(id.as_str())).ok()?.trim().parse().ok()
    }

    /// Notes that a generation is over; a lower generation never replaces a higher one.
    ///
    /// # Errors
    /// As [`files::replace`].
    pub fn note(&self, id: &InstanceId, generation: i64) -> Result<()> {
        let highest = self.generation(id).unwrap_or(generation).max(generation);
        files::replace(&self.dir.join(id.as_str()), highest.to_string().as_bytes(), 0o600, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Timestamp;

    #[test]
    fn the_highest_generation_stays() {
        let dir = tempfile::tempdir().unwrap();
        let tombs = Tombs::open(&dir.path().join("tombs")).unwrap();
        let id = InstanceId::new(Timestamp::EPOCH, 1);
        assert_eq!(tombs.generation(&id), None);
        tombs.note(&id, 5).unwrap();
        tombs.note(&id, 3).unwrap();
        assert_eq!(Tombs::open(&dir.path().join("tombs")).unwrap().generation(&id), Some(5));
    }
}
