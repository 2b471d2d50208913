//! What mail says, in the language of whoever gets it.

use store::outbox;

/// Languages that mail is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// The language that a tag such as `zh-CN` means; English where it is no other.
    pub fn of(tag: Option<&str>) -> Self {
        let first = tag.unwrap_or_default().split(['-', '_']).next().unwrap_or_default();
        if first.eq_ignore_ascii_case("zh") { Self::Chinese } else { Self::English }
    }
}

/// What a mail is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Letter {
    /// Somebody gave this address as his.
    Verify {
        /// The user's name.
        user: String,
        /// Where he proves it.
        link: String,
    },
    /// Somebody signed up with an address that a user has already.
    HaveAccount {
        /// That user's name.
        user: String,
        /// Where he signs in.
        sign_in: String,
        /// Where he asks for a new password.
        forgot: String,
    },
    /// Somebody has forgotten his password.
    Reset {
        /// The user's name.
        user: String,
        /// Where he sets a new one.
        link: String,
    },
    /// An operator has let somebody in.
    Approved {
        /// The user's name.
        user: String,
        /// Where he signs in.
        sign_in: String,
    },
    /// An operator has not.
    NotApproved {
        /// The user's name.
        user: String,
    },
    /// Somebody is invited.
    Invitation {
        /// Who invites.
        by: String,
        /// Into which account; `None`: to have one of his own.
        into: Option<String>,
        /// Where he accepts.
        link: String,
    },
}

impl Letter {
    /// The mail's words. Names in it were chosen by people: they stay on one line.
    pub fn write(&self, site: &str, language: Language) -> outbox::Letter {
        let (subject, text) = match language {
            Language::English => self.english(&line(site)),
            Language::Chinese => self.chinese(&line(site)),
        };
        outbox::Letter { subject, text }
    }

    fn english(&self, site: &str) -> (String, String) {
        match self {
            Self::Verify { user, link } => (
                format!("{site}: confirm your e-mail address"),
                format!(
                    "Somebody has given this address for the user `{}` of {site}.\n\n\
                     If that was you, open this link within 24 hours:\n\n{link}\n\n\
                     If it was not you, do nothing: without the link nobody can use your address.\n",
                    line(user)
                ),
            ),
            Self::HaveAccount { user, sign_in, forgot } => (
                format!("{site}: you have an account already"),
                format!(
                    "Somebody wanted to sign up at {site} with this address. It belongs to your user `{}`.\n\n\
                     Sign in here:\n\n{sign_in}\n\nIf you have forgotten your password:\n\n{forgot}\n\n\
                     If it was not you, do nothing: nothing was changed.\n",
                    line(user)
                ),
            ),
            Self::Reset { user, link } => (
                format!("{site}: set a new password"),
                format!(
                    "Somebody has asked for a new password for your user `{}` of {site}.\n\n\
                     If that was you, open this link within one hour:\n\n{link}\n\n\
                     If it was not you, do nothing: your password stays as it is.\n",
                    line(user)
                ),
            ),
            Self::Approved { user, sign_in } => (
                format!("{site}: welcome"),
                format!(
                    "Your user `{}` of {site} is approved. Sign in here:\n\n{sign_in}\n\n\
                     You need nothing but the name or this address, and the password that you chose.\n",
                    line(user)
                ),
            ),
            Self::NotApproved { user } => (
                format!("{site}: your sign-up was not approved"),
                format!(
                    "The operator of {site} has not approved your user `{}`, and you cannot sign in.\n\n\
                     If you think that this is a mistake, write to the operator.\n",
                    line(user)
                ),
            ),
            Self::Invitation { by, into, link } => {
                let what = into.as_deref().map_or_else(
                    || format!("to rent GPUs at {site}"),
                    |account| format!("into the account `{}` at {site}", line(account)),
                );
                (
                    format!("{site}: you are invited"),
                    format!(
                        "{} invites you {what}.\n\nOpen this link to accept:\n\n{link}\n\n\
                         The link is good once. If you do not know who this is, do nothing.\n",
                        line(by)
                    ),
                )
            }
        }
    }

