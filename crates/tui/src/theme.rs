//! Colours and marks. Sixteen colours are enough, and nothing is said by colour alone.

use ratatui::style::{Color, Modifier, Style};

/// Which theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThemeName {
    /// For dark backgrounds.
    #[default]
    Dark,
    /// For light backgrounds.
    Light,
    /// No colours at all; also with `NO_COLOR`.
    Plain,
}

/// Styles by what they mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    /// Its name.
    pub name: ThemeName,
    /// Ordinary text: the terminal's own.
    pub text: Style,
    /// Less important text.
    pub dim: Style,
    /// Headings, names.
    pub strong: Style,
    /// What can be acted on, links, keys.
    pub accent: Style,
    /// The selected row.
    pub selected: Style,
    /// The focused control.
    pub focus: Style,
    /// Went well.
    pub good: Style,
    /// Wants attention.
    pub warn: Style,
    /// Went wrong, or is dangerous.
    pub bad: Style,
    /// Code in text.
    pub code: Style,
    /// A place found by a search.
    pub hit: Style,
    /// Frames of panes and dialogs.
    pub border: Style,
    /// The frame of the approval dialog.
    pub alarm: Style,
    /// What the person wrote.
    pub mine: Style,
    /// Bars at top and bottom.
    pub bar: Style,
}

impl Theme {
    /// The styles of a theme.
    pub const fn of(name: ThemeName) -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        let reversed = plain.add_modifier(Modifier::REVERSED);
        let (accent, good, warn, bad, mine) = match name {
            ThemeName::Dark => (Color::Cyan, Color::Green, Color::Yellow, Color::LightRed, Color::LightBlue),
            ThemeName::Light => (Color::Blue, Color::Green, Color::Magenta, Color::Red, Color::Blue),
            ThemeName::Plain => (Color::Reset, Color::Reset, Color::Reset, Color::Reset, Color::Reset),
        };
        Self {
            name,
            text: plain,
            dim,
            strong: bold,
            accent: plain.fg(accent),
            selected: reversed,
            focus: reversed.add_modifier(Modifier::BOLD),
            good: plain.fg(good),
            warn: plain.fg(warn).add_modifier(Modifier::BOLD),
            bad: plain.fg(bad).add_modifier(Modifier::BOLD),
            code: plain.fg(accent),
            hit: reversed.fg(warn),
            border: dim,
            alarm: plain.fg(bad).add_modifier(Modifier::BOLD),
            mine: plain.fg(mine),
            bar: reversed,
        }
    }
}
