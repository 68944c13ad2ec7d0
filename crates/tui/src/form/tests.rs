#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::testing;
use crate::theme::{Theme, ThemeName};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Position, Rect};
use serde_json::json;

struct Bench {
    form: Form,
    view: View,
    keymap: crate::keymap::Keymap,
    size: (u16, u16),
}

impl Bench {
    fn new(form: Form) -> Self {
        let keymap = crate::keymap::Keymap::new(&std::collections::BTreeMap::new()).unwrap();
        Self { form, view: View::default(), keymap, size: (60, 20) }
    }

    fn press(&mut self, event: crossterm::event::KeyEvent) -> Did {
        let input = Input { at: 0, what: What::Key(event) };
        let key = crate::keymap::Key::from(event);
        match self.keymap.action(&self.form.contexts(), key) {
            Some(action) if !(key.is_text() && self.form.wants_text()) => self.form.act(action, &input),
            _ => self.form.input(&input),
        }
    }

    fn keys(&mut self, names: &str) -> &mut Self {
        for name in names.split_whitespace() {
            self.press(testing::key(name));
        }
        self
    }

    fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.press(crossterm::event::KeyEvent::new(KeyCode::Char(c), crossterm::event::KeyModifiers::NONE));
        }
        self
    }

    fn paste(&mut self, text: &str) -> &mut Self {
        self.form.input(&Input { at: 0, what: What::Paste(text.into()) });
        self
    }

    fn draw(&mut self) -> (Vec<String>, Option<Position>) {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        let mut cursor = None;
        let theme = Theme::of(ThemeName::Dark);
        terminal
            .draw(|frame| {
                let area = Rect::new(0, 0, self.size.0, self.size.1);
                cursor = self.form.draw(&theme, &mut self.view, area, frame);
            })
            .unwrap();
        let buffer = terminal.backend().buffer();
        let lines = (0..self.size.1)
            .map(|y| {
                let (mut line, mut x) = (String::new(), 0);
                while x < self.size.0 {
                    let symbol = buffer[(x, y)].symbol();
                    line += symbol;
                    x += (text::width(symbol) as u16).max(1);
                }
                line.trim_end().to_owned()
            })
            .collect();
        (lines, cursor)
    }
}

fn sample() -> Form {
    let above = Some(Bound { at: 0.0, exclusive: true });
    Form::new(vec![
        Field::new("name", "name", Kind::Text).holding(Some(json!("a"))).help("The name."),
        Field::new(
            "top_p",
            "top_p",
            Kind::Number { min: above, max: Some(Bound { at: 1.0, exclusive: false }), integer: false },
        )
        .holding(Some(json!(1.0))),
        Field::new("on", "on", Kind::Bool).holding(Some(json!(true))).when_empty(Empty::Refused),
        Field::new("llm", "llm", Kind::Choice { options: vec![json!("x:one"), json!("y:two")], free: true }),
        Field::new("tools", "tools", Kind::List { of: Scalar::Text, options: vec![json!("http"), json!("shell")] }),
        Field::new("prompt", "prompt", Kind::Multiline).holding(Some(json!("first\nsecond"))),
    ])
}

#[test]
fn marks_changes_and_says_faults_at_the_field() {
    let mut bench = Bench::new(sample());
    bench.typed("b").keys("tab").typed("x");
    assert_eq!(bench.form.changed(), ["name", "top_p"]);
    let (lines, cursor) = bench.draw();
    assert_eq!(lines[0], " ● name   ab");
    assert_eq!(lines[1], "›● top_p  1.0x");
    assert_eq!(lines[2], "   ! This must be a number.");
    assert_eq!(cursor, Some(Position::new(14, 1)));
    assert!(!bench.form.check(), "a fault does not pass");
    bench.keys("ctrl-u").typed("1.5");
    assert_eq!(bench.form.field("top_p").unwrap().error.as_deref(), Some("This must be at most 1."));
    bench.keys("ctrl-u").typed("0");
    assert_eq!(bench.form.field("top_p").unwrap().error.as_deref(), Some("This must be greater than 0."));
    // The same number written otherwise is no change; an emptied field is null.
    bench.keys("ctrl-u").typed("1");
    assert_eq!(bench.form.changed(), ["name"]);
    bench.keys("ctrl-u");
    assert_eq!(bench.form.value()["top_p"], json!(null));
    assert!(bench.form.check());
    // Back at what it was, nothing is changed any more.
    bench.typed("1.0").keys("backtab backspace");
    assert!(!bench.form.is_dirty());
    assert_eq!(bench.form.value()["top_p"], json!(1.0));
}

