//! Changing the arguments: a form made from the tool's schema, or checked JSON where a form cannot show them.

use crate::action::{Action, Context};
use crate::event::Input;
use crate::form::{Did, Field, Form, Kind, View};
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::{Map, Value};
use text::Safe;

/// The key of the one field of JSON.
const JSON: &str = "arguments";

/// What was changed is hidden, and not kept.
#[derive(Debug, PartialEq)]
pub struct Hidden;

/// The editor of one approval's arguments.
#[derive(Debug)]
pub struct Editor {
    form: Form,
    schema: Value,
    /// Why it is JSON; none = a form of fields.
    json: Option<String>,
    /// What the server, or the check of the whole, says is wrong.
    pub error: Option<Safe<'static>>,
}

impl Editor {
    /// An editor of these arguments.
    pub fn new(schema: &Value, args: &Value) -> Self {
        let (form, json) = match Form::from_schema(schema, args) {
            Ok(form) if !form.fields().is_empty() => (form, None),
            Ok(_) => (as_json(args), Some("The schema names no arguments.".to_owned())),
            Err(why) => (as_json(args), Some(why)),
        };
        Self { form, schema: schema.clone(), json, error: None }
    }

    /// Contexts whose keys count.
    pub fn contexts(&self) -> Vec<Context> {
        self.form.contexts()
    }

    /// Whether the focused field has choices.
    pub fn has_choices(&self) -> bool {
        self.form.has_choices()
    }

    /// What is typed and differs from the arguments, to be kept; none = nothing does. Without hidden values: they must not be
    /// written to a file. Where only they were changed, or they may be anywhere in a text, that is an error.
    pub fn typed(&self) -> Result<Option<Value>, Hidden> {
        if self.json.is_some() {
            let Some(field) = self.form.field(JSON).filter(|field| field.is_changed()) else { return Ok(None) };
            let text = field.value.clone().unwrap_or_default();
            let whole = text.as_str().and_then(|text| serde_json::from_str(text).ok());
            let was = field.base.as_ref().and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
            // A text that is no JSON yet may hold what the arguments had before.
            return if [whole, was].iter().flatten().any(has_secret) { Err(Hidden) } else { Ok(Some(text)) };
        }
        let changed: Vec<&Field> = self.form.fields().iter().filter(|field| field.is_changed()).collect();
        let is_open = |field: &&&Field| !field.secret && !text::is_secret_name(&field.key);
        let open: Map<String, Value> = changed
            .iter()
            .filter(is_open)
            .map(|field| (field.key.clone(), field.value.clone().unwrap_or_default()))
            .collect();
        if open.is_empty() && !changed.is_empty() {
            return Err(Hidden);
        }
        Ok((!open.is_empty()).then_some(Value::Object(open)))
    }

    /// Types again what was kept.
    pub fn put(&mut self, typed: Value) {
        match typed {
            Value::Object(fields) if self.json.is_none() => {
                fields.into_iter().for_each(|(key, value)| self.form.set(&key, value));
            }
            text @ Value::String(_) if self.json.is_some() => self.form.set(JSON, text),
            // The schema was another one then.
            _ => {}
        }
    }

    /// Gives an input to the form. Says whether a value changed.
    pub fn input(&mut self, input: &Input, action: Option<Action>, writes: bool) -> bool {
        let did = match action {
            Some(action) if !(writes && self.form.wants_text()) => self.form.act(action, input),
            _ => self.form.input(input),
        };
        if did == Did::Changed {
            self.error = None;
            if self.json.is_some() {
                // Checked on the fly: a fault shows while one types.
                let fault = self.read_json().err();
                self.form.set_error(JSON, fault);
            }
        }
        did == Did::Changed
    }

    /// The arguments, when they may be sent; else each fault is shown where it is.
    pub fn take(&mut self) -> Option<Value> {
        let args = if self.json.is_some() {
            match self.read_json() {
                Ok(args) => args,
                Err(fault) => {
                    self.form.set_error(JSON, Some(fault));
                    return None;
                }
            }
        } else {
            if !self.form.check() {
                return None;
            }
            self.form.value()
        };
        // A hidden value is not known here: sent as it is shown, the stars would run.
        if let Some(name) = hidden(&args) {
            self.error = Some(
                Safe::clean(&format!("'{name}' is shown hidden; type its value anew to change arguments."))
                    .into_owned(),
            );
            return None;
        }
        self.error = None;
        Some(args)
    }

    fn read_json(&self) -> Result<Value, String> {
        let text =
            self.form.field(JSON).and_then(|field| field.value.as_ref()).and_then(Value::as_str).unwrap_or_default();
        let args: Value = serde_json::from_str(text).map_err(|error| format!("This is no JSON: {error}."))?;
        if !args.is_object() {
            return Err("The arguments must be an object.".into());
        }
        // A schema that is broken itself is for the server to judge.
        let Ok(validator) = jsonschema::validator_for(&self.schema) else { return Ok(args) };
        let fault = validator.iter_errors(&args).next().map(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("{}: {error}", place.trim_start_matches('/')) }
        });
        fault.map_or(Ok(args), Err)
    }

    /// Why the arguments are edited as JSON.
    pub fn why_json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Draws it. Answers where the cursor is.
    pub fn draw(&self, theme: &Theme, view: &mut View, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
        self.form.draw(theme, view, area, frame)
    }
}

fn as_json(args: &Value) -> Form {
    let text = serde_json::to_string_pretty(args).unwrap_or_default();
    let field = Field::new(JSON, "arguments (JSON)", Kind::Multiline).holding(Some(Value::String(text)));
    Form::new(vec![field])
}

/// The name of a secret argument that is still the mask.
fn hidden(value: &Value) -> Option<&str> {
    match value {
        Value::Object(map) => map.iter().find_map(|(key, item)| {
            let masked = text::is_secret_name(key) && item.as_str() == Some(text::MASK);
            if masked { Some(key.as_str()) } else { hidden(item) }
        }),
        Value::Array(items) => items.iter().find_map(hidden),
        _ => None,
    }
}

/// Whether a name in it is one of a secret.
fn has_secret(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, item)| text::is_secret_name(key) || has_secret(item)),
        Value::Array(items) => items.iter().any(has_secret),
        _ => false,
    }
}
