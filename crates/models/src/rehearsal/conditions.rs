//! Whether a rule applies, and what it captures when it does.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde_json::Value;

use super::pattern::Patterns;
use super::script::{CaptureType, ResultTest, Script, When};
use super::template::{Lookup, Path, select, text_of};
use super::turn::{Outcome, Turn};
use crate::ToolSpec;

/// What is captured: values, and which of them are lists that belong together.
#[derive(Clone, Default)]
pub(crate) struct Vars {
    pub(crate) values: BTreeMap<String, Value>,
    /// Captures that are lists, with the number of the list they come from.
    pub(crate) lists: BTreeMap<String, usize>,
}

impl Vars {
    fn set(&mut self, script: &Script, name: &str, value: Value) -> Option<()> {
        let value = typed(script.types.get(name).copied(), value)?;
        self.values.insert(name.to_owned(), value);
        self.lists.remove(name);
        Some(())
    }
}

/// Where a script stands: everything that conditions and templates look at.
pub(crate) struct Scene<'a> {
    pub(crate) script: &'a Script,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) tools: &'a [ToolSpec],
    /// The rounds of calls that lie behind.
    pub(crate) done: usize,
    pub(crate) vars: Vars,
    /// The result that is spoken of, in the newest round.
    pub(crate) current: usize,
    pub(crate) item: Option<Value>,
}

impl<'a> Scene<'a> {
    /// The newest results.
    pub(crate) fn round(&self) -> &'a [Outcome<'a>] {
        self.done.checked_sub(1).and_then(|at| self.turn.rounds.get(at)).map_or(&[], Vec::as_slice)
    }

    /// The same place with other captures.
    pub(crate) fn with(&self, vars: Vars) -> Self {
        Self { vars, item: self.item.clone(), ..*self }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// The first tool of `names` that is not offered.
    pub(crate) fn missing_tool<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        names.find(|name| !self.has_tool(name))
    }

    /// The scene a rule would be played in, if its conditions hold.
    pub(crate) fn enter(&self, when: &When) -> Option<Self> {
        if when.tool.as_ref().is_some_and(|t| !self.has_tool(t))
            || when.no_tool.as_ref().is_some_and(|t| self.has_tool(t))
        {
            return None;
        }
        if let Some(count) = when.calls_made {
            let made: usize = self.turn.rounds[..self.done].iter().map(Vec::len).sum();
            if made < count.at_least || count.at_most.is_some_and(|most| made > most) {
                return None;
            }
        }
        let mut next = self.with(self.vars.clone());
        next.current = 0;
        next.heard(when)?;
        next.answered(when)?;
        Some(next)
    }

    /// The conditions on what was said.
    fn heard(&mut self, when: &When) -> Option<()> {
        let said = self.turn.said;
        if regexes(&when.not_said).any(|regex| regex.is_match(said)) {
            return None;
        }
        for regex in when.words.0.iter().filter_map(|word| word.regex()) {
            if !regex.is_match(said) {
                return None;
            }
        }
        for regex in regexes(&when.said) {
            self.capture(regex, said)?;
        }
        for regex in regexes(&when.replied) {
            self.capture(regex, &self.turn.replied)?;
        }
        for regex in regexes(&when.earlier) {
            let text = self.turn.earlier.iter().find(|text| regex.is_match(text))?;
            self.capture(regex, text)?;
        }
        for regex in regexes(&when.each) {
            self.capture_all(regex, said)?;
        }
        for regex in regexes(&when.maybe) {
            // An optional capture of the wrong type is as good as none.
            let before = self.vars.clone();
            let fresh = regex.capture_names().flatten().all(|name| !before.values.contains_key(name));
            if fresh && self.capture(regex, said).is_none() {
                self.vars = before;
            }
        }
        Some(())
    }

    fn capture(&mut self, regex: &Regex, text: &str) -> Option<()> {
        let captures = regex.captures(text)?;
        for (name, value) in named(regex, &captures) {
            if let Some(value) = value {
                self.vars.set(self.script, name, value.into())?;
            }
        }
        Some(())
    }

    /// Every match of a pattern; matches in which no name took part are passed over, so that a
    /// pattern can swallow what it does not mean.
    fn capture_all(&mut self, regex: &Regex, text: &str) -> Option<()> {
        let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        let mut found = 0;
        for captures in regex.captures_iter(text) {
            let row: Vec<_> = named(regex, &captures).collect();
            if row.iter().all(|(_, value)| value.is_none()) {
                continue;
            }
            found += 1;
            for (name, value) in row {
                let kind = self.script.types.get(name).copied();
                let value = match value {
                    Some(value) => typed(kind, value.into())?,
                    None => Value::Null,
                };
                lists.entry(name).or_default().push(value);
            }
        }
        if found == 0 {
            return None;
        }
        let lists = lists.into_iter().map(|(name, list)| (name.to_owned(), list));
        self.set_lists(lists.collect());
        Some(())
    }

    fn set_lists(&mut self, lists: Vec<(String, Vec<Value>)>) {
        let number = self.vars.lists.values().max().map_or(0, |max| max + 1);
        for (name, list) in lists {
            self.vars.values.insert(name.clone(), Value::Array(list));
            self.vars.lists.insert(name, number);
        }
    }

    /// The conditions on results, and what is taken from them.
    fn answered(&mut self, when: &When) -> Option<()> {
        let round = self.round();
        if let Some(test) = &when.every_result {
            if round.is_empty() {
                return None;
            }
            for result in round {
                self.passes(test, result)?;
            }
        }
        if let Some(test) = &when.result {
            let (at, vars) = round.iter().enumerate().find_map(|(at, result)| {
                let mut trial = self.with(self.vars.clone());
                trial.passes(test, result)?;
                Some((at, trial.vars))
            })?;
            self.current = at;
            self.vars = vars;
        }
        for (name, path) in &when.take {
            let mut values = self.values(path);
            if path.is_many() {
                let kind = self.script.types.get(name).copied();
                let values: Vec<_> = values.into_iter().map(|value| typed(kind, value)).collect::<Option<_>>()?;
                if values.is_empty() {
                    return None;
                }
                self.set_lists(vec![(name.clone(), values)]);
            } else {
                let value = values.pop()?;
                self.vars.set(self.script, name, value)?;
            }
        }
        Some(())
    }

    /// Whether a result passes a test; what its pattern captures is kept.
    pub(crate) fn passes(&mut self, test: &ResultTest, result: &Outcome<'_>) -> Option<()> {
        if test.tool.as_ref().is_some_and(|tool| tool != result.tool) || test.ok.is_some_and(|ok| ok != result.ok) {
            return None;
        }
        let value = match &test.at {
            None => Some(result.json.clone()),
            Some(at) => {
                let steps: Vec<_> = at.split('.').map(str::to_owned).collect();
                let mut found = Vec::new();
                select(&result.json, &steps, &mut found);
                found.pop()
            }
        };
        let value = value?;
        if test.empty.is_some_and(|empty| empty != is_empty(&value)) || test.is.as_ref().is_some_and(|is| *is != value)
        {
            return None;
        }
        let text = match &test.at {
            None => result.text.to_owned(),
            Some(_) => text_of(&value),
        };
        for regex in regexes(&test.matches) {
            self.capture(regex, &text)?;
        }
        Some(())
    }
}

