//! The gate order of one call, before anybody is asked and again before it runs.
//!
//! The person's standing, scope gate, policy, arguments. A call that would be refused never interrupts a person.

use crate::instances::Instance;
use contract::{Code, StudioError};
use rules::scope::BoundRequest;
use tools::{Args, Facts, InScope, enter};

/// A call that passed every gate.
pub(crate) struct Passed<'a> {
    pub facts: &'a Facts,
    pub scope: InScope,
    pub args: Args,
}

/// A call that did not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stopped {
    pub code: Code,
    pub message: String,
}

/// Runs the gates of a call.
pub(crate) fn check<'a>(
    instance: &'a Instance,
    request: &Result<BoundRequest, StudioError>,
    tool: &str,
    args_text: &str,
) -> Result<Passed<'a>, Stopped> {
    let stopped = |code, message: String| Err(Stopped { code, message });
    let Some(facts) = instance.tool(tool) else {
        let names: Vec<&str> = instance.facts().map(Facts::name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return stopped(Code::NotFound, format!("There is no tool '{tool}'. Tools of this agent: {known}."));
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return stopped(error.code, error.message.clone()),
    };
    let scope = match enter(facts, Some(request)) {
        Ok(scope) => scope,
        Err(reason) => {
            return stopped(Code::ToolScopeUnavailable, format!("The tool cannot be used in this scope ({reason})."));
        }
    };
    if let Err(refusal) = instance.permitted(facts) {
        return stopped(Code::ToolingNotPermitted, refusal.to_string());
    }
    match Args::parse(facts, args_text) {
        Ok(args) => Ok(Passed { facts, scope, args }),
        Err(fault) => stopped(Code::InvalidArgs, format!("{fault}. Correct the arguments and call again.")),
    }
}
