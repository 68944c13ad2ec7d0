//! Every refusal code of the contract. A code does not know its HTTP status: a few have two, so the status belongs to the
//! refusal ([`crate::StudioError`]).

macro_rules! codes {
    ($($variant:ident = $text:literal),+ $(,)?) => {
        /// A stable, machine-readable reason of a refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Code { $($variant),+ }

        impl Code {
            /// All codes, in the order of the contract's glossary.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The text that stands in `code` of an error body.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text),+ }
            }

            /// The code with this text, if there is one.
            pub fn parse(text: &str) -> Option<Code> {
                match text { $($text => Some(Code::$variant),)+ _ => None }
            }
        }
    };
}

codes! {
    InvalidJson = "invalid_json",
    InvalidRequest = "invalid_request",
    MissingName = "missing_name",
    MissingId = "missing_id",
    MissingSlug = "missing_slug",
    MissingProvider = "missing_provider",
    MissingParams = "missing_params",
    MissingResource = "missing_resource",
    MissingFilename = "missing_filename",
    MissingContent = "missing_content",
    InvalidRoute = "invalid_route",
    InvalidName = "invalid_name",
    InvalidCategory = "invalid_category",
    InvalidKind = "invalid_kind",
    InvalidAgent = "invalid_agent",
    InvalidPath = "invalid_path",
    InvalidFilename = "invalid_filename",
    InvalidBotClass = "invalid_bot_class",
    BotClassNotAllowed = "bot_class_not_allowed",
    ReservedConfigKey = "reserved_config_key",
    UnsupportedConfigKey = "unsupported_config_key",
    InvalidConfig = "invalid_config",
    ExpectedVersionUnsupported = "expected_version_unsupported",
    InvalidExpectedVersion = "invalid_expected_version",
    VersionConflict = "version_conflict",
    NameTaken = "name_taken",
    NameImmutable = "name_immutable",
    NotStudioAgent = "not_studio_agent",
    NoDefinition = "no_definition",
    DeleteRefused = "delete_refused",
    Delegated = "delegated",
    NotFound = "not_found",
    StudioDisabled = "studio_disabled",
    TenantMismatch = "tenant_mismatch",
    AuthoringDenied = "authoring_denied",
    NotManageable = "not_manageable",
    NotOwner = "not_owner",
    PbacDenied = "pbac_denied",
    AccessDenied = "access_denied",
    AdminRequired = "admin_required",
    TenantRequired = "tenant_required",
    GroupsRequired = "groups_required",
    GroupsNotAllowed = "groups_not_allowed",
    InvalidVisibility = "invalid_visibility",
    DeclarativeOnly = "declarative_only",
    MissingSource = "missing_source",
    ValidationFailed = "validation_failed",
    ImportFailed = "import_failed",
    NotRegistered = "not_registered",
    ReloadFailed = "reload_failed",
    InvalidFrontmatter = "invalid_frontmatter",
    InvalidAssetName = "invalid_asset_name",
    InvalidAssetContent = "invalid_asset_content",
    DuplicateAsset = "duplicate_asset",
    SecretsNotAllowed = "secrets_not_allowed",
    ValidationError = "validation_error",
    AssetTooLarge = "asset_too_large",
    AgentAssetsQuota = "agent_assets_quota",
    BinaryAssetsUnsupported = "binary_assets_unsupported",
    Collision = "collision",
    InvalidProvider = "invalid_provider",
    VaultUnavailable = "vault_unavailable",
    KeySourceRequired = "key_source_required",
    KeySourceUnavailable = "key_source_unavailable",
    QueryFailed = "query_failed",
    BuildFailed = "build_failed",
    Unavailable = "unavailable",
    StudioStorageUnavailable = "studio_storage_unavailable",
    ServerManaged = "server_managed",
    InvalidArgs = "invalid_args",
    InvalidParams = "invalid_params",
    ReadOnlyDefinition = "read_only_definition",
    NotConfigured = "not_configured",
    OptionsFailed = "options_failed",
    NotOverridable = "not_overridable",
    ToolingNotPermitted = "tooling_not_permitted",
    ToolScopeUnavailable = "tool_scope_unavailable",
    ConfirmationRequired = "confirmation_required",
    ToolCallBlocked = "tool_call_blocked",
    InvalidStorageDir = "invalid_storage_dir",
    InstantiationFailed = "instantiation_failed",
    InternalError = "internal_error",
    ListFailed = "list_failed",
    StoreFailed = "store_failed",
    DeleteFailed = "delete_failed",
    UseStudioEndpoint = "use_studio_endpoint",
    Unauthorized = "unauthorized",
    RouteNotFound = "route_not_found",
    MethodNotAllowed = "method_not_allowed",
    PayloadTooLarge = "payload_too_large",
    UnsupportedMediaType = "unsupported_media_type",
    RateLimited = "rate_limited",
    AlreadyDecided = "already_decided",
    ApprovalExpired = "approval_expired",
    PythonWorkerUnavailable = "python_worker_unavailable",
    // Ours: a session takes one turn at a time.
    TurnOpen = "turn_open",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        Code::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("unknown code {text}")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let all: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        schemars::json_schema!({ "description": "A stable, machine-readable reason of a refusal.", "enum": all })
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn texts_are_unique_and_read_back() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
        let mut texts: Vec<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Code::ALL.len());
    }
}
