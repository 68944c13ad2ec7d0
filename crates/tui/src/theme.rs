//! Colours and marks. Themes are files: those in `assets/themes` are built in, and a setting can name one of a person's own.
//! Sixteen colours are enough for the built-in ones, and nothing is said by colour alone.

use ratatui::style::{Color, Modifier, Style};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::PathBuf;
use std::sync::LazyLock;

/// Which theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeName {
    /// For dark backgrounds.
    #[default]
    Dark,
    /// For light backgrounds.
    Light,
    /// No colours at all; also with `NO_COLOR`.
    Plain,
    /// One of the person's own.
    Own,
}

/// What the setting says: the name of a built-in theme, or the path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThemeSetting {
    /// A built-in one.
    Named(ThemeName),
    /// A file, by a path that ends in `.toml`; a relative one begins at the folder of the settings file.
    File(PathBuf),
}

impl Default for ThemeSetting {
    fn default() -> Self {
        Self::Named(ThemeName::default())
    }
}

impl From<ThemeName> for ThemeSetting {
    fn from(name: ThemeName) -> Self {
        Self::Named(name)
    }
}

impl ThemeSetting {
    /// As the settings say it.
    pub fn name(&self) -> String {
        match self {
            Self::Named(ThemeName::Light) => "light".into(),
            Self::Named(ThemeName::Plain) => "plain".into(),
            Self::Named(ThemeName::Dark | ThemeName::Own) => "dark".into(),
            Self::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

impl Serialize for ThemeSetting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for ThemeSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match (built_in(&text), text.ends_with(".toml")) {
            (Some(name), _) => Ok(Self::Named(name)),
            (None, true) => Ok(Self::File(text.into())),
            (None, false) => Err(serde::de::Error::custom(format!(
                "'{text}' is no theme: dark, light, plain, or the path of a file that ends in .toml"
            ))),
        }
    }
}

fn built_in(name: &str) -> Option<ThemeName> {
    Some(match name {
        "dark" => ThemeName::Dark,
        "light" => ThemeName::Light,
        "plain" => ThemeName::Plain,
        _ => return None,
    })
}

macro_rules! styles {
    ($($field:ident $about:literal;)+) => {
        /// Styles by what they mean.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Theme {
            /// Its name.
            pub name: ThemeName,
            $(#[doc = $about] pub $field: Style),+
        }

        /// The table `styles` of a theme's file.
        #[derive(Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Styles { $($field: Option<Look>),+ }

        impl Theme {
            /// The terminal's own text everywhere.
            const BARE: Self = Self { name: ThemeName::Plain, $($field: Style::new()),+ };

            /// These styles, where a file says something else.
            fn under(self, name: ThemeName, styles: &Styles) -> Self {
                Self { name, $($field: styles.$field.as_ref().map_or(self.$field, Look::style)),+ }
            }

            #[cfg(test)]
            fn styles(&self) -> Vec<Style> {
                vec![$(self.$field),+]
            }
        }
    };
}

styles! {
    text "Ordinary text: the terminal's own.";
    dim "Less important text.";
    strong "Headings, names.";
    accent "What can be acted on, links, keys.";
    selected "The selected row.";
    focus "The focused control.";
    good "Went well.";
    warn "Wants attention.";
    bad "Went wrong, or is dangerous.";
    code "Code in text.";
    hit "A place found by a search.";
    border "Frames of panes and dialogs.";
    alarm "The frame of the approval dialog.";
    mine "What the person wrote.";
    bar "Bars at top and bottom.";
}

/// A theme's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The built-in theme that holds where the file says nothing.
    #[serde(default, deserialize_with = "base")]
    base: ThemeName,
    #[serde(default)]
    styles: Styles,
}

fn base<'de, D: Deserializer<'de>>(from: D) -> Result<ThemeName, D::Error> {
    let text = String::deserialize(from)?;
    built_in(&text).ok_or_else(|| serde::de::Error::custom(format!("'{text}' is none of dark, light, plain")))
}

/// How something is written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Look {
    #[serde(deserialize_with = "colour")]
    fg: Option<Color>,
    #[serde(deserialize_with = "colour")]
    bg: Option<Color>,
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
    reversed: bool,
}

fn colour<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Color>, D::Error> {
    let text = String::deserialize(from)?;
    let why = |_| {
        serde::de::Error::custom(format!(
            "'{text}' is no colour: a name such as red, lightred or darkgray, a number from 0 to 255, or #rrggbb"
        ))
    };
    text.parse().map(Some).map_err(why)
}

