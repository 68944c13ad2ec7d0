//! The settings of the workbench: colours, mouse, motion, and every action with its keys. What is changed counts at once and is
//! written to the settings file.

use crate::action::{ACTIONS, Action, Context, Info, Need};
use crate::effect::Effect;
use crate::event::{Event, Input};
use crate::keymap::{Key, Keymap};
use crate::layers::{Choice, Choose, Layer, Press};
use crate::markdown::wrap::{Break, wrap_text};
use crate::state::{Ctx, State};
use crate::theme::{ThemeName, ThemeSetting};
use crate::widgets::{Line as LineInput, filter_input, keep_in_sight, list_move, row, rows as rows_that_fit};
use crate::{TuiSettings, places};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use text::Safe;

/// The place.
#[derive(Default)]
pub struct Place {
    settings: Option<TuiSettings>,
    /// The theme file that the settings named when they were read.
    own_theme: Option<ThemeSetting>,
    selected: usize,
    filter: LineInput,
    typing: bool,
    /// Whether the file is being written.
    saving: bool,
    /// Whether something changed meanwhile.
    again: bool,
}

/// A message.
#[derive(Debug)]
pub enum Msg {
    /// The settings as they are.
    Read(TuiSettings),
    /// They were written, and where; or why not.
    Saved(Result<String, String>),
    /// A theme was chosen.
    Theme(ThemeSetting),
    /// A key for an action was pressed.
    Pressed {
        /// The action.
        action: Action,
        /// The key.
        key: Key,
        /// Whether it is one more, or the only one.
        more: bool,
    },
}

/// What drawing keeps.
#[derive(Default)]
pub struct View {
    first: usize,
}

/// Something that can be set.
#[derive(Clone, Copy)]
enum Row {
    Theme,
    Mouse,
    Motion,
    Keys(&'static Info),
}

fn event(msg: Msg) -> Event {
    Event::Place(places::Msg::Settings(msg))
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.typing { Vec::new() } else { vec![Context::Settings, Context::List] }
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match need {
            Need::Row => self.settings.is_some() && self.selected < self.rows().len(),
            Need::KeyRow => self.settings.is_some() && matches!(self.rows().get(self.selected), Some(Row::Keys(_))),
            Need::OwnSetting => self.settings.as_ref().is_some_and(|settings| {
                let default = TuiSettings::default();
                self.rows().get(self.selected).is_some_and(|row| match row {
                    Row::Theme => settings.theme != default.theme,
                    Row::Mouse => settings.mouse != default.mouse,
                    Row::Motion => settings.reduced_motion != default.reduced_motion,
                    Row::Keys(info) => settings.keys.contains_key(info.id),
                })
            }),
            // They change here alone.
            Need::Source => false,
            _ => true,
        }
    }

    /// Whether the filter is typed.
    pub fn wants_text(&self) -> bool {
        self.typing
    }

