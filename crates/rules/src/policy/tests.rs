//! The policy's cases as tables.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

mod mcp;

fn lookup(slug: &str) -> Option<Entry> {
    let lower = slug.to_lowercase();
    let (slug, host) = match lower.as_str() {
        "hx_notes" => ("hx_notes", true),
        "hx_orders" => ("hx_orders", true),
        // The second is an alias by class name.
        "wiki" | "wikitoolkit" => ("wiki", false),
        "web" => ("web", false),
        _ => return None,
    };
    Some(Entry { slug: slug.to_owned(), host })
}

/// The outside of one question, with the common answers.
struct World {
    policy: TenantToolingPolicy,
    phase: Phase,
    partition: Partition,
    allow: AllowLists,
    held: BTreeSet<String>,
    server_secrets: bool,
}

impl World {
    fn new(policy: TenantToolingPolicy) -> Self {
        Self {
            policy,
            phase: Phase::Write,
            partition: Partition::tenant("acme").unwrap(),
            allow: AllowLists::default(),
            held: BTreeSet::new(),
            server_secrets: false,
        }
    }

    fn check(&self, tooling: &Tooling<'_>) -> Result<(), (Reason, String)> {
        let agent = AgentRef { vault_ref: "studio-agent:42", owner: "u1" };
        let request = Request {
            phase: self.phase,
            partition: &self.partition,
            allow: &self.allow,
            held: &self.held,
            secrets: if self.server_secrets { SecretOwner::Server(agent) } else { SecretOwner::Client },
            lookup: &lookup,
        };
        self.policy.check(&request, tooling).map_err(|refusal| {
            assert_eq!(refusal.phase, self.phase);
            assert_eq!(refusal.status(), if self.phase == Phase::Execute { 403 } else { 422 });
            let details = refusal.details();
            assert_eq!(details["reason"], refusal.reason.as_str());
            assert_eq!(details["item"], refusal.item);
            (refusal.reason, refusal.item)
        })
    }

    fn slug(&self, slug: &str) -> Result<(), Reason> {
        let as_tool = self.check(&Tooling { tools: &[json!(slug)], ..Tooling::default() });
        let refs = BTreeMap::new();
        let as_toolkit = self.check(&Tooling {
            toolkits: &[ToolkitSpec { slug, secret_refs: &refs, vault_owner: None }],
            ..Tooling::default()
        });
        assert_eq!(as_tool, as_toolkit);
        as_tool.map_err(|(reason, _)| reason)
    }

    fn mcp(&self, spec: Value) -> Result<(), (Reason, String)> {
        let spec: McpSpec = serde_json::from_value(spec).unwrap();
        self.check(&Tooling { mcp_servers: &[spec], ..Tooling::default() })
    }
}

fn open_policy() -> TenantToolingPolicy {
    let crm = json!({"url": "https://crm.host/mcp", "transport": "sse", "headers": {"x": "y"}});
    let tool = json!({"transport": "stdio", "command": "/opt/tool", "args": ["--safe"]});
    TenantToolingPolicy {
        builtin_tools: ["WIKI".to_owned()].into(),
        mcp_endpoints: vec![EndpointPrefix::new("https://mcp.host/api/").unwrap()],
        mcp_servers: [("crm", crm), ("tool", tool)]
            .into_iter()
            .map(|(name, config)| (name.to_owned(), HostMcpServer::new(config.as_object().unwrap().clone())))
            .collect(),
        ..TenantToolingPolicy::deny_all()
    }
}

fn only(slugs: &[&str]) -> AllowList {
    AllowList::Only(slugs.iter().map(|slug| (*slug).to_owned()).collect())
}

