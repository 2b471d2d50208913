//! Who may do what: one table of roles and actions.

use base::{Cause, Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! words {
    ($(#[$about:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] #[schema(rename = $word)] $variant,)* }

        impl $name {
            /// Every one there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::ALL.iter().find(|one| one.as_str() == text).copied().ok_or_else(|| {
                    let all: Vec<_> = Self::ALL.iter().map(|one| one.as_str()).collect();
                    Error::new(Cause::InvalidRequest, format!("`{}` is no {}", text.escape_debug(), $what))
                        .hint(format!("choose from {}", all.join(", ")))
                })
            }
        }
    };
}

words! {
    /// What a user is in an account.
    Role, "role in an account" {
        /// Everything, and the only one who makes owners.
        Owner = "owner",
        /// Everything but owners.
        Admin = "admin",
        /// Rents and uses.
        Member = "member",
        /// Looks at the money.
        Billing = "billing",
        /// Looks.
        Viewer = "viewer",
    }
}

words! {
    /// What a user is to the whole site.
    OperatorRole, "operator role" {
        /// Everything.
        Admin = "admin",
        /// Helps renters: users, instances, machines.
        Support = "support",
        /// Money and prices.
        Finance = "finance",
        /// Sees everything and changes nothing.
        Auditor = "auditor",
    }
}

words! {
    /// What an API token is limited to.
    Scope, "scope" {
        /// Seeing.
        Read = "read",
        /// Renting, changing and using instances.
        Instances = "instances",
        /// Money.
        Money = "money",
        /// Members, invitations and projects of accounts.
        Members = "members",
        /// What operators do.
        Operate = "operate",
    }
}

words! {
    /// What somebody wants to do.
    Action, "action" {
        /// See instances, their use, events and reasons.
        SeeInstances = "see-instances",
        /// Rent, on the account's money.
        Rent = "rent",
        /// Stop, start and release.
        ChangeInstances = "change-instances",
        /// Commands, terminals and files inside.
        UseInstances = "use-instances",
        /// Balance and bill.
        SeeMoney = "see-money",
        /// Members, roles, quotas.
        SeeMembers = "see-members",
        /// Invite, remove, change roles below owner.
        ManageMembers = "manage-members",
        /// Make and unmake owners.
        ManageOwners = "manage-owners",
        /// Quotas of projects.
        SetProjectQuotas = "set-project-quotas",

        /// Accounts, users, machines, incidents and quotas of the site.
        SeeSite = "see-site",
        /// Prices as a draft, before they are loaded.
        CheckPrices = "check-prices",
        /// Load prices.
        LoadPrices = "load-prices",
        /// Make accounts and invitations to sign up.
        MakeAccounts = "make-accounts",
        /// Pay into accounts.
        TopUp = "top-up",
        /// Quotas of accounts.
        SetQuotas = "set-quotas",
        /// Approve, disable, give new passwords.
        ManageUsers = "manage-users",
        /// Operator roles and settings of the site.
        ManageSite = "manage-site",
        /// Close incidents.
        CloseIncidents = "close-incidents",
        /// Recompute the books.
        AuditBooks = "audit-books",
        /// Read who did what.
        ReadAuditLog = "read-audit-log",
        /// Copy everything, and accept a restored site.
        Backup = "backup",
    }
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Right {
    /// What is done.
    pub action: Action,
    /// Who may do it in his account.
    pub roles: &'static [Role],
    /// Who may do it anywhere.
    pub operators: &'static [OperatorRole],
    /// What an API token needs for it.
    pub scope: Scope,
}

const fn right(action: Action, roles: &'static [Role], operators: &'static [OperatorRole], scope: Scope) -> Right {
    Right { action, roles, operators, scope }
}

const ANY: &[Role] = Role::ALL;
const OPERATORS: &[OperatorRole] = OperatorRole::ALL;

/// The table. An action that has roles belongs to an account; one without is the
/// site's own.
pub const RIGHTS: &[Right] = {
    use OperatorRole::{Admin as Chief, Auditor, Finance, Support};
    use Role::{Admin, Billing, Member, Owner, Viewer};
    &[
        right(Action::SeeInstances, ANY, OPERATORS, Scope::Read),
        right(Action::Rent, &[Owner, Admin, Member], &[], Scope::Instances),
        right(Action::ChangeInstances, &[Owner, Admin, Member], &[Chief, Support], Scope::Instances),
        right(Action::UseInstances, &[Owner, Admin, Member], &[], Scope::Instances),
        right(Action::SeeMoney, &[Owner, Admin, Member, Billing, Viewer], OPERATORS, Scope::Read),
        right(Action::SeeMembers, ANY, OPERATORS, Scope::Read),
        right(Action::ManageMembers, &[Owner, Admin], &[Chief, Support], Scope::Members),
        right(Action::ManageOwners, &[Owner], &[Chief], Scope::Members),
        right(Action::SetProjectQuotas, &[Owner, Admin], &[Chief, Finance, Support], Scope::Members),
        right(Action::SeeSite, &[], OPERATORS, Scope::Operate),
        right(Action::CheckPrices, &[], &[Chief, Finance, Auditor], Scope::Operate),
        right(Action::LoadPrices, &[], &[Chief, Finance], Scope::Operate),
        right(Action::MakeAccounts, &[], &[Chief, Support], Scope::Operate),
        right(Action::TopUp, &[], &[Chief, Finance], Scope::Operate),
        right(Action::SetQuotas, &[], &[Chief, Finance, Support], Scope::Operate),
        right(Action::ManageUsers, &[], &[Chief, Support], Scope::Operate),
        right(Action::ManageSite, &[], &[Chief], Scope::Operate),
        right(Action::CloseIncidents, &[], &[Chief, Support], Scope::Operate),
        right(Action::AuditBooks, &[], &[Chief, Finance, Auditor], Scope::Operate),
        right(Action::ReadAuditLog, &[], &[Chief, Auditor], Scope::Operate),
        right(Action::Backup, &[], &[Chief], Scope::Operate),
    ]
};

impl Action {
    /// Its line of the table.
    pub const fn right(self) -> &'static Right {
        // The table has the actions in the order of their declaration; a test says so.
        &RIGHTS[self as usize]
    }
}

