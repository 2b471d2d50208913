//! The accelerators of a machine: what they are, how they do, and cards that
//! only pretend to be there.
//!
//! [`nvml`] asks NVIDIA's management library, loaded at run time. [`fake`] moves
//! cards that do not exist and installs a library that answers for them, so that
//! the very same [`nvml`] code, and every other program that knows NVML, sees them.
//! Nothing here reads a clock.

pub mod fake;
pub mod nvml;

pub use fake::{FakeFleet, Load, Profile, fake_library, install_fake_library};
pub use nvml::Nvml;