#[test]
fn reasons_are_the_documented_ones() {
    let texts = Reason::ALL.map(Reason::as_str);
    for (reason, text) in Reason::ALL.into_iter().zip(texts) {
        assert_eq!(json!(reason), json!(text));
    }
    let mut refusal = Refusal::new(Phase::Write, Reason::ToolParamsNotPermitted, "wiki");
    refusal.params = Some(vec!["a".into()]);
    assert_eq!(refusal.details(), json!({"reason": "tool_params_not_permitted", "item": "wiki", "params": ["a"]}));
}

#[test]
fn deny_all_leaves_host_toolkits() {
    let world = World::new(TenantToolingPolicy::default());
    assert_eq!(world.slug("hx_notes"), Ok(()));
    assert_eq!(world.slug("HX_Notes"), Ok(()));
    assert_eq!(world.slug("wiki"), Err(Reason::BuiltinNotPermitted));
    assert_eq!(world.slug("nope"), Err(Reason::ToolkitUnavailable));
    assert_eq!(
        world.mcp(json!({"name": "m", "url": "https://mcp.host/api/"})),
        Err((Reason::EndpointNotAllowed, "m".into()))
    );
    let mut closed = World::new(TenantToolingPolicy::deny_all());
    closed.policy.host_toolkits = false;
    assert_eq!(closed.slug("hx_notes"), Err(Reason::ToolkitUnavailable));
}

#[test]
fn builtins_by_any_case_and_alias() {
    let world = World::new(open_policy());
    for slug in ["wiki", "Wiki", "WikiToolkit"] {
        assert_eq!(world.slug(slug), Ok(()), "{slug}");
    }
    assert_eq!(world.slug("web"), Err(Reason::BuiltinNotPermitted));
}

#[test]
fn tool_entries_need_a_name() {
    let world = World::new(open_policy());
    let of = |tool: Value| world.check(&Tooling { tools: &[json!("wiki"), tool], ..Tooling::default() });
    assert_eq!(of(json!({"name": "wiki", "x": 1})), Ok(()));
    for bad in [json!(7), json!(null), json!({}), json!({"name": 1}), json!(["wiki"])] {
        assert_eq!(of(bad.clone()), Err((Reason::ToolkitUnavailable, "tools[1]".into())), "{bad}");
    }
    assert_eq!(of(json!("")), Err((Reason::ToolkitUnavailable, String::new())));
}

#[test]
fn allow_lists_by_phase_and_partition() {
    let mut world = World::new(open_policy());
    world.allow = AllowLists { host: only(&["HX_notes"]), builtin: AllowList::nothing() };
    for phase in [Phase::Write, Phase::Activate, Phase::Attach, Phase::Execute] {
        world.phase = phase;
        assert_eq!(world.slug("hx_notes"), Ok(()));
        assert_eq!(world.slug("hx_orders"), Err(Reason::ToolkitUnavailable));
        assert_eq!(world.slug("wiki"), Err(Reason::ToolkitUnavailable));
        assert_eq!(world.slug("web"), Err(Reason::BuiltinNotPermitted));
    }
    world.phase = Phase::Build;
    assert_eq!(world.slug("hx_orders"), Ok(()));
    assert_eq!(world.slug("wiki"), Ok(()));
    assert_eq!(world.slug("web"), Err(Reason::BuiltinNotPermitted));

    world.phase = Phase::Write;
    world.partition = Partition::GLOBAL;
    assert_eq!(world.slug("nope"), Ok(()), "GLOBAL is not judged");
    world.policy.apply_to_global = true;
    assert_eq!(world.slug("hx_orders"), Ok(()), "without a tenant there is no list");
    assert_eq!(world.slug("web"), Err(Reason::BuiltinNotPermitted));
}

