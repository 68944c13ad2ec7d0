//! `astudio agents`.

use super::ctx::{Ctx, text_or_file};
use super::exit::{Exit, Outcome, usage};
use super::table::{Table, or_dash, record, when};
use contract::Patch;
use contract::ops::agents::{
    AgentCreate, AgentItem, AgentPatch, CreateAgent, DeleteAgent, GetAgent, ListAgents, OptionalNamePath, PatchAgent,
    ReloadAgent, SetAgentVisibility, VisibilityPatch,
};
use contract::ops::common::{NamePath, NoVersionQuery, Page, VersionQuery};
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use serde_json::{Map, Value, json};

/// Commands over agents.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the agents you can see
    List(PageArgs),
    /// Show one agent
    Show {
        /// Its name
        name: String,
    },
    /// Create an agent
    Create(CreateArgs),
    /// Change an agent; what is not named stays
    Edit(EditArgs),
    /// Delete an agent with all that hangs on it
    Delete {
        /// Its name
        name: String,
        /// Only if it still has this version
        #[arg(long, value_name = "N")]
        expected_version: Option<i64>,
    },
    /// Build an agent anew from its current record
    Reload {
        /// Its name
        name: String,
    },
    /// Change who can see an agent
    Visibility {
        /// Its name
        name: String,
        /// Who can see it
        #[arg(value_parser = ["private", "tenant", "groups"])]
        visibility: String,
        /// A group that sees it, with `groups`; may be repeated
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,
    },
}

/// Which part of a list.
#[derive(Debug, clap::Args)]
pub struct PageArgs {
    /// Only what fits, such as `owner:me llm:anthropic`
    #[arg(value_name = "FILTER")]
    q: Option<String>,
    /// Most items, 1 to 1000
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Continue after the page before
    #[arg(long)]
    cursor: Option<String>,
    /// By which field; `-` in front turns it round
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    sort: Option<String>,
}

impl PageArgs {
    /// As the contract takes it.
    pub fn page(self) -> Page {
        Page { limit: self.limit, cursor: self.cursor, q: self.q, sort: self.sort }
    }
}

/// A new agent.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Its name; becomes lower case letters, digits and `-`
    name: String,
    /// Its model: PROVIDER:MODEL, or PROVIDER for the default model
    #[arg(long, value_name = "P:M")]
    llm: Option<String>,
    /// Its system prompt; @FILE reads it from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    prompt: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its category, a slug
    #[arg(long)]
    category: Option<String>,
    /// A tool or toolkit it may use; may be repeated
    #[arg(long = "tool", value_name = "SLUG")]
    tools: Vec<String>,
    /// Who can see it
    #[arg(long, value_parser = ["private", "tenant", "groups"])]
    visibility: Option<String>,
    /// A group that sees it, with `groups`; may be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Its class
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
}

/// Sampling parameters.
#[derive(Debug, clap::Args)]
pub struct ParamArgs {
    /// Sampling temperature, 0 to 2
    #[arg(long, value_name = "X")]
    temperature: Option<f64>,
    /// Most tokens in an answer
    #[arg(long, value_name = "N")]
    max_tokens: Option<i64>,
    /// Sample from the N likeliest tokens
    #[arg(long, value_name = "N")]
    top_k: Option<i64>,
    /// Sample from the likeliest tokens that make up this share
    #[arg(long, value_name = "X")]
    top_p: Option<f64>,
}

