//! The rule against its formula, over every combination.

use super::*;

const TENANTS: [Option<&str>; 4] = [None, Some(""), Some("acme"), Some("globex")];
const USERS: [Option<&str>; 3] = [None, Some("u1"), Some("u2")];

fn groups() -> Vec<Vec<String>> {
    [&[][..], &["g1"], &["g2"], &["g1", "g2"]]
        .iter()
        .map(|names| names.iter().map(|name| (*name).to_owned()).collect())
        .collect()
}

/// Every opted-in caller over two tenants, two users, groups and rights.
fn scopes() -> Vec<RequestScope> {
    let mut all = Vec::new();
    for tenant in TENANTS {
        for user in USERS {
            for groups in groups() {
                for bits in 0..16u8 {
                    let mut scope = RequestScope::new(user, tenant);
                    scope.groups = groups.iter().cloned().collect();
                    scope.is_superuser = bits & 1 != 0;
                    scope.may_administer = bits & 2 != 0;
                    scope.may_author = bits & 4 != 0;
                    scope.studio_enabled = bits & 8 != 0;
                    all.push(scope);
                }
            }
        }
    }
    all
}

fn each_record(mut check: impl FnMut(Owned<'_>)) {
    for tenant in [None, Some("acme"), Some("globex")] {
        for owner in USERS {
            for visibility in Visibility::ALL {
                for allowed_groups in &groups() {
                    check(Owned { tenant, owner, visibility, allowed_groups });
                }
            }
        }
    }
}

#[test]
fn opted_in_is_the_formula() {
    let mut seen = [0; 5];
    for scope in scopes() {
        let caller = Caller::OptedIn(scope.clone());
        each_record(|record| {
            // The formula of the contract, written out.
            let tenant = scope.tenant();
            let in_tenant = tenant.is_some() && record.tenant.is_some() && tenant == record.tenant;
            let owns = in_tenant && record.owner.is_some() && record.owner == scope.user_id();
            let administers = in_tenant && (scope.may_administer || scope.is_superuser);
            let by_tenant = in_tenant && record.visibility == Visibility::Tenant;
            let by_groups = in_tenant
                && record.visibility == Visibility::Groups
                && record.allowed_groups.iter().any(|group| scope.groups.contains(group));
            let tag = [
                (owns, Access::Owner),
                (administers, Access::Admin),
                (by_tenant, Access::Tenant),
                (by_groups, Access::Groups),
            ]
            .into_iter()
            .find_map(|(holds, tag)| holds.then_some(tag));
            let expected = Verdict {
                can_see: owns || administers || by_tenant || by_groups,
                can_manage: owns || administers,
                access: tag,
            };
            assert_eq!(access(&caller, &record), expected, "{scope:?} {record:?}");
            seen[tag.map_or(4, |tag| tag as usize)] += 1;
        });
    }
    assert!(seen.iter().all(|count| *count > 0), "a case was never met: {seen:?}");
}

#[test]
fn no_branch_crosses_tenants() {
    for scope in scopes() {
        let caller = Caller::OptedIn(scope.clone());
        each_record(|record| {
            if record.tenant.is_none() || record.tenant != scope.tenant() {
                assert_eq!(access(&caller, &record), Verdict::NONE, "{scope:?} {record:?}");
            }
        });
    }
    for is_superuser in [false, true] {
        let caller = Caller::Plain(PlainCaller { user_id: Some("u1".into()), is_superuser });
        each_record(|record| {
            assert_eq!(access(&caller, &record).can_see, record.tenant.is_none());
        });
    }
}

#[test]
fn rights_that_are_not_access_change_nothing() {
    for scope in scopes() {
        let mut other = scope.clone();
        other.may_author = !scope.may_author;
        other.studio_enabled = !scope.studio_enabled;
        let (one, two) = (Caller::OptedIn(scope), Caller::OptedIn(other));
        each_record(|record| assert_eq!(access(&one, &record), access(&two, &record)));
    }
}

#[test]
fn plain_hosts_show_all_and_owners_manage() {
    for user in [None, Some(""), Some("u1"), Some("u2")] {
        for is_superuser in [false, true] {
            let caller = Caller::Plain(PlainCaller { user_id: user.map(str::to_owned), is_superuser });
            assert_eq!(caller.partition(), Some(Partition::GLOBAL));
            for owner in [None, Some(""), Some("u1"), Some("u2")] {
                let record = Owned { tenant: None, owner, visibility: Visibility::Private, allowed_groups: &[] };
                let owns = matches!((user, owner), (Some("u1"), Some("u1")) | (Some("u2"), Some("u2")));
                assert_eq!(
                    access(&caller, &record),
                    Verdict { can_see: true, can_manage: owns || is_superuser, access: Some(Access::Global) },
                    "{caller:?} {record:?}"
                );
            }
        }
    }
}

#[test]
fn stored_visibility() {
    for value in Visibility::ALL {
        assert_eq!(Visibility::from_stored(value.as_str()), value);
        assert_eq!(value.as_str().parse(), Ok(value));
    }
    for text in ["", "public", "Tenant", "tenant ", "GROUPS"] {
        assert_eq!(Visibility::from_stored(text), Visibility::Private);
        assert_eq!(text.parse::<Visibility>(), Err(UnknownVisibility));
    }
}

#[test]
fn partitions_of_callers() {
    let of = |tenant| Caller::OptedIn(RequestScope::new(Some("u1"), tenant)).partition();
    assert_eq!(of(Some("acme")), Partition::tenant("acme").ok());
    assert_eq!(of(None), None);
    assert_eq!(of(Some("-")), None);
}
