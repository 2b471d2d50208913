//! The second factor: codes of an authenticator app.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/totp`: nothing counts before it is confirmed.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct TotpPrepared {
    /// The shared secret, base 32, to type in.
    pub secret: String,
    /// The same as `otpauth://…`, to show as a QR code.
    pub uri: String,
}

/// `POST /v1/totp/confirm`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TotpConfirm {
    /// What the app shows now.
    pub code: String,
}

/// The second factor counts from now on.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct RecoveryCodes {
    /// Each is good once instead of a code. Shown only here.
    pub recovery_codes: Vec<String>,
}

/// `POST /v1/totp/remove`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TotpRemove {
    /// The user's password.
    pub password: String,
    /// What the app shows now, or a recovery code.
    pub code: String,
}
