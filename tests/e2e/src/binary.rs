//! The program under test.
//!
//! `cargo test --workspace`, `cargo nextest run --workspace` and `make test` build
//! it beside the tests. A test that ran against an older program would prove
//! nothing, so one whose sources have changed since is refused. Another program,
//! such as a release build, is tested with `SUANLI_E2E_PROGRAM=PATH`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Path of the program.
///
/// # Panics
/// There is none, or it is older than its sources.
pub fn suanli() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| match std::env::var_os("SUANLI_E2E_PROGRAM") {
        Some(path) => PathBuf::from(path),
        None => beside_the_tests(),
    })
}

fn beside_the_tests() -> PathBuf {
    // target/PROFILE/deps/TEST
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.ancestors().nth(2).expect("the folder of the profile");
    let program = folder.join("suanli");
    let how = "build it with `cargo build -p suanli` in the same profile, or run the tests of the whole workspace";
    assert!(program.is_file(), "{} is missing: {how}", program.display());
    let built = changed(&program);
    let list = std::fs::read_to_string(folder.join("suanli.d")).unwrap_or_default();
    for source in list.split_whitespace().skip(1).map(Path::new).filter(|path| path.is_file()) {
        assert!(changed(source) <= built, "{} is older than {}: {how}", program.display(), source.display());
    }
    program
}

fn changed(path: &Path) -> SystemTime {
    std::fs::metadata(path).and_then(|about| about.modified()).expect("the time of a file")
}