impl Right {
    /// Whether somebody with this role in the account may.
    pub fn allows(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether an operator with this role may.
    pub fn allows_operator(&self, role: OperatorRole) -> bool {
        self.operators.contains(&role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_its_own_line_in_order() {
        assert_eq!(RIGHTS.len(), Action::ALL.len());
        for (action, right) in Action::ALL.iter().zip(RIGHTS) {
            assert_eq!(right.action, *action);
            assert_eq!(action.right().action, *action);
        }
    }

    #[test]
    fn whoever_owns_may_everything_in_his_account_and_the_chief_everything_of_the_site() {
        for right in RIGHTS {
            if right.roles.is_empty() {
                assert!(right.allows_operator(OperatorRole::Admin), "{}", right.action);
                assert_eq!(right.scope, Scope::Operate, "{}", right.action);
            } else {
                assert!(right.allows(Role::Owner), "{}", right.action);
                assert_ne!(right.scope, Scope::Operate, "{}", right.action);
            }
        }
    }

    #[test]
    fn who_only_looks_changes_nothing() {
        use Action::{AuditBooks, CheckPrices, ReadAuditLog, SeeInstances, SeeMembers, SeeMoney, SeeSite};
        let looks = [SeeInstances, SeeMoney, SeeMembers, SeeSite, CheckPrices, AuditBooks, ReadAuditLog];
        for right in RIGHTS {
            let sees = looks.contains(&right.action);
            assert!(sees || !right.allows(Role::Viewer) && !right.allows(Role::Billing), "{}", right.action);
            assert!(sees || !right.allows_operator(OperatorRole::Auditor), "{}", right.action);
        }
    }

    #[test]
    fn no_operator_uses_what_renters_pay_for() {
        assert!(Action::Rent.right().operators.is_empty());
        assert!(Action::UseInstances.right().operators.is_empty());
    }

    #[test]
    fn words_come_back() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse::<Role>().unwrap(), *role);
        }
        let error = "boss".parse::<Role>().unwrap_err();
        assert!(error.hint_text().unwrap().contains("owner, admin, member"));
    }
}
