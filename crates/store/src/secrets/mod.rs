//! Secrets at rest: what renters give as environment and start command is
//! encrypted in the database with keys that are kept outside it.
//!
//! A sealed value is `enc:<key id>:<base64 of nonce, ciphertext and tag>`,
//! AES-256-GCM with a random nonce; table, column and row are bound to it, so a
//! value that is copied elsewhere does not open. Values written before there was
//! a key are read as they are, until the rewriting job reaches them.

mod file;
mod rewrite;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use base::{Cause, Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

pub use file::{add_key, forget_key, read_or_make};
pub(crate) use rewrite::check;
pub use rewrite::{Progress, rewrite, used, used_at};

/// Beginning of every key, so that a leaked one is recognised.
const KEY_PREFIX: &str = "suanli-key:";
const SEALED: &str = "enc:";
/// Hex digits of a key's id.
const ID_LENGTH: usize = 8;

/// Where a secret lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub table: &'static str,
    pub column: &'static str,
}

pub(crate) const ENV: Place = Place { table: "instances", column: "env" };
pub(crate) const ON_START: Place = Place { table: "instances", column: "on_start" };
/// A known text, sealed: two servers with different keys notice at once.
pub(crate) const CANARY: Place = Place { table: "site", column: "value" };
/// What the operator has set, with passwords of other services.
pub(crate) const SETTINGS: Place = Place { table: "site", column: "value" };
/// Key in `site` of the settings.
pub(crate) const SETTINGS_KEY: &str = "settings";
pub(crate) const TOTP: Place = Place { table: "users", column: "totp_secret" };
/// The token inside an instance, until it is there.
pub(crate) const HANDOVER: Place = Place { table: "api_tokens", column: "handover" };
pub(crate) const OUTBOX: Place = Place { table: "outbox", column: "data" };
pub(crate) const FLOW: Place = Place { table: "oidc_flows", column: "data" };

struct Key {
    id: String,
    text: String,
    cipher: LessSafeKey,
}

impl Key {
    fn parse(text: &str) -> Result<Self> {
        let bad = |why: &str| {
            Error::new(Cause::InvalidRequest, format!("a secret key is not usable: {why}"))
                .hint("a key is one line, `suanli-key:` and 32 bytes in base64; `suanli secret rotate` makes one")
        };
        let bytes = text.strip_prefix(KEY_PREFIX).ok_or_else(|| bad("it does not begin with `suanli-key:`"))?;
        let bytes = BASE64.decode(bytes).map_err(|_| bad("it is not base64"))?;
        let cipher = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| bad("it does not have 32 bytes"))?;
        let digest = ring::digest::digest(&ring::digest::SHA256, &[b"suanli key id", bytes.as_slice()].concat());
        let id = digest.as_ref().iter().take(ID_LENGTH / 2).map(|b| format!("{b:02x}")).collect();
        Ok(Self { id, text: text.to_owned(), cipher: LessSafeKey::new(cipher) })
    }
}

/// Keys in the order of the file: the first seals, all open. Its `Debug` form
/// names only ids.
#[derive(Clone)]
pub struct Keyring(Vec<Arc<Key>>);

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

/// Keys that this process was ever given. Rows are read by functions that know
/// nothing but a connection, so what opens them cannot come as an argument; an id
/// is made from its key, so an entry can never mean another key.
static KNOWN: RwLock<BTreeMap<String, Arc<Key>>> = RwLock::new(BTreeMap::new());

impl Keyring {
    /// Reads keys from text: one a line or separated by blanks, `#` begins a remark.
    ///
    /// # Errors
    /// `invalid-request` for a line that is no key, or no key at all.
    pub fn parse(text: &str) -> Result<Self> {
        let words = text.lines().map(|line| line.split('#').next().unwrap_or_default()).flat_map(str::split_whitespace);
        let mut keys: Vec<Arc<Key>> = Vec::new();
        for word in words {
            let key = Key::parse(word)?;
            if keys.iter().all(|k| k.id != key.id) {
                keys.push(Arc::new(key));
            }
        }
        if keys.is_empty() {
            return Err(Error::new(Cause::InvalidRequest, "there is no secret key in it")
                .hint("bring the right key file, or remove the empty one to have a new key made"));
        }
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(keys.iter().map(|key| (key.id.clone(), key.clone())));
        Ok(Self(keys))
    }

    /// A fresh key as text.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn generate() -> Result<String> {
        let mut bytes = [0u8; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::internal("no random numbers"))?;
        Ok(format!("{KEY_PREFIX}{}", BASE64.encode(bytes)))
    }

    /// Ids of the keys, the one that seals first.
    pub fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|key| key.id.as_str()).collect()
    }

    fn first(&self) -> Result<&Key> {
        self.0.first().map(AsRef::as_ref).ok_or_else(|| Error::internal("an empty keyring"))
    }

    /// What every value begins with that the first key has sealed.
    pub(crate) fn mark(&self) -> Result<String> {
        Ok(format!("{SEALED}{}:", self.first()?.id))
    }

    /// Seals a value for one place.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub(crate) fn seal(&self, place: Place, row: &str, plain: &str) -> Result<String> {
        let key = self.first()?;
        let mut nonce = [0u8; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Error::internal("no random numbers"))?;
        let mut text = plain.as_bytes().to_vec();
        let bound = Aad::from(bound(place, row));
        let tag = key
            .cipher
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), bound, &mut text)
            .map_err(|_| Error::internal("a secret could not be sealed"))?;
        let whole = [&nonce[..], &text, tag.as_ref()].concat();
        Ok(format!("{SEALED}{}:{}", key.id, BASE64.encode(whole)))
    }
}

