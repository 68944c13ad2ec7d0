//! From keys to actions. Made from the action table and the person's settings; two actions on one key in one context are an
//! error that names both.

use crate::action::{ACTIONS, Action, Context};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::{BTreeMap, HashMap};

/// One key with its modifiers, in one form: shift is part of a letter's case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let mut modifiers = event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match event.code {
            KeyCode::Char(c) => {
                modifiers.remove(KeyModifiers::SHIFT);
                KeyCode::Char(if modifiers.contains(KeyModifiers::CONTROL) { c.to_ascii_lowercase() } else { c })
            }
            KeyCode::BackTab => {
                modifiers.remove(KeyModifiers::SHIFT);
                KeyCode::BackTab
            }
            other => other,
        };
        Self { code, modifiers }
    }
}

impl Key {
    /// Reads `ctrl-s`, `alt-1`, `shift-g`, `f5`, `enter`, `?`.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((head, tail)) = rest.split_once('-').filter(|(_, tail)| !tail.is_empty()) {
            modifiers |= match head {
                "ctrl" => KeyModifiers::CONTROL,
                "alt" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                _ => return Err(format!("'{text}' is no key: '{head}' is no modifier (ctrl, alt, shift)")),
            };
            rest = tail;
        }
        let code = match rest {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pageup" => KeyCode::PageUp,
            "pagedown" => KeyCode::PageDown,
            "delete" => KeyCode::Delete,
            "insert" => KeyCode::Insert,
            "backspace" => KeyCode::Backspace,
            name if name.len() > 1
                && name.starts_with('f')
                && name[1..].parse::<u8>().is_ok_and(|n| (1..=24).contains(&n)) =>
            {
                KeyCode::F(name[1..].parse().unwrap_or(1))
            }
            name => {
                let mut letters = name.chars();
                match (letters.next(), letters.next()) {
                    (Some(letter), None) if modifiers.contains(KeyModifiers::SHIFT) => {
                        KeyCode::Char(letter.to_ascii_uppercase())
                    }
                    (Some(letter), None) => KeyCode::Char(letter),
                    _ => return Err(format!("'{text}' is no key")),
                }
            }
        };
        if matches!(code, KeyCode::Char(_)) {
            modifiers.remove(KeyModifiers::SHIFT);
        }
        Ok(Self { code, modifiers })
    }

    /// For footers and help.
    pub fn label(&self) -> String {
        let mut text = String::new();
        for (modifier, name) in
            [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")]
        {
            if self.modifiers.contains(modifier) {
                text += name;
            }
        }
        text + &match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) if self.modifiers.contains(KeyModifiers::CONTROL) => c.to_ascii_uppercase().to_string(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::F(n) => format!("F{n}"),
            KeyCode::BackTab => "Shift-Tab".into(),
            KeyCode::PageUp => "PgUp".into(),
            KeyCode::PageDown => "PgDn".into(),
            KeyCode::Up => "↑".into(),
            KeyCode::Down => "↓".into(),
            KeyCode::Left => "←".into(),
            KeyCode::Right => "→".into(),
            KeyCode::Backspace => "Bksp".into(),
            KeyCode::Delete => "Del".into(),
            other => format!("{other:?}"),
        }
    }

    /// As settings name it, so that [`Key::parse`] reads it back; none for a key that has no name there.
    pub fn name(&self) -> Option<String> {
        let mut modifiers = self.modifiers;
        let key = match self.code {
            KeyCode::Char(' ') => "space".to_owned(),
            KeyCode::Char(c) if c.is_control() => return None,
            KeyCode::Char(c) if c.is_ascii_uppercase() => {
                modifiers |= KeyModifiers::SHIFT;
                c.to_ascii_lowercase().to_string()
            }
            KeyCode::Char(c) => c.to_string(),
            KeyCode::F(n) => format!("f{n}"),
            KeyCode::Enter => "enter".into(),
            KeyCode::Esc => "esc".into(),
            KeyCode::Tab => "tab".into(),
            KeyCode::BackTab => "backtab".into(),
            KeyCode::Up => "up".into(),
            KeyCode::Down => "down".into(),
            KeyCode::Left => "left".into(),
            KeyCode::Right => "right".into(),
            KeyCode::Home => "home".into(),
            KeyCode::End => "end".into(),
            KeyCode::PageUp => "pageup".into(),
            KeyCode::PageDown => "pagedown".into(),
            KeyCode::Delete => "delete".into(),
            KeyCode::Insert => "insert".into(),
            KeyCode::Backspace => "backspace".into(),
            _ => return None,
        };
        let mut name = String::new();
        for (modifier, word) in
            [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-"), (KeyModifiers::SHIFT, "shift-")]
        {
            if modifiers.contains(modifier) {
                name += word;
            }
        }
        Some(name + &key)
    }

    /// The event of a press of this key.
    #[cfg(test)]
    pub fn event(&self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }

    /// Whether the key writes a character into a text field.
    pub fn is_text(&self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && (self.modifiers - KeyModifiers::SHIFT).is_empty()
    }
}

