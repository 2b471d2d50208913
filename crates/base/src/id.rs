//! Typed, prefixed, sortable ids and the public slug of an instance.
//!
//! An id is `ins-` and 26 characters of Crockford base 32: 48 bits of
//! milliseconds, then 80 random bits, so ids sort by age and are DNS-safe.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Cause, Error, Result, Timestamp};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn base32(mut value: u128, len: usize) -> String {
    let mut text = vec![b'0'; len];
    for place in text.iter_mut().rev() {
        *place = ALPHABET[(value & 31) as usize];
        value >>= 5;
    }
    text.into_iter().map(char::from).collect()
}

/// The text behind an id's prefix, from the moment of creation and 80 random bits.
pub fn id_body(at: Timestamp, random: u128) -> String {
    let millis = u128::from((at.micros() / 1_000).max(0).unsigned_abs() & 0xffff_ffff_ffff);
    base32(millis << 80 | (random & ((1 << 80) - 1)), 26)
}

/// Checks that `text` is `prefix-` and 26 base-32 characters.
///
/// # Errors
/// `invalid-request` naming the kind of id that was expected.
pub fn check_id(text: &str, prefix: &str) -> Result<()> {
    let ok = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|body| body.len() == 26 && body.bytes().all(|b| ALPHABET.contains(&b)));
    if ok {
        return Ok(());
    }
    Err(Error::new(Cause::InvalidRequest, format!("`{}` is not an id that begins with {prefix}-", text.escape_debug())))
}

/// Defines one id type per noun.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schema(value_type = String)]
        pub struct $name(String);

        impl $name {
            /// The prefix of this kind of id.
            pub const PREFIX: &str = $prefix;

            /// A new id from the moment of creation and random bits (80 are used).
            pub fn new(at: Timestamp, random: u128) -> Self {
                Self(format!("{}-{}", $prefix, id_body(at, random)))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl std::str::FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                check_id(text, $prefix).map(|()| Self(text.to_owned()))
            }
        }
        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                check_id(&text, $prefix).map(|()| Self(text))
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    )*};
}

ids! {
    /// A rented machine.
    InstanceId = "ins";
    /// Who pays.
    AccountId = "acc";
    /// Who signs in.
    UserId = "usr";
    /// A bearer token (the row, never the secret).
    TokenId = "tok";
    /// A machine with devices.
    NodeId = "nod";
    /// One physical accelerator.
    DeviceId = "dev";
    /// A stretch of time at one rate.
    SegmentId = "seg";
    /// One entry of the ledger.
    PostingId = "pst";
    /// Something that happened.
    EventId = "evt";
    /// A missed deadline or a broken law, with an owner.
    IncidentId = "inc";
    /// One live hold of a device by an instance.
    AllocationId = "alc";
    /// An entry of the audit log.
    AuditId = "log";
    /// An invitation (the row, never the secret).
    InvitationId = "inv";
    /// An SSH public key.
    KeyId = "key";
    /// A message that has to leave the site.
    MessageId = "msg";
}

/// The public name of an instance: globally unique, DNS-safe, kept across stop,
/// resize and move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String)]
pub struct Slug(String);

impl Slug {
    /// A new slug from random bits (49 are used): one letter, then nine
    /// characters, so that it is a valid host name and never looks like a number.
    pub fn new(random: u128) -> Self {
        let first = ALPHABET[10 + (random & 15) as usize];
        Self(format!("{}{}", char::from(first), base32(random >> 4, 9)))
    }

    /// The slug as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Slug {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        let ok = text.len() == 10
            && text.bytes().all(|b| ALPHABET.contains(&b))
            && text.starts_with(|c: char| c.is_ascii_lowercase());
        if ok {
            return Ok(Self(text));
        }
        Err(Error::new(Cause::InvalidRequest, format!("`{}` is not a slug", text.escape_debug())))
    }
}

impl std::str::FromStr for Slug {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::try_from(text.to_owned())
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> String {
        slug.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_sort_by_age_and_come_back(a in 0..4_000_000_000_000_000i64, d in 1_000..1_000_000i64, r in any::<u128>(), q in any::<u128>()) {
            let old = InstanceId::new(Timestamp::from_micros(a), r);
            let new = InstanceId::new(Timestamp::from_micros(a + d), q);
            prop_assert!(old < new);
            prop_assert_eq!(old.as_str().parse::<InstanceId>().unwrap(), old.clone());
            prop_assert!(old.as_str().parse::<AccountId>().is_err());
        }

        #[test]
        fn slugs_are_dns_labels(r in any::<u128>()) {
            let slug = Slug::new(r);
            prop_assert!(slug.as_str().parse::<Slug>().is_ok());
            prop_assert!(slug.as_str().starts_with(|c: char| c.is_ascii_lowercase()));
        }
    }
}