#[test]
fn held_skips_the_allow_lists_only() {
    let mut world = World::new(open_policy());
    world.allow = AllowLists { host: AllowList::nothing(), builtin: AllowList::nothing() };
    world.held = ["HX_notes", "wiki", "web", "nope", "m"].map(str::to_owned).into();
    assert_eq!(world.slug("hx_notes"), Ok(()));
    assert_eq!(world.slug("wikitoolkit"), Ok(()));
    assert_eq!(world.slug("hx_orders"), Err(Reason::ToolkitUnavailable));
    assert_eq!(world.slug("web"), Err(Reason::BuiltinNotPermitted));
    assert_eq!(world.slug("nope"), Err(Reason::ToolkitUnavailable));
    assert_eq!(world.mcp(json!({"name": "m", "command": "sh"})), Err((Reason::LocalExecution, "m".into())));
    world.policy.host_toolkits = false;
    assert_eq!(world.slug("hx_notes"), Err(Reason::ToolkitUnavailable));
}

#[test]
fn answers_of_a_callback() {
    assert_eq!(AllowList::from_json(&json!(null)), AllowList::Unrestricted);
    assert_eq!(AllowList::from_json(&json!("a")), only(&["a"]));
    assert_eq!(AllowList::from_json(&json!(["a", "b"])), only(&["a", "b"]));
    for bad in [json!(1), json!(true), json!({}), json!([1]), json!(["a", null]), json!([])] {
        assert_eq!(AllowList::from_json(&bad), AllowList::nothing(), "{bad}");
    }
}

#[test]
fn secret_references() {
    let mut world = World::new(open_policy());
    let toolkit = |world: &World, slug: &str, name: &str, owner: Option<&str>| {
        let refs = BTreeMap::from([("token".to_owned(), name.to_owned())]);
        world
            .check(&Tooling {
                toolkits: &[ToolkitSpec { slug, secret_refs: &refs, vault_owner: owner }],
                ..Tooling::default()
            })
            .map_err(|(reason, _)| reason)
    };
    let refused = Err(Reason::SecretRefNotPermitted);
    let good = "toolkit_wiki_studio-agent:42";
    assert_eq!(toolkit(&world, "wiki", good, Some("u1")), refused, "from a client");
    world.server_secrets = true;
    for phase in [Phase::Write, Phase::Activate, Phase::Build] {
        world.phase = phase;
        assert_eq!(toolkit(&world, "wiki", good, Some("u1")), Ok(()));
        assert_eq!(toolkit(&world, "WIKI", good, Some("u1")), Ok(()), "the name holds the canonical slug");
        assert_eq!(toolkit(&world, "wiki", good, Some("u2")), refused);
        assert_eq!(toolkit(&world, "wiki", good, None), refused);
        assert_eq!(toolkit(&world, "wiki", "toolkit_wiki_studio-agent:43", Some("u1")), refused);
        assert_eq!(toolkit(&world, "hx_notes", good, Some("u1")), refused);
    }
    world.phase = Phase::Attach;
    assert_eq!(toolkit(&world, "wiki", good, Some("u1")), refused);

    world.phase = Phase::Write;
    let url = "https://mcp.host/api/";
    let mcp = |refs: Value| json!({"name": "m", "url": url, "secret_refs": refs, "vault_owner": "u1"});
    assert_eq!(world.mcp(mcp(json!({"headers": "mcp_agent_m_studio-agent:42"}))), Ok(()));
    assert_eq!(
        world.mcp(mcp(json!({"headers": "mcp_agent_n_studio-agent:42"}))),
        Err((Reason::SecretRefNotPermitted, "m".into()))
    );
    assert_eq!(
        world.mcp(mcp(json!({"description": "mcp_agent_m_studio-agent:42"}))),
        Err((Reason::SecretRefNotPermitted, "m".into()))
    );
    assert_eq!(
        world.mcp(mcp(json!({"env": "mcp_agent_m_studio-agent:42"}))),
        Err((Reason::LocalExecution, "m".into()))
    );
    world.server_secrets = false;
    assert_eq!(
        world.mcp(json!({"name": "m", "url": url, "vault_owner": "u2"})),
        Err((Reason::SecretRefNotPermitted, "m".into()))
    );
}