    /// Reads what is shown. What was read once is what counts: changes are made here alone.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        if self.settings.is_none() {
            ctx.effects.push(Effect::Host {
                run: Box::new(|host| Box::pin(async move { event(Msg::Read(host.settings())) })),
            });
        }
    }

    fn rows(&self) -> Vec<Row> {
        let wanted = self.filter.text().to_lowercase();
        let fits = |info: &&Info| {
            let text = format!("{} {} {}", info.id, info.about, info.context.title()).to_lowercase();
            text.contains(&wanted)
        };
        let first = [Row::Theme, Row::Mouse, Row::Motion];
        first.into_iter().filter(|_| wanted.is_empty()).chain(ACTIONS.iter().filter(fits).map(Row::Keys)).collect()
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        let rows = self.rows();
        let row = rows.get(self.selected).copied();
        let own = self.own_theme.clone();
        match (action, row) {
            (Action::ChangeSetting, Some(Row::Keys(info))) => press(info, false, ctx),
            (Action::AddKeyFor, Some(Row::Keys(info))) => press(info, true, ctx),
            (Action::ChangeSetting, Some(Row::Theme)) => self.choose_theme(own, ctx),
            (Action::ChangeSetting, Some(row)) => self.change(ctx, |settings| match row {
                Row::Mouse => settings.mouse = !settings.mouse,
                Row::Motion => settings.reduced_motion = !settings.reduced_motion,
                Row::Theme | Row::Keys(_) => {}
            }),
            (Action::DefaultSetting, Some(row)) => self.change(ctx, |settings| match row {
                Row::Theme => settings.theme = ThemeSetting::default(),
                Row::Mouse => settings.mouse = false,
                Row::Motion => settings.reduced_motion = false,
                Row::Keys(info) => _ = settings.keys.remove(info.id),
            }),
            (Action::AddKeyFor, _) => ctx.complain("Only an action has keys."),
            (Action::Filter, _) => self.typing = true,
            (other, _) => {
                if let Some(to) = list_move(other, self.selected, rows.len(), ctx) {
                    self.selected = to;
                }
            }
        }
    }

    /// Takes an input that means no action: the filter's text.
    pub fn input(&mut self, input: &Input, _: &mut Ctx<'_>) {
        if filter_input(&mut self.typing, &mut self.filter, input) {
            self.selected = 0;
        }
    }

    /// Nothing moves by itself.
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Read(settings) => {
                self.own_theme = matches!(settings.theme, ThemeSetting::File(_)).then(|| settings.theme.clone());
                self.settings = Some(settings);
            }
            Msg::Saved(said) => {
                self.saving = false;
                match said {
                    Ok(place) => ctx.tell(format!("Written to {place}.")),
                    Err(why) => ctx.complain(format!("It counts until you leave, but was not written: {why}")),
                }
                if std::mem::take(&mut self.again) {
                    self.save(ctx);
                }
            }
            Msg::Theme(theme) => self.change(ctx, |settings| settings.theme = theme),
            Msg::Pressed { action, key, more } => {
                let Some(name) = key.name() else {
                    ctx.complain("This key cannot be bound.");
                    return;
                };
                let info = crate::action::info(action);
                if let Some(other) = ctx.keymap.action(&[info.context], key).filter(|other| *other != action) {
                    let other = crate::action::info(other);
                    ctx.complain(format!("{} is taken by '{}': {}", key.label(), other.id, other.about));
                    return;
                }
                self.change(ctx, |settings| {
                    let now: Vec<String> = match settings.keys.get(info.id) {
                        Some(keys) => keys.clone(),
                        None => info.keys.iter().map(|key| (*key).to_owned()).collect(),
                    };
                    let mut keys = if more { now } else { Vec::new() };
                    if !keys.contains(&name) {
                        keys.push(name);
                    }
                    if keys.iter().eq(info.keys) {
                        settings.keys.remove(info.id);
                    } else {
                        settings.keys.insert(info.id.to_owned(), keys);
                    }
                });
            }
        }
    }

    /// Offers the themes. The selected one is seen at once, and kept only when it is chosen.
    fn choose_theme(&self, own: Option<ThemeSetting>, ctx: &mut Ctx<'_>) {
        let Some(now) = self.settings.clone() else { return };
        let named = [ThemeName::Dark, ThemeName::Light, ThemeName::Plain].map(ThemeSetting::from);
        let themes: Vec<ThemeSetting> = named.into_iter().chain(own).collect();
        let choices = themes
            .iter()
            .map(|theme| Choice {
                value: theme.name(),
                note: if matches!(theme, ThemeSetting::File(_)) { "your own" } else { "" }.to_owned(),
            })
            .collect();
        let current = now.theme.name();
        let find = move |name: &str| themes.iter().find(|theme| theme.name() == name).cloned();
        let shown = find.clone();
        let choose = Choose::new("Theme", choices, move |name, ctx| {
            if let Some(theme) = find(&name) {
                ctx.effects.push(Effect::Send(Box::new(event(Msg::Theme(theme)))));
            }
        });
        let choose = choose.now(&current).previewed(move |name, ctx| {
            let theme = name.and_then(&shown).unwrap_or_else(|| now.theme.clone());
            *ctx.settings = Some(TuiSettings { theme, ..now.clone() });
        });
        ctx.open.push(Layer::Choose(choose));
    }

    /// Makes a change, unless its keys conflict; it counts at once.
    fn change(&mut self, ctx: &mut Ctx<'_>, change: impl FnOnce(&mut TuiSettings)) {
        let Some(old) = &self.settings else { return };
        let mut settings = old.clone();
        change(&mut settings);
        if settings == *old {
            return;
        }
        if let Err(faults) = Keymap::new(&settings.keys) {
            ctx.complain(faults.join("; "));
            return;
        }
        *ctx.settings = Some(settings.clone());
        self.settings = Some(settings);
        self.save(ctx);
    }

    /// Writes the file; one writing at a time, so that the last change is the last one written.
    fn save(&mut self, ctx: &mut Ctx<'_>) {
        let Some(settings) = self.settings.clone() else { return };
        if std::mem::replace(&mut self.saving, true) {
            self.again = true;
            return;
        }
        ctx.effects.push(Effect::Host {
            run: Box::new(move |host| Box::pin(async move { event(Msg::Saved(host.save_settings(&settings))) })),
        });
    }

    /// Draws the place.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        let [head, list, about] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(2)]).areas(area);
        let person = state.me.as_ref().map_or_else(String::new, |me| {
            let tenant = me.tenant.as_deref().unwrap_or("no tenant");
            format!("{} in {}", Safe::clean(&me.user_id), Safe::clean(tenant))
        });
        let profile = format!("profile  {} engine, {person}", Safe::clean(&state.profile.engine));
        row(frame, head, profile, theme.dim);
        if self.typing || !self.filter.text().is_empty() {
            let line = Rect { y: head.y + 1.min(head.height.saturating_sub(1)), height: 1.min(head.height), ..head };
            let cursor = self.filter.draw(frame, line, "filter: ", theme.text);
            if self.typing {
                view.cursor = cursor;
            }
        }
        let Some(settings) = &self.settings else {
            row(frame, list, "…", theme.dim);
            return;
        };
        let all = self.rows();
        let rows = list.height as usize;
        let first = &mut view.places.settings.first;
        keep_in_sight(first, self.selected, rows);
        let lines: Vec<Line<'_>> = all
            .iter()
            .enumerate()
            .skip(*first)
            .take(rows)
            .map(|(index, row)| {
                let style = if index == self.selected { theme.selected } else { theme.text };
                let (name, value, note) = told(row, settings, state);
                Line::from(vec![
                    Span::styled(text::pad(&name, 18), style),
                    Span::styled(format!(" {}", text::pad(&value, 18)), theme.accent),
                    Span::styled(format!(" {note}"), theme.dim),
                ])
            })
            .collect();
        rows_that_fit(frame, list, lines);
        let key = state.keymap.hint(Action::ChangeSetting);
        let about_row = match all.get(self.selected) {
            Some(Row::Keys(info)) => format!("{}: {}", info.context.title(), info.about),
            Some(Row::Theme) => format!("{key} shows the themes; each is seen at once, {key} there keeps it."),
            Some(Row::Mouse | Row::Motion) => format!("{key} changes it, and writes it to the settings file."),
            None => String::new(),
        };
        let said = wrap_text(&about_row, about.width.into(), theme.dim, Break::Words);
        rows_that_fit(frame, about, said.into_iter().map(Line::from).collect());
    }
}

