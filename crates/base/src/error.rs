//! One error for the whole product: a cause, words for the user, context for the log.

use std::fmt;

use crate::Cause;

/// The result of nearly everything.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller should do, independent of transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Change the request.
    Invalid,
    /// The request is well formed but cannot be granted now; the hint says what would help.
    Refused,
    /// Look at the object's state first.
    Conflict,
    /// It is not there (or not the caller's).
    NotFound,
    /// Sign in.
    Unauthenticated,
    /// Ask somebody with the right.
    Forbidden,
    /// Try again later.
    Unavailable,
    /// Report it.
    Internal,
}

impl Kind {
    /// HTTP status that carries this kind.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Invalid => 422,
            Self::Refused | Self::Conflict => 409,
            Self::NotFound => 404,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::Unavailable => 503,
            Self::Internal => 500,
        }
    }

    /// Exit code of the command line.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Invalid | Self::Refused | Self::Conflict => 3,
            Self::NotFound => 4,
            Self::Unauthenticated | Self::Forbidden => 5,
            Self::Unavailable | Self::Internal => 6,
        }
    }
}

/// Why something did not happen.
///
/// `message` and `hint` are shown to the user; `context` goes to the log only
/// and is never serialized, so that internals cannot leak.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    cause: Cause,
    message: String,
    hint: Option<String>,
    context: Option<String>,
}

impl Error {
    /// An error with a cause and a sentence for the user.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { cause, message: message.into(), hint: None, context: None }))
    }

    /// Our own fault: the user sees a plain sentence, the log sees `context`.
    pub fn internal(context: impl fmt::Display) -> Self {
        Self::new(Cause::Internal, "something went wrong on the server").context(context)
    }

    /// The object named `what` does not exist for this caller.
    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(Cause::NotFound, format!("{what} does not exist"))
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds what the log should know.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.context = Some(match self.0.context.take() {
            Some(inner) => format!("{context}: {inner}"),
            None => context.to_string(),
        });
        self
    }

    /// The one true cause.
    pub fn cause(&self) -> Cause {
        self.0.cause
    }

    /// The sentence for the user.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the user can do, if anything.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// What the log should know, if anything.
    pub fn context_text(&self) -> Option<&str> {
        self.0.context.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(context) = &self.0.context {
            write!(f, " ({context})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