#[test]
fn choices_narrow_and_take_other_text_too() {
    let mut bench = Bench::new(sample());
    bench.form.focus_on("llm");
    bench.keys("f4");
    assert_eq!(bench.form.contexts(), [Context::Layer]);
    bench.typed("tw");
    let (lines, _) = bench.draw();
    assert!(lines.iter().any(|line| line.contains("›  y:two")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("x:one")));
    bench.keys("enter");
    assert_eq!(bench.form.value()["llm"], json!("y:two"));
    bench.keys("ctrl-space").typed("own:thing").keys("enter");
    assert_eq!(bench.form.value()["llm"], json!("own:thing"));
    bench.keys("f4 esc").typed("!");
    assert_eq!(bench.form.value()["llm"], json!("own:thing!"));
    // A list: choices go in and out, anything can be typed on a line.
    bench.form.focus_on("tools");
    bench.keys("f4 down enter up enter enter esc");
    assert_eq!(bench.form.value()["tools"], json!(["shell"]));
    bench.keys("ctrl-end enter").typed("mine");
    assert_eq!(bench.form.value()["tools"], json!(["shell", "mine"]));
    // Yes and no.
    bench.form.focus_on("on");
    bench.keys("space");
    assert_eq!(bench.form.value()["on"], json!(false));
    bench.keys("enter");
    assert_eq!(bench.form.value()["on"], json!(true));
}

#[test]
fn a_text_area_moves_undoes_and_leaves_at_its_ends() {
    let mut bench = Bench::new(sample());
    bench.form.focus_on("prompt");
    bench.typed("X").keys("enter");
    assert_eq!(bench.form.value()["prompt"], json!("X\nfirst\nsecond"));
    bench.keys("alt-u alt-u");
    assert!(!bench.form.is_dirty());
    bench.keys("ctrl-y");
    assert_eq!(bench.form.value()["prompt"], json!("Xfirst\nsecond"));
    bench.keys("ctrl-_ ctrl-end ctrl-w").paste("one\r\ntwo");
    assert_eq!(bench.form.value()["prompt"], json!("first\none\ntwo"));
    bench.keys("alt-u");
    assert_eq!(bench.form.value()["prompt"], json!("first\n"), "a paste is one step");
    bench.keys("up up");
    assert_eq!(bench.form.focus().unwrap().key, "tools");
    bench.keys("down");
    assert_eq!(bench.form.focus().unwrap().key, "prompt");
    assert!(bench.form.find("prompt", "FIR", false, true));
    assert!(!bench.form.find("prompt", "a.c", false, true));
}

#[test]
fn graphemes_and_hidden_characters_in_a_text_area() {
    let evil = "a\u{202E}b\u{200B}\u{1b}[31mc\u{E0041}\u{F0000}\r\nd";
    let family = "👨‍👩‍👧é日本⚠️";
    let mut bench = Bench::new(Form::new(vec![
        Field::new("p", "p", Kind::Multiline).holding(Some(json!(format!("{family}\n{evil}")))),
    ]));
    let (lines, cursor) = bench.draw();
    assert_eq!(cursor, Some(Position::new(3, 1)));
    let text = lines.join("\n");
    assert!(text.contains("a¤b¤¤[31mc¤¤¤") && text.contains("U+202E U+200B U+001B"), "{text}");
    assert!(text.contains("👨‍👩‍👧"), "{text}");
    bench.keys("right right");
    assert_eq!(
        bench.draw().1,
        Some(Position::new(6, 1)),
        "the family takes two columns, the letter with its accent one"
    );
    bench.keys("backspace");
    assert_eq!(bench.form.value()["p"], json!(format!("👨‍👩‍👧日本⚠️\n{evil}")), "nothing hidden is lost");
    bench.keys("backspace");
    assert_eq!(bench.form.value()["p"], json!(format!("日本⚠️\n{evil}")), "an emoji goes as one");
    bench.keys("alt-u");
    assert_eq!(bench.form.value()["p"], json!(format!("👨‍👩‍👧日本⚠️\n{evil}")));
    bench.paste("x\u{2066}y");
    assert!(bench.form.value()["p"].as_str().unwrap().contains("x\u{2066}y"));
    assert!(!bench.draw().0.concat().contains('\u{2066}'));
}

#[test]
fn too_long_texts_are_kept_and_not_edited() {
    let long = "x\n".repeat(area::MOST);
    let mut bench = Bench::new(Form::new(vec![Field::new("p", "p", Kind::Multiline).holding(Some(json!(long)))]));
    bench.typed("y").paste("z");
    assert_eq!(bench.form.value()["p"], json!(long));
    assert!(bench.draw().0.concat().contains("editor of your own"));
    let mut bench = Bench::new(Form::new(vec![Field::new("p", "p", Kind::Multiline)]));
    bench.typed("y").paste(&long);
    assert_eq!(bench.form.value()["p"], json!("y"));
    assert!(bench.form.field("p").unwrap().error.as_deref().unwrap().contains("room"));
}

#[test]
fn every_size_is_drawn() {
    for width in 1..40 {
        for height in 1..14 {
            let mut bench = Bench::new(sample());
            bench.size = (40, 20);
            bench.form.focus_on("prompt");
            bench.draw();
            bench.size = (width, height);
            for keys in ["", "tab", "backtab f4", "down enter esc", "ctrl-end"] {
                bench.keys(keys);
                let (_, cursor) = bench.draw();
                if let Some(cursor) = cursor {
                    assert!(cursor.x < width && cursor.y < height, "{cursor} in {width}x{height}");
                }
            }
        }
    }
}

