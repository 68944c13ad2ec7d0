//! The one table of actions. Keymap, footer, help, palette, `docs/keys.md` and the man page are made from it.
//!
//! The table says too what an action needs to do something. Footer and palette offer no action whose needs are not there; places
//! and layers only say what there is.

/// Where keys mean something. The innermost context that knows a key decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Everywhere, but under a layer that takes all keys.
    Global,
    /// A list has the focus.
    List,
    /// A form has the focus.
    Form,
    /// A text area has the focus.
    Text,
    /// The list of agents.
    Agents,
    /// The form of one agent.
    Agent,
    /// The chat's transcript.
    Chat,
    /// The chat's composer.
    Composer,
    /// The inbox of approvals.
    Approvals,
    /// Provider keys.
    Keys,
    /// The journal.
    Audit,
    /// The program's own log.
    Log,
    /// The settings.
    Settings,
    /// The first screen.
    Welcome,
    /// The approval dialog.
    Dialog,
    /// Two answers beside each other.
    Compare,
    /// A long text that is only read: the help, a comparison.
    Reading,
    /// Any other layer: help, palette, confirmation.
    Layer,
}

impl Context {
    /// The heading in help and docs.
    pub const fn title(self) -> &'static str {
        match self {
            Context::Global => "Everywhere",
            Context::List => "Lists",
            Context::Form => "Forms",
            Context::Text => "Text areas",
            Context::Agents => "Agents",
            Context::Agent => "Agent",
            Context::Chat => "Chat",
            Context::Composer => "Composer",
            Context::Approvals => "Approvals",
            Context::Keys => "Keys",
            Context::Audit => "Audit",
            Context::Log => "Log",
            Context::Settings => "Settings",
            Context::Welcome => "Welcome",
            Context::Dialog => "Approval dialog",
            Context::Compare => "Comparison",
            Context::Reading => "Long texts",
            Context::Layer => "Help, palette, questions",
        }
    }
}

/// What must be there for an action to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A list that is not empty, or a filter that may be why it is.
    Rows,
    /// A list with something to filter, or a filter.
    Filter,
    /// A selected row.
    Row,
    /// A list that can be read again.
    Source,
    /// The role that may author agents.
    Author,
    /// The right to manage what is selected or open.
    Manage,
    /// An engine in this process, on this machine.
    Home,
    /// A form that can be changed.
    Editable,
    /// Choices of the focused field.
    Choices,
    /// A record that is stored.
    Stored,
    /// A system prompt that is shown.
    Prompt,
    /// A conflict with what somebody else saved.
    Conflict,
    /// Unsaved text of before that is offered.
    Kept,
    /// Something typed and not saved, or offered.
    Unsaved,
    /// Something in the composer.
    Words,
    /// A transcript with something in it.
    Said,
    /// A question that can be asked again.
    Question,
    /// A question with its answer.
    Answered,
    /// An answer that can be copied.
    Answer,
    /// A code block.
    Code,
    /// Something that folds.
    Folded,
    /// Something that a search found.
    Hits,
    /// A session that can be ended.
    Session,
    /// A call whose outcome is unknown.
    Unknown,
    /// A place away from the end, which is followed otherwise.
    Away,
    /// A screen with room for one answer only.
    Narrow,
    /// An approval that can be asked for again.
    Reaskable,
    /// The right to read the journal.
    Readable,
    /// Entries older than those that were read.
    Older,
    /// An action among the settings.
    KeyRow,
    /// A setting that is another one than by default.
    OwnSetting,
    /// A model that was found.
    Model,
    /// A question that the caller may answer.
    Decide,
    /// Arguments that the caller may change.
    Arguments,
    /// Something to choose or confirm.
    Choice,
}

macro_rules! actions {
    ($($name:ident = $id:literal $context:ident [$($key:literal),*] $label:literal $about:literal $(if $($need:ident)+)?;)+) => {
        /// Something a person can do with a key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Action { $($name),+ }

        /// All actions, in the order of the help.
        pub const ACTIONS: &[Info] = &[$(Info {
            action: Action::$name, id: $id, context: Context::$context, keys: &[$($key),*], label: $label, about: $about,
            needs: &[$($(Need::$need),+)?],
        }),+];
    };
}

