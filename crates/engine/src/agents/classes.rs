//! Which classes an agent may have.

use contract::{Code, Result, StudioError};
use rules::partition::Partition;
use std::collections::BTreeSet;

/// The stock classes, by name.
pub const STOCK: [&str; 10] = [
    "AbstractBot",
    "Agent",
    "BaseBot",
    "BasicAgent",
    "BasicBot",
    "Chatbot",
    "InfoAgent",
    "VoiceBot",
    "WebAgent",
    "WebSearchAgent",
];
/// The stock class that others are made from; no agent can be one.
pub const ABSTRACT: &str = "AbstractBot";
/// The class of an agent that names none.
pub const DEFAULT: &str = "BasicBot";

/// Whether an agent of the partition may have this class: a stock class, or one that the host allows.
///
/// # Errors
/// 400 `invalid_bot_class` in GLOBAL, 422 `bot_class_not_allowed` for a tenant.
pub fn check(class: &str, partition: &Partition, allowed: &BTreeSet<String>) -> Result<()> {
    if class != ABSTRACT && (STOCK.contains(&class) || allowed.contains(class)) {
        return Ok(());
    }
    // Not which classes there are: a host may have some that this tenant shall not know of.
    Err(if partition.is_global() {
        StudioError::new(
            Code::InvalidBotClass,
            400,
            format!("An agent cannot be of class '{class}'. The catalogue lists the classes."),
        )
    } else {
        StudioError::new(
            Code::BotClassNotAllowed,
            422,
            format!("Agents of class '{class}' are not allowed here. The catalogue lists the classes."),
        )
    })
}