#[test]
fn the_focus_is_always_in_sight() {
    let mut bench =
        Bench::new(Form::new((0..50).map(|n| Field::new(format!("f{n}"), format!("field {n}"), Kind::Text)).collect()));
    bench.size = (30, 6);
    for n in (0..50).chain([0, 1]) {
        let (lines, cursor) = bench.draw();
        let at = lines.iter().position(|line| line.starts_with('›')).unwrap();
        assert!(lines[at].contains(&format!("field {n}")), "{lines:?}");
        assert_eq!(usize::from(cursor.unwrap().y), at);
        bench.keys("tab");
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "description": "What it is called.", "maxLength": 20 },
            "count": { "type": "integer", "minimum": 1, "exclusiveMaximum": 10 },
            "note": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null },
            "level": { "enum": ["low", "high"] },
            "rate": { "type": ["number", "null"] },
            "urgent": { "type": "boolean", "default": false },
            "tags": { "type": "array", "items": { "type": "string" } },
            "token": { "type": "string", "x-secret": true },
        },
        "required": ["title", "count"],
    })
}

#[test]
fn untouched_arguments_come_back_to_the_letter() {
    for args in [
        json!({ "title": "x", "count": 3 }),
        json!({ "title": "", "count": 3.0, "note": null, "rate": 1.0, "tags": [], "urgent": false, "token": "" }),
        json!({ "title": "two\nlines", "count": 9, "note": "", "level": "high", "rate": null, "tags": ["a", "b c"] }),
    ] {
        let mut form = Form::from_schema(&schema(), &args).unwrap();
        assert!(!form.is_dirty());
        assert_eq!(form.value(), args);
        assert!(form.check(), "{:?}", form.fields());
    }
}

#[test]
fn a_schema_checks_bounds_and_says_what_it_wants() {
    let mut bench =
        Bench::new(Form::from_schema(&schema(), &json!({ "title": "x", "count": 3, "token": "s3cret" })).unwrap());
    assert_eq!(bench.form.field("title").unwrap().help, "What it is called. Needed.");
    assert_eq!(bench.form.field("urgent").unwrap().help, "Default: false.");
    let (lines, _) = bench.draw();
    assert!(!lines.concat().contains("s3cret"), "{lines:?}");
    bench.form.focus_on("count");
    bench.keys("ctrl-u").typed("10");
    assert_eq!(bench.form.field("count").unwrap().error.as_deref(), Some("This must be less than 10."));
    bench.keys("ctrl-u");
    assert!(!bench.form.check());
    assert_eq!(bench.form.field("count").unwrap().error.as_deref(), Some("This is needed."));
    bench.typed("9");
    bench.form.focus_on("title");
    bench.typed(&"y".repeat(30));
    assert!(!bench.form.check(), "the schema's own rules hold too");
    assert!(bench.form.field("title").unwrap().error.is_some());
    bench.keys("ctrl-u").typed("ok");
    bench.form.focus_on("level");
    bench.typed("h").keys("enter");
    bench.form.focus_on("urgent");
    bench.keys("space");
    bench.form.focus_on("tags");
    bench.typed("a").keys("enter").typed("b");
    assert!(bench.form.check());
    assert_eq!(
        bench.form.value(),
        json!({ "title": "ok", "count": 9, "level": "high", "urgent": true, "tags": ["a", "b"], "token": "s3cret" })
    );
}

#[test]
fn what_a_form_cannot_show_is_refused_with_the_reason() {
    let of = |property: Value| json!({ "type": "object", "properties": { "a": property } });
    for (schema, args, why) in [
        (of(json!({ "type": "object" })), json!({}), "has parts"),
        (of(json!({ "type": "array", "items": { "type": "object" } })), json!({}), "with parts"),
        (of(json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] })), json!({}), "several shapes"),
        (of(json!({ "$ref": "#/x" })), json!({}), "$ref"),
        (of(json!({})), json!({}), "no type"),
        (of(json!({ "type": "string" })), json!({ "b": 1 }), "'b'"),
        (of(json!({ "type": "string" })), json!({ "a": 1 }), "something else"),
        (of(json!({ "type": "array", "items": { "type": "string" } })), json!({ "a": ["x\ny"] }), "something else"),
        (of(json!({ "type": "array", "items": { "type": "string" } })), json!({ "a": [""] }), "something else"),
        (of(json!({ "type": "string" })), json!([]), "no object"),
        (of(json!({ "enum": ["1", 1] })), json!({}), "cannot be shown"),
    ] {
        let error = Form::from_schema(&schema, &args).unwrap_err();
        assert!(error.contains(why), "{schema} {args}: {error}");
    }
}
