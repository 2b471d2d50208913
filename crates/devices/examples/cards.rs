//! Shows what the agent would report of this machine's cards, once:
//! `cargo run -p suanli-devices --example cards [LIBRARY]`.

use std::path::PathBuf;

use base::Timestamp;

fn main() -> base::Result<()> {
    let library = std::env::args_os().nth(1).map(PathBuf::from);
    let nvml = suanli_devices::Nvml::load(library.as_deref())?;
    for fact in nvml.facts()? {
        println!("{fact:#?}");
    }
    for sample in nvml.sample(Timestamp::EPOCH) {
        println!("{sample:?}");
    }
    Ok(())
}
