//! Why a stream ended early.

use std::io;

use link::Control;

/// Longest message, bytes.
const MESSAGE_LIMIT: usize = 2000;

/// The cause codes of the product that the helper uses. Plain text because the
/// crate that defines them brings more than this small program may carry; a test
/// holds the two together.
pub mod cause {
    /// The request cannot be understood.
    pub const INVALID_REQUEST: &str = "invalid-request";
    /// Cannot be had now.
    pub const UNAVAILABLE: &str = "unavailable";
    /// No such file.
    pub const NOT_FOUND: &str = "not-found";
    /// Something of another kind is already there.
    pub const ALREADY_EXISTS: &str = "already-exists";
    /// No room on the disk.
    pub const DISK_FULL: &str = "disk-full";
    /// The user inside the instance may not do that.
    pub const FORBIDDEN: &str = "forbidden";
    /// The helper's own fault.
    pub const INTERNAL: &str = "internal";
}

/// Why a stream ended early.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The caller went away: nobody is left to answer.
    Gone,
    /// It could not be done: cause code and a sentence for the user.
    Refused(&'static str, String),
}

impl Failure {
    /// The request breaks a rule.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Refused(cause::INVALID_REQUEST, message.into())
    }

    /// What the system said while the helper tried to do `what`.
    pub fn system(what: &str, error: &io::Error) -> Self {
        let (cause, why) = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => (cause::DISK_FULL, "no room is left on the disk".to_owned()),
            Some(libc::ENOENT) => (cause::NOT_FOUND, "it does not exist".to_owned()),
            Some(libc::EACCES | libc::EPERM) => (cause::FORBIDDEN, "permission denied".to_owned()),
            Some(libc::EROFS) => (cause::FORBIDDEN, "that place is read-only".to_owned()),
            Some(libc::ENOTDIR) => (cause::ALREADY_EXISTS, "a part of the path is not a folder".to_owned()),
            Some(libc::EEXIST) => (cause::ALREADY_EXISTS, "something else is already there".to_owned()),
            Some(libc::ENAMETOOLONG) => (cause::INVALID_REQUEST, "the path is too long".to_owned()),
            Some(libc::EAGAIN) => (cause::UNAVAILABLE, "the instance's process limit is reached".to_owned()),
            Some(libc::ENOMEM) => (cause::UNAVAILABLE, "the instance's memory is used up".to_owned()),
            Some(libc::EMFILE | libc::ENFILE) => (cause::UNAVAILABLE, "too many files are open".to_owned()),
            _ => (cause::INTERNAL, error.to_string()),
        };
        Self::Refused(cause, format!("{what}: {why}"))
    }

    /// The last frame for the caller, if there still is one.
    pub fn into_frame(self) -> Option<Control> {
        match self {
            Self::Gone => None,
            Self::Refused(cause, mut message) => {
                // Names from outside may be longer than a frame.
                if message.len() > MESSAGE_LIMIT {
                    message.truncate(message.floor_char_boundary(MESSAGE_LIMIT));
                    message.push('…');
                }
                Some(Control::Error { cause: cause.to_owned(), message })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_one_of_the_product() {
        for code in [
            cause::INVALID_REQUEST,
            cause::UNAVAILABLE,
            cause::NOT_FOUND,
            cause::ALREADY_EXISTS,
            cause::DISK_FULL,
            cause::FORBIDDEN,
            cause::INTERNAL,
        ] {
            assert_eq!(code.parse::<base::Cause>().unwrap().code(), code);
        }
    }

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = Failure::system("a", &io::Error::from_raw_os_error(libc::EDQUOT));
        assert!(matches!(full, Failure::Refused(cause::DISK_FULL, _)));
        assert!(Failure::Gone.into_frame().is_none());
    }

    #[test]
    fn every_message_fits_into_a_frame() {
        let frame = link::Frame::Control(Failure::invalid("字".repeat(100_000)).into_frame().unwrap());
        frame.encode(&mut Vec::new()).unwrap();
    }
}
