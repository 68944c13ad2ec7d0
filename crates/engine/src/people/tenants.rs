//! Operations on tenants, for administrators of the platform.

use super::{Administered, label};
use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::common::IdPath;
use contract::ops::people::{
    CreateTenant, GetTenant, ListTenants, Member, PatchTenant, Role, Tenant, TenantCreate, TenantList, TenantPatch,
};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Code, Micros, Result, StudioError};
use rules::Partition;
use rules::names::check_new_tenant;
use serde_json::{Value, json};
use store::Tx;
use store::repo::people;
use trust::journal::{self, Entry};

/// Whoever asked, unless the tenant says otherwise.
const ASKER: &str = "asker";

fn absent(id: &str) -> StudioError {
    StudioError::not_found("Tenant", id)
}

/// Told in the journal of the tenant it is about, so that its administrators see what the platform did.
fn record(
    tx: &mut dyn Tx,
    now: Micros,
    who: &str,
    action: &str,
    tenant: &str,
    body: Value,
) -> std::result::Result<(), Failure> {
    let partition = Partition::tenant(tenant).map_err(|_| absent(tenant))?;
    let subject = format!("tenant:{tenant}");
    journal::record(tx, now, Entry { partition: &partition, actor: who, action, subject: &subject, body })?;
    Ok(())
}

impl Serve<ListTenants> for Engine {
    async fn serve(&self, _: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<TenantList>> {
        let tenants = self.store.read::<_, Failure, _>(|tx| Ok(people::tenants(tx)?)).await?;
        Ok(Json(TenantList { count: tenants.len(), tenants }))
    }
}

impl Serve<CreateTenant> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        _: NoPath,
        _: Late<NoQuery>,
        body: Late<TenantCreate>,
    ) -> Result<Json<Tenant>> {
        let TenantCreate { id, name } = body.open()?;
        check_new_tenant(&id).map_err(|e| StudioError::new(Code::InvalidName, 400, e.to_string()))?;
        let name = name.map_or(Ok(id.clone()), |name| label("name", &name))?;
        let now = Micros::now();
        let tenant = Tenant { id, name, active: true, approvals: ASKER.to_owned(), created_at: now };
        let new = tenant.clone();
        self.store
            .write::<_, Failure, _>(move |tx| {
                if !people::insert_tenant(tx, &new)? {
                    return Err(StudioError::name_taken(&new.id).into());
                }
                // Memberships are written from inside a tenant: whoever makes one is its first administrator, or nobody could
                // ever enter it. Who made it is a user of this installation wherever there is one to resolve them.
                if people::user_flags(tx, &who.user)?.is_some() {
                    people::put_member(
                        tx,
                        &Member {
                            user: who.user.clone(),
                            tenant: new.id.clone(),
                            role: Role::Admin,
                            groups: Vec::new(),
                            since: now,
                        },
                    )?;
                }
                record(tx, now, &who.user, "tenant.created", &new.id, json!({ "name": new.name }))
            })
            .await?;
        Ok(Json(tenant))
    }
}

impl Serve<GetTenant> for Engine {
    async fn serve(&self, _: Admitted, path: IdPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<Tenant>> {
        let tenant = self.store.read::<_, Failure, _>(|tx| Ok(people::get_tenant(tx, &path.id)?)).await?;
        tenant.map(Json).ok_or_else(|| absent(&path.id))
    }
}

impl Serve<PatchTenant> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        body: Late<TenantPatch>,
    ) -> Result<Json<Tenant>> {
        let id = path.id;
        let found = self.store.read::<_, Failure, _>(|tx| Ok(people::get_tenant(tx, &id)?)).await?;
        found.ok_or_else(|| absent(&id))?;
        let patch = body.open()?;
        let name = patch.name.as_deref().map(|name| label("name", name)).transpose()?;
        let approvals = patch.approvals.as_deref().map(approvals_rule).transpose()?;
        if patch.active == Some(false) && who.scope.tenant() == Some(&id) {
            return Err(StudioError::invalid_request(
                "You cannot switch off the tenant you act in. Sign in to another one first.",
            ));
        }
        let now = Micros::now();
        let tenant = self
            .store
            .write::<_, Failure, _>(move |tx| {
                let mut tenant = people::get_tenant(tx, &id)?.ok_or_else(|| absent(&id))?;
                let before = tenant.clone();
                tenant.name = name.clone().unwrap_or(tenant.name);
                tenant.active = patch.active.unwrap_or(tenant.active);
                tenant.approvals = approvals.clone().unwrap_or(tenant.approvals);
                if tenant != before {
                    let administered = Administered::before(tx)?;
                    people::update_tenant(tx, &tenant)?;
                    administered.still(tx)?;
                    let shown = |t: &Tenant| json!({ "name": t.name, "active": t.active, "approvals": t.approvals });
                    let body = json!({ "before": shown(&before), "after": shown(&tenant) });
                    record(tx, now, &who.user, "tenant.updated", &id, body)?;
                }
                Ok(tenant)
            })
            .await?;
        Ok(Json(tenant))
    }
}

/// Who decides approvals: `asker`, `admins`, or `group:NAME`.
fn approvals_rule(text: &str) -> Result<String> {
    match text {
        ASKER | "admins" => Ok(text.to_owned()),
        _ => match text.strip_prefix("group:") {
            Some(name) => Ok(format!("group:{}", super::group(name)?)),
            None => Err(StudioError::invalid_request("'approvals' must be 'asker', 'admins' or 'group:NAME'.")),
        },
    }
}