impl Lookup for Scene<'_> {
    fn values(&self, path: &Path) -> Vec<Value> {
        let result = self.round().get(self.current);
        let script = self.script;
        let root = match path.root.as_str() {
            "said" => Some(self.turn.said.into()),
            "name" => Some(script.name.clone().into()),
            "about" => Some(script.about.trim().into()),
            "examples" => Some(examples(script).into()),
            "item" => self.item.clone(),
            "result" if path.steps.is_empty() => result.map(|r| match &r.json {
                list @ Value::Array(_) => list.clone(),
                _ => r.text.into(),
            }),
            "result" => result.map(|r| r.json.clone()),
            "call" => result.map(|r| r.args.clone()),
            "tool" => result.map(|r| r.tool.into()),
            "why" => result.map(|r| r.why().into()),
            name => self.vars.values.get(name).or_else(|| script.defaults.get(name)).cloned(),
        };
        let mut found = Vec::new();
        if let Some(root) = root {
            select(&root, &path.steps, &mut found);
        }
        found
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The script's examples, a line each.
pub(crate) fn examples(script: &Script) -> String {
    let lines: Vec<_> = script.examples.iter().map(|e| format!("- {e}")).collect();
    lines.join("\n")
}

fn regexes(patterns: &Patterns) -> impl Iterator<Item = &Regex> {
    patterns.0.iter().filter_map(|pattern| pattern.regex())
}

fn named<'r, 't>(regex: &'r Regex, captures: &Captures<'t>) -> impl Iterator<Item = (&'r str, Option<&'t str>)> {
    regex.capture_names().flatten().map(|name| (name, captures.name(name).map(|m| m.as_str().trim())))
}

/// A value as its declared type, or none when it cannot be one.
fn typed(kind: Option<CaptureType>, value: Value) -> Option<Value> {
    let text = match (&value, kind) {
        (_, None) => return Some(value),
        (Value::String(text), _) => text.trim().to_owned(),
        (Value::Number(number), _) => number.to_string(),
        (Value::Bool(flag), _) => flag.to_string(),
        _ => return None,
    };
    match kind? {
        CaptureType::Text => Some(text.into()),
        CaptureType::Int => text.parse::<i64>().ok().map(Value::from),
        CaptureType::Number => {
            // A decimal comma is how half of Europe writes 12,50.
            let text = text.replace(',', ".");
            if let Ok(whole) = text.parse::<i64>() {
                return Some(whole.into());
            }
            let number = text.parse::<f64>().ok().filter(|n| n.is_finite())?;
            Some(number.into())
        }
        CaptureType::Bool => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true.into()),
            "false" | "no" | "off" => Some(false.into()),
            _ => None,
        },
    }
}
