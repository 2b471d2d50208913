//! Every refusal, stop and failure has exactly one of these causes.

use crate::Kind;

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $kind:ident;)*) => {
        /// Why something was refused, stopped or failed. The code is stable and
        /// machine-readable; the message beside it is for people.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $($(#[$doc])* $name,)* }

        impl Cause {
            /// Every cause there is, for documents and tests.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The stable code, kebab-case.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What the caller should do about it.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }
        }
    };
}

causes! {
    /// The request cannot be understood or breaks a rule that its sender can see.
    InvalidRequest = "invalid-request", Invalid;
    /// Not a number of money, or out of range.
    InvalidAmount = "invalid-amount", Invalid;
    /// A count below one.
    InvalidCount = "invalid-count", Invalid;
    /// A name with control characters, empty or too long.
    InvalidName = "invalid-name", Invalid;
    /// The catalogue knows no such GPU model.
    UnknownGpu = "unknown-gpu", Invalid;
    /// The name fits several catalogue entries.
    AmbiguousGpu = "ambiguous-gpu", Invalid;
    /// The price book has no price for this model and plan.
    NoPrice = "no-price", Invalid;
    /// A price book with errors.
    InvalidPriceBook = "invalid-price-book", Invalid;
    /// The body is larger than the limit.
    BodyTooLarge = "body-too-large", Invalid;
    /// A plan, option or isolation that this server does not offer.
    NotOffered = "not-offered", Invalid;
    /// More cards than any node of this server has.
    MoreThanExist = "more-than-exist", Refused;
    /// Enough cards exist, but they are taken now.
    NoCapacity = "no-capacity", Refused;
    /// Somebody else took the last card first.
    LostRace = "lost-race", Refused;
    /// The balance does not cover the hold.
    NotEnoughFunds = "not-enough-funds", Refused;
    /// The object is in a state in which this cannot be done.
    WrongState = "wrong-state", Conflict;
    /// The same idempotency key came with another request.
    IdempotencyMismatch = "idempotency-mismatch", Conflict;
    /// The name is taken.
    AlreadyExists = "already-exists", Conflict;
    /// A name that fits several objects.
    AmbiguousName = "ambiguous-name", Invalid;
    /// No such object, or not the caller's to see.
    NotFound = "not-found", NotFound;
    /// No token, or one that is not valid.
    Unauthenticated = "unauthenticated", Unauthenticated;
    /// Signed in, but without this right.
    Forbidden = "forbidden", Forbidden;
    /// A browser's request that did not come from a page of this site.
    CsrfMissing = "csrf-missing", Forbidden;
    /// The password is right; the second factor is asked for.
    SecondFactorNeeded = "second-factor-needed", Unauthenticated;
    /// The code of the second factor is wrong or was used.
    SecondFactorWrong = "second-factor-wrong", Unauthenticated;
    /// The password is right; the user has to prove his address first.
    AwaitingEmail = "awaiting-email", Forbidden;
    /// The password is right; an operator has to approve the user first.
    AwaitingApproval = "awaiting-approval", Forbidden;
    /// The password is right; an operator has shut the user out.
    UserDisabled = "user-disabled", Forbidden;
    /// The site does not take new users in this way.
    SignUpClosed = "sign-up-closed", Forbidden;
    /// A password that is too easily guessed.
    WeakPassword = "weak-password", Invalid;
    /// The account may have no more of this.
    QuotaExceeded = "quota-exceeded", Refused;
    /// The user has to be identified first.
    IdentityNeeded = "identity-needed", Refused;
    /// Too many requests.
    RateLimited = "rate-limited", Unavailable;
    /// A part of the service cannot be reached now.
    Unavailable = "unavailable", Unavailable;
    /// The site was restored from a backup, and its operator has not accepted its state yet.
    InRecovery = "in-recovery", Unavailable;
    /// Our own fault.
    Internal = "internal", Internal;

    /// The renter stopped or released it.
    ByRenter = "by-renter", Refused;
    /// An operator stopped or released it.
    ByOperator = "by-operator", Refused;
    /// An idle rule stopped it.
    Idle = "idle", Refused;
    /// A timer rule stopped it.
    Timer = "timer", Refused;
    /// The instance's budget is used up.
    BudgetSpent = "budget-spent", Refused;
    /// The account's money ended.
    MoneyEnded = "money-ended", Refused;
    /// The job's command ended.
    CommandEnded = "command-ended", Refused;
    /// The first process of the instance died.
    InitDied = "init-died", Refused;
    /// The node is out of reach or was restarted.
    NodeLost = "node-lost", Unavailable;
    /// A device of the instance was lost.
    DeviceLost = "device-lost", Unavailable;
    /// No room on the node's disk.
    DiskFull = "disk-full", Unavailable;
    /// The engine could not do it; its own words are in the message.
    EngineFailed = "engine-failed", Unavailable;
    /// The host lacks something the engine needs; the hint names it.
    HostIncomplete = "host-incomplete", Unavailable;
    /// It was not proven ready within its deadline.
    NotReadyInTime = "not-ready-in-time", Unavailable;
    /// A newer holder of the object exists; the order is stale.
    StaleGeneration = "stale-generation", Conflict;
    /// A device is held by another live instance.
    DeviceBusy = "device-busy", Conflict;
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.code())
    }
}

impl std::str::FromStr for Cause {
    type Err = crate::Error;
    fn from_str(code: &str) -> crate::Result<Self> {
        Self::ALL.iter().copied().find(|c| c.code() == code).ok_or_else(|| {
            crate::Error::new(Self::InvalidRequest, format!("`{}` is not a cause code", code.escape_debug()))
        })
    }
}

impl serde::Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.code())
    }
}

impl<'de> serde::Deserialize<'de> for Cause {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Cause {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::ALL.iter().map(|c| c.code())))
            .into()
    }
}
impl utoipa::ToSchema for Cause {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_come_back() {
        for (i, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(cause.code().parse::<Cause>().unwrap(), *cause);
            assert!(Cause::ALL[..i].iter().all(|c| c.code() != cause.code()), "{cause} twice");
        }
    }
}
