//! What makes a script playable beyond its YAML: names, patterns, and that every value a
//! rule uses is captured before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::Regex;

use super::error::{Place, ScriptError};
use super::pattern::Pattern;
use super::script::{Call, ResultTest, Rule, Script};
use super::scripts::is_script_name;
use super::template::{Path, Template, is_name};

/// The most different patterns of a script; each may take half a megabyte.
const MAX_PATTERNS: usize = 200;
/// The longest pause between two pieces, in milliseconds.
const MAX_PACE: u64 = 5_000;
/// Names with a meaning of their own.
const RESERVED: [&str; 9] = ["result", "call", "tool", "why", "item", "said", "name", "about", "examples"];
/// The reserved names that need a tool's result.
const OF_RESULTS: [&str; 4] = ["result", "call", "tool", "why"];

/// What is known where a rule stands.
#[derive(Clone, Default)]
struct Scope {
    /// Captures; those that are lists with the number of the pattern they come from.
    names: BTreeMap<String, Option<usize>>,
    /// Whether tools have answered.
    results: bool,
    /// Whether an item of a list is at hand.
    item: bool,
}

struct Checker<'a> {
    script: &'a Script,
    compiled: HashMap<String, Regex>,
    lists: usize,
    captured: BTreeSet<String>,
}

/// Checks a script and compiles its patterns.
pub(crate) fn check(script: &Script) -> Result<(), ScriptError> {
    let mut checker = Checker { script, compiled: HashMap::new(), lists: 0, captured: BTreeSet::new() };
    checker.head()?;
    let mut scope = Scope::default();
    for name in script.defaults.keys() {
        checker.define(&mut scope, name, None, Place::default())?;
    }
    for rule in &script.rules {
        checker.rule(&rule.value, &scope, rule.referenced.into())?;
    }
    for name in script.types.keys() {
        if !checker.captured.contains(name) {
            return checker.fail(
                Place::default(),
                format!("`types` names `{name}`, which nothing captures; correct or remove it"),
            );
        }
    }
    Ok(())
}

type Checked = Result<(), ScriptError>;

