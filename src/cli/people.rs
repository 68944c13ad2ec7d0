//! `astudio tenants`, `astudio users`, `astudio members`.

use super::ctx::Ctx;
use super::exit::{Exit, Failure, Outcome, usage};
use super::table::{Table, or_dash, record, when};
use contract::Patch;
use contract::ops::common::IdPath;
use contract::ops::people::{
    CreateTenant, CreateUser, DeleteMember, GetMember, GetTenant, GetUser, ListMembers, ListTenants, ListUsers, Member,
    MemberPut, PatchTenant, PatchUser, PutMember, Role, Tenant, TenantCreate, TenantPatch, User, UserCreate, UserPatch,
    UserPath,
};
use contract::wire::{Json, NoBody, NoPath, NoQuery};

/// Commands over tenants.
#[derive(Debug, clap::Subcommand)]
pub enum Tenants {
    /// List tenants
    List,
    /// Create a tenant
    Create {
        /// A slug
        id: String,
        /// Its name for people
        #[arg(long)]
        name: Option<String>,
    },
    /// Show a tenant
    Show {
        /// Its slug
        id: String,
    },
    /// Rename a tenant, switch it on or off, or say who decides its approvals
    Edit {
        /// Its slug
        id: String,
        /// Its name for people
        #[arg(long)]
        name: Option<String>,
        /// Whether its people may sign in
        #[arg(long, value_name = "true|false")]
        active: Option<bool>,
        /// Who decides: asker, admins, or group:NAME
        #[arg(long, value_name = "WHO")]
        approvals: Option<String>,
    },
}

/// Commands over users.
#[derive(Debug, clap::Subcommand)]
pub enum Users {
    /// List the users of your tenant
    List,
    /// Create a user in your tenant, as Viewer until `members set` says otherwise
    Create {
        /// A slug
        id: String,
        /// Their name
        #[arg(long)]
        name: Option<String>,
        /// Where to write to
        #[arg(long)]
        email: Option<String>,
    },
    /// Show a user
    Show {
        /// Their id
        id: String,
    },
    /// Change a user
    Edit {
        /// Their id
        id: String,
        /// Their name
        #[arg(long)]
        name: Option<String>,
        /// Where to write to
        #[arg(long, conflicts_with = "no_email")]
        email: Option<String>,
        /// Forget the address
        #[arg(long)]
        no_email: bool,
        /// Whether they may sign in
        #[arg(long, value_name = "true|false")]
        active: Option<bool>,
    },
}

/// Commands over memberships.
#[derive(Debug, clap::Subcommand)]
pub enum Members {
    /// List the memberships of your tenant
    List,
    /// Show a membership
    Show {
        /// Id of the user
        user: String,
    },
    /// Give a user a role and groups in your tenant
    Set {
        /// Id of the user
        user: String,
        /// Viewer, Builder or Admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// A group they belong to; may be repeated
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,
    },
    /// Take a user out of your tenant
    Remove {
        /// Id of the user
        user: String,
    },
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "it is Viewer, Builder or Admin".to_owned())
}

/// Runs a command over tenants.
pub async fn tenants(ctx: &Ctx, command: Tenants) -> Outcome {
    let Json(tenant) = match command {
        Tenants::List => {
            let Json(list) = ctx.call::<ListTenants>(NoPath {}, NoQuery, NoBody).await?;
            ctx.out.answer(&list, |out| {
                let mut table = Table::new(&["ID", "NAME", "ACTIVE", "APPROVALS", "CREATED"]);
                for t in &list.tenants {
                    table.row([
                        t.id.clone(),
                        t.name.clone(),
                        yes_no(t.active),
                        t.approvals.clone(),
                        when(t.created_at),
                    ]);
                }
                table.write(out, "There are no tenants.")
            })?;
            return Ok(Exit::Done);
        }
        Tenants::Create { id, name } => ctx.call::<CreateTenant>(NoPath {}, NoQuery, TenantCreate { id, name }).await?,
        Tenants::Show { id } => ctx.call::<GetTenant>(IdPath { id }, NoQuery, NoBody).await?,
        Tenants::Edit { id, name, active, approvals } => {
            something(name.is_some() || active.is_some() || approvals.is_some())?;
            ctx.call::<PatchTenant>(IdPath { id }, NoQuery, TenantPatch { name, active, approvals }).await?
        }
    };
    show_tenant(ctx, &tenant)
}

