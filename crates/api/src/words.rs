//! Words that stand for a few possibilities, as the description of the API tells
//! them. The fields themselves are text, so that a program reads the answers of a
//! newer server too.

use utoipa::ToSchema;

macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
        pub enum $name { $($(#[$doc])* #[schema(rename = $word)] $variant,)* }

        impl $name {
            /// Every one there is.
            pub const ALL: &[&str] = &[$($word,)*];
        }
    )*};
}

words! {
    /// Whether a user can be signed in.
    UserState {
        /// He can.
        Active = "active",
        /// His address has to be checked first.
        AwaitingEmail = "awaiting-email",
        /// An operator has to approve him first.
        AwaitingApproval = "awaiting-approval",
        /// An operator has shut him out.
        Disabled = "disabled",
    }
    /// Whether it is known who somebody is.
    IdentityState {
        /// It is not.
        None = "none",
        /// It is being found out.
        Pending = "pending",
        /// It is.
        Verified = "verified",
        /// It was looked at and not believed.
        Refused = "refused",
    }
    /// Who may sign up.
    SignUpRule {
        /// Nobody.
        Closed = "closed",
        /// Who is invited.
        Invitation = "invitation",
        /// Besides, who proves an e-mail address.
        Email = "email",
    }
    /// What is left to do after signing up.
    SignUpState {
        /// Nothing.
        Ready = "ready",
        /// To open the link that was mailed.
        CheckEmail = "check-email",
        /// To wait for an operator.
        AwaitingApproval = "awaiting-approval",
    }
    /// Where a session lives.
    SessionKind {
        /// On a command line.
        Login = "login",
        /// In a browser.
        Cookie = "cookie",
    }
    /// What kind of somebody acted.
    ActorKind {
        /// A user who was signed in.
        User = "user",
        /// A program with an API token.
        Token = "token",
        /// A program inside an instance.
        Instance = "instance",
        /// The site itself.
        System = "system",
        /// Nobody who is known.
        Stranger = "stranger",
    }
    /// How a deed ended.
    Ended {
        /// It was done.
        Done = "done",
        /// It was not allowed or not possible.
        Refused = "refused",
        /// It broke.
        Failed = "failed",
    }
}
