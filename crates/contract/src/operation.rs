//! How an operation is declared: once, as a type.

use crate::Code;
use crate::wire::{Body, Method, Params, Query, Reply};

/// What an operation does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads.
    Read,
    /// Changes records.
    Write,
    /// Lets an agent or a tool act.
    Run,
    /// Answers for a person. A credential that is limited to some scopes does not.
    Decide,
    /// Changes what a person signs in or pays with. A credential that is limited to some scopes does not, or it would be
    /// limited in name only.
    Secure,
}

/// Whether an operation needs a tenant (opted-in hosts only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantNeed {
    /// It does not.
    No,
    /// Without one: 422 `tenant_required`.
    Required,
    /// Without one: 200 with an empty list.
    EmptyList,
}

/// When the right to author (`may_author`) is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authoring {
    /// Not at all.
    Never,
    /// At the gates, after PBAC: creation, where there is no record yet.
    First,
    /// At the gates, before PBAC: direct execution of a tool.
    BeforePbac,
    /// By the operation, after 404 and 403 of the addressed record, so that it tells nothing about hidden records.
    Late,
}

/// The gates in front of an operation; run by the engine's `admit` in the contract's order.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// The tenant gate.
    pub tenant: TenantNeed,
    /// Whether `studio_disabled` applies.
    pub studio: bool,
    /// PBAC area and verb, for mutating operations.
    pub pbac: Option<(&'static str, &'static str)>,
    /// When `may_author` is asked for.
    pub authoring: Authoring,
    /// Role needed besides: none, administrator of the tenant, or of the platform.
    pub role: RoleNeed,
}

/// A role that an operation needs apart from records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleNeed {
    /// None.
    None,
    /// `may_administer` or superuser in the tenant; else 403 `admin_required`.
    Admin,
    /// Superuser; else 403 `admin_required`.
    Platform,
}

impl Gates {
    /// An operation on records of a tenant.
    pub const RECORD: Gates = Gates {
        tenant: TenantNeed::Required,
        studio: true,
        pbac: None,
        authoring: Authoring::Never,
        role: RoleNeed::None,
    };
    /// A list that is empty for a caller without a tenant.
    pub const LIST: Gates = Gates { tenant: TenantNeed::EmptyList, ..Gates::RECORD };
    /// An operation that needs no tenant.
    pub const FREE: Gates = Gates { tenant: TenantNeed::No, ..Gates::RECORD };
    /// Only for administrators of the tenant.
    pub const ADMIN: Gates = Gates { role: RoleNeed::Admin, ..Gates::RECORD };
    /// Only for administrators of the platform.
    pub const PLATFORM: Gates = Gates { role: RoleNeed::Platform, ..Gates::FREE };

    /// The same with a PBAC action.
    pub const fn pbac(mut self, area: &'static str, verb: &'static str) -> Self {
        self.pbac = Some((area, verb));
        self
    }

    /// The same with an authoring gate.
    pub const fn authoring(mut self, when: Authoring) -> Self {
        self.authoring = when;
        self
    }

    /// The same without the `studio_disabled` gate.
    pub const fn without_studio(mut self) -> Self {
        self.studio = false;
        self
    }
}

/// An operation of the contract.
pub trait Operation: Sized + Send + Sync + 'static {
    /// Stable id, such as `agents.patch`.
    const ID: &'static str;
    /// One line for people.
    const ABOUT: &'static str;
    /// The verb.
    const METHOD: Method;
    /// Paths below the base prefix; the first is canonical.
    const ROUTES: &'static [&'static str];
    /// What it does.
    const EFFECT: Effect;
    /// Its gates.
    const GATES: Gates;
    /// Refusals after the gates, in the contract's order.
    const REFUSALS: &'static [(Code, u16)];
    /// Success status.
    const OK: u16;
    /// Path parameters.
    type Path: Params;
    /// Query.
    type Query: Query;
    /// Body.
    type Body: Body;
    /// Answer.
    type Reply: Reply;
}

/// What can be said of an operation without its types.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// See [`Operation::ID`].
    pub id: &'static str,
    /// See [`Operation::ABOUT`].
    pub about: &'static str,
    /// See [`Operation::METHOD`].
    pub method: Method,
    /// See [`Operation::ROUTES`].
    pub routes: &'static [&'static str],
    /// See [`Operation::EFFECT`].
    pub effect: Effect,
    /// See [`Operation::GATES`].
    pub gates: Gates,
    /// See [`Operation::REFUSALS`].
    pub refusals: &'static [(Code, u16)],
    /// See [`Operation::OK`].
    pub ok: u16,
    /// Whether it answers with a stream of events.
    pub streams: bool,
}

/// The description of an operation.
pub const fn meta<O: Operation>() -> Meta {
    Meta {
        id: O::ID,
        about: O::ABOUT,
        method: O::METHOD,
        routes: O::ROUTES,
        effect: O::EFFECT,
        gates: O::GATES,
        refusals: O::REFUSALS,
        ok: O::OK,
        streams: <O::Reply as Reply>::STREAMS,
    }
}

/// Declares operations.
#[macro_export]
macro_rules! operations {
    ($(
        $(#[doc = $about:literal])+
        $name:ident = $id:literal {
            $method:ident $($route:literal)+, $effect:ident, $gates:expr,
            path: $path:ty, query: $query:ty, body: $body:ty, reply: $reply:ty, ok: $ok:literal,
            refusals: [$($code:ident $status:literal),* $(,)?] $(,)?
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::Operation for $name {
            const ID: &'static str = $id;
            const ABOUT: &'static str = concat!($($about, " "),+).trim_ascii();
            const METHOD: $crate::wire::Method = $crate::wire::Method::$method;
            const ROUTES: &'static [&'static str] = &[$($route),+];
            const EFFECT: $crate::operation::Effect = $crate::operation::Effect::$effect;
            const GATES: $crate::operation::Gates = $gates;
            const REFUSALS: &'static [($crate::Code, u16)] = &[$(($crate::Code::$code, $status)),*];
            const OK: u16 = $ok;
            type Path = $path;
            type Query = $query;
            type Body = $body;
            type Reply = $reply;
        }
    )+};
}
