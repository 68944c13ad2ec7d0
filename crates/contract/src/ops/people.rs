//! Tenants, users, memberships.

use super::common::IdPath;
use crate::Micros;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, JsonBody, NoBody, NoPath, NoQuery, Params};
use serde::{Deserialize, Serialize};

operations! {
    /// List tenants.
    ListTenants = "tenants.list" {
        Get "/admin/tenants", Read, Gates::PLATFORM,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<TenantList>, ok: 200,
        refusals: [],
    }
    /// Create a tenant.
    CreateTenant = "tenants.create" {
        Post "/admin/tenants", Write, Gates::PLATFORM,
        path: NoPath, query: NoQuery, body: TenantCreate, reply: Json<Tenant>, ok: 201,
        refusals: [InvalidJson 400, InvalidRequest 400, InvalidName 400, NameTaken 409],
    }
    /// Read a tenant.
    GetTenant = "tenants.get" {
        Get "/admin/tenants/{id}", Read, Gates::PLATFORM,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<Tenant>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Rename a tenant, switch it on or off, or say who decides its approvals.
    PatchTenant = "tenants.patch" {
        Patch "/admin/tenants/{id}", Write, Gates::PLATFORM,
        path: IdPath, query: NoQuery, body: TenantPatch, reply: Json<Tenant>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, DeleteRefused 409],
    }
    /// List the users of the caller's tenant.
    ListUsers = "users.list" {
        Get "/admin/users", Read, Gates::ADMIN,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<UserList>, ok: 200,
        refusals: [],
    }
    /// Create a user in the caller's tenant, as Viewer until their membership says otherwise.
    CreateUser = "users.create" {
        Post "/admin/users", Write, Gates::ADMIN,
        path: NoPath, query: NoQuery, body: UserCreate, reply: Json<User>, ok: 201,
        refusals: [InvalidJson 400, InvalidRequest 400, InvalidName 400, NameTaken 409],
    }
    /// Read a user of the caller's tenant.
    GetUser = "users.get" {
        Get "/admin/users/{id}", Read, Gates::ADMIN,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<User>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Change a user of the caller's tenant.
    PatchUser = "users.patch" {
        Patch "/admin/users/{id}", Write, Gates::ADMIN,
        path: IdPath, query: NoQuery, body: UserPatch, reply: Json<User>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, AccessDenied 403, DeleteRefused 409],
    }
    /// List the memberships of the caller's tenant.
    ListMembers = "members.list" {
        Get "/admin/members", Read, Gates::ADMIN,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<MemberList>, ok: 200,
        refusals: [],
    }
    /// Read a membership.
    GetMember = "members.get" {
        Get "/admin/members/{user}", Read, Gates::ADMIN,
        path: UserPath, query: NoQuery, body: NoBody, reply: Json<Member>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Give a user a role and groups in the caller's tenant.
    PutMember = "members.put" {
        Put "/admin/members/{user}", Write, Gates::ADMIN,
        path: UserPath, query: NoQuery, body: MemberPut, reply: Json<Member>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, AccessDenied 403, DeleteRefused 409],
    }
    /// Take a user out of the caller's tenant.
    DeleteMember = "members.delete" {
        Delete "/admin/members/{user}", Write, Gates::ADMIN,
        path: UserPath, query: NoQuery, body: NoBody, reply: Json<MemberDeleted>, ok: 200,
        refusals: [NotFound 404, AccessDenied 403, DeleteRefused 409],
    }
}

/// `{user}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserPath {
    /// Id of the user.
    pub user: String,
}
impl Params for UserPath {}

/// Role of a user in a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Role {
    /// Runs agents.
    #[serde(alias = "viewer", alias = "Analyst", alias = "analyst")]
    Viewer,
    /// Also authors agents and tools.
    #[serde(alias = "builder", alias = "Developer", alias = "developer")]
    Builder,
    /// Also administers the tenant.
    #[serde(alias = "admin", alias = "Operator", alias = "operator")]
    Admin,
}

impl Role {
    /// The text stored and sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "Viewer",
            Role::Builder => "Builder",
            Role::Admin => "Admin",
        }
    }

    /// Reads a role, older names and lower case too.
    pub fn parse(text: &str) -> Option<Role> {
        match text.to_ascii_lowercase().as_str() {
            "viewer" | "analyst" => Some(Role::Viewer),
            "builder" | "developer" => Some(Role::Builder),
            "admin" | "operator" => Some(Role::Admin),
            _ => None,
        }
    }
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tenant {
    /// Its slug.
    pub id: String,
    /// For people.
    pub name: String,
    /// Whether its people may sign in.
    pub active: bool,
    /// Who decides its approvals: `asker`, `admins`, or `group:NAME`.
    pub approvals: String,
    /// When it was made.
    pub created_at: Micros,
}

/// All tenants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantList {
    /// By id.
    pub tenants: Vec<Tenant>,
    /// How many.
    pub count: usize,
}

/// A new tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantCreate {
    /// A slug.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::TENANT), extend("not" = { "const": "astudio" })))]
    pub id: String,
    /// For people; the id when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::LABEL), extend("maxLength" = 200)))]
    pub name: Option<String>,
}
impl JsonBody for TenantCreate {}

/// A change of a tenant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TenantPatch {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::LABEL), extend("maxLength" = 200)))]
    pub name: Option<String>,
    /// On or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// `asker`, `admins`, or `group:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::DECIDERS)))]
    pub approvals: Option<String>,
}
impl JsonBody for TenantPatch {}

/// A user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// Their id.
    pub id: String,
    /// For people.
    pub name: String,
    /// Where to write to.
    pub email: Option<String>,
    /// Whether they may sign in.
    pub active: bool,
    /// When they were made.
    pub created_at: Micros,
}

/// Users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserList {
    /// By id.
    pub users: Vec<User>,
    /// How many.
    pub count: usize,
}

/// A new user.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserCreate {
    /// A slug.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::USER)))]
    pub id: String,
    /// For people; the id when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::LABEL), extend("maxLength" = 200)))]
    pub name: Option<String>,
    /// Where to write to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::EMAIL), extend("maxLength" = 200)))]
    pub email: Option<String>,
}
impl JsonBody for UserCreate {}

/// A change of a user.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::LABEL), extend("maxLength" = 200)))]
    pub name: Option<String>,
    /// Where to write to; null clears.
    #[serde(default, skip_serializing_if = "crate::Patch::is_absent")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::EMAIL), extend("maxLength" = 200)))]
    pub email: crate::Patch<String>,
    /// On or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}
impl JsonBody for UserPatch {}

/// A membership.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    /// The user.
    pub user: String,
    /// The tenant.
    pub tenant: String,
    /// What they may do.
    pub role: Role,
    /// Groups in the tenant.
    pub groups: Vec<String>,
    /// Since when.
    pub since: Micros,
}

/// Memberships.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberList {
    /// By user.
    pub members: Vec<Member>,
    /// How many.
    pub count: usize,
}

/// A role and groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberPut {
    /// What they may do.
    pub role: Role,
    /// Groups in the tenant.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("items" = { "type": "string", "pattern": crate::schema::GROUP, "maxLength": 200 })))]
    pub groups: Vec<String>,
}
impl JsonBody for MemberPut {}

/// What a removal answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberDeleted {
    /// The user.
    pub user: String,
    /// Always true.
    pub deleted: bool,
}
