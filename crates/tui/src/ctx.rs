//! What places and layers reach while they change: what they may look at, and what they may want.

use crate::effect::Effect;
use crate::event::Ms;
use crate::keymap::Keymap;
use crate::layers::Layer;
use crate::{Profile, TuiSettings, places};
use contract::StudioError;
use contract::ops::me::Me;
use text::Safe;

/// A line that comes up and goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Toast {
    /// What it says.
    pub text: Safe<'static>,
    /// Whether it tells of something that went wrong.
    pub bad: bool,
    /// How long it counts, when it is about the next key: any key ends it.
    pub until_key: Option<Ms>,
}

impl Toast {
    /// A good one.
    pub fn good(text: impl AsRef<str>) -> Self {
        Self { text: Safe::clean(text.as_ref()).into_owned(), bad: false, until_key: None }
    }

    /// One about a failure.
    pub fn bad(text: impl AsRef<str>) -> Self {
        Self { text: Safe::clean(text.as_ref()).into_owned(), bad: true, until_key: None }
    }
}

impl From<&StudioError> for Toast {
    fn from(error: &StudioError) -> Self {
        Self::bad(&error.message)
    }
}

/// What places and layers may look at and reach while they change.
pub struct Ctx<'a> {
    /// Now.
    pub now: Ms,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// Who the caller is, once known.
    pub me: Option<&'a Me>,
    /// Whether the engine is a server's, which goes on with turns by itself.
    pub on_server: bool,
    /// Whether the engine can be reached.
    pub connected: bool,
    /// The keys.
    pub keymap: &'a Keymap,
    /// What is to be done.
    pub effects: &'a mut Vec<Effect>,
    /// Layers to open on top.
    pub open: &'a mut Vec<Layer>,
    /// Where to go.
    pub go: &'a mut Option<places::Go>,
    /// Lines to show.
    pub toasts: &'a mut Vec<Toast>,
    /// Ids of approvals that wait for the caller, newest first.
    pub pending: &'a [String],
    /// Settings to use from now on.
    pub settings: &'a mut Option<TuiSettings>,
    /// As whom to go on from now on.
    pub newcomer: &'a mut Option<Newcomer>,
}

/// Another person at the workbench.
pub struct Newcomer {
    /// Their client.
    pub client: client::Client,
    /// As whom, over which engine.
    pub profile: Profile,
}

impl Ctx<'_> {
    /// Says something went well.
    pub fn tell(&mut self, text: impl AsRef<str>) {
        self.toasts.push(Toast::good(text));
    }

    /// Says what the next key does, if it comes within this time.
    pub fn tell_of_key(&mut self, text: impl AsRef<str>, within: Ms) {
        self.toasts.push(Toast { until_key: Some(within), ..Toast::good(text) });
    }

    /// Says something went wrong.
    pub fn complain(&mut self, text: impl AsRef<str>) {
        self.toasts.push(Toast::bad(text));
    }
}
