//! Creating an agent.

use super::definition::{check_category, check_config, created};
use crate::errors::from_store;
use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::agents::{AgentCreate, AgentCreated, CreateAgent, OptionalNamePath};
use contract::ops::common::{reserved_config_key, reserved_key};
use contract::wire::{Json, Late, NoQuery};
use contract::{Code, Micros, Result, StudioError, ids};
use rules::access::Visibility;
use rules::names::{NameError, agent_name};
use rules::sharing::{SharingError, check_sharing};
use serde_json::{Value, json};
use store::StoreError;
use store::repo::agents::{self as repo, Agent, Head};
use trust::journal::{self, Entry};

impl Serve<CreateAgent> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: OptionalNamePath,
        _: Late<NoQuery>,
        body: Late<AgentCreate>,
    ) -> Result<Json<AgentCreated>> {
        if path.name.is_some() {
            let message = "Send a creation to the list's address, with the name in the body.";
            return Err(StudioError::new(Code::InvalidRoute, 400, message));
        }
        let body = body.open()?;
        let partition = who.partition()?.clone();
        let Some(Value::String(name)) = &body.name else {
            return Err(StudioError::invalid_request("'name' is needed and must be text."));
        };
        let visibility = visibility(body.visibility.as_deref().unwrap_or("private"))?;
        let allowed_groups = body.allowed_groups.clone().unwrap_or_default();

        // Two refusals come later in the contract's order than the others of their kind.
        let name = agent_name(name);
        if let Err(error @ NameError::Empty) = name {
            return Err(invalid_name(error));
        }
        if let Some(category) = &body.category {
            check_category(category)?;
        }
        if let Some(key) = body.config.as_ref().and_then(reserved_key) {
            return Err(reserved_config_key(key));
        }
        let sharing = check_sharing(&who.access_caller(), visibility, &allowed_groups);
        if let Err(error) = sharing
            && error != SharingError::InvalidVisibility
        {
            return Err(not_sharable(error));
        }
        let judge = self.judge(&partition);
        let class = body.bot_class.as_deref().unwrap_or(super::classes::DEFAULT);
        if partition.is_global() {
            if let Ok(name) = &name
                && self.store.read(|tx| repo::name_in_use(tx, &partition, name)).await.map_err(from_store)?
            {
                return Err(StudioError::name_taken(name));
            }
            judge.class(class)?;
        }
        let definition = created(&body)?;
        let name = name.map_err(invalid_name)?;
        sharing.map_err(not_sharable)?;
        if !partition.is_global() {
            judge.class(class)?;
        }
        check_config(&definition, &partition)?;
        judge.created(&definition)?;

        let now = Micros::now();
        let agent = Agent {
            head: Head {
                id: ids::record_id(),
                name,
                owner: who.user.clone(),
                visibility,
                allowed_groups,
                bot_class: definition.bot_class.clone(),
                llm: definition.llm.clone(),
                category: definition.category.clone(),
                description: definition.description.clone(),
                active: true,
                version: 1,
                created_at: now,
                updated_at: now,
            },
            definition,
        };
        let answer = AgentCreated {
            name: agent.head.name.clone(),
            persisted: true,
            source: "studio".into(),
            file_path: None,
            agent_id: agent.head.id.clone(),
            version: 1,
            tenant: partition.as_tenant().map(str::to_owned),
            warnings: match body.persist {
                Some(false) => vec!["'persist' is ignored: agents are always stored.".into()],
                _ => Vec::new(),
            },
        };
        let write = self.store.write(move |tx| {
            let head = &agent.head;
            if repo::name_in_use(tx, &partition, &head.name)? {
                return Err(Failure::from(StudioError::name_taken(&head.name)));
            }
            repo::insert(tx, &partition, &agent, &who.user)?;
            let entry = Entry {
                partition: &partition,
                actor: &who.user,
                action: "agent.created",
                subject: &format!("agent:{}", head.name),
                body: json!({ "agent_id": head.id, "version": 1, "visibility": head.visibility.as_str() }),
            };
            Ok(journal::record(tx, now, entry)?)
        });
        match write.await {
            Ok(()) => Ok(Json(answer)),
            // Another process took the name after it was looked up.
            Err(Failure::Store(StoreError::Unique)) => Err(StudioError::name_taken(&answer.name)),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// Reads a visibility that a client sent.
///
/// # Errors
/// 400 `invalid_request`.
pub(super) fn visibility(text: &str) -> Result<Visibility> {
    text.parse().map_err(|_| StudioError::invalid_request("'visibility' must be private, tenant or groups."))
}

/// A sharing that the rule refuses.
pub(super) fn not_sharable(error: SharingError) -> StudioError {
    let code = match error {
        SharingError::TenantRequired => Code::TenantRequired,
        SharingError::GroupsRequired => Code::GroupsRequired,
        SharingError::GroupsNotAllowed => Code::GroupsNotAllowed,
        SharingError::InvalidVisibility => Code::InvalidVisibility,
    };
    StudioError::new(code, 422, error.to_string())
}

fn invalid_name(error: NameError) -> StudioError {
    StudioError::new(Code::InvalidName, 400, error.to_string())
}
