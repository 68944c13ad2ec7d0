//! MCP servers: a tenant's own, the host's, and those of a person's own machine.

use super::*;

#[test]
fn own_servers_of_a_tenant() {
    let world = World::new(open_policy());
    let ok = "https://mcp.host/api/x";
    for good in [
        json!({"name": "m", "url": ok}),
        json!({"name": "m", "url": "https://MCP.host:443/api"}),
        json!({"name": "m", "url": ok, "transport": "streamable-http", "allowed_tools": ["a"], "blocked_tools": [], "auth_type": "bearer",
            "description": "d", "params": {"headers": {"a": "b"}, "auth_config": {}, "timeout": 5}}),
        json!({"name": "m", "transport": "auto", "params": {"url": "https://mcp.host/api/sse"}}),
        json!({"name": "m", "url": ok, "params": {"command": null}}),
    ] {
        assert_eq!(world.mcp(good.clone()), Ok(()), "{good}");
    }
    use Reason::*;
    for (bad, reason, item) in [
        (json!({"name": "m", "command": "sh"}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "params": {"command": "sh"}}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "args": ["-c"]}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "params": {"args": "x"}}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "params": {"env": {"A": "b"}}}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "params": {"socket_path": "/s"}}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "transport": "stdio"}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "transport": " STDIO"}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "params": {"transport": "unix"}}), LocalExecution, "m"),
        (json!({"name": "m", "transport": "auto", "params": {"socket_path": "/s"}}), LocalExecution, "m"),
        (json!({"name": "m", "url": ok, "transport": "websocket"}), TransportNotPermitted, "m"),
        (json!({"name": "m", "url": ok, "transport": ""}), TransportNotPermitted, "m"),
        (json!({"name": "m", "url": ok, "params": {"transport": 7}}), TransportNotPermitted, "m"),
        (json!({"name": "m", "url": ok, "params": {"header_provider": "x"}}), FieldNotPermitted, "m.header_provider"),
        (json!({"name": "m", "url": ok, "params": {"command": ""}}), FieldNotPermitted, "m.command"),
        (json!({"name": "m", "url": ok, "params": {"name": "crm"}}), FieldNotPermitted, "m.name"),
        (json!({"name": "m"}), EndpointNotAllowed, "m"),
        (json!({"name": "m", "transport": "auto"}), EndpointNotAllowed, "m"),
        (json!({"name": "m", "url": ""}), EndpointNotAllowed, "m"),
        (json!({"name": "m", "params": {"url": ["https://mcp.host/api/"]}}), EndpointNotAllowed, "m"),
        (json!({"name": "m", "url": ok, "params": {"url": "https://evil/"}}), EndpointNotAllowed, "m"),
        (json!({"name": "m", "url": "https://mcp.host/api/%2e%2e/x"}), EndpointNotAllowed, "m"),
        (json!({"name": "m", "url": "https://u:p@mcp.host/api/"}), EndpointNotAllowed, "m"),
        (json!({"name": "CRM"}), EndpointNotAllowed, "CRM"),
    ] {
        assert_eq!(world.mcp(bad.clone()), Err((reason, item.to_owned())), "{bad}");
    }
}

#[test]
fn servers_of_the_host() {
    let world = World::new(open_policy());
    for good in [
        json!({"name": "crm"}),
        json!({"name": "tool"}),
        json!({"name": "crm", "allowed_tools": ["a"], "blocked_tools": ["b"], "description": "d"}),
        json!({"name": "crm", "params": {"allowed_tools": ["a"]}}),
    ] {
        assert_eq!(world.mcp(good.clone()), Ok(()), "{good}");
    }
    for (bad, item) in [
        (json!({"name": "crm", "url": "https://crm.host/mcp"}), "crm.url"),
        (json!({"name": "crm", "command": "sh"}), "crm.command"),
        (json!({"name": "crm", "transport": "stdio"}), "crm.transport"),
        (json!({"name": "tool", "args": ["-x"]}), "tool.args"),
        (json!({"name": "tool", "params": {"env": {}}}), "tool.env"),
        (json!({"name": "crm", "secret_refs": {"headers": "v"}}), "crm.headers"),
    ] {
        assert_eq!(world.mcp(bad.clone()), Err((Reason::FieldNotPermitted, item.to_owned())), "{bad}");
    }
    let spec: McpSpec = serde_json::from_value(json!({"name": "tool", "allowed_tools": ["a"]})).unwrap();
    assert_eq!(
        Value::from(world.policy.resolve_mcp(Phase::Build, &spec).unwrap()),
        json!({"name": "tool", "transport": "stdio", "command": "/opt/tool", "args": ["--safe"], "allowed_tools": ["a"]})
    );
}

#[test]
fn own_machine_lets_the_person_decide() {
    let mut world = World::new(TenantToolingPolicy::own_machine());
    for slug in ["wiki", "web", "hx_notes"] {
        assert_eq!(world.slug(slug), Ok(()));
    }
    assert_eq!(world.slug("nope"), Err(Reason::ToolkitUnavailable));
    for good in [
        json!({"name": "m", "transport": "stdio", "command": "server", "args": ["-x"], "params": {"env": {"A": "b"}}}),
        json!({"name": "m", "transport": "auto", "command": "server"}),
        json!({"name": "m", "transport": "unix", "params": {"socket_path": "/s"}}),
        json!({"name": "m", "url": "http://127.0.0.1:9000/mcp"}),
    ] {
        assert_eq!(world.mcp(good.clone()), Ok(()), "{good}");
    }
    for (bad, reason) in [
        (json!({"name": "m"}), Reason::EndpointNotAllowed),
        (json!({"name": "m", "url": "file:///etc/passwd"}), Reason::EndpointNotAllowed),
        (json!({"name": "m", "url": "http://u:p@host/"}), Reason::EndpointNotAllowed),
        (json!({"name": "m", "url": "http://host/", "transport": "websocket"}), Reason::TransportNotPermitted),
        (json!({"name": "m", "url": "http://host/", "params": {"x": 1}}), Reason::FieldNotPermitted),
    ] {
        assert_eq!(world.mcp(bad.clone()).map_err(|(reason, _)| reason), Err(reason), "{bad}");
    }
    world.allow.builtin = AllowList::nothing();
    assert_eq!(world.slug("web"), Err(Reason::ToolkitUnavailable));
}

#[test]
fn a_spec_refuses_unknown_keys() {
    assert!(serde_json::from_value::<McpSpec>(json!({"name": "m", "x": 1})).is_err());
    let spec: McpSpec = serde_json::from_value(json!({"name": "m"})).unwrap();
    assert_eq!(spec, McpSpec::new("m"));
}