fn show_tenant(ctx: &Ctx, tenant: &Tenant) -> Outcome {
    ctx.out.answer(tenant, |out| {
        record(
            out,
            &[
                ("tenant", Some(tenant.id.clone())),
                ("name", Some(tenant.name.clone())),
                ("active", Some(yes_no(tenant.active))),
                ("approvals", Some(tenant.approvals.clone())),
                ("created", Some(when(tenant.created_at))),
            ],
        )
    })?;
    Ok(Exit::Done)
}

/// Runs a command over users.
pub async fn users(ctx: &Ctx, command: Users) -> Outcome {
    let Json(user) = match command {
        Users::List => {
            let Json(list) = ctx.call::<ListUsers>(NoPath {}, NoQuery, NoBody).await?;
            ctx.out.answer(&list, |out| {
                let mut table = Table::new(&["ID", "NAME", "EMAIL", "ACTIVE", "CREATED"]);
                for u in &list.users {
                    table.row([
                        u.id.clone(),
                        u.name.clone(),
                        or_dash(u.email.as_deref()),
                        yes_no(u.active),
                        when(u.created_at),
                    ]);
                }
                table.write(out, "There are no users.")
            })?;
            return Ok(Exit::Done);
        }
        Users::Create { id, name, email } => {
            ctx.call::<CreateUser>(NoPath {}, NoQuery, UserCreate { id, name, email }).await?
        }
        Users::Show { id } => ctx.call::<GetUser>(IdPath { id }, NoQuery, NoBody).await?,
        Users::Edit { id, name, email, no_email, active } => {
            something(name.is_some() || email.is_some() || no_email || active.is_some())?;
            let email = match email {
                Some(email) => Patch::Set(email),
                None if no_email => Patch::Null,
                None => Patch::Absent,
            };
            ctx.call::<PatchUser>(IdPath { id }, NoQuery, UserPatch { name, email, active }).await?
        }
    };
    show_user(ctx, &user)
}

fn show_user(ctx: &Ctx, user: &User) -> Outcome {
    ctx.out.answer(user, |out| {
        record(
            out,
            &[
                ("user", Some(user.id.clone())),
                ("name", Some(user.name.clone())),
                ("email", user.email.clone()),
                ("active", Some(yes_no(user.active))),
                ("created", Some(when(user.created_at))),
            ],
        )
    })?;
    Ok(Exit::Done)
}

/// Runs a command over memberships.
pub async fn members(ctx: &Ctx, command: Members) -> Outcome {
    let Json(member) = match command {
        Members::List => {
            let Json(list) = ctx.call::<ListMembers>(NoPath {}, NoQuery, NoBody).await?;
            ctx.out.answer(&list, |out| {
                let mut table = Table::new(&["USER", "ROLE", "GROUPS", "SINCE"]);
                for m in &list.members {
                    table.row([
                        m.user.clone(),
                        m.role.as_str().to_owned(),
                        or_dash(Some(&m.groups.join(", "))),
                        when(m.since),
                    ]);
                }
                table.write(out, "There are no members.")
            })?;
            return Ok(Exit::Done);
        }
        Members::Show { user } => ctx.call::<GetMember>(UserPath { user }, NoQuery, NoBody).await?,
        Members::Set { user, role, groups } => {
            ctx.call::<PutMember>(UserPath { user }, NoQuery, MemberPut { role, groups }).await?
        }
        Members::Remove { user } => {
            let Json(gone) = ctx.call::<DeleteMember>(UserPath { user }, NoQuery, NoBody).await?;
            ctx.out.answer(&gone, |out| out.line(&format!("{} is no member any more.", gone.user)))?;
            return Ok(Exit::Done);
        }
    };
    show_member(ctx, &member)
}

fn show_member(ctx: &Ctx, member: &Member) -> Outcome {
    ctx.out.answer(member, |out| {
        record(
            out,
            &[
                ("user", Some(member.user.clone())),
                ("tenant", Some(member.tenant.clone())),
                ("role", Some(member.role.as_str().to_owned())),
                ("groups", Some(member.groups.join(", "))),
                ("since", Some(when(member.since))),
            ],
        )
    })?;
    Ok(Exit::Done)
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn something(given: bool) -> Result<(), Failure> {
    if given { Ok(()) } else { Err(usage("Nothing to change was named. `--help` lists the fields.")) }
}
