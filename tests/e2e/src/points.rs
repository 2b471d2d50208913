//! The fault points that the source of the product names.

use std::collections::BTreeSet;
use std::path::Path;

/// Every fault point in the source of the product. A new step brings its points
/// here by itself.
///
/// # Panics
/// The source cannot be read.
pub fn points() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut folders = vec![crates];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                let named = source.split("fault::point(\"").skip(1).filter_map(|rest| rest.split_once('"'));
                found.extend(named.map(|(name, _)| name.to_owned()));
            }
        }
    }
    found
}
