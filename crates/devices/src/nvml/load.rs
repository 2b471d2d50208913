//! Finding and starting the library, and what to tell when that fails.

use std::path::Path;

use base::{Cause, Error, Result};
use nvml_wrapper::error::NvmlError;

use super::Nvml;

impl Nvml {
    /// Loads the library, from `lib` or from where the system's loader finds it.
    ///
    /// # Errors
    /// `host-incomplete` with a hint that names what to install or to do.
    pub fn load(lib: Option<&Path>) -> Result<Self> {
        let mut builder = nvml_wrapper::Nvml::builder();
        // The wrapper's own default lacks the version suffix on some systems, and
        // the unversioned name exists only where development files are installed.
        builder.lib_path(lib.map_or("libnvidia-ml.so.1".as_ref(), Path::as_os_str));
        let lib = builder.init().map_err(|error| refused(&error, lib))?;
        Ok(Self { lib, known: std::sync::Mutex::default() })
    }
}

/// Tells the user which part of the host is missing.
pub(super) fn refused(error: &NvmlError, lib: Option<&Path>) -> Error {
    let (message, hint) = match error {
        NvmlError::LibloadingError(_) | NvmlError::FailedToLoadSymbol(_) => (
            match lib {
                Some(path) => format!("{} is not a management library that can be loaded", path.display()),
                None => "NVIDIA's management library, libnvidia-ml.so.1, is not on this machine".to_owned(),
            },
            "install the NVIDIA driver (packages nvidia-driver or nvidia-utils), or use fake cards to try things out",
        ),
        NvmlError::DriverNotLoaded => (
            "the NVIDIA driver is not loaded".to_owned(),
            "run `modprobe nvidia`; if that fails, install the driver for the running kernel",
        ),
        NvmlError::LibRmVersionMismatch => (
            "the NVIDIA driver that runs and the installed library have different versions".to_owned(),
            "restart the machine, or reload the driver with `modprobe -r nvidia` and `modprobe nvidia`",
        ),
        NvmlError::NoPermission => (
            "this user may not talk to the NVIDIA driver".to_owned(),
            "start the agent as root, or let its user open /dev/nvidiactl",
        ),
        _ => (
            "NVIDIA's management library does not answer".to_owned(),
            "look for lines with NVRM in `dmesg`; restarting the machine helps when the driver hangs",
        ),
    };
    Error::new(Cause::HostIncomplete, message).hint(hint).context(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_what_to_install() {
        let error = Nvml::load(Some(Path::new("/nowhere/libnvidia-ml.so.1"))).err().unwrap();
        assert_eq!(error.cause(), Cause::HostIncomplete);
        assert!(error.message().contains("/nowhere/libnvidia-ml.so.1"), "{error}");
        assert!(error.hint_text().unwrap().contains("install the NVIDIA driver"));
    }

    #[test]
    fn a_missing_driver_is_not_a_missing_library() {
        let dir = tempfile::tempdir().unwrap();
        // The fake library without a state file answers like one without a driver.
        let path = crate::install_fake_library(dir.path()).unwrap();
        std::fs::write(dir.path().join("cards.toml"), "not a state").unwrap();
        let error = Nvml::load(Some(&path)).err().unwrap();
        assert_eq!(error.cause(), Cause::HostIncomplete);
        assert_eq!(error.message(), "the NVIDIA driver is not loaded");
        assert!(error.hint_text().unwrap().contains("modprobe nvidia"));
    }
}