impl Look {
    fn style(&self) -> Style {
        let mut style = Style { fg: self.fg, bg: self.bg, ..Style::new() };
        for (on, modifier) in [
            (self.bold, Modifier::BOLD),
            (self.dim, Modifier::DIM),
            (self.italic, Modifier::ITALIC),
            (self.underlined, Modifier::UNDERLINED),
            (self.reversed, Modifier::REVERSED),
        ] {
            if on {
                style = style.add_modifier(modifier);
            }
        }
        style
    }
}

/// The built-in themes: dark, light, plain.
static BUILT_IN: LazyLock<[Theme; 3]> = LazyLock::new(|| {
    [
        (ThemeName::Dark, include_str!("../../../assets/themes/dark.toml")),
        (ThemeName::Light, include_str!("../../../assets/themes/light.toml")),
        (ThemeName::Plain, include_str!("../../../assets/themes/plain.toml")),
    ]
    .map(|(name, text)| Theme::BARE.under(name, &file(text).expect("a test reads every built-in theme").styles))
});

fn file(text: &str) -> Result<File, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = error.message().replace('\n', " ");
        line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}"))
    })
}

impl Theme {
    /// The styles of a built-in theme; a person's own is read from its file.
    pub fn of(name: ThemeName) -> Self {
        let [dark, light, plain] = *BUILT_IN;
        match name {
            ThemeName::Dark | ThemeName::Own => dark,
            ThemeName::Light => light,
            ThemeName::Plain => plain,
        }
    }

    /// The styles of a person's own theme, from the text of its file.
    ///
    /// # Errors
    /// What is wrong with it, by its line.
    pub fn read(text: &str) -> Result<Self, String> {
        let file = file(text)?;
        Ok(Self::of(file.base).under(ThemeName::Own, &file.styles))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_built_in_ones_need_no_more_than_sixteen_colours_and_plain_none() {
        for name in [ThemeName::Dark, ThemeName::Light, ThemeName::Plain] {
            let theme = Theme::of(name);
            assert_eq!(theme.name, name);
            for style in theme.styles() {
                for colour in [style.fg, style.bg].into_iter().flatten() {
                    assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)), "{name:?} {colour:?}");
                    assert_ne!(name, ThemeName::Plain, "{colour:?}");
                }
            }
            assert_ne!(theme.selected, theme.text, "{name:?} shows what is selected");
            assert_ne!(theme.bad, theme.text, "{name:?} shows what went wrong");
        }
        assert_eq!(Theme::of(ThemeName::Dark).bad.fg, Some(Color::LightRed));
    }

    #[test]
    fn an_own_one_stands_on_a_built_in_one() {
        let own = Theme::read(
            "base = 'light'\n[styles]\naccent = { fg = '#ff8800', underlined = true }\nbar = { bg = '17' }\n",
        );
        let own = own.unwrap();
        assert_eq!(own.name, ThemeName::Own);
        assert_eq!(own.accent, Style::new().fg(Color::Rgb(255, 136, 0)).add_modifier(Modifier::UNDERLINED));
        assert_eq!(own.bar, Style::new().bg(Color::Indexed(17)));
        assert_eq!(own.mine, Theme::of(ThemeName::Light).mine);
    }

    #[test]
    fn a_fault_is_told_by_its_line() {
        for (text, line, word) in [
            ("base = 'pink'\n", "line 1", "pink"),
            ("[styles]\ngood = { fg = 'green' }\nbad = { fg = 'rouge' }\n", "line 3", "rouge"),
            ("[styles]\n\nwam = { bold = true }\n", "line 3", "wam"),
            ("[styles]\nwarn = { blink = true }\n", "line 2", "blink"),
            ("[styles]\nwarn = { bold = 'yes' }\n", "line 2", "bool"),
            ("[styles\n", "line 1", ""),
        ] {
            let fault = Theme::read(text).unwrap_err();
            assert!(fault.starts_with(line) && fault.contains(word), "{text}: {fault}");
        }
    }

    #[test]
    fn the_setting_is_a_name_or_a_path() {
        let read = |text: &str| serde_json::from_value::<ThemeSetting>(text.into());
        assert_eq!(read("light").unwrap(), ThemeName::Light.into());
        let file = read("mine/night.toml").unwrap();
        assert_eq!(file, ThemeSetting::File("mine/night.toml".into()));
        assert_eq!(serde_json::to_value(file).unwrap(), "mine/night.toml");
        assert!(read("pink").unwrap_err().to_string().contains("dark, light, plain"));
    }
}