    fn chinese(&self, site: &str) -> (String, String) {
        match self {
            Self::Verify { user, link } => (
                format!("{site}：确认您的邮箱地址"),
                format!(
                    "有人为 {site} 的用户“{}”填写了此邮箱地址。\n\n\
                     如果是您本人，请在 24 小时内打开以下链接：\n\n{link}\n\n\
                     如果不是您本人，请忽略此邮件：没有该链接，任何人都无法使用您的地址。\n",
                    line(user)
                ),
            ),
            Self::HaveAccount { user, sign_in, forgot } => (
                format!("{site}：您已有账户"),
                format!(
                    "有人使用此邮箱地址在 {site} 注册。该地址属于您的用户“{}”。\n\n\
                     请在此登录：\n\n{sign_in}\n\n如果忘记了密码：\n\n{forgot}\n\n\
                     如果不是您本人，请忽略此邮件：没有任何更改。\n",
                    line(user)
                ),
            ),
            Self::Reset { user, link } => (
                format!("{site}：设置新密码"),
                format!(
                    "有人为您在 {site} 的用户“{}”申请了新密码。\n\n\
                     如果是您本人，请在一小时内打开以下链接：\n\n{link}\n\n\
                     如果不是您本人，请忽略此邮件：您的密码不会改变。\n",
                    line(user)
                ),
            ),
            Self::Approved { user, sign_in } => (
                format!("{site}：欢迎"),
                format!(
                    "您在 {site} 的用户“{}”已通过审核。请在此登录：\n\n{sign_in}\n\n\
                     使用用户名或此邮箱地址，以及您设置的密码即可。\n",
                    line(user)
                ),
            ),
            Self::NotApproved { user } => (
                format!("{site}：您的注册未通过审核"),
                format!(
                    "{site} 的运营方未通过您的用户“{}”，您无法登录。\n\n如果您认为有误，请联系运营方。\n",
                    line(user)
                ),
            ),
            Self::Invitation { by, into, link } => {
                let what = into.as_deref().map_or_else(
                    || format!("在 {site} 租用 GPU"),
                    |account| format!("加入 {site} 的账户“{}”", line(account)),
                );
                (
                    format!("{site}：邀请"),
                    format!(
                        "{} 邀请您{what}。\n\n请打开以下链接接受邀请：\n\n{link}\n\n\
                         该链接只能使用一次。如果您不认识邀请人，请忽略此邮件。\n",
                        line(by)
                    ),
                )
            }
        }
    }
}

/// A name as part of a sentence: line breaks in it would write the next sentence.
fn line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Letter> {
        let link = || "https://gpu.example/x#secret".to_owned();
        vec![
            Letter::Verify { user: "wei".into(), link: link() },
            Letter::HaveAccount { user: "wei".into(), sign_in: link(), forgot: link() },
            Letter::Reset { user: "wei".into(), link: link() },
            Letter::Approved { user: "wei".into(), sign_in: link() },
            Letter::Invitation { by: "wei".into(), into: None, link: link() },
            Letter::Invitation { by: "wei".into(), into: Some("lab".into()), link: link() },
        ]
    }

    #[test]
    fn every_letter_names_the_site_and_its_link_in_both_languages() {
        for letter in all() {
            let (en, zh) = (letter.write("Lab", Language::English), letter.write("Lab", Language::Chinese));
            assert_ne!(en.text, zh.text);
            for written in [en, zh] {
                assert!(written.subject.contains("Lab") && written.subject.lines().count() == 1);
                assert!(written.text.contains("\n\nhttps://gpu.example/x#secret\n"), "{written:?}");
                assert!(written.text.contains("wei"));
            }
        }
    }

    #[test]
    fn who_is_not_let_in_is_told_so_in_his_language() {
        let letter = Letter::NotApproved { user: "wei".into() };
        let (en, zh) = (letter.write("Lab", Language::English), letter.write("Lab", Language::Chinese));
        assert!(en.subject.contains("not approved") && en.text.contains("`wei`"), "{en:?}");
        assert!(zh.subject.contains("未通过") && zh.text.contains("“wei”"), "{zh:?}");
    }

    #[test]
    fn a_name_cannot_write_lines_of_its_own() {
        let letter = Letter::Reset { user: "a\r\n\r\nhttps://evil.example\n".into(), link: "L".into() };
        let written = letter.write("Site\nBcc: x", Language::English);
        assert_eq!(written.subject.lines().count(), 1);
        assert!(!written.text.lines().any(|l| l.starts_with("https://evil")));
    }

    #[test]
    fn tags_mean_languages() {
        for tag in ["zh", "zh-CN", "ZH_hans"] {
            assert_eq!(Language::of(Some(tag)), Language::Chinese);
        }
        for tag in [None, Some("en"), Some("zhx"), Some("")] {
            assert_eq!(Language::of(tag), Language::English);
        }
    }
}
