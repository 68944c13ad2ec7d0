//! The rule for writing a record's visibility, on create and on change.

use std::fmt;

use crate::access::{Caller, Visibility};

/// Why a visibility cannot be written. All are answered with status 422.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingError {
    /// Sharing needs a tenant, and the caller has none; on a plain host nobody has.
    TenantRequired,
    /// `groups` without a group.
    GroupsRequired,
    /// A group the caller is not in.
    GroupsNotAllowed,
    /// Groups with another visibility than `groups`.
    InvalidVisibility,
}

impl SharingError {
    /// The error code.
    pub fn code(self) -> &'static str {
        match self {
            Self::TenantRequired => "tenant_required",
            Self::GroupsRequired => "groups_required",
            Self::GroupsNotAllowed => "groups_not_allowed",
            Self::InvalidVisibility => "invalid_visibility",
        }
    }
}

impl fmt::Display for SharingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TenantRequired => "Without a tenant a record can only be private, without groups.",
            Self::GroupsRequired => "The visibility groups needs at least one group in allowed_groups.",
            Self::GroupsNotAllowed => "allowed_groups may hold only groups you belong to.",
            Self::InvalidVisibility => "allowed_groups must be empty unless the visibility is groups.",
        })
    }
}

impl std::error::Error for SharingError {}

/// Whether the caller may give a record this visibility and these groups. That it manages the record was checked before.
///
/// Administrators and superusers of the tenant may name groups they are not in.
///
/// # Errors
/// The first of the errors that holds, in their order.
pub fn check_sharing(caller: &Caller, visibility: Visibility, allowed_groups: &[String]) -> Result<(), SharingError> {
    let Some(scope) = caller.scope().filter(|scope| scope.tenant().is_some()) else {
        return if visibility == Visibility::Private && allowed_groups.is_empty() {
            Ok(())
        } else {
            Err(SharingError::TenantRequired)
        };
    };
    if visibility != Visibility::Groups {
        return if allowed_groups.is_empty() { Ok(()) } else { Err(SharingError::InvalidVisibility) };
    }
    if allowed_groups.is_empty() {
        return Err(SharingError::GroupsRequired);
    }
    let exempt = scope.may_administer || scope.is_superuser;
    if exempt || allowed_groups.iter().all(|group| scope.groups.contains(group)) {
        Ok(())
    } else {
        Err(SharingError::GroupsNotAllowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::PlainCaller;
    use crate::scope::RequestScope;

    fn caller(tenant: Option<&str>, admin: bool, superuser: bool) -> Caller {
        let mut scope = RequestScope::new(Some("u1"), tenant);
        scope.groups = ["g1".to_owned(), "g2".to_owned()].into();
        scope.may_administer = admin;
        scope.is_superuser = superuser;
        Caller::OptedIn(scope)
    }

    #[test]
    fn the_rule_in_its_order() {
        use SharingError::*;
        use Visibility::*;
        let member = caller(Some("acme"), false, false);
        let admin = caller(Some("acme"), true, false);
        let superuser = caller(Some("acme"), false, true);
        let nobody = caller(None, true, true);
        let empty = caller(Some(""), false, false);
        let plain = Caller::Plain(PlainCaller { user_id: Some("p1".into()), is_superuser: true });
        type Case<'a> = (&'a Caller, Visibility, &'a [&'a str], Result<(), SharingError>);
        let cases: &[Case<'_>] = &[
            (&member, Private, &[], Ok(())),
            (&member, Tenant, &[], Ok(())),
            (&member, Groups, &["g1", "g2"], Ok(())),
            (&member, Groups, &[], Err(GroupsRequired)),
            (&member, Groups, &["g1", "g9"], Err(GroupsNotAllowed)),
            (&member, Private, &["g1"], Err(InvalidVisibility)),
            (&member, Private, &["g9"], Err(InvalidVisibility)),
            (&member, Tenant, &["g1"], Err(InvalidVisibility)),
            (&admin, Groups, &["g9"], Ok(())),
            (&superuser, Groups, &["g9"], Ok(())),
            (&admin, Groups, &[], Err(GroupsRequired)),
            (&superuser, Private, &["g9"], Err(InvalidVisibility)),
            (&nobody, Private, &[], Ok(())),
            (&nobody, Tenant, &[], Err(TenantRequired)),
            (&nobody, Groups, &[], Err(TenantRequired)),
            (&nobody, Groups, &["g9"], Err(TenantRequired)),
            (&empty, Tenant, &[], Err(TenantRequired)),
            (&plain, Private, &[], Ok(())),
            (&plain, Tenant, &[], Err(TenantRequired)),
            (&plain, Groups, &[], Err(TenantRequired)),
            (&plain, Groups, &["g1"], Err(TenantRequired)),
            (&plain, Private, &["g1"], Err(TenantRequired)),
        ];
        for (caller, visibility, groups, expected) in cases {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            assert_eq!(check_sharing(caller, *visibility, &groups), *expected, "{caller:?} {visibility} {groups:?}");
        }
    }
}
