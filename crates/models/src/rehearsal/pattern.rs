//! Patterns of a script: regular expressions and lists of words, with their place in it.

use std::fmt;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::error::Place;

/// The longest pattern, in characters.
const MAX_PATTERN: usize = 2_000;
/// The most memory one compiled pattern may take, in bytes.
const MAX_COMPILED: usize = 512 * 1024;

/// One pattern. It is compiled when the script is checked, so that the checker can bound
/// how many different ones a script has.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) source: String,
    pub(crate) place: Place,
    pub(crate) regex: OnceLock<Regex>,
}

impl Pattern {
    fn new(source: String, place: Place) -> Self {
        Self { source, place, regex: OnceLock::new() }
    }

    /// Compiles the pattern, ignoring case, within fixed limits.
    pub(crate) fn compile(&self) -> Result<Regex, String> {
        if self.source.chars().count() > MAX_PATTERN {
            return Err(format!(
                "this pattern is longer than {MAX_PATTERN} characters; make it shorter or split it over rules"
            ));
        }
        RegexBuilder::new(&self.source)
            .case_insensitive(true)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .nest_limit(50)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => {
                    "this pattern grows too big when compiled; use smaller repetitions".to_owned()
                }
                other => format!("not a regular expression that can be used here: {}", one_line(&other.to_string())),
            })
    }

    /// The compiled pattern; a checked script has it in every place.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.regex.get()
    }
}

/// One or several regular expressions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(pub(crate) Vec<Pattern>);

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(texts(deserializer)?.collect()))
    }
}

/// Words that have to occur, each of them: `cancel|call off`, `refund*`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(pub(crate) Vec<Pattern>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        texts(deserializer)?
            .map(|mut pattern| {
                pattern.source = word_pattern(&pattern.source)
                    .ok_or_else(|| de::Error::custom("a word is empty; write for example `cancel|call off`"))?;
                Ok(pattern)
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// `cancel|call off|refund*` as a regular expression over whole words.
fn word_pattern(text: &str) -> Option<String> {
    let mut choices = Vec::new();
    for choice in text.split('|') {
        let words: Vec<_> = choice.split_whitespace().map(|word| regex::escape(word).replace(r"\*", r"\w*")).collect();
        if words.is_empty() {
            return None;
        }
        choices.push(words.join(r"\s+"));
    }
    Some(format!(r"\b(?:{})\b", choices.join("|")))
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<impl Iterator<Item = Pattern>, D::Error> {
    let outer = Spanned::<OneOrMany>::deserialize(deserializer)?;
    let place = Place::from(outer.referenced);
    let list = match outer.value {
        OneOrMany::One(text) => vec![Pattern::new(text, place)],
        OneOrMany::Many(texts) => {
            texts.into_iter().map(|text| Pattern::new(text.value, text.referenced.into())).collect()
        }
    };
    Ok(list.into_iter())
}

enum OneOrMany {
    One(String),
    Many(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text in quotes, or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::One(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMany::Many(texts))
            }
        }
        deserializer.deserialize_any(Texts)
    }
}

/// A text on one line, without runs of white space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