/// Where text is typed, so that a key which writes a letter can mean nothing else.
const TYPED: [Context; 5] = [Context::Form, Context::Text, Context::Composer, Context::Agent, Context::Layer];

/// All bindings.
#[derive(Clone, Debug)]
pub struct Keymap {
    bindings: HashMap<(Context, Key), Action>,
    keys: BTreeMap<Action, Vec<Key>>,
}

impl Keymap {
    /// The table's keys, replaced by the person's where they set some (`quit = ["ctrl-x"]`).
    ///
    /// # Errors
    /// Every action that does not exist, key that is none, and conflict, each in a line.
    pub fn new(own: &BTreeMap<String, Vec<String>>) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        for id in own.keys().filter(|id| !ACTIONS.iter().any(|info| info.id == id.as_str())) {
            faults.push(format!("keys.{id}: there is no such action"));
        }
        let mut map = Self { bindings: HashMap::new(), keys: BTreeMap::new() };
        for info in ACTIONS {
            let texts: Vec<&str> = match own.get(info.id) {
                Some(texts) => texts.iter().map(String::as_str).collect(),
                None => info.keys.to_vec(),
            };
            for text in texts {
                match Key::parse(text) {
                    Ok(key) => {
                        if key.is_text() && TYPED.contains(&info.context) {
                            faults.push(format!("keys.{}: '{text}' writes a letter where text is typed", info.id));
                        }
                        if let Some(other) = map.bindings.insert((info.context, key), info.action) {
                            let other = crate::action::info(other).id;
                            faults.push(format!("keys.{}: '{text}' is taken by '{other}' in the same place", info.id));
                        }
                        map.keys.entry(info.action).or_default().push(key);
                    }
                    Err(why) => faults.push(format!("keys.{}: {why}", info.id)),
                }
            }
        }
        if faults.is_empty() { Ok(map) } else { Err(faults) }
    }

    /// What a key means where these contexts are active, innermost first.
    pub fn action(&self, contexts: &[Context], key: Key) -> Option<Action> {
        contexts.iter().find_map(|context| self.bindings.get(&(*context, key)).copied())
    }

    /// The keys of an action.
    pub fn keys(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action, for hints.
    pub fn hint(&self, action: Action) -> String {
        self.keys(action).first().map_or_else(|| "unbound".to_owned(), Key::label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_no_conflicts_and_own_ones_are_named() {
        let map = Keymap::new(&BTreeMap::new()).expect("the table");
        let key = Key::from(KeyEvent::new(KeyCode::Char('Q'), KeyModifiers::CONTROL | KeyModifiers::SHIFT));
        assert_eq!(map.action(&[Context::Agents, Context::Global], key), Some(Action::Quit));
        let own = BTreeMap::from([("palette".into(), vec!["ctrl-q".into()]), ("nope".into(), vec![])]);
        let faults = Keymap::new(&own).expect_err("a conflict");
        assert!(faults.iter().any(|f| f.contains("'quit'")) && faults.iter().any(|f| f.contains("nope")), "{faults:?}");
    }

    #[test]
    fn no_key_that_types_is_bound_where_text_is_typed() {
        let own = BTreeMap::from([("save".to_owned(), vec!["x".to_owned()])]);
        let faults = Keymap::new(&own).expect_err("a letter in a form");
        assert!(faults[0].contains("keys.save") && faults[0].contains("'x'"), "{faults:?}");
    }

    #[test]
    fn a_key_is_read_back_by_its_name() {
        let map = Keymap::new(&BTreeMap::new()).expect("the table");
        let more =
            ["É", "-", "ctrl--", "shift-f3", "alt-shift-x", "ctrl-alt-up"].map(|text| Key::parse(text).expect("a key"));
        for key in map.bindings.keys().map(|(_, key)| *key).chain(more) {
            let name = key.name().expect("a name");
            assert_eq!(Key::parse(&name), Ok(key), "{name}");
        }
    }
}
