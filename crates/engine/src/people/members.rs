//! Operations on the memberships of the caller's tenant.

use super::{Administered, group, last_admin, tenant};
use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::people::{
    DeleteMember, GetMember, ListMembers, Member, MemberDeleted, MemberList, MemberPut, PutMember, Role, UserPath,
};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Code, Micros, Result, StudioError};
use rules::Partition;
use serde_json::json;
use std::collections::BTreeSet;
use store::Tx;
use store::repo::{people, tokens};
use trust::journal::{self, Entry};

fn absent(user: &str) -> StudioError {
    StudioError::not_found("User", user)
}

impl Serve<ListMembers> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<MemberList>> {
        let tenant = tenant(&who)?;
        let members = self.store.read::<_, Failure, _>(|tx| Ok(people::members(tx, tenant.as_str())?)).await?;
        Ok(Json(MemberList { count: members.len(), members }))
    }
}

impl Serve<GetMember> for Engine {
    async fn serve(&self, who: Admitted, path: UserPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<Member>> {
        let tenant = tenant(&who)?;
        let member =
            self.store.read::<_, Failure, _>(|tx| Ok(people::get_member(tx, tenant.as_str(), &path.user)?)).await?;
        member.map(Json).ok_or_else(|| absent(&path.user))
    }
}

/// Whether the caller may give this user a role: a member, or for an administrator of the platform anybody.
fn may_put(tx: &mut dyn Tx, who: &Admitted, tenant: &Partition, user: &str) -> std::result::Result<(), Failure> {
    let known = people::get_member(tx, tenant.as_str(), user)?.is_some()
        || (who.scope.is_superuser && people::user_flags(tx, user)?.is_some());
    if known { Ok(()) } else { Err(absent(user).into()) }
}

/// Refuses a change by others of the membership of who administers the platform: it is their way into the tenant.
fn keep_the_platforms(tx: &mut dyn Tx, who: &Admitted, before: &Member) -> std::result::Result<(), Failure> {
    let administers = people::user_flags(tx, &before.user)?.is_some_and(|(_, administers)| administers);
    if administers && !who.scope.is_superuser {
        let why = "Only an administrator of the platform may change the membership of one.";
        return Err(StudioError::new(Code::AccessDenied, 403, why).into());
    }
    Ok(())
}

/// Refuses what would leave the tenant without an active administrator.
fn keep_an_admin(tx: &mut dyn Tx, before: &Member) -> std::result::Result<(), Failure> {
    let active = people::user_flags(tx, &before.user)?.is_some_and(|(active, _)| active);
    if before.role == Role::Admin && active && people::other_admins(tx, &before.tenant, &before.user)? == 0 {
        return Err(last_admin().into());
    }
    Ok(())
}

impl Serve<PutMember> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: UserPath,
        _: Late<NoQuery>,
        body: Late<MemberPut>,
    ) -> Result<Json<Member>> {
        let tenant = tenant(&who)?;
        let user = path.user;
        self.store.read::<_, Failure, _>(|tx| may_put(tx, &who, &tenant, &user)).await?;
        let MemberPut { role, groups } = body.open()?;
        let groups: BTreeSet<String> = groups.iter().map(|name| group(name)).collect::<Result<_>>()?;
        let groups: Vec<String> = groups.into_iter().collect();
        let now = Micros::now();
        let member = self
            .store
            .write::<_, Failure, _>(move |tx| {
                may_put(tx, &who, &tenant, &user)?;
                let before = people::get_member(tx, tenant.as_str(), &user)?;
                let member = Member {
                    user: user.clone(),
                    tenant: tenant.as_str().to_owned(),
                    role,
                    groups: groups.clone(),
                    since: before.as_ref().map_or(now, |before| before.since),
                };
                if before.as_ref() == Some(&member) {
                    return Ok(member);
                }
                if let Some(before) = &before {
                    keep_the_platforms(tx, &who, before)?;
                    if role != Role::Admin {
                        keep_an_admin(tx, before)?;
                    }
                }
                people::put_member(tx, &member)?;
                let shown = |m: &Member| json!({ "role": m.role, "groups": m.groups });
                let entry = Entry {
                    partition: &tenant,
                    actor: &who.user,
                    action: if before.is_some() { "member.updated" } else { "member.added" },
                    subject: &format!("user:{user}"),
                    body: json!({ "before": before.as_ref().map(shown), "after": shown(&member) }),
                };
                journal::record(tx, now, entry)?;
                Ok(member)
            })
            .await?;
        Ok(Json(member))
    }
}

impl Serve<DeleteMember> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: UserPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<MemberDeleted>> {
        let tenant = tenant(&who)?;
        let user = path.user.clone();
        let now = Micros::now();
        self.store
            .write::<_, Failure, _>(move |tx| {
                let before = people::get_member(tx, tenant.as_str(), &user)?.ok_or_else(|| absent(&user))?;
                keep_the_platforms(tx, &who, &before)?;
                keep_an_admin(tx, &before)?;
                let administered = Administered::before(tx)?;
                // Or they would work again should the person come back.
                let revoked = tokens::revoke_all(tx, tenant.as_str(), &user, now.0)?;
                people::delete_member(tx, tenant.as_str(), &user)?;
                administered.still(tx)?;
                let entry = Entry {
                    partition: &tenant,
                    actor: &who.user,
                    action: "member.removed",
                    subject: &format!("user:{user}"),
                    body: json!({ "role": before.role, "tokens_revoked": revoked }),
                };
                Ok(journal::record(tx, now, entry)?)
            })
            .await?;
        Ok(Json(MemberDeleted { user: path.user, deleted: true }))
    }
}
