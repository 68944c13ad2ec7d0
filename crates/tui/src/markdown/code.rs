//! Code with colours. The grammars are loaded when the first code block shows; colours are those of the theme, by what a word
//! is, so that sixteen are enough.

use super::wrap::Piece;
use crate::theme::{Theme, ThemeName};
use ratatui::style::{Modifier, Style};
use std::sync::OnceLock;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};
use text::Safe;

/// Longer code is shown without colours: finding them takes time by its length.
const MOST_BYTES: usize = 64 * 1024;

struct Grammars {
    set: SyntaxSet,
    kinds: Vec<(Scope, Kind)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Comment,
    Text,
    Number,
    Keyword,
    Name,
}

/// By scope; the innermost scope that is known decides.
const KINDS: &[(&str, Kind)] = &[
    ("comment", Kind::Comment),
    ("string", Kind::Text),
    ("constant", Kind::Number),
    ("keyword", Kind::Keyword),
    ("storage", Kind::Keyword),
    ("entity.name", Kind::Name),
    ("support.function", Kind::Name),
];

fn grammars() -> &'static Grammars {
    static GRAMMARS: OnceLock<Grammars> = OnceLock::new();
    GRAMMARS.get_or_init(|| Grammars {
        set: two_face::syntax::extra_newlines(),
        kinds: KINDS.iter().filter_map(|(name, kind)| Some((Scope::new(name).ok()?, *kind))).collect(),
    })
}

fn style(kind: Kind, theme: &Theme) -> Style {
    match kind {
        Kind::Comment => theme.dim.add_modifier(Modifier::ITALIC),
        Kind::Text => theme.good,
        Kind::Number => theme.warn.remove_modifier(Modifier::BOLD),
        Kind::Keyword => theme.accent,
        Kind::Name => theme.strong,
    }
}

/// The lines of a code block in the language that its fence names.
pub fn lines(source: &str, language: &str, theme: &Theme, colours: bool) -> Vec<Vec<Piece>> {
    let clean = Safe::clean_lines(source);
    let body = clean.strip_suffix('\n').unwrap_or(&clean);
    let plain = || body.split('\n').map(|line| vec![Piece::new(line, theme.text)]).collect();
    if !colours || language.is_empty() || body.len() > MOST_BYTES || theme.name == ThemeName::Plain {
        return plain();
    }
    let grammars = grammars();
    let Some(syntax) = grammars.set.find_syntax_by_token(language) else { return plain() };
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let mut lines = Vec::new();
    for line in body.split('\n') {
        let line = format!("{line}\n");
        let Ok(changes) = state.parse_line(&line, &grammars.set) else { return plain() };
        let mut pieces = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            push(&mut pieces, &line[from..at], &stack, grammars, theme);
            from = at;
            if stack.apply(&change).is_err() {
                return plain();
            }
        }
        push(&mut pieces, &line[from..], &stack, grammars, theme);
        lines.push(pieces);
    }
    lines
}

fn push(pieces: &mut Vec<Piece>, text: &str, stack: &ScopeStack, grammars: &Grammars, theme: &Theme) {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    let known =
        stack.as_slice().iter().rev().find_map(|scope| {
            grammars.kinds.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, kind)| *kind)
        });
    pieces.push(Piece::new(text, known.map_or(theme.text, |kind| style(kind, theme))));
}