impl Checker<'_> {
    fn fail(&self, place: Place, message: impl Into<String>) -> Checked {
        Err(ScriptError::at(&self.script.name, place, message))
    }

    fn head(&self) -> Checked {
        let script = self.script;
        let none = Place::default();
        if !is_script_name(&script.name) {
            return self.fail(none, "`name` has to be 1 to 64 characters of a-z, 0-9, `-` and `_`");
        }
        if script.about.trim().is_empty() {
            return self.fail(none, "`about` is empty; say in a sentence what the script does");
        }
        if script.by_hand && !script.rules.is_empty() {
            return self.fail(none, "a script that is played `by_hand` has no `rules`; take one of the two away");
        }
        if script.rules.is_empty() && !script.by_hand {
            return self.fail(none, "`rules` is empty; write at least one rule");
        }
        if script.examples.len() > 20 {
            return self.fail(none, "more than 20 `examples`; keep the best");
        }
        if script.pace_ms > MAX_PACE {
            return self.fail(none, format!("`pace_ms` is more than {MAX_PACE}"));
        }
        Ok(())
    }

    fn define(&mut self, scope: &mut Scope, name: &str, list: Option<usize>, place: Place) -> Checked {
        if !is_name(name) {
            return self.fail(place, format!("`{name}` cannot name a capture; use a-z, 0-9 and `_`, a letter first"));
        }
        if RESERVED.contains(&name) {
            return self.fail(place, format!("`{name}` has a meaning of its own; give the capture another name"));
        }
        self.captured.insert(name.to_owned());
        scope.names.insert(name.to_owned(), list);
        Ok(())
    }

    /// Compiles a pattern and gives the names it captures.
    fn pattern(&mut self, pattern: &Pattern) -> Result<Vec<String>, ScriptError> {
        let regex = match self.compiled.get(&pattern.source) {
            Some(regex) => regex.clone(),
            None => {
                if self.compiled.len() >= MAX_PATTERNS {
                    self.fail(pattern.place, format!("more than {MAX_PATTERNS} different patterns; split the script"))?;
                }
                let regex =
                    pattern.compile().map_err(|message| ScriptError::at(&self.script.name, pattern.place, message))?;
                self.compiled.insert(pattern.source.clone(), regex.clone());
                regex
            }
        };
        let names = regex.capture_names().flatten().map(str::to_owned).collect();
        // A pattern is set once; a script that is checked twice keeps the first, equal one.
        let _ = pattern.regex.set(regex);
        Ok(names)
    }

    fn patterns(&mut self, patterns: &[Pattern], scope: &mut Scope) -> Checked {
        for pattern in patterns {
            for name in self.pattern(pattern)? {
                self.define(scope, &name, None, pattern.place)?;
            }
        }
        Ok(())
    }

    fn rule(&mut self, rule: &Rule, outer: &Scope, place: Place) -> Checked {
        let mut scope = outer.clone();
        self.when(rule, &mut scope, place)?;
        self.answer(rule, &scope, place)?;
        if !rule.calls.is_empty() && rule.call.is_some() {
            return self.fail(place, "this rule has `call` and `calls`; put all into `calls`");
        }
        let mut calls = 0;
        for call in rule.all_calls() {
            self.call(call, &scope)?;
            calls += 1;
        }
        if calls == 0 && (rule.again || !rule.then.is_empty()) {
            return self.fail(
                place,
                "this rule has `then` or `again` but makes no call, so no result would ever come; add a `call`",
            );
        }
        scope.results = true;
        for next in &rule.then {
            self.rule(&next.value, &scope, next.referenced.into())?;
        }
        Ok(())
    }

    fn when(&mut self, rule: &Rule, scope: &mut Scope, place: Place) -> Checked {
        let when = &rule.when;
        for pattern in &when.not_said.0 {
            self.pattern(pattern)?;
        }
        for patterns in [&when.said.0, &when.words.0, &when.maybe.0, &when.earlier.0, &when.replied.0] {
            self.patterns(patterns, scope)?;
        }
        for pattern in &when.each.0 {
            let names = self.pattern(pattern)?;
            if names.is_empty() {
                return self.fail(
                    pattern.place,
                    "a pattern of `each` captures nothing; add a group such as `(?<order_id>\\d+)`",
                );
            }
            self.lists += 1;
            for name in names {
                self.define(scope, &name, Some(self.lists), pattern.place)?;
            }
        }
        for test in [&when.result, &when.every_result].into_iter().flatten() {
            if !scope.results {
                return self.fail(place, "a rule that no call came before cannot test results; move it under `then`");
            }
            self.result_test(test, scope, place)?;
        }
        for (name, path) in &when.take {
            self.path(path, scope, place)?;
            let list = path.is_many().then(|| {
                self.lists += 1;
                self.lists
            });
            self.define(scope, name, list, place)?;
        }
        Ok(())
    }

    fn result_test(&mut self, test: &ResultTest, scope: &mut Scope, place: Place) -> Checked {
        if let Some(at) = &test.at
            && at.split('.').any(|step| step.is_empty() || step == "*")
        {
            return self
                .fail(place, format!("`at: {at}` is not a path inside a result; write for example `orders.0.status`"));
        }
        self.patterns(&test.matches.0, scope)
    }

    fn answer(&mut self, rule: &Rule, scope: &Scope, place: Place) -> Checked {
        let silent = rule.say.is_none()
            && rule.reasoning.is_none()
            && rule.end.is_none()
            && rule.each_result.is_empty()
            && rule.each_item.is_empty()
            && rule.fail.is_none()
            && rule.all_calls().next().is_none();
        if silent {
            return self.fail(place, "this rule does nothing; add `say`, `call`, `calls` or `fail`");
        }
        for template in [&rule.reasoning, &rule.say, &rule.end].into_iter().flatten() {
            self.template(template, scope, place)?;
        }
        if !rule.each_result.is_empty() && !scope.results {
            return self.fail(place, "`each_result` needs results; move the rule under the `then` of a call");
        }
        for case in &rule.each_result {
            let mut inner = scope.clone();
            self.result_test(&case.test, &mut inner, case.say.place)?;
            self.template(&case.say, &inner, case.say.place)?;
        }
        for each in &rule.each_item {
            self.path(&each.of, scope, each.say.place)?;
            let mut inner = scope.clone();
            inner.item = true;
            self.template(&each.say, &inner, place)?;
            for template in [&each.title, &each.none].into_iter().flatten() {
                self.template(template, scope, place)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call, scope: &Scope) -> Checked {
        let place = call.place();
        if call.tool.value.trim().is_empty() {
            return self.fail(place, "`tool` is empty; name the tool to call");
        }
        if call.args.is_some() && call.raw.is_some() {
            return self.fail(place, "a call has either `args` or `raw`, not both");
        }
        let mut list = None;
        for template in call.templates() {
            self.template(template, scope, place)?;
            for path in template.paths() {
                let Some(Some(group)) = scope.names.get(&path.root) else {
                    continue;
                };
                if list.is_some_and(|known| known != *group) {
                    return self
                        .fail(place, "a call uses two lists that do not belong together; capture both in one pattern");
                }
                list = Some(*group);
            }
        }
        Ok(())
    }

    fn template(&self, template: &Template, scope: &Scope, place: Place) -> Checked {
        let place = if template.place.line > 0 { template.place } else { place };
        template.paths().try_for_each(|path| self.path(path, scope, place))
    }

    fn path(&self, path: &Path, scope: &Scope, place: Place) -> Checked {
        let root = path.root.as_str();
        if OF_RESULTS.contains(&root) && !scope.results {
            return self.fail(
                place,
                format!("`{root}` is about a tool's result, and no call came before; use it under `then`"),
            );
        }
        if root == "item" && !scope.item {
            return self.fail(place, "`item` can be used in the `say` of `each_item` only");
        }
        if !RESERVED.contains(&root) && !scope.names.contains_key(root) {
            return self.fail(
                place,
                format!("`{root}` is used but never captured here; capture it in `when` as `(?<{root}>…)` or `take`, or give it a value in `defaults`"),
            );
        }
        Ok(())
    }
}
