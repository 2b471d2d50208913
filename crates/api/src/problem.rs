//! Errors as RFC 9457 problem documents.

use base::{Cause, Error};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Media type of [`Problem`].
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not done.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Stable identifier of this kind of problem: `urn:suanli:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What went wrong, for the user.
    pub detail: String,
    /// Stable machine-readable cause.
    pub code: Cause,
    /// What the user can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Names this request in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Problem {
    /// The problem document of an error; internals stay behind.
    pub fn of(error: &Error, request_id: Option<String>) -> Self {
        let code = error.cause();
        Self {
            kind: format!("urn:suanli:{code}"),
            title: code.code().replace('-', " "),
            status: match code {
                Cause::BodyTooLarge => 413,
                Cause::RateLimited => 429,
                _ => code.kind().http_status(),
            },
            detail: error.message().to_owned(),
            code,
            hint: error.hint_text().map(str::to_owned),
            request_id,
        }
    }

    /// The error that a client sees.
    pub fn into_error(self) -> Error {
        let error = Error::new(self.code, self.detail);
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
