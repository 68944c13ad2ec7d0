//! Tenants, users and memberships.
//!
//! Users are of the whole installation; a tenant reaches only those who are its members, so every function that reads a
//! user for a tenant goes through the membership.

use contract::Micros;
use contract::ops::people::{Member, Role, Tenant, User};

use crate::{Row, StoreError, Tx, vals};

/// What a sign-in resolves to: everything that decides a person's rights in a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether the user may sign in.
    pub user_active: bool,
    /// Whether the tenant is switched on.
    pub tenant_active: bool,
    /// Whether the user administers the platform.
    pub platform_admin: bool,
    /// The role.
    pub role: Role,
    /// The groups.
    pub groups: Vec<String>,
}

fn role(text: &str) -> Result<Role, StoreError> {
    Role::parse(text).ok_or_else(|| StoreError::Decode("a stored role is unknown".into()))
}

fn groups(text: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Decode("stored groups are no list of texts".into()))
}

fn groups_text(groups: &[String]) -> String {
    serde_json::Value::from(groups).to_string()
}

const TENANT: &str = "id, name, active, approvals, created_at";
const USER: &str = "u.id, u.name, u.email, u.active, u.created_at";
const MEMBER: &str = "user_id, tenant, role, groups, since";

fn tenant(mut row: Row) -> Result<Tenant, StoreError> {
    Ok(Tenant {
        id: row.take_text(0)?,
        name: row.take_text(1)?,
        active: row.bool(2)?,
        approvals: row.take_text(3)?,
        created_at: Micros(row.int(4)?),
    })
}

fn user(mut row: Row) -> Result<User, StoreError> {
    Ok(User {
        id: row.take_text(0)?,
        name: row.take_text(1)?,
        email: row.opt_text(2)?,
        active: row.bool(3)?,
        created_at: Micros(row.int(4)?),
    })
}

fn member(mut row: Row) -> Result<Member, StoreError> {
    Ok(Member {
        user: row.take_text(0)?,
        tenant: row.take_text(1)?,
        role: role(row.str(2)?)?,
        groups: groups(row.str(3)?)?,
        since: Micros(row.int(4)?),
    })
}

/// The standing of a user in a tenant; none without a membership. One query, by keys.
pub fn standing(tx: &mut dyn Tx, tenant: &str, user: &str) -> Result<Option<Standing>, StoreError> {
    let row = tx.query_one(
        "select u.active, t.active, u.platform_admin, m.role, m.groups
         from members m join users u on u.id = m.user_id join tenants t on t.id = m.tenant
         where m.tenant = $1 and m.user_id = $2",
        vals![tenant, user],
    )?;
    row.map(|row| {
        Ok(Standing {
            user_active: row.bool(0)?,
            tenant_active: row.bool(1)?,
            platform_admin: row.bool(2)?,
            role: role(row.str(3)?)?,
            groups: groups(row.str(4)?)?,
        })
    })
    .transpose()
}

/// All tenants by id.
pub fn tenants(tx: &mut dyn Tx) -> Result<Vec<Tenant>, StoreError> {
    let rows = tx.query(&format!("select {TENANT} from tenants order by id"), vals![])?;
    rows.into_iter().map(tenant).collect()
}

/// A tenant.
pub fn get_tenant(tx: &mut dyn Tx, id: &str) -> Result<Option<Tenant>, StoreError> {
    tx.query_one(&format!("select {TENANT} from tenants where id = $1"), vals![id])?.map(tenant).transpose()
}

/// Adds a tenant; answers `false` if the id is taken.
pub fn insert_tenant(tx: &mut dyn Tx, new: &Tenant) -> Result<bool, StoreError> {
    let added = tx.exec(
        "insert into tenants (id, name, active, approvals, created_at) values ($1, $2, $3, $4, $5)
         on conflict (id) do nothing",
        vals![&new.id, &new.name, new.active, &new.approvals, new.created_at.0],
    )?;
    Ok(added == 1)
}

/// Writes a tenant's name, switch and rule for approvals.
pub fn update_tenant(tx: &mut dyn Tx, new: &Tenant) -> Result<bool, StoreError> {
    let changed = tx.exec(
        "update tenants set name = $2, active = $3, approvals = $4 where id = $1",
        vals![&new.id, &new.name, new.active, &new.approvals],
    )?;
    Ok(changed == 1)
}

/// The users who are members of a tenant, by id.
pub fn users_of(tx: &mut dyn Tx, tenant: &str) -> Result<Vec<User>, StoreError> {
    let rows = tx.query(
        &format!(
            "select {USER} from members m join users u on u.id = m.user_id where m.tenant = $1 order by m.user_id"
        ),
        vals![tenant],
    )?;
    rows.into_iter().map(user).collect()
}

