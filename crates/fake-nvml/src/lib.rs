//! A library that answers like NVIDIA's management library (NVML) and says of
//! itself that it is fake.
//!
//! The shared object is called `libnvidia-ml.so.1` wherever it is installed. It
//! reads everything that it answers from one [`state::State`] file, on every
//! call, so whoever writes that file moves the cards. Places that are looked at,
//! in this order, when a client initialises the library:
//!
//! 1. the path in the environment variable `FAKE_NVML_STATE`,
//! 2. `cards.toml` beside the shared object,
//! 3. `/run/suanli/cards.toml`, 4. `/opt/suanli/cards.toml`.
//!
//! Every function of the NVML header is exported. Those that are not modelled
//! answer `NVML_ERROR_NOT_SUPPORTED`, which clients take for "this card cannot
//! do that"; a missing symbol makes some of them crash.
//!
//! A client needs a C library as new as the one of the machine that built the
//! object, at least glibc 2.34 (Ubuntu 22.04, Debian 12).

pub mod state;

mod ffi;
