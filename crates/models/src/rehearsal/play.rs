//! Playing a script: a pure function from a script and a request to what is answered.
//!
//! Nothing is remembered between requests. Each one is played again from the start of its
//! turn: the first rule that applies to what was said, then, for every round of results
//! that is in the conversation, the rule under `then` that applies to those.

use std::collections::BTreeSet;

use super::conditions::{Scene, Vars, examples};
use super::script::{Call, EachItem, Fail, Rule, Script};
use super::template::{Lookup, cut};
use super::turn::{Outcome, Turn};
use crate::{Block, ModelCall, ModelRequest};

/// The most calls in one answer.
pub(super) const MAX_CALLS: usize = 32;
/// The most lines of one list in an answer.
const MAX_LINES: usize = 50;

/// What a script answers to a request.
pub(crate) struct Played<'a> {
    pub(crate) blocks: Vec<Block>,
    /// A failure that follows instead of the end.
    pub(crate) fail: Option<&'a Fail>,
}

impl Played<'_> {
    pub(super) fn text(text: String) -> Self {
        Self { blocks: vec![Block::Text { text }], fail: None }
    }
}

/// Plays a script.
pub(crate) fn play<'a>(script: &'a Script, request: &ModelRequest) -> Played<'a> {
    if script.by_hand {
        return super::manual::play(script, request);
    }
    let turn = Turn::of(request);
    let mut scene =
        Scene { script, turn: &turn, tools: &request.tools, done: 0, vars: Vars::default(), current: 0, item: None };
    let mut last: Option<&'a Rule> = None;
    loop {
        let rules = last.map_or(&script.rules, |rule| &rule.then);
        let picked = rules.iter().find_map(|rule| Some((&rule.value, scene.enter(&rule.value.when)?)));
        let rule = match (picked, last) {
            (Some((rule, entered)), _) => {
                scene = entered;
                rule
            }
            (None, Some(rule)) if rule.again => rule,
            (None, Some(_)) => return Played::text(unanswered(&scene)),
            (None, None) => return Played::text(not_understood(script)),
        };
        if scene.done == turn.rounds.len() {
            return answer(rule, &scene);
        }
        // Calls this script would not have made: a conversation begun with another one.
        if rule.all_calls().next().is_none() {
            scene.done = turn.rounds.len();
            return Played::text(unanswered(&scene));
        }
        last = Some(rule);
        scene.done += 1;
        scene.current = 0;
    }
}

fn not_understood(script: &Script) -> String {
    let mut text = format!(
        "I am the rehearsal script `{}`, not a model: I follow fixed rules, and none of them fits what you wrote. What I do: {}",
        script.name,
        script.about.trim()
    );
    if !script.examples.is_empty() {
        text.push_str("\nYou could say:\n");
        text.push_str(&examples(script));
    }
    text
}

fn unanswered(scene: &Scene<'_>) -> String {
    told("My script has no line for what came back, so here it is as it came:", scene.round())
}

