//! Direct execution of a tool. There is nobody here to approve a write, so host writes are refused before anything is built.

use crate::{Admitted, Engine, Serve};
use contract::ops::tools::{ExecuteBody, ExecuteTool, SlugPath, ToolResult};
use contract::turn::CallResult;
use contract::wire::{Json, Late, NoQuery};
use contract::{Code, Micros, Result, StudioError};
use rules::policy::Phase;
use rules::scope::ScopeReason;
use serde_json::{Value, json};
use std::time::Duration;
use tools::{ArgFault, Args, Cleared, enter};

impl Serve<ExecuteTool> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: SlugPath,
        _: Late<NoQuery>,
        body: Late<ExecuteBody>,
    ) -> Result<Json<ToolResult>> {
        let body = body.open()?;
        let entry = self
            .registry
            .lookup(&path.slug)
            .filter(|entry| !entry.is_toolkit())
            .ok_or_else(|| StudioError::not_found("Tool", &path.slug))?;
        let facts = entry.facts().next().ok_or_else(|| StudioError::not_found("Tool", &path.slug))?;
        // Whether it applies to the partition is the policy's own to say.
        let partition = who.partition.clone().unwrap_or(rules::partition::Partition::GLOBAL);
        self.policy.check_one(Phase::Execute, &partition, entry.slug(), &|slug| self.registry.policy_entry(slug))?;
        let scope = enter(facts, Some(&who.bind(&partition, None))).map_err(scope_refused)?;
        if facts.needs_approval() {
            return Err(StudioError::new(
                Code::ConfirmationRequired,
                403,
                "This tool writes and needs a person's approval, which cannot be given here. Ask an agent that has the tool.",
            ));
        }
        let args = Args::check(facts, Value::Object(body.args)).map_err(|fault| match fault {
            ArgFault::ServerManaged(ref params) => {
                let details = json!({ "params": params });
                StudioError::new(Code::ServerManaged, 422, format!("{fault}.")).with(details)
            }
            other => StudioError::new(Code::InvalidArgs, 422, format!("{other}.")),
        });
        // The contract asks for server-managed names before the tool is built, and for the rest of the arguments after.
        let args = match args {
            Err(error) if error.code == Code::ServerManaged => return Err(error),
            other => other,
        };
        let built = entry.build().and_then(|bound| bound.into_iter().next().ok_or_else(|| "it holds no tool".into()));
        let bound = built.map_err(|why| {
            tracing::error!(slug = entry.slug(), why, "a tool could not be built");
            StudioError::new(Code::InstantiationFailed, 500, "The tool could not be built. The log has the details.")
        })?;
        let args = args?;
        let cleared = Cleared::unenforced(&bound, scope, args)
            .map_err(|why| StudioError::new(Code::ConfirmationRequired, 403, format!("{why}.")))?;
        let result = cleared.execute(Duration::from_secs(self.runtime.settings().call_seconds)).await;
        let result = result.unwrap_or_else(tools::Unanswered::into_result);
        if let Err(why) = bound.close().await {
            tracing::warn!(slug = entry.slug(), why, "a tool could not be closed");
        }
        if result.code.as_deref() == Some(Code::ToolScopeUnavailable.as_str()) {
            return Err(StudioError::new(Code::ToolScopeUnavailable, 403, result.error.clone().unwrap_or_default())
                .with(json!({ "reason": result.value["reason"] })));
        }
        Ok(Json(answer(result)))
    }
}

fn scope_refused(reason: ScopeReason) -> StudioError {
    StudioError::new(Code::ToolScopeUnavailable, 403, format!("The tool cannot be used in this scope ({reason})."))
        .with(json!({ "reason": reason.as_str() }))
}

fn answer(result: CallResult) -> ToolResult {
    ToolResult {
        success: result.ok,
        status: if result.ok { "success" } else { "error" }.into(),
        result: result.value,
        metadata: result.code.map_or_else(|| json!({}), |code| json!({ "error_code": code })),
        error: result.error,
        timestamp: Micros::now(),
        files: Vec::new(),
        images: Vec::new(),
        voice_text: None,
        display_data: None,
    }
}
