//! The first people of a fresh home.

use crate::failure::Failure;
use contract::ops::people::{Member, Role, Tenant, User};
use contract::{Code, Micros, Result, StudioError};
use rules::Partition;
use rules::names::{check_new_tenant, is_record_name};
use serde_json::json;
use store::repo::{people, settings};
use store::{Store, Tx};
use trust::journal::{self, Entry};

/// Whom a fresh home gets.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// The tenant; the program's default is `local`.
    pub tenant: String,
    /// The user, who becomes Admin there and, being alone, administrator of the platform.
    pub user: String,
    /// The user's name for people.
    pub name: String,
}

/// Whose a home is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The tenant the program's own person acts in.
    pub tenant: String,
    /// The program's own person.
    pub user: String,
}

/// Gives a fresh home its tenant and its one user; a home that has them is left as it is. Answers whose it is. Several
/// processes may do so at once.
///
/// # Errors
/// 400 `invalid_name` for a tenant or user id that breaks its rule; 503 when the storage cannot be used.
pub async fn bootstrap(store: &Store, wanted: Bootstrap) -> Result<Home> {
    check_new_tenant(&wanted.tenant).map_err(|e| StudioError::new(Code::InvalidName, 400, e.to_string()))?;
    if !is_record_name(&wanted.user) {
        return Err(super::users::invalid_id());
    }
    if let Some(home) = store.read::<_, Failure, _>(whose).await? {
        return Ok(home);
    }
    let now = Micros::now();
    let home = store
        .write::<_, Failure, _>(move |tx| match whose(tx)? {
            Some(home) => Ok(home),
            None => settle(tx, &wanted, now),
        })
        .await?;
    Ok(home)
}

fn whose(tx: &mut dyn Tx) -> std::result::Result<Option<Home>, Failure> {
    let tenant = settings::get(tx, settings::DEFAULT_TENANT)?;
    let user = settings::get(tx, settings::DEFAULT_USER)?;
    Ok(tenant.zip(user).map(|(tenant, user)| Home { tenant, user }))
}

fn settle(tx: &mut dyn Tx, wanted: &Bootstrap, now: Micros) -> std::result::Result<Home, Failure> {
    let Bootstrap { tenant, user, name } = wanted;
    let partition = Partition::tenant(tenant).map_err(|e| StudioError::new(Code::InvalidName, 400, e.to_string()))?;
    let new = Tenant {
        id: tenant.clone(),
        name: tenant.clone(),
        active: true,
        approvals: "asker".to_owned(),
        created_at: now,
    };
    people::insert_tenant(tx, &new)?;
    let person = User { id: user.clone(), name: name.clone(), email: None, active: true, created_at: now };
    people::insert_user(tx, &person, true)?;
    let member =
        Member { user: user.clone(), tenant: tenant.clone(), role: Role::Admin, groups: Vec::new(), since: now };
    people::put_member(tx, &member)?;
    settings::set(tx, settings::DEFAULT_TENANT, tenant)?;
    settings::set(tx, settings::DEFAULT_USER, user)?;
    let entry = Entry {
        partition: &partition,
        actor: user,
        action: "tenant.created",
        subject: &format!("tenant:{tenant}"),
        body: json!({ "user": user, "role": Role::Admin }),
    };
    journal::record(tx, now, entry)?;
    Ok(Home { tenant: tenant.clone(), user: user.clone() })
}
