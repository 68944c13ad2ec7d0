//! The access rule: who sees and who manages a record.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::partition::Partition;
use crate::scope::RequestScope;

/// Who of the tenant sees a record besides those who manage it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Nobody.
    #[default]
    Private,
    /// Every member.
    Tenant,
    /// The members of the record's groups.
    Groups,
}

impl Visibility {
    /// Every value, in the order of the contract.
    pub const ALL: [Self; 3] = [Self::Private, Self::Tenant, Self::Groups];

    /// Reads a stored value. One that we do not know reads as private: a newer or damaged row must not be shown to more people.
    pub fn from_stored(text: &str) -> Self {
        text.parse().unwrap_or_default()
    }

    /// As it is stored and sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Tenant => "tenant",
            Self::Groups => "groups",
        }
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no [`Visibility`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVisibility;

impl fmt::Display for UnknownVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The visibility must be private, tenant or groups.")
    }
}

impl std::error::Error for UnknownVisibility {}

impl FromStr for Visibility {
    type Err = UnknownVisibility;
    fn from_str(text: &str) -> Result<Self, UnknownVisibility> {
        Self::ALL.into_iter().find(|value| value.as_str() == text).ok_or(UnknownVisibility)
    }
}

/// What the rule needs to know of a record.
#[derive(Clone, Copy, Debug)]
pub struct Owned<'a> {
    /// Tenant of the record; none in GLOBAL.
    pub tenant: Option<&'a str>,
    /// Owner; a record without one matches nobody.
    pub owner: Option<&'a str>,
    /// Visibility.
    pub visibility: Visibility,
    /// Groups it is shared with; they count only with [`Visibility::Groups`].
    pub allowed_groups: &'a [String],
}

/// A caller of a plain host, that is one without a scope resolver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainCaller {
    /// The user, as text.
    pub user_id: Option<String>,
    /// What the session says.
    pub is_superuser: bool,
}

/// A caller, and with it the kind of host: opted in (a resolver gave the scope) or plain. Flags of the session do not exist for the first,
/// nor tenants for the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Of an opted-in host.
    OptedIn(RequestScope),
    /// Of a plain host.
    Plain(PlainCaller),
}

impl Caller {
    /// The user; an empty text counts as none.
    pub fn user_id(&self) -> Option<&str> {
        match self {
            Self::OptedIn(scope) => scope.user_id(),
            Self::Plain(plain) => plain.user_id.as_deref().filter(|id| !id.is_empty()),
        }
    }

    /// The scope, in an opted-in host.
    pub fn scope(&self) -> Option<&RequestScope> {
        match self {
            Self::OptedIn(scope) => Some(scope),
            Self::Plain(_) => None,
        }
    }

    /// The tenant that records of this caller belong to; none on a plain host, whatever its session says.
    pub fn tenant(&self) -> Option<&str> {
        self.scope().and_then(RequestScope::tenant)
    }

    /// The partition the caller works in: GLOBAL on a plain host; in an opted-in host the tenant's, and none without a (valid) tenant.
    pub fn partition(&self) -> Option<Partition> {
        match self {
            Self::OptedIn(scope) => scope.partition().ok().flatten(),
            Self::Plain(_) => Some(Partition::GLOBAL),
        }
    }
}

/// Why a record is seen, the strongest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// The caller owns it.
    Owner,
    /// The caller administers the tenant.
    Admin,
    /// It is shared with the tenant.
    Tenant,
    /// It is shared with a group of the caller.
    Groups,
    /// The host is plain.
    Global,
}

impl Access {
    /// As it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Tenant => "tenant",
            Self::Groups => "groups",
            Self::Global => "global",
        }
    }
}

/// What the caller may do with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// May read it. If not, it must be answered as if it did not exist.
    pub can_see: bool,
    /// May change and delete it, and read its definition. Implies `can_see`.
    pub can_manage: bool,
    /// Why it is seen; none when it is not.
    pub access: Option<Access>,
}

impl Verdict {
    const NONE: Self = Self { can_see: false, can_manage: false, access: None };
}

/// The access rule, for every kind of record.
///
/// No branch crosses tenants, not even a superuser's. In an opted-in host a record without a tenant is seen by nobody. A plain host
/// shows every GLOBAL record and lets its owner or a superuser manage it; rows of tenants are not its business, so one that was opted in
/// before does not show them to everybody.
pub fn access(caller: &Caller, record: &Owned<'_>) -> Verdict {
    let owns = record.owner.is_some() && record.owner == caller.user_id();
    match caller {
        Caller::Plain(plain) => {
            if record.tenant.is_some() {
                return Verdict::NONE;
            }
            Verdict { can_see: true, can_manage: owns || plain.is_superuser, access: Some(Access::Global) }
        }
        Caller::OptedIn(scope) => {
            if scope.tenant().is_none() || scope.tenant() != record.tenant {
                return Verdict::NONE;
            }
            let grouped = || record.allowed_groups.iter().any(|group| scope.groups.contains(group));
            let access = if owns {
                Access::Owner
            } else if scope.may_administer || scope.is_superuser {
                Access::Admin
            } else {
                match record.visibility {
                    Visibility::Tenant => Access::Tenant,
                    Visibility::Groups if grouped() => Access::Groups,
                    Visibility::Groups | Visibility::Private => return Verdict::NONE,
                }
            };
            Verdict { can_see: true, can_manage: matches!(access, Access::Owner | Access::Admin), access: Some(access) }
        }
    }
}

#[cfg(test)]
mod tests;
