//! A form: fields in a column with one focus, checks at the field, marks where something changed, choices on top.
//!
//! It knows nothing of what it is for. Whoever shows one gives it actions and input, asks it for its value, and does the saving.

mod area;
mod choices;
mod draw;
mod field;
mod schema;
#[cfg(test)]
mod tests;

pub use draw::View;
pub use field::{Bound, Empty, Field, Kind, Scalar};

use crate::action::{Action, Context};
use crate::event::{Input, What};
use crate::widgets::Line as LineInput;
use area::Area;
use choices::{Choices, Outcome};
use crossterm::event::KeyCode;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a form did with an action or an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It means nothing to a form.
    Ignored,
    /// The focus moved, choices opened, a cursor moved.
    Used,
    /// A value changed.
    Changed,
}

/// How the value of a field is typed.
#[derive(Debug)]
enum Editor {
    /// On one line.
    Line(LineInput),
    /// On many.
    Area(Box<Area>),
    /// It is not typed but turned.
    Turn,
}

/// A form.
#[derive(Debug, Default)]
pub struct Form {
    fields: Vec<Field>,
    editors: Vec<Editor>,
    focus: usize,
    choices: Option<Choices>,
    /// The schema it was made from; the whole value is checked against it.
    schema: Option<Value>,
}

impl Form {
    /// A form with these fields, the focus on the first.
    pub fn new(fields: Vec<Field>) -> Self {
        let editors = fields.iter().map(editor).collect();
        Self { fields, editors, focus: 0, choices: None, schema: None }
    }

    /// A form for the arguments of a schema: objects of scalars, enumerations and arrays of scalars, each perhaps nullable.
    /// Fields that are not touched keep what `args` hold, to the letter; absent ones stay absent.
    ///
    /// # Errors
    /// Why it cannot be shown as a form. Show checked JSON instead.
    pub fn from_schema(schema: &Value, args: &Value) -> Result<Self, String> {
        let mut form = Self::new(schema::fields(schema, args)?);
        form.schema = Some(schema.clone());
        Ok(form)
    }