impl Action {
    /// Whether it only moves a cursor, a selection or a window: nobody looks for these by name.
    pub const fn moves(self) -> bool {
        use Action::*;
        matches!(
            self,
            Up | Down
                | PageUp
                | PageDown
                | First
                | Last
                | NextField
                | PreviousField
                | TextUp
                | TextDown
                | TextPageUp
                | TextPageDown
                | TextTop
                | TextEnd
                | WordLeft
                | WordRight
                | CutWord
                | NewLine
                | HistoryBack
                | HistoryForward
                | TranscriptUp
                | TranscriptDown
                | ScrollUp
                | ScrollDown
                | ScrollPageUp
                | ScrollPageDown
                | ToTop
                | ModelUp
                | ModelDown
                | DialogNext
                | DialogPrevious
                | DialogDown
                | DialogUp
                | DialogEnter
                | ReadUp
                | ReadDown
                | ReadPageUp
                | ReadPageDown
                | ReadTop
                | ReadEnd
                | LayerUp
                | LayerDown
                | LayerEnter
                | LayerClose
        )
    }

    /// Whether it goes to a place.
    pub const fn goes(self) -> bool {
        use Action::*;
        matches!(self, GoAgents | GoApprovals | GoKeys | GoAudit | GoLog | GoSettings | GoWelcome)
    }

    /// Whether the footer has room for it before it has for others: the way out, and what one would be lost without.
    pub const fn is_told_first(self) -> bool {
        use Action::*;
        matches!(
            self,
            Save | Choices
                | Back
                | Interrupt
                | LeaveChat
                | LeaveApprovals
                | DialogLeave
                | DialogReject
                | DialogEnter
                | LayerClose
                | LayerEnter
                | Open
                | Send
        )
    }
}

/// What is known of an action.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The action.
    pub action: Action,
    /// Its name in settings.
    pub id: &'static str,
    /// Where its keys mean it.
    pub context: Context,
    /// Its keys unless the settings say otherwise.
    pub keys: &'static [&'static str],
    /// A word or two for the footer; empty = not shown there.
    pub label: &'static str,
    /// A sentence for help, palette and docs.
    pub about: &'static str,
    /// What must be there for it to do something.
    pub needs: &'static [Need],
}

