//! Cards that do not exist, and the library that answers for them.

mod cards;
mod fleet;
mod library;
mod model;
mod profile;
mod trace;

pub use fake_nvml::state;
pub use fleet::FakeFleet;
pub use library::{fake_library, install_fake_library};
pub use model::Load;
pub use profile::Profile;
