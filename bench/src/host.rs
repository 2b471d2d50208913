//! What a process of this machine takes.

use std::fs;

use base::{Error, Result};

/// Memory of one process, KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident set: pages that it shares with others count fully.
    pub rss: u64,
    /// Proportional set: shared pages count by their share.
    pub pss: u64,
}

/// Memory of a process now.
///
/// # Errors
/// It is gone, or belongs to somebody whose processes we may not look into.
pub fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).map_err(|e| Error::internal(e).context(path))?;
    parse(&text).ok_or_else(|| Error::internal(format!("/proc/{pid}/smaps_rollup is not understood")))
}

fn parse(text: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    Some(Memory { rss: field("Rss:")?, pss: field("Pss:")? })
}

/// The process below `pid` whose first argument is `word`: sudo may stand between.
pub fn below(pid: u32, word: &str) -> Option<u32> {
    let called = |child: &u32| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(word.as_bytes())
    };
    let children = children(pid);
    children.iter().copied().find(called).or_else(|| children.iter().find_map(|child| below(*child, word)))
}

/// Linux lists children by the thread that started them.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_sums_are_read() {
        let text = "55d0-7fff ---p 00000000 00:00 0 [rollup]\nRss:   4120 kB\nPss:   1301 kB\nPss_Dirty: 5 kB\n";
        assert_eq!(parse(text), Some(Memory { rss: 4120, pss: 1301 }));
        assert_eq!(parse("Rss: 1 kB\n"), None);
    }

    #[test]
    fn our_own_memory_is_something() {
        let own = memory(std::process::id()).unwrap();
        assert!(own.rss >= own.pss && own.pss > 0);
    }

    #[test]
    fn a_child_is_found_by_its_first_argument() {
        let mut child = std::process::Command::new("sleep").arg("61.5").spawn().unwrap();
        // Its command line appears a moment after it was started.
        let found = (0..1_000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            below(std::process::id(), "61.5")
        });
        let other = below(std::process::id(), "61.25");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((found, other), (Some(child.id()), None));
    }
}