impl crate::Tx<'_> {
    /// A value for one place, sealed where this store was given keys.
    pub(crate) fn sealed(&self, place: Place, row: &str, plain: &str) -> Result<String> {
        self.keys().map_or_else(|| Ok(plain.to_owned()), |keys| keys.seal(place, row, plain))
    }
}

fn bound(place: Place, row: &str) -> Vec<u8> {
    [place.table, place.column, row].join("\0").into_bytes()
}

/// Id of the key that sealed a value; `None`: it is plain.
pub(crate) fn key_id(text: &str) -> Option<&str> {
    let (id, _) = text.strip_prefix(SEALED)?.split_once(':')?;
    (id.len() == ID_LENGTH && id.bytes().all(|b| b.is_ascii_hexdigit())).then_some(id)
}

/// The plain value, whichever key has sealed it.
///
/// # Errors
/// `host-incomplete` when this process was not given that key; `internal` when
/// the value was changed or moved.
pub(crate) fn open(place: Place, row: &str, text: String) -> Result<String> {
    let Some(id) = key_id(&text) else {
        return Ok(text);
    };
    let key = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
    let key = key.ok_or_else(|| missing(&[id]))?;
    let broken = || Error::internal(format!("{}.{} of {row} does not open with its key", place.table, place.column));
    let data = text.get(SEALED.len() + ID_LENGTH + 1..).unwrap_or_default();
    let mut data = BASE64.decode(data).map_err(|_| broken())?;
    if data.len() < NONCE_LEN {
        return Err(broken());
    }
    let mut sealed = data.split_off(NONCE_LEN);
    let nonce = Nonce::try_assume_unique_for_key(&data).map_err(|_| broken())?;
    let plain = key.cipher.open_in_place(nonce, Aad::from(bound(place, row)), &mut sealed).map_err(|_| broken())?;
    String::from_utf8(plain.to_vec()).map_err(|_| broken())
}

/// The refusal to go on without keys.
pub(crate) fn missing(ids: &[&str]) -> Error {
    Error::new(
        Cause::HostIncomplete,
        format!("the database has values sealed with the secret key {}, which is not here", ids.join(", ")),
    )
    .hint("bring the key file that belongs to this database and name it with --secret-key FILE")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(keys: &[&str]) -> Keyring {
        Keyring::parse(&keys.join("\n")).unwrap()
    }

    #[test]
    fn a_value_opens_only_where_it_was_sealed() {
        let keys = ring(&[&Keyring::generate().unwrap()]);
        let sealed = keys.seal(ENV, "ins-1", "password=1").unwrap();
        assert!(!sealed.contains("password"));
        assert_eq!(open(ENV, "ins-1", sealed.clone()).unwrap(), "password=1");
        for (place, row) in [(ENV, "ins-2"), (ON_START, "ins-1")] {
            assert_eq!(open(place, row, sealed.clone()).unwrap_err().cause(), Cause::Internal);
        }
        let changed = format!("{}AAAA", &sealed[..sealed.len() - 4]);
        assert!(open(ENV, "ins-1", changed).is_err());
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let (old, new) = (Keyring::generate().unwrap(), Keyring::generate().unwrap());
        let sealed = ring(&[&old]).seal(ENV, "a", "x").unwrap();
        let both = ring(&[&new, "# the one before", &old]);
        assert_eq!(both.ids().len(), 2);
        assert!(both.seal(ENV, "a", "x").unwrap().starts_with(&both.mark().unwrap()));
        assert_eq!(key_id(&sealed), Some(both.ids()[1]));
        assert_eq!(open(ENV, "a", sealed).unwrap(), "x");
    }

    #[test]
    fn what_is_not_sealed_is_plain() {
        for plain in ["{}", "enc:", "enc:xyz:abc", "echo enc:00000000:", ""] {
            assert_eq!(open(ENV, "a", plain.into()).unwrap(), plain);
        }
        assert_eq!(open(ENV, "a", "enc:00000000:AAAA".into()).unwrap_err().cause(), Cause::HostIncomplete);
    }

    #[test]
    fn keys_never_show_themselves() {
        let text = Keyring::generate().unwrap();
        let shown = format!("{:?}", ring(&[&text]));
        assert!(!shown.contains(&text[KEY_PREFIX.len()..]), "{shown}");
    }

    #[test]
    fn bad_keys_are_refused() {
        for bad in ["", "# nothing", "suanli-key:short", "AAAA", "suanli-key:AAAA"] {
            assert_eq!(Keyring::parse(bad).unwrap_err().cause(), Cause::InvalidRequest, "{bad}");
        }
    }
}
