//! What the other side has no counterpart for, and why, in words that a screen shows.

const TURNS: &str = "it answers a question at once and keeps no turns. The answer stands in the chat.";
const APPROVALS: &str = "it sends the questions of its agents over its own web page only and lists none. With the \
    interaction id of a question you can still answer it: `astudio approvals approve ID`.";
const PEOPLE: &str = "users, tenants and their roles are kept by the program around it. Manage them there.";
const TOKENS: &str = "sign-ins are kept by the program around it. Manage them there.";
const AUDIT: &str = "it keeps no journal.";

/// Operations that the other side has nothing for, each with the reason.
pub const LACKS: &[(&str, &str)] = &[
    ("test.defer", "it answers a question at once and keeps no turn to come back to. Ask without deferring."),
    ("test.sessions", "it keeps one unnamed test session for each agent and lists none."),
    ("test.transcript", "it keeps no transcripts. You can ask; what was said before is not shown."),
    ("turns.get", TURNS),
    ("turns.events", TURNS),
    ("turns.resume", TURNS),
    ("turns.interrupt", "a question that was sent cannot be stopped there."),
    ("turns.settle", TURNS),
    ("approvals.list", APPROVALS),
    ("approvals.get", APPROVALS),
    ("approvals.withdraw", "a question of its agents is answered or runs out; it cannot be taken back."),
    ("approvals.reask", "a question of its agents that ran out cannot be asked again. Ask the agent again."),
    ("tenants.list", PEOPLE),
    ("tenants.create", PEOPLE),
    ("tenants.get", PEOPLE),
    ("tenants.patch", PEOPLE),
    ("users.list", PEOPLE),
    ("users.create", PEOPLE),
    ("users.get", PEOPLE),
    ("users.patch", PEOPLE),
    ("members.list", PEOPLE),
    ("members.get", PEOPLE),
    ("members.put", PEOPLE),
    ("members.delete", PEOPLE),
    ("tokens.list", TOKENS),
    ("tokens.create", TOKENS),
    ("tokens.revoke", TOKENS),
    ("tokens.admin_list", TOKENS),
    ("tokens.admin_revoke", TOKENS),
    ("audit.list", AUDIT),
    ("audit.verify", AUDIT),
    ("events.watch", "it does not tell of changes."),
];

/// Why the other side cannot do this operation at all; none when it can.
pub fn lacks(id: &str) -> Option<&'static str> {
    LACKS.iter().find(|(lacking, _)| *lacking == id).map(|(_, why)| *why)
}