/// Name, value and a note of a row.
fn told(row: &Row, settings: &TuiSettings, state: &State) -> (String, String, String) {
    let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
    match row {
        Row::Theme => {
            let note = if state.no_colour { "NO_COLOR: stays plain" } else { "or a file, in config.toml" };
            ("theme".into(), Safe::clean(&settings.theme.name()).to_string(), note.into())
        }
        Row::Mouse => ("mouse".into(), yes(settings.mouse), "the workbench has it".into()),
        Row::Motion => ("reduced-motion".into(), yes(settings.reduced_motion), "nothing moves needlessly".into()),
        Row::Keys(info) => {
            let keys: Vec<String> = state.keymap.keys(info.action).iter().map(Key::label).collect();
            let keys = if keys.is_empty() { "unbound".to_owned() } else { keys.join(" ") };
            let own = if settings.keys.contains_key(info.id) { "own · " } else { "" };
            (info.id.into(), keys, format!("{own}{}", info.context.title()))
        }
    }
}

fn press(info: &'static Info, more: bool, ctx: &mut Ctx<'_>) {
    let what = if more { "one more key" } else { "the key" };
    let question = format!(
        "Press {what} for '{}' ({}).\n{}\n\nEsc leaves it as it is.",
        info.id,
        info.context.title(),
        info.about
    );
    let action = info.action;
    ctx.open.push(Layer::Press(Press::new(question, move |key, ctx| {
        ctx.effects.push(Effect::Send(Box::new(event(Msg::Pressed { action, key, more }))));
    })));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Stage;
    use ratatui::style::Color;

    fn stage() -> Stage {
        let mut stage = Stage::new(100, 30);
        stage.keys("alt-6");
        stage.event(event(Msg::Read(TuiSettings::default())));
        stage
    }

    /// The key that was pressed comes back as the driver brings it.
    fn pressed(stage: &mut Stage, action: Action, key: &str, more: bool) {
        stage.event(event(Msg::Pressed { action, key: Key::parse(key).unwrap(), more }));
    }

    fn hosts(stage: &Stage) -> usize {
        stage.effects.iter().filter(|effect| matches!(effect, Effect::Host { .. })).count()
    }

    /// What a layer sent comes in.
    fn deliver(stage: &mut Stage) {
        let at = stage.effects.iter().position(|effect| matches!(effect, Effect::Send(_))).unwrap();
        let Effect::Send(sent) = stage.effects.remove(at) else { unreachable!() };
        stage.event(*sent);
    }

    #[test]
    fn a_change_counts_at_once_and_is_written() {
        let mut stage = stage();
        let before = hosts(&stage);
        stage.keys("down enter");
        assert!(stage.state.mouse);
        assert_eq!(hosts(&stage), before + 1);
        // While the file is written a second change waits.
        stage.keys("down enter");
        assert!(stage.state.still);
        assert_eq!(hosts(&stage), before + 1);
        stage.event(event(Msg::Saved(Ok("config.toml".into()))));
        assert!(stage.shows("Written to config.toml."));
        assert_eq!(hosts(&stage), before + 2);
        stage.event(event(Msg::Saved(Err("The disk is full.".into()))));
        assert!(stage.shows("not written: The disk is full."));
    }

    #[test]
    fn a_theme_is_seen_before_it_is_kept() {
        let mut stage = stage();
        assert!(stage.shows("shows the themes") && !stage.shows("settings file"), "{:#?}", stage.screen());
        let before = hosts(&stage);
        stage.keys("enter");
        assert!(stage.shows("dark") && stage.shows("(now)") && stage.shows("light"), "{:#?}", stage.screen());
        stage.keys("down");
        assert_eq!(stage.state.theme.accent.fg, Some(Color::Blue), "light is seen");
        stage.keys("esc");
        assert_eq!(stage.state.theme.name, ThemeName::Dark);
        assert_eq!(hosts(&stage), before, "nothing was written");
        stage.keys("enter").typed("lig").keys("enter");
        deliver(&mut stage);
        assert_eq!(stage.state.theme.name, ThemeName::Light);
        assert_eq!(hosts(&stage), before + 1);
        stage.keys("down");
        assert!(stage.shows("writes it to the settings file"), "the others say that they are written");
    }

    #[test]
    fn a_theme_of_ones_own_comes_after_the_built_in_ones() {
        let mut stage = Stage::new(100, 30);
        let own = crate::theme::Theme::read("[styles]\naccent = { fg = 'magenta' }\n").unwrap();
        stage.state.own_theme = Some(own);
        let settings = TuiSettings { theme: ThemeSetting::File("night.toml".into()), ..TuiSettings::default() };
        stage.state.apply(&settings, &mut Vec::new());
        assert_eq!(stage.state.theme, own);
        stage.keys("alt-6");
        stage.event(event(Msg::Read(settings)));
        assert!(stage.shows("night.toml"), "{:#?}", stage.screen());
        stage.keys("enter up up up enter");
        deliver(&mut stage);
        assert_eq!(stage.state.theme.name, ThemeName::Dark);
        stage.keys("enter down down down enter");
        deliver(&mut stage);
        assert_eq!(stage.state.theme, own);
        stage.state.no_colour = true;
        stage.keys("enter up enter");
        deliver(&mut stage);
        assert_eq!(stage.state.theme.name, ThemeName::Plain, "NO_COLOR counts for it too");
    }

    #[test]
    fn without_colours_the_theme_stays_plain() {
        let mut stage = stage();
        stage.state.no_colour = true;
        stage.keys("enter down");
        assert_eq!(stage.state.theme.name, ThemeName::Plain);
        stage.keys("esc");
        assert!(stage.shows("NO_COLOR: stays plain"));
    }

    #[test]
    fn any_key_can_be_pressed_for_an_action() {
        let mut stage = stage();
        stage.keys("/").typed("quit").keys("enter enter");
        assert!(stage.shows("Press the key for 'quit'"), "{:#?}", stage.screen());
        // Ctrl-Q would leave; here it is only a key.
        stage.keys("ctrl-q");
        assert!(!stage.effects.iter().any(|effect| matches!(effect, Effect::Quit)));
        let sent = |stage: &Stage| stage.effects.iter().filter(|effect| matches!(effect, Effect::Send(_))).count();
        assert_eq!(sent(&stage), 1);
        stage.keys("enter esc");
        assert_eq!(sent(&stage), 1, "Esc leaves it");
    }

    #[test]
    fn keys_are_changed_added_and_taken_back() {
        let mut stage = stage();
        stage.keys("/").typed("leave the workbench").keys("enter");
        pressed(&mut stage, Action::Quit, "ctrl-x", false);
        assert!(stage.shows("Ctrl-X") && stage.shows("own"), "{:#?}", stage.screen());
        assert_eq!(stage.state.keymap.hint(Action::Quit), "Ctrl-X");
        pressed(&mut stage, Action::Quit, "f2", true);
        assert!(stage.shows("Ctrl-X F2"));
        stage.keys("delete");
        assert_eq!(stage.state.keymap.hint(Action::Quit), "Ctrl-Q");
        assert!(!stage.shows("own · "));
    }

    #[test]
    fn a_conflict_is_refused_by_name() {
        let mut stage = stage();
        let before = hosts(&stage);
        pressed(&mut stage, Action::Quit, "ctrl-p", false);
        assert!(stage.shows("Ctrl-P is taken by 'palette'"), "{:#?}", stage.screen());
        assert_eq!(stage.state.keymap.hint(Action::Quit), "Ctrl-Q");
        assert_eq!(hosts(&stage), before);
        pressed(&mut stage, Action::Save, "x", false);
        assert!(stage.shows("writes a letter"));
    }

    #[test]
    fn it_can_be_drawn_at_any_size() {
        let mut stage = stage();
        stage.keys("end /");
        for (width, height) in [(1, 1), (20, 5), (22, 6), (61, 17), (200, 60)] {
            stage.resize(width, height);
        }
    }
}
