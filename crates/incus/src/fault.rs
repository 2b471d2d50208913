//! Incus's errors as ours. Its own words stay in the message, because they often
//! name the very thing that an operator has to mend.

use base::{Cause, Error};
use serde::Deserialize;

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    error: String,
}

/// What a refused request means. `status` is Incus's HTTP status or error code.
pub fn refused(status: u16, body: &[u8]) -> Error {
    let said = serde_json::from_slice::<Body>(body).ok().map(|b| b.error).filter(|e| !e.is_empty());
    match said {
        Some(said) => of(status, &said),
        None => of(status, &format!("an answer without a reason (status {status})"))
            .context(String::from_utf8_lossy(body.get(..body.len().min(300)).unwrap_or_default())),
    }
}

/// What an error of Incus means.
pub fn of(status: u16, said: &str) -> Error {
    let lower = said.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let (cause, hint) = if has(&["no space left", "disk quota exceeded", "insufficient space", "not enough space"]) {
        (Cause::DiskFull, "free space in the zone's storage pool, or rent elsewhere")
    } else if status == 404 {
        (Cause::NotFound, "it may have been deleted in Incus by somebody else")
    } else if status == 412 {
        (Cause::StaleGeneration, "somebody else has changed it in Incus; it is read again")
    } else if status == 409
        || has(&[
            "already exists",
            "already in use",
            "unique constraint failed",
            "is already running",
            "already stopped",
        ])
    {
        (Cause::AlreadyExists, "it is there already in Incus")
    } else if matches!(status, 401 | 403) || has(&["not authorized", "certificate is restricted"]) {
        (Cause::Forbidden, "Incus does not trust this server: give it the rights of the zone's project")
    } else if has(&["cgroup"]) {
        (Cause::HostIncomplete, "Incus cannot set control groups on this host: `suanli doctor` says what is missing")
    } else if status == 503 || has(&["database is locked", "isn't ready yet", "connection refused"]) {
        (Cause::Unavailable, "Incus is starting or overloaded; it is tried again")
    } else if has(&["busy", "instance is busy running"]) {
        (Cause::Unavailable, "another operation is under way on it in Incus; it is tried again")
    } else {
        (Cause::EngineFailed, "these are Incus's own words; `incus operation list` and its log may say more")
    };
    Error::new(cause, format!("Incus refused: {said}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_incus_are_kept_and_mapped() {
        let cases = [
            (500, "write /x: no space left on device", Cause::DiskFull),
            (404, "Instance not found", Cause::NotFound),
            (412, "ETag doesn't match: a vs b", Cause::StaleGeneration),
            (409, "Instance \"a\" already exists", Cause::AlreadyExists),
            (400, "The instance is already running", Cause::AlreadyExists),
            (403, "Certificate is restricted", Cause::Forbidden),
            (400, "Failed to setup cgroup limits for container", Cause::HostIncomplete),
            (503, "Shutting down", Cause::Unavailable),
            (400, "Instance is busy running a \"stop\" operation", Cause::Unavailable),
            (400, "Failed to run: forkstart", Cause::EngineFailed),
        ];
        for (status, said, cause) in cases {
            let body = serde_json::json!({"type": "error", "error": said, "error_code": status}).to_string();
            let error = refused(status, body.as_bytes());
            assert_eq!(error.cause(), cause, "{said}");
            assert!(error.message().contains(said));
        }
        assert_eq!(refused(502, b"<html>").cause(), Cause::EngineFailed);
    }
}