/// A user who is a member of the tenant.
pub fn user_of(tx: &mut dyn Tx, tenant: &str, id: &str) -> Result<Option<User>, StoreError> {
    let row = tx.query_one(
        &format!(
            "select {USER} from members m join users u on u.id = m.user_id where m.tenant = $1 and m.user_id = $2"
        ),
        vals![tenant, id],
    )?;
    row.map(user).transpose()
}

/// Whether a user may sign in, and whether they administer the platform; none if there is no such user.
pub fn user_flags(tx: &mut dyn Tx, id: &str) -> Result<Option<(bool, bool)>, StoreError> {
    let row = tx.query_one("select active, platform_admin from users where id = $1", vals![id])?;
    row.map(|row| Ok((row.bool(0)?, row.bool(1)?))).transpose()
}

/// Adds a user; answers `false` if the id is taken.
pub fn insert_user(tx: &mut dyn Tx, new: &User, platform_admin: bool) -> Result<bool, StoreError> {
    let added = tx.exec(
        "insert into users (id, name, email, active, platform_admin, created_at) values ($1, $2, $3, $4, $5, $6)
         on conflict (id) do nothing",
        vals![&new.id, &new.name, new.email.as_ref(), new.active, platform_admin, new.created_at.0],
    )?;
    Ok(added == 1)
}

/// Writes a user's name, address and switch.
pub fn update_user(tx: &mut dyn Tx, new: &User) -> Result<bool, StoreError> {
    let changed = tx.exec(
        "update users set name = $2, email = $3, active = $4 where id = $1",
        vals![&new.id, &new.name, new.email.as_ref(), new.active],
    )?;
    Ok(changed == 1)
}

/// Whether somebody can act as administrator of the platform: one who is active, in a tenant that is.
pub fn is_administered(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "select 1 from users u join members m on m.user_id = u.id join tenants t on t.id = m.tenant
         where u.platform_admin = 1 and u.active = 1 and t.active = 1 limit 1",
        vals![],
    )?;
    Ok(found.is_some())
}

/// The tenants a user is a member of, by id, with their role there.
pub fn tenants_of(tx: &mut dyn Tx, user: &str) -> Result<Vec<(String, Role)>, StoreError> {
    let rows = tx.query("select tenant, role from members where user_id = $1 order by tenant", vals![user])?;
    rows.into_iter().map(|row| Ok((row.text(0)?, role(row.str(1)?)?))).collect()
}

/// The memberships of a tenant, by user.
pub fn members(tx: &mut dyn Tx, tenant: &str) -> Result<Vec<Member>, StoreError> {
    let rows = tx.query(&format!("select {MEMBER} from members where tenant = $1 order by user_id"), vals![tenant])?;
    rows.into_iter().map(member).collect()
}

/// A membership.
pub fn get_member(tx: &mut dyn Tx, tenant: &str, user: &str) -> Result<Option<Member>, StoreError> {
    let row =
        tx.query_one(&format!("select {MEMBER} from members where tenant = $1 and user_id = $2"), vals![tenant, user])?;
    row.map(member).transpose()
}

/// Writes a membership; one that is there keeps its `since`. The user must exist.
pub fn put_member(tx: &mut dyn Tx, new: &Member) -> Result<(), StoreError> {
    tx.exec(
        "insert into members (tenant, user_id, role, groups, since) values ($1, $2, $3, $4, $5)
         on conflict (tenant, user_id) do update set role = excluded.role, groups = excluded.groups",
        vals![&new.tenant, &new.user, new.role.as_str(), groups_text(&new.groups), new.since.0],
    )?;
    Ok(())
}

/// Removes a membership; answers whether there was one.
pub fn delete_member(tx: &mut dyn Tx, tenant: &str, user: &str) -> Result<bool, StoreError> {
    Ok(tx.exec("delete from members where tenant = $1 and user_id = $2", vals![tenant, user])? > 0)
}

/// How many active administrators a tenant has beside this user.
pub fn other_admins(tx: &mut dyn Tx, tenant: &str, user: &str) -> Result<u64, StoreError> {
    let row = tx.query_one(
        "select count(*) from members m join users u on u.id = m.user_id
         where m.tenant = $1 and m.role = 'Admin' and u.active = 1 and m.user_id <> $2",
        vals![tenant, user],
    )?;
    row.map_or(Ok(0), |row| row.uint(0))
}
