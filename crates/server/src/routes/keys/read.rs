//! Reading a public key that somebody pasted.

use base::{Cause, Error, Result};
use ssh_key::public::KeyData;
use ssh_key::{HashAlg, PublicKey};

/// Smallest RSA key, bits.
const LEAST_RSA_BITS: u32 = 2048;

/// Longest line that is looked at, bytes: an RSA key of 16384 bits has about 2.8 KiB.
const LONGEST: usize = 8 * 1024;

/// A public key that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// `SHA256:…` as OpenSSH prints it.
    pub fingerprint: String,
    /// Kind and key, without options and remark.
    pub line: String,
    /// Its remark.
    pub remark: String,
}

/// Reads the line of a `.pub` file. What was pasted is never a part of the refusal:
/// it may be a secret.
///
/// # Errors
/// `invalid-request` saying what is wrong.
pub fn read(text: &str) -> Result<Read> {
    let text = text.trim();
    let bad = |what: &str, hint: &str| Error::new(Cause::InvalidRequest, what.to_owned()).hint(hint.to_owned());
    let public = "paste the one line of the file that ends in .pub, such as ~/.ssh/id_ed25519.pub";
    if text.contains("PRIVATE KEY") || text.starts_with("PuTTY-User-Key-File") {
        return Err(bad(
            "this is a private key: never give it to anybody. It was not kept, but if others could see it here, make a new one",
            public,
        ));
    }
    if text.len() > LONGEST || text.lines().count() > 1 {
        return Err(bad("a public key is one line", public));
    }
    let key = PublicKey::from_openssh(text).map_err(|_| bad("this is not an SSH public key", public))?;
    let strong = match key.key_data() {
        KeyData::Ed25519(_) | KeyData::Ecdsa(_) | KeyData::SkEd25519(_) | KeyData::SkEcdsaSha2NistP256(_) => true,
        KeyData::Rsa(rsa) => {
            let bits = rsa.key_size();
            if bits < LEAST_RSA_BITS {
                let what = format!("this RSA key has {bits} bits; at least {LEAST_RSA_BITS} are needed");
                return Err(bad(&what, "make a new one: ssh-keygen -t ed25519"));
            }
            true
        }
        _ => false,
    };
    if !strong {
        return Err(bad("keys of this kind are not safe any more", "make a new one: ssh-keygen -t ed25519"));
    }
    let remark = key.comment().as_str_lossy().trim().to_owned();
    let bare = PublicKey::new(key.key_data().clone(), "");
    let line = bare.to_openssh().map_err(Error::internal)?.trim().to_owned();
    Ok(Read { fingerprint: key.fingerprint(HashAlg::Sha256).to_string(), line, remark })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

    #[test]
    fn a_key_is_kept_without_its_remark() {
        let read = read(&format!("  {ED25519}\n")).unwrap();
        assert_eq!(read.remark, "user@example.com");
        assert_eq!(read.line, ED25519.rsplit_once(' ').unwrap().0);
        assert_eq!(read.fingerprint, "SHA256:UCUiLr7Pjs9wFFJMDByLgc3NrtdU344OgUM45wZPcIQ");
    }

    #[test]
    fn what_is_no_public_key_is_refused_without_repeating_it() {
        for (text, word) in [
            ("", "not an SSH public key"),
            ("hunter2-secret", "not an SSH public key"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2-secret\n-----END OPENSSH PRIVATE KEY-----", "private key"),
            ("PuTTY-User-Key-File-3: ssh-ed25519\nhunter2-secret", "private key"),
            ("ssh-ed25519 AAAA\nssh-ed25519 hunter2-secret", "one line"),
            ("ssh-ed25519 hunter2-secret", "not an SSH public key"),
            (
                "command=\"sh\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti",
                "not an SSH",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message().contains(word), "{error}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
