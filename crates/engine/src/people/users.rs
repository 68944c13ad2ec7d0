//! Operations on the users of the caller's tenant.

use super::{Administered, email, label, last_admin, tenant};
use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::common::IdPath;
use contract::ops::people::{
    CreateUser, GetUser, ListUsers, Member, PatchUser, Role, User, UserCreate, UserList, UserPatch,
};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Code, Micros, Patch, Result, StudioError};
use rules::Partition;
use rules::names::is_record_name;
use serde_json::json;
use store::Tx;
use store::repo::people;
use trust::journal::{self, Entry};

fn absent(id: &str) -> StudioError {
    StudioError::not_found("User", id)
}

/// 400 for the id of a user.
pub(super) fn invalid_id() -> StudioError {
    StudioError::new(Code::InvalidName, 400, "The id of a user is 1 to 64 characters of a-z, 0-9, _ and -.")
}

impl Serve<ListUsers> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<UserList>> {
        let tenant = tenant(&who)?;
        let users = self.store.read::<_, Failure, _>(|tx| Ok(people::users_of(tx, tenant.as_str())?)).await?;
        Ok(Json(UserList { count: users.len(), users }))
    }
}

impl Serve<GetUser> for Engine {
    async fn serve(&self, who: Admitted, path: IdPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<User>> {
        let tenant = tenant(&who)?;
        let user = self.store.read::<_, Failure, _>(|tx| Ok(people::user_of(tx, tenant.as_str(), &path.id)?)).await?;
        user.map(Json).ok_or_else(|| absent(&path.id))
    }
}

impl Serve<CreateUser> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, body: Late<UserCreate>) -> Result<Json<User>> {
        let tenant = tenant(&who)?;
        let UserCreate { id, name, email: address } = body.open()?;
        if !is_record_name(&id) {
            return Err(invalid_id());
        }
        let name = name.map_or(Ok(id.clone()), |name| label("name", &name))?;
        let address = address.as_deref().map(email).transpose()?;
        let now = Micros::now();
        let user = User { id, name, email: address, active: true, created_at: now };
        let new = user.clone();
        self.store
            .write::<_, Failure, _>(move |tx| {
                if !people::insert_user(tx, &new, false)? {
                    return Err(StudioError::name_taken(&new.id).into());
                }
                let member = Member {
                    user: new.id.clone(),
                    tenant: tenant.as_str().to_owned(),
                    role: Role::Viewer,
                    groups: Vec::new(),
                    since: now,
                };
                people::put_member(tx, &member)?;
                let entry = Entry {
                    partition: &tenant,
                    actor: &who.user,
                    action: "user.created",
                    subject: &format!("user:{}", new.id),
                    body: json!({ "role": Role::Viewer }),
                };
                Ok(journal::record(tx, now, entry)?)
            })
            .await?;
        Ok(Json(user))
    }
}

impl Serve<PatchUser> for Engine {
    async fn serve(&self, who: Admitted, path: IdPath, _: Late<NoQuery>, body: Late<UserPatch>) -> Result<Json<User>> {
        let tenant = tenant(&who)?;
        let id = path.id;
        let found = self.store.read::<_, Failure, _>(|tx| Ok(people::user_of(tx, tenant.as_str(), &id)?)).await?;
        found.ok_or_else(|| absent(&id))?;
        let patch = body.open()?;
        let name = patch.name.as_deref().map(|name| label("name", name)).transpose()?;
        let address = match patch.email {
            Patch::Absent => Patch::Absent,
            Patch::Null => Patch::Null,
            Patch::Set(text) => Patch::Set(email(&text)?),
        };
        let active = patch.active;
        let now = Micros::now();
        let user = self
            .store
            .write::<_, Failure, _>(move |tx| {
                let before = people::user_of(tx, tenant.as_str(), &id)?.ok_or_else(|| absent(&id))?;
                let mut user = before.clone();
                user.name = name.clone().unwrap_or(user.name);
                user.email = address.clone().over(user.email);
                user.active = active.unwrap_or(user.active);
                if user == before {
                    return Ok(user);
                }
                let tenants = may_change(tx, &who, &before, &user)?;
                let administered = Administered::before(tx)?;
                people::update_user(tx, &user)?;
                administered.still(tx)?;
                let changed: Vec<&str> = [
                    ("name", user.name != before.name),
                    ("email", user.email != before.email),
                    ("active", user.active != before.active),
                ]
                .into_iter()
                .filter_map(|(field, changed)| changed.then_some(field))
                .collect();
                for tenant in &tenants {
                    let entry = Entry {
                        partition: tenant,
                        actor: &who.user,
                        action: "user.updated",
                        subject: &format!("user:{id}"),
                        body: json!({ "changed": changed, "active": user.active }),
                    };
                    journal::record(tx, now, entry)?;
                }
                Ok(user)
            })
            .await?;
        Ok(Json(user))
    }
}

/// Whether the caller may make this change of a user; answers the tenants it shows in.
fn may_change(
    tx: &mut dyn Tx,
    who: &Admitted,
    before: &User,
    after: &User,
) -> std::result::Result<Vec<Partition>, Failure> {
    let denied = |why: &str| Failure::from(StudioError::new(Code::AccessDenied, 403, why));
    let platform_admin = people::user_flags(tx, &before.id)?.is_some_and(|(_, admin)| admin);
    let tenants = people::tenants_of(tx, &before.id)?;
    if !who.scope.is_superuser && (platform_admin || tenants.len() > 1) {
        return Err(denied(
            "Only an administrator of the platform may change this user. Remove their membership instead.",
        ));
    }
    if before.active && !after.active {
        for (tenant, role) in &tenants {
            if *role == Role::Admin && people::other_admins(tx, tenant, &before.id)? == 0 {
                return Err(last_admin().into());
            }
        }
    }
    let partitions: std::result::Result<_, _> = tenants.iter().map(|(tenant, _)| Partition::tenant(tenant)).collect();
    partitions.map_err(|_| StudioError::internal().into())
}