/// What the tools answered, word for word.
pub(super) fn told(first: &str, round: &[Outcome<'_>]) -> String {
    let lines = round.iter().map(|result| {
        if result.ok {
            format!("`{}` answered: {}", result.tool, cut(result.text, 2_000))
        } else {
            format!("`{}` failed: {}", result.tool, result.why())
        }
    });
    let mut text = first.to_owned();
    for line in limited(lines.collect()) {
        text.push_str("\n- ");
        text.push_str(&line);
    }
    text
}

fn answer<'a>(rule: &'a Rule, scene: &Scene<'_>) -> Played<'a> {
    let calls = match calls(rule, scene) {
        Ok(calls) => calls,
        Err(text) => return Played::text(text),
    };
    let mut blocks = Vec::new();
    if let Some(reasoning) = &rule.reasoning {
        blocks.push(Block::Reasoning { text: reasoning.render(scene), signature: None });
    }
    let text = text(rule, scene);
    if !text.is_empty() {
        blocks.push(Block::Text { text });
    }
    blocks.extend(calls.into_iter().map(Block::Call));
    Played { blocks, fail: rule.fail.as_ref() }
}

fn text(rule: &Rule, scene: &Scene<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(rule.say.as_ref().map(|say| say.render(scene)));
    let lines = scene.round().iter().enumerate().filter_map(|(at, result)| result_line(rule, scene, at, result));
    parts.extend(limited(lines.collect()));
    for each in &rule.each_item {
        parts.extend(item_lines(each, scene));
    }
    parts.extend(rule.end.as_ref().map(|end| end.render(scene)));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n")
}

fn result_line(rule: &Rule, scene: &Scene<'_>, at: usize, result: &Outcome<'_>) -> Option<String> {
    rule.each_result.iter().find_map(|case| {
        let mut inner = scene.with(scene.vars.clone());
        inner.current = at;
        inner.passes(&case.test, result)?;
        Some(case.say.render(&inner))
    })
}

fn item_lines(each: &EachItem, scene: &Scene<'_>) -> Vec<String> {
    let mut items = scene.values(&each.of);
    if !each.of.is_many() {
        items = items
            .into_iter()
            .flat_map(|value| match value {
                serde_json::Value::Array(list) => list,
                one => vec![one],
            })
            .collect();
    }
    if items.is_empty() {
        return each.none.iter().map(|none| none.render(scene)).collect();
    }
    let lines = items
        .into_iter()
        .map(|item| {
            let mut inner = scene.with(scene.vars.clone());
            inner.item = Some(item);
            each.say.render(&inner)
        })
        .collect();
    let title = each.title.iter().map(|title| title.render(scene));
    title.chain(limited(lines)).collect()
}

fn limited(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    lines.extend((more > 0).then(|| format!("… and {more} more")));
    lines
}

/// The calls a rule makes, or the text that is said instead.
fn calls(rule: &Rule, scene: &Scene<'_>) -> Result<Vec<ModelCall>, String> {
    let needed = rule.all_calls().filter(|call| !call.even_if_missing).map(|call| call.tool.value.as_str());
    if let Some(tool) = scene.missing_tool(needed) {
        return Err(format!("For that I would call the tool `{tool}`, which this agent does not have. I did nothing."));
    }
    let mut made = Vec::new();
    for call in rule.all_calls() {
        let mut seen = BTreeSet::new();
        for vars in spread(call, scene) {
            let inner = scene.with(vars);
            let args_text = arguments(call, &inner);
            if seen.insert(args_text.clone()) {
                made.push((call, args_text));
            }
        }
    }
    if made.len() > MAX_CALLS {
        return Err(format!(
            "That would be {} calls at once; I make at most {MAX_CALLS}. I did nothing; please name fewer.",
            made.len()
        ));
    }
    Ok(made
        .into_iter()
        .enumerate()
        .map(|(n, (call, args_text))| ModelCall {
            id: call.id.clone().unwrap_or_else(|| format!("rehearsal_{}", scene.turn.calls_ever + n + 1)),
            name: call.tool.value.clone(),
            args_text,
        })
        .collect())
}

fn arguments(call: &Call, scene: &Scene<'_>) -> String {
    match (&call.raw, &call.args) {
        (Some(raw), _) => raw.render(scene),
        (None, Some(args)) => args.fill(scene).unwrap_or_default().to_string(),
        (None, None) => "{}".to_owned(),
    }
}

/// The captures for each call: once, or once per entry of the list its arguments use.
fn spread(call: &Call, scene: &Scene<'_>) -> Vec<Vars> {
    let templates = call.templates();
    let group =
        templates.iter().flat_map(|template| template.paths()).find_map(|path| scene.vars.lists.get(&path.root));
    let Some(group) = group else {
        return vec![scene.vars.clone()];
    };
    let names: Vec<_> = (scene.vars.lists.iter()).filter(|(_, of)| *of == group).map(|(name, _)| name).collect();
    let entries =
        names.iter().filter_map(|name| scene.vars.values.get(*name)?.as_array()).map(Vec::len).max().unwrap_or(0);
    (0..entries)
        .map(|at| {
            let mut vars = scene.vars.clone();
            for name in &names {
                vars.lists.remove(*name);
                let value =
                    (scene.vars.values.get(*name)).and_then(|list| list.get(at)).filter(|value| !value.is_null());
                match value {
                    Some(value) => vars.values.insert((*name).clone(), value.clone()),
                    None => vars.values.remove(*name),
                };
            }
            vars
        })
        .collect()
}
