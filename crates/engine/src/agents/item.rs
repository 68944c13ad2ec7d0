//! How an agent is shown.

use contract::ops::agents::{AgentDefinition, AgentItem};
use rules::access::{Caller, Verdict, access};
use rules::partition::Partition;
use store::repo::agents::{Agent, Definition, Head};

/// The item of a row as this caller sees it; none when the caller does not.
pub(super) fn seen(caller: &Caller, partition: &Partition, head: Head) -> Option<AgentItem> {
    let verdict = access(caller, &head.owned(partition));
    verdict.can_see.then(|| item(verdict, partition, head))
}

/// The item of an agent, with its definition if the caller manages it; none when the caller does not see it.
pub(super) fn whole(caller: &Caller, partition: &Partition, agent: Agent) -> Option<AgentItem> {
    let mut item = seen(caller, partition, agent.head)?;
    if item.can_manage {
        item.definition = Some(definition(agent.definition));
    }
    Some(item)
}

fn item(verdict: Verdict, partition: &Partition, head: Head) -> AgentItem {
    AgentItem {
        name: head.name,
        source: "studio".into(),
        origin: "studio".into(),
        owner: Some(head.owner),
        enabled: head.active,
        agent_id: Some(head.id),
        tenant: partition.as_tenant().map(str::to_owned),
        version: Some(head.version),
        updated_at: Some(head.updated_at),
        visibility: head.visibility.as_str().into(),
        allowed_groups: head.allowed_groups,
        class_name: head.bot_class,
        module: None,
        file_path: None,
        tags: Vec::new(),
        priority: 0,
        at_startup: false,
        llm: head.llm,
        description: head.description,
        category: Some(head.category),
        access: verdict.access.map(|access| access.as_str().to_owned()).unwrap_or_default(),
        can_manage: verdict.can_manage,
        definition: None,
    }
}

/// What managers see of a definition: never its free keys, nor the version of its shape.
fn definition(stored: Definition) -> AgentDefinition {
    AgentDefinition {
        bot_class: stored.bot_class,
        llm: stored.llm,
        description: stored.description,
        category: stored.category,
        model_params: stored.model_params,
        system_prompt: stored.system_prompt,
        tools: stored.tools,
    }
}