actions! {
    Quit = "quit" Global ["ctrl-q"] "quit" "Leave the workbench.";
    Palette = "palette" Global ["ctrl-p", ":"] "palette" "Open the palette: every place and action by its name, or agent NAME chat.";
    Help = "help" Global ["f1", "?"] "help" "Show the keys that work now.";
    Suspend = "suspend" Global ["ctrl-z"] "" "Give the terminal back to the shell; `fg` comes back.";
    GoAgents = "go-agents" Global ["alt-1"] "" "Go to the agents.";
    GoApprovals = "go-approvals" Global ["alt-2", "ctrl-o"] "approvals" "Go to the approvals.";
    GoKeys = "go-keys" Global ["alt-3"] "" "Go to the provider keys.";
    GoAudit = "go-audit" Global ["alt-4"] "" "Go to the journal.";
    GoLog = "go-log" Global ["alt-5", "f12"] "" "Go to the program's own log.";
    GoSettings = "go-settings" Global ["alt-6"] "" "Go to the settings.";
    GoWelcome = "go-welcome" Global ["alt-0"] "" "Go to the first screen: demo world, models found.";
    ToggleMouse = "toggle-mouse" Global ["f9"] "" "Capture the mouse, or leave it to the terminal.";
    Redraw = "redraw" Global ["ctrl-l"] "" "Draw the whole screen anew.";

    Up = "up" List ["up", "k"] "" "One row up." if Rows;
    Down = "down" List ["down", "j"] "" "One row down." if Rows;
    PageUp = "page-up" List ["pageup"] "" "A page up." if Rows;
    PageDown = "page-down" List ["pagedown"] "" "A page down." if Rows;
    First = "first" List ["home", "g"] "" "To the first row." if Rows;
    Last = "last" List ["end", "shift-g"] "" "To the last row." if Rows;
    Open = "open" List ["enter"] "open" "Open what is selected." if Row;
    Filter = "filter" List ["/"] "filter" "Filter the list." if Filter;
    Refresh = "refresh" List ["f5"] "" "Read the list again." if Source;

    NextField = "next-field" Form ["tab", "down"] "next" "To the next field.";
    PreviousField = "previous-field" Form ["backtab", "up"] "" "To the previous field.";
    Save = "save" Form ["ctrl-s"] "save" "Save what was changed." if Editable;
    ClearField = "clear-field" Form ["ctrl-u"] "clear" "Clear the field." if Editable;
    Choices = "choices" Form ["f4", "ctrl-space"] "choices" "Show the choices of the field." if Choices;
    Back = "back" Form ["esc"] "back" "Go back; what was typed is kept.";

    TextUp = "text-up" Text ["up"] "" "One line up; from the first line to the previous field.";
    TextDown = "text-down" Text ["down"] "" "One line down; from the last line to the next field.";
    TextPageUp = "text-page-up" Text ["pageup"] "" "Ten lines up.";
    TextPageDown = "text-page-down" Text ["pagedown"] "" "Ten lines down.";
    TextTop = "text-top" Text ["ctrl-home"] "" "To the beginning of the text.";
    TextEnd = "text-end" Text ["ctrl-end"] "" "To the end of the text.";
    WordLeft = "word-left" Text ["ctrl-left", "alt-left", "alt-b"] "" "A word to the left.";
    WordRight = "word-right" Text ["ctrl-right", "alt-right", "alt-f"] "" "A word to the right.";
    CutWord = "cut-word" Text ["ctrl-w", "alt-backspace"] "" "Cut the word before the cursor." if Editable;
    Undo = "undo" Text ["alt-u", "ctrl-_", "ctrl-7"] "undo" "Take the last change of the text back." if Editable;
    Redo = "redo" Text ["ctrl-y"] "" "Make the change that was taken back again." if Editable;

    ChatWith = "chat" Agents ["c"] "chat" "Chat with the selected agent." if Row;
    EditAgent = "edit" Agents ["e"] "edit" "Edit the selected agent." if Row;
    NewAgent = "new" Agents ["n"] "new" "Create an agent." if Author;
    CloneAgent = "clone" Agents ["shift-c"] "" "Create an agent like the selected one." if Row Author;
    DeleteAgent = "delete" Agents ["d", "delete"] "delete" "Delete the selected agent; asks for its name." if Row Manage;
    SortAgents = "sort" Agents ["s"] "sort" "Sort by the next column." if Rows;
    ReverseSort = "reverse-sort" Agents ["shift-s"] "" "Turn the order round." if Rows;
    Detail = "detail" Agents ["space"] "detail" "Show or hide the detail of the selected agent." if Row;

    SetVisibility = "set-visibility" Agent ["alt-v"] "visibility" "Set who sees the agent: you alone, the tenant, or groups." if Stored Manage;
    EditPrompt = "edit-prompt" Agent ["ctrl-e"] "editor" "Edit the prompt in your own editor." if Prompt Editable;
    ToChat = "to-chat" Agent ["ctrl-t"] "chat" "Chat with this agent." if Stored;
    SearchText = "search-text" Agent ["ctrl-f"] "search" "Search in the prompt." if Prompt;
    TakeMine = "take-mine" Agent ["ctrl-g"] "" "In a conflict: take my value of the field." if Conflict;
    TakeTheirs = "take-theirs" Agent ["ctrl-r"] "" "In a conflict: take their value of the field." if Conflict;

    TakeKept = "take-kept" Agent ["alt-k"] "" "Take over the unsaved text that was kept from before." if Kept;
    ForgetKept = "forget-kept" Agent ["alt-x"] "" "Forget the unsaved text that was kept from before, or drop what is typed and not saved." if Unsaved;

    Send = "send" Composer ["enter"] "send" "Send what is written; queues it while the model runs." if Words;
    NewLine = "new-line" Composer ["alt-enter", "ctrl-j", "shift-enter"] "" "A new line.";
    ClearComposer = "clear-composer" Composer ["ctrl-c"] "" "Clear the composer (the text goes into its history); twice: quit.";
    HistoryBack = "history-back" Composer ["up"] "" "What was sent before.";
    HistoryForward = "history-forward" Composer ["down"] "" "What was sent after.";
    ComposeInEditor = "compose-in-editor" Composer ["ctrl-e"] "" "Write in your own editor.";
    ToTranscript = "to-transcript" Composer ["tab"] "transcript" "Move to the transcript.";
    TranscriptUp = "transcript-up" Composer ["pageup"] "" "A page up in the transcript.";
    TranscriptDown = "transcript-down" Composer ["pagedown"] "" "A page down in the transcript.";
    Interrupt = "interrupt" Composer ["esc"] "stop" "Stop the model; with nothing running, go back.";

    ToComposer = "to-composer" Chat ["tab", "i"] "write" "Move to the composer.";
    ScrollUp = "scroll-up" Chat ["up", "k"] "" "Scroll up.";
    ScrollDown = "scroll-down" Chat ["down", "j"] "" "Scroll down.";
    ScrollPageUp = "scroll-page-up" Chat ["pageup"] "" "A page up.";
    ScrollPageDown = "scroll-page-down" Chat ["pagedown"] "" "A page down.";
    ToTop = "to-top" Chat ["home", "g"] "" "To the beginning.";
    Follow = "follow" Chat ["end", "shift-g"] "follow" "To the end, and follow." if Away;
    NextMark = "next-mark" Chat ["]"] "" "To the next turn, tool call or error." if Said;
    PreviousMark = "previous-mark" Chat ["["] "" "To the previous turn, tool call or error." if Said;
    Fold = "fold" Chat ["enter", "space"] "unfold" "Fold or unfold the tool call." if Folded;
    SearchChat = "search-chat" Chat ["/"] "search" "Search in the transcript." if Said;
    NextHit = "next-hit" Chat ["n"] "" "To the next place found." if Hits;
    PreviousHit = "previous-hit" Chat ["shift-n"] "" "To the previous place found." if Hits;
    CopyMessage = "copy-message" Chat ["y"] "copy" "Copy the message as it was written." if Answer;
    CopyCode = "copy-code" Chat ["shift-y"] "" "Copy the code block." if Code;
    Export = "export" Chat ["x"] "export" "Write the transcript to files, as Markdown and as JSON." if Said;
    Sessions = "sessions" Chat ["s"] "sessions" "Show the sessions with this agent.";
    AskAgain = "ask-again" Chat ["a"] "ask again" "Ask the selected question once more; without a selection the last one." if Question;
    Compare = "compare" Chat ["c"] "compare" "Ask another model the same, in a session of its own, and show both answers." if Answered;
    MoveOn = "move-on" Chat ["m"] "move on" "End the session and begin one on the agent's current version." if Session;
    CallRan = "call-ran" Chat ["shift-r"] "" "Say that a call whose outcome is unknown has run." if Unknown;
    CallNotRun = "call-not-run" Chat ["shift-d"] "" "Say that a call whose outcome is unknown has not run." if Unknown;
    LeaveChat = "leave-chat" Chat ["esc", "q"] "back" "Go back to the agents.";

    OpenApproval = "open-approval" Approvals ["enter"] "open" "Open the selected approval." if Row;
    ShowDecided = "show-decided" Approvals ["a"] "all" "Show those that were answered too.";
    Reask = "reask" Approvals ["r"] "ask again" "Ask again for one that expired." if Reaskable;
    GoToChat = "go-to-chat" Approvals ["c"] "chat" "Go to the chat it comes from." if Row;
    LeaveApprovals = "leave-approvals" Approvals ["esc", "q"] "back" "Go back to where you were.";

    AddKey = "add-key" Keys ["n", "a"] "add" "Store a provider key.";
    DeleteKey = "delete-key" Keys ["d", "delete"] "delete" "Delete the selected key." if Row;

    Verify = "verify" Audit ["v"] "verify" "Check the journal." if Readable;
    OlderEntries = "older-entries" Audit ["o"] "older" "Read older entries." if Older;

    FollowLog = "follow-log" Log ["f"] "follow" "To the end of the log, and follow." if Away;

    ChangeSetting = "change-setting" Settings ["enter", "space"] "change" "Change the selected setting." if Row;
    AddKeyFor = "add-key-for" Settings ["a"] "add a key" "Give the selected action one more key." if KeyRow;
    DefaultSetting = "default-setting" Settings ["delete", "backspace"] "default" "Take the selected setting back to its default." if OwnSetting;

    MakeDemo = "make-demo" Welcome ["d"] "demo world" "Make the demo world and go to it." if Home;
    ModelUp = "model-up" Welcome ["up", "k"] "" "To the previous model." if Model;
    ModelDown = "model-down" Welcome ["down", "j"] "" "To the next model." if Model;
    LookAgain = "look-again" Welcome ["f5"] "look again" "Look for models again." if Home;
    UseModel = "use-model" Welcome ["enter"] "use" "Make an agent on the selected model and chat with it." if Model;

    DialogNext = "dialog-next" Dialog ["tab", "right"] "next" "Move the focus." if Decide;
    DialogPrevious = "dialog-previous" Dialog ["backtab", "left"] "" "Move the focus back." if Decide;
    DialogDown = "dialog-down" Dialog ["down", "pagedown"] "" "Scroll down; Approve wakes when the end was seen.";
    DialogUp = "dialog-up" Dialog ["up", "pageup"] "" "Scroll up.";
    DialogEnter = "dialog-enter" Dialog ["enter"] "do" "Do what has the focus.";
    DialogReject = "dialog-reject" Dialog ["r"] "reject" "Reject, with a reason." if Decide;
    DialogEdit = "dialog-edit" Dialog ["e"] "edit" "Change the arguments." if Decide Arguments;
    DialogLeave = "dialog-leave" Dialog ["esc"] "leave open" "Leave it open and go back to where you were.";

    OtherAnswer = "other-answer" Compare ["tab", "left", "right"] "other answer" "Show the other answer, where the screen has no room for both." if Narrow;

    ReadUp = "read-up" Reading ["up", "k"] "" "A line up.";
    ReadDown = "read-down" Reading ["down", "j"] "" "A line down.";
    ReadPageUp = "read-page-up" Reading ["pageup"] "" "A page up.";
    ReadPageDown = "read-page-down" Reading ["pagedown", "space"] "" "A page down.";
    ReadTop = "read-top" Reading ["home", "g"] "" "To the beginning.";
    ReadEnd = "read-end" Reading ["end", "shift-g"] "" "To the end.";

    LayerUp = "layer-up" Layer ["up"] "" "One row up.";
    LayerDown = "layer-down" Layer ["down"] "" "One row down.";
    LayerEnter = "layer-enter" Layer ["enter"] "do" "Do what is selected." if Choice;
    LayerClose = "layer-close" Layer ["esc"] "close" "Close.";
}

/// What is known of an action.
pub fn info(action: Action) -> &'static Info {
    ACTIONS.iter().find(|info| info.action == action).expect("every action stands in the table")
}

#[cfg(test)]
mod tests {
    use super::ACTIONS;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_told() {
        let ids: BTreeSet<_> = ACTIONS.iter().map(|info| info.id).collect();
        assert_eq!(ids.len(), ACTIONS.len());
        assert!(ACTIONS.iter().all(|info| info.about.ends_with('.') && !info.keys.is_empty()));
    }
}