impl ParamArgs {
    fn map(&self) -> Map<String, Value> {
        let given = [
            ("temperature", self.temperature.map(|v| json!(v))),
            ("max_tokens", self.max_tokens.map(|v| json!(v))),
            ("top_k", self.top_k.map(|v| json!(v))),
            ("top_p", self.top_p.map(|v| json!(v))),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// A field that can be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Clearable {
    /// The description
    Description,
    /// The model
    Llm,
    /// The system prompt
    Prompt,
    /// The category, back to `general`
    Category,
    /// All sampling parameters
    Params,
    /// The temperature
    Temperature,
    /// The limit of tokens
    MaxTokens,
    /// Top-k
    TopK,
    /// Top-p
    TopP,
}

/// A change of an agent.
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// Its name
    name: String,
    /// Its model: PROVIDER:MODEL, or PROVIDER for the default model
    #[arg(long, value_name = "P:M")]
    llm: Option<String>,
    /// Its system prompt; @FILE reads it from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    prompt: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its category, a slug
    #[arg(long)]
    category: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
    /// Empty a field; may be repeated
    #[arg(long, value_name = "FIELD")]
    clear: Vec<Clearable>,
    /// Only if it still has this version
    #[arg(long, value_name = "N")]
    expected_version: Option<i64>,
}

/// Runs a command.
pub async fn run(ctx: &Ctx, command: Command) -> Outcome {
    match command {
        Command::List(page) => {
            let Json(list) = ctx.call::<ListAgents>(NoPath {}, page.page(), NoBody).await?;
            ctx.out.answer(&list, |out| {
                let mut table = Table::new(&["NAME", "LLM", "CATEGORY", "VISIBILITY", "OWNER", "VERSION", "UPDATED"]);
                for agent in &list.agents {
                    table.row([
                        agent.name.clone(),
                        or_dash(agent.llm.as_deref()),
                        or_dash(agent.category.as_deref()),
                        agent.visibility.clone(),
                        or_dash(agent.owner.as_deref()),
                        agent.version.map_or_else(|| "-".to_owned(), |v| v.to_string()),
                        agent.updated_at.map_or_else(|| "-".to_owned(), when),
                    ]);
                }
                let make = ctx.way.command("agents create NAME --llm P:M");
                table.write(out, &format!("There are no agents here that you can see. {make} makes one."))?;
                if let Some(Some(cursor)) = &list.next_cursor {
                    out.note(&format!("there are more: --cursor {cursor}"));
                }
                Ok(())
            })?;
        }
        Command::Show { name } => {
            let Json(agent) = ctx.call::<GetAgent>(NamePath { name }, NoQuery, NoBody).await?;
            show(ctx, &agent)?;
        }
        Command::Create(args) => create(ctx, args).await?,
        Command::Edit(args) => edit(ctx, args).await?,
        Command::Delete { name, expected_version } => {
            let query = VersionQuery { expected_version };
            let Json(deleted) = ctx.call::<DeleteAgent>(NamePath { name }, query, NoBody).await?;
            ctx.out.answer(&deleted, |out| out.line(&format!("Deleted {}.", deleted.name)))?;
        }
        Command::Reload { name } => {
            let Json(done) = ctx.call::<ReloadAgent>(NamePath { name }, NoVersionQuery, NoBody).await?;
            ctx.out.answer(&done, |out| {
                done.warnings.iter().for_each(|w| out.note(&format!("warning: {w}")));
                out.line(&format!("Reloaded {}.", done.name))
            })?;
        }
        Command::Visibility { name, visibility, groups } => {
            let body = VisibilityPatch { visibility, allowed_groups: groups };
            let Json(agent) = ctx.call::<SetAgentVisibility>(NamePath { name }, NoQuery, body).await?;
            show(ctx, &agent)?;
        }
    }
    Ok(Exit::Done)
}

async fn create(ctx: &Ctx, args: CreateArgs) -> Result<(), super::exit::Failure> {
    let mut config = args.params.map();
    if let Some(prompt) = args.prompt {
        config.insert("system_prompt".to_owned(), text_or_file(prompt)?.into());
    }
    if !args.tools.is_empty() {
        config.insert("tools".to_owned(), args.tools.into());
    }
    let body = AgentCreate {
        name: Some(args.name.into()),
        bot_class: args.class,
        llm: args.llm,
        description: args.description,
        category: args.category,
        config: (!config.is_empty()).then_some(config),
        visibility: args.visibility,
        allowed_groups: (!args.groups.is_empty()).then_some(args.groups),
        persist: None,
    };
    let Json(made) = ctx.call::<CreateAgent>(OptionalNamePath::default(), NoQuery, body).await?;
    ctx.out.answer(&made, |out| {
        made.warnings.iter().for_each(|w| out.note(&format!("warning: {w}")));
        out.line(&format!("Created {}. Try: {} ask {} \"Hello\"", made.name, ctx.way, made.name))
    })?;
    Ok(())
}

async fn edit(ctx: &Ctx, args: EditArgs) -> Result<(), super::exit::Failure> {
    let clear = |field| args.clear.contains(&field);
    let mut params = args.params.map();
    for (field, key) in [
        (Clearable::Temperature, "temperature"),
        (Clearable::MaxTokens, "max_tokens"),
        (Clearable::TopK, "top_k"),
        (Clearable::TopP, "top_p"),
    ] {
        if clear(field) && params.insert(key.to_owned(), Value::Null).is_some() {
            return Err(usage(format!("'{key}' is both set and cleared.")));
        }
    }
    if clear(Clearable::Params) && !params.is_empty() {
        return Err(usage("Sampling parameters are both set and cleared."));
    }
    let model_params = match params.is_empty() {
        false => Patch::Set(params),
        true if clear(Clearable::Params) => Patch::Null,
        true => Patch::Absent,
    };
    let field = |value: Option<String>, which, name: &str| match (value, clear(which)) {
        (Some(_), true) => Err(usage(format!("'{name}' is both set and cleared."))),
        (Some(value), false) => Ok(Patch::Set(value)),
        (None, true) => Ok(Patch::Null),
        (None, false) => Ok(Patch::Absent),
    };
    let body = AgentPatch {
        description: field(args.description, Clearable::Description, "description")?,
        llm: field(args.llm, Clearable::Llm, "llm")?,
        system_prompt: field(args.prompt.map(text_or_file).transpose()?, Clearable::Prompt, "prompt")?,
        category: field(args.category, Clearable::Category, "category")?,
        model_params,
        expected_version: args.expected_version.map(Value::from),
    };
    let nothing = body.description.is_absent()
        && body.llm.is_absent()
        && body.system_prompt.is_absent()
        && body.category.is_absent()
        && body.model_params.is_absent();
    if nothing {
        return Err(usage("Nothing to change was named. `astudio agents edit --help` lists the fields."));
    }
    let Json(agent) = ctx.call::<PatchAgent>(NamePath { name: args.name }, NoQuery, body).await?;
    show(ctx, &agent)
}

fn show(ctx: &Ctx, agent: &AgentItem) -> Result<(), super::exit::Failure> {
    ctx.out.answer(agent, |out| {
        let definition = agent.definition.as_ref();
        let params = definition.map(|d| serde_json::to_value(&d.model_params).unwrap_or_default());
        let params = params.as_ref().and_then(Value::as_object).map(|map| {
            let set = map.iter().filter(|(_, v)| !v.is_null());
            set.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
        });
        let tools = definition.map(|d| d.tools.iter().map(tool_name).collect::<Vec<_>>().join(", "));
        record(
            out,
            &[
                ("name", Some(agent.name.clone())),
                ("description", agent.description.clone()),
                ("llm", agent.llm.clone()),
                ("category", agent.category.clone()),
                ("class", Some(agent.class_name.clone())),
                ("owner", agent.owner.clone()),
                ("tenant", agent.tenant.clone()),
                ("visibility", Some(agent.visibility.clone())),
                ("groups", Some(agent.allowed_groups.join(", "))),
                ("access", Some(format!("{}{}", agent.access, if agent.can_manage { ", can manage" } else { "" }))),
                ("version", agent.version.map(|v| v.to_string())),
                ("updated", agent.updated_at.map(when)),
                ("params", params),
                ("tools", tools),
                ("prompt", definition.and_then(|d| d.system_prompt.clone())),
            ],
        )
    })?;
    Ok(())
}

fn tool_name(tool: &Value) -> String {
    tool.as_str().map_or_else(|| tool.to_string(), str::to_owned)
}