    /// Contexts whose keys count, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.choices.is_some() {
            return vec![Context::Layer];
        }
        match self.editors.get(self.focus) {
            Some(Editor::Area(_)) => vec![Context::Text, Context::Form],
            _ => vec![Context::Form],
        }
    }

    /// Whether keys that write go to the form.
    pub fn wants_text(&self) -> bool {
        let typed = matches!(self.editors.get(self.focus), Some(Editor::Line(_) | Editor::Area(_)));
        self.choices.is_some() || (typed && self.focus().is_some_and(|field| !field.read_only))
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of this key.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The field with the focus.
    pub fn focus(&self) -> Option<&Field> {
        self.fields.get(self.focus)
    }

    /// Moves the focus. Says whether there is such a field.
    pub fn focus_on(&mut self, key: &str) -> bool {
        let index = self.index(key);
        self.focus = index.unwrap_or(self.focus);
        index.is_some()
    }

    fn index(&self, key: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.key == key)
    }

    /// Puts a value into a field, as if it had been typed.
    pub fn set(&mut self, key: &str, value: Value) {
        let Some(index) = self.index(key) else { return };
        let field = &mut self.fields[index];
        // What does not fit is held as text with its error, as when it was typed.
        field.value = Some(value);
        let text = field.text();
        match &mut self.editors[index] {
            Editor::Area(area) => area.set(&text),
            Editor::Line(line) => *line = LineInput::new(text.clone()),
            Editor::Turn => {}
        }
        self.fields[index].take_text(&text);
    }

    /// Changes what a field held before, against which changes are marked. A field that was not changed takes it over.
    pub fn set_base(&mut self, key: &str, base: Option<Value>) {
        let Some(index) = self.index(key) else { return };
        let field = &mut self.fields[index];
        if field.base == base {
            return;
        }
        let follows = !field.is_changed();
        field.base.clone_from(&base);
        if follows {
            field.value = base;
            field.error = None;
            self.editors[index] = editor(&self.fields[index]);
        }
    }

    /// Gives a field other choices.
    pub fn set_options(&mut self, key: &str, new: Vec<Value>) {
        if let Some(index) = self.index(key)
            && let Kind::Choice { options, .. } | Kind::List { options, .. } = &mut self.fields[index].kind
        {
            *options = new;
        }
    }

    /// Puts words behind the choices of a field.
    pub fn set_notes(&mut self, key: &str, notes: BTreeMap<String, String>) {
        if let Some(index) = self.index(key) {
            self.fields[index].notes = notes;
        }
    }

    /// Whether the focused field has choices to show.
    pub fn has_choices(&self) -> bool {
        self.focus().is_some_and(|field| {
            !field.read_only
                && match &field.kind {
                    Kind::Choice { .. } => true,
                    Kind::List { options, .. } => !options.is_empty(),
                    _ => false,
                }
        })
    }

    /// Says at a field what is wrong with it.
    pub fn set_error(&mut self, key: &str, error: Option<String>) {
        if let Some(index) = self.index(key) {
            self.fields[index].error = error;
        }
    }

    /// Makes all fields such that they can only be looked at.
    pub fn make_read_only(&mut self) {
        self.fields.iter_mut().for_each(|field| field.read_only = true);
    }

    /// Keys of the fields that differ from what they were.
    pub fn changed(&self) -> Vec<&str> {
        self.fields.iter().filter(|field| field.is_changed()).map(|field| field.key.as_str()).collect()
    }

    /// Whether any field differs from what it was.
    pub fn is_dirty(&self) -> bool {
        self.fields.iter().any(Field::is_changed)
    }

    /// Checks all fields, says at each what is wrong, and moves the focus to the first that is. True: the value may be sent.
    pub fn check(&mut self) -> bool {
        for field in &mut self.fields {
            // What was not touched was taken before; it is judged only by the schema.
            field.error = if field.is_changed() { field.fault() } else { field.lack() };
        }
        if self.fields.iter().all(|field| field.error.is_none()) {
            self.check_schema();
        }
        let first = self.fields.iter().position(|field| field.error.is_some());
        self.focus = first.unwrap_or(self.focus);
        first.is_none()
    }

    fn check_schema(&mut self) {
        let Some(schema) = &self.schema else { return };
        let value = self.value();
        let Ok(validator) = jsonschema::validator_for(schema) else { return };
        let faults: Vec<(String, String)> = validator
            .iter_errors(&value)
            .map(|error| {
                let path = error.instance_path().to_string();
                let key = path.trim_start_matches('/').split('/').next().unwrap_or_default();
                (key.replace("~1", "/").replace("~0", "~"), error.to_string())
            })
            .collect();
        for (key, fault) in faults {
            // A fault of the whole object has no field; the first one tells it.
            let index = self.index(&key).unwrap_or(0);
            if let Some(field) = self.fields.get_mut(index) {
                field.error.get_or_insert(fault);
            }
        }
    }

    /// The values of all fields that are not left out, as an object. Meant for after [`Form::check`].
    pub fn value(&self) -> Value {
        let pairs = self.fields.iter().filter_map(|field| Some((field.key.clone(), field.value.clone()?)));
        Value::Object(pairs.collect::<Map<_, _>>())
    }

    /// Finds the next place with a text in a field of many lines, upper and lower case alike. Says whether there is one.
    pub fn find(&mut self, key: &str, text: &str, back: bool, here: bool) -> bool {
        let index = self.index(key);
        match index.and_then(|index| self.editors.get_mut(index)) {
            Some(Editor::Area(area)) => area.find(text, back, here),
            _ => false,
        }
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input) -> Did {
        if let Some(choices) = &mut self.choices {
            let outcome = choices.act(action);
            return self.choose(outcome);
        }
        let read_only = self.focus().is_none_or(|field| field.read_only);
        if let Some(Editor::Area(area)) = self.editors.get_mut(self.focus)
            && !(read_only && matches!(action, Action::CutWord | Action::Undo | Action::Redo))
            && let Some(changed) = area.act(action)
        {
            return self.after(changed);
        }
        match action {
            Action::NextField | Action::TextDown => self.step(true),
            Action::PreviousField | Action::TextUp => self.step(false),
            Action::ClearField if !read_only => self.clear(),
            Action::Choices => self.open_choices(),
            _ => Did::Ignored,
        }
    }

    fn step(&mut self, forward: bool) -> Did {
        let count = self.fields.len().max(1);
        self.focus = (self.focus + if forward { 1 } else { count - 1 }) % count;
        Did::Used
    }

    fn clear(&mut self) -> Did {
        match self.editors.get_mut(self.focus) {
            Some(Editor::Line(line)) => line.clear(),
            Some(Editor::Area(area)) => area.clear(),
            Some(Editor::Turn) => {
                self.fields[self.focus].take_text("");
                return Did::Changed;
            }
            None => return Did::Ignored,
        }
        self.after(true)
    }

    /// Reads the focused field's text into its value.
    fn after(&mut self, changed: bool) -> Did {
        if !changed {
            return Did::Used;
        }
        let text = match &self.editors[self.focus] {
            Editor::Line(line) => line.text().to_owned(),
            Editor::Area(area) => area.value(),
            Editor::Turn => return Did::Used,
        };
        self.fields[self.focus].take_text(&text);
        Did::Changed
    }

    fn open_choices(&mut self) -> Did {
        let Some(field) = self.fields.get(self.focus).filter(|field| !field.read_only) else { return Did::Used };
        let (options, free, many) = match &field.kind {
            Kind::Choice { options, free } => (options, *free, false),
            Kind::List { options, .. } if !options.is_empty() => (options, true, true),
            _ => return Did::Used,
        };
        self.choices = Some(Choices::new(field, options.clone(), free, many));
        Did::Used
    }

    fn choose(&mut self, outcome: Outcome) -> Did {
        let key = self.focus().map(|field| field.key.clone()).unwrap_or_default();
        match outcome {
            Outcome::Open => Did::Used,
            Outcome::Close => {
                self.choices = None;
                Did::Used
            }
            Outcome::Take(value) => {
                self.choices = None;
                self.set(&key, value);
                Did::Changed
            }
            Outcome::Toggle(value) => {
                let mut items = self.items();
                match items.iter().position(|item| *item == value) {
                    Some(at) => _ = items.remove(at),
                    None => items.push(value),
                }
                self.set(&key, Value::Array(items));
                Did::Changed
            }
        }
    }

    /// What is in the focused list now.
    fn items(&self) -> Vec<Value> {
        match self.focus().and_then(|field| field.value.as_ref()) {
            Some(Value::Array(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// Takes an input that means no action: typing, pasting.
    pub fn input(&mut self, input: &Input) -> Did {
        if let Some(choices) = &mut self.choices {
            choices.input(input);
            return Did::Used;
        }
        let Some(field) = self.fields.get(self.focus) else { return Did::Ignored };
        let read_only = field.read_only;
        let fixed = matches!(field.kind, Kind::Choice { free: false, .. });
        match (&input.what, &mut self.editors[self.focus]) {
            (What::Key(key), Editor::Area(_)) if read_only && !matches!(key.code, KeyCode::Left | KeyCode::Right) => {
                Did::Ignored
            }
            (What::Key(key), Editor::Area(area)) => match area.key(key) {
                Ok(changed) => self.after(changed),
                Err(area::NoRoom) => self.no_room(),
            },
            (What::Paste(text), Editor::Area(area)) if !read_only => {
                if area.insert(text) {
                    self.after(true)
                } else {
                    self.no_room()
                }
            }
            (What::Key(key), _) if key.code == KeyCode::Enter => self.enter(),
            (What::Key(key), Editor::Turn) if key.code == KeyCode::Char(' ') => self.enter(),
            (What::Key(key), Editor::Line(_)) if fixed => {
                let opened = matches!(key.code, KeyCode::Char(_)) && self.open_choices() == Did::Used;
                if opened
                    && key.code != KeyCode::Char(' ')
                    && let Some(choices) = &mut self.choices
                {
                    choices.input(input);
                }
                Did::Used
            }
            (What::Key(key), Editor::Line(line)) if !read_only => {
                let changed = line.key(key);
                self.after(changed)
            }
            (What::Paste(text), Editor::Line(line)) if !read_only && !fixed => {
                let changed = line.paste(text);
                self.after(changed)
            }
            _ => Did::Ignored,
        }
    }

    fn no_room(&mut self) -> Did {
        self.fields[self.focus].error =
            Some(format!("There is room for {} characters here; use an editor of your own.", area::MOST));
        Did::Used
    }

    fn enter(&mut self) -> Did {
        let field = &self.fields[self.focus];
        if field.read_only {
            return self.step(true);
        }
        match &field.kind {
            Kind::Bool => {
                let next = match (&field.value, field.empty) {
                    (Some(Value::Bool(true)), _) => "false",
                    (Some(Value::Bool(false)), Empty::Null | Empty::Omit) => "",
                    _ => "true",
                };
                self.fields[self.focus].take_text(next);
                Did::Changed
            }
            Kind::Choice { free: false, .. } => self.open_choices(),
            _ => self.step(true),
        }
    }
}

fn editor(field: &Field) -> Editor {
    match field.kind {
        Kind::Bool => Editor::Turn,
        Kind::Multiline | Kind::List { .. } => Editor::Area(Box::new(Area::new(&field.text()))),
        _ => Editor::Line(LineInput::new(field.text())),
    }
}
