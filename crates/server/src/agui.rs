//! A turn as AG-UI events.
//!
//! The protocol wants a run that begins with `RUN_STARTED` and ends with one of its ends, and messages, reasoning and
//! calls that are closed before the run is. What it has no word for is a `CUSTOM` event. The last event that stands for an
//! entry of the turn's log carries the entry's place as id.

use contract::chat::{Block, Usage};
use contract::ids;
use contract::turn::{LoggedEvent, TurnEvent, TurnStatus, Watched};
use contract::wire::WireEvent;
use serde_json::{Value, json};

/// What is open on the side of the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Reasoning,
}

/// Turns what is watched into events.
pub struct AgUi {
    turn: String,
    session: String,
    /// The newest place of the log that was seen. Names of messages hang on it.
    seq: i64,
    /// Part of the names of messages of a stream that is continued. The client may have the beginning of an answer under the
    /// name that the first stream gave it; the answer comes again, whole, and must not be appended to that.
    again: String,
    /// Counts messages since then.
    messages: u32,
    open: Open,
    /// Text and reasoning of the current answer that were sent already.
    sent: [String; 2],
    /// None for a stream that does not begin at the beginning.
    usage: Option<Usage>,
    ended: bool,
}

impl AgUi {
    /// From the beginning, or for a stream that is continued from this place of the log on.
    pub fn new(after: Option<i64>) -> Self {
        let again = after.map(|_| format!("{}.", ids::record_id())).unwrap_or_default();
        let seq = after.unwrap_or(0);
        Self {
            turn: String::new(),
            session: String::new(),
            seq,
            again,
            messages: 0,
            open: Open::Nothing,
            sent: Default::default(),
            usage: (seq == 0).then(Usage::default),
            ended: false,
        }
    }

    /// The events of one thing that was seen.
    pub fn events(&mut self, seen: Watched) -> Vec<WireEvent> {
        let mut out = Vec::new();
        match seen {
            Watched::Turn { turn, session } => {
                (self.turn, self.session) = (turn, session);
                out.push(json!({ "type": "RUN_STARTED", "threadId": self.session, "runId": self.turn }));
            }
            Watched::Text { text } => self.piece(&mut out, Open::Text, &text),
            Watched::Reasoning { text } => self.piece(&mut out, Open::Reasoning, &text),
            Watched::Waiting { approvals, unknown } => {
                out.push(custom("turn.waiting", json!({ "approvals": approvals, "unknown": unknown })));
            }
            Watched::Event { entry } => return self.entry(entry),
        }
        out.into_iter().map(|data| WireEvent { id: None, data }).collect()
    }

    /// What closes the run when the turn is not over but can be watched no longer.
    pub fn cut(&mut self) -> Vec<WireEvent> {
        let mut out = Vec::new();
        if !self.ended {
            self.close(&mut out);
            let message = "The turn is not over, but it can be watched no longer here. Watch it again, or resume it.";
            out.push(json!({ "type": "RUN_ERROR", "message": message, "code": "unavailable" }));
        }
        out.into_iter().map(|data| WireEvent { id: None, data }).collect()
    }

    fn entry(&mut self, entry: LoggedEvent) -> Vec<WireEvent> {
        let mut out = Vec::new();
        let at = entry.at.0 / 1_000;
        // A message that is open keeps its name until it is closed below.
        if self.open == Open::Nothing {
            (self.seq, self.messages) = (entry.seq, 0);
        }
        match entry.event {
            TurnEvent::ModelAsked { .. } => {
                self.close(&mut out);
                self.sent = Default::default();
            }
            TurnEvent::ModelReplied { blocks, calls, usage, .. } => {
                self.rest(&mut out, &blocks);
                self.close(&mut out);
                for call in calls {
                    let id = self.call_id(call.ordinal);
                    out.push(json!({ "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": call.tool }));
                    if !call.args_text.is_empty() {
                        out.push(json!({ "type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": call.args_text }));
                    }
                    out.push(json!({ "type": "TOOL_CALL_END", "toolCallId": id }));
                }
                if let Some(usage) = usage {
                    if let Some(sum) = &mut self.usage {
                        *sum += usage;
                    }
                    out.push(custom("usage", json!(usage)));
                }
            }
            TurnEvent::ModelFailed { status, message } => {
                self.close(&mut out);
                out.push(custom("model.failed", json!({ "status": status, "message": message })));
            }
            TurnEvent::CallRefused { ordinal, code, message } => {
                self.result(&mut out, ordinal, &json!({ "error": message, "code": code }));
            }
            TurnEvent::CallChecked { ordinal, tool, needs_approval, args, .. } => {
                let id = self.call_id(ordinal);
                let value = json!({ "toolCallId": id, "tool": tool, "args": args, "needs_approval": needs_approval });
                out.push(custom("call.checked", value));
            }
            TurnEvent::ApprovalAsked { ordinal, approval } => {
                let value = json!({ "toolCallId": self.call_id(ordinal), "approval": approval });
                out.push(custom("approval.requested", value));
            }
            TurnEvent::ApprovalSettled { ordinal, approval, how } => {
                let mut value = json!(how);
                value["approval"] = approval.into();
                self.result(&mut out, ordinal, &value);
            }
            TurnEvent::CallStarted { ordinal, edited_args, .. } => {
                let value = json!({ "toolCallId": self.call_id(ordinal), "edited_args": edited_args });
                out.push(custom("call.started", value));
            }
            TurnEvent::CallEnded { ordinal, result } => {
                let content =
                    if result.ok { result.value } else { json!({ "error": result.error, "code": result.code }) };
                self.result(&mut out, ordinal, &content);
            }
            TurnEvent::CallUnknown { ordinal } => {
                out.push(custom("call.unknown", json!({ "toolCallId": self.call_id(ordinal), "ordinal": ordinal })));
            }
            TurnEvent::UnknownSettled { ordinal, by, ran, note } => {
                self.result(&mut out, ordinal, &json!({ "settled_by": by, "ran": ran, "note": note }));
            }
            TurnEvent::Ended { status, text } => self.end(&mut out, status, &text),
            TurnEvent::LimitHit { limit } => out.push(custom("limit", json!({ "limit": limit }))),
            TurnEvent::Started { .. } | TurnEvent::Interrupted { .. } => {}
        }
        if self.open == Open::Nothing && self.seq != entry.seq {
            (self.seq, self.messages) = (entry.seq, 0);
        }
        let id = format!("{}:{}", self.turn, entry.seq);
        let last = out.len().saturating_sub(1);
        out.into_iter()
            .enumerate()
            .map(|(n, mut data)| {
                data["timestamp"] = at.into();
                WireEvent { id: (n == last).then(|| id.clone()), data }
            })
            .collect()
    }

    /// A piece of text or reasoning.
    fn piece(&mut self, out: &mut Vec<Value>, kind: Open, text: &str) {
        if text.is_empty() || self.ended {
            return;
        }
        if self.open != kind {
            self.close(out);
            self.messages += 1;
            let id = self.message_id();
            if kind == Open::Text {
                out.push(json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }));
            } else {
                out.push(json!({ "type": "REASONING_START", "messageId": id }));
                out.push(json!({ "type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning" }));
            }
            self.open = kind;
        }
        let (name, sent) = match kind {
            Open::Text => ("TEXT_MESSAGE_CONTENT", 0),
            _ => ("REASONING_MESSAGE_CONTENT", 1),
        };
        self.sent[sent].push_str(text);
        out.push(json!({ "type": name, "messageId": self.message_id(), "delta": text }));
    }

    /// What of the whole answer has not passed by: all of it for who came late, its end for who missed pieces.
    fn rest(&mut self, out: &mut Vec<Value>, blocks: &[Block]) {
        let (mut text, mut reasoning) = (String::new(), String::new());
        for block in blocks {
            match block {
                Block::Text { text: piece } => text.push_str(piece),
                Block::Reasoning { text: piece, .. } => reasoning.push_str(piece),
                Block::Call(_) => {}
            }
        }
        for (kind, whole, sent) in [(Open::Reasoning, reasoning, 1), (Open::Text, text, 0)] {
            match whole.strip_prefix(self.sent[sent].as_str()) {
                Some(rest) => self.piece(out, kind, rest),
                None => {
                    // A piece in the middle was lost: what was shown cannot be mended, so it is said again, whole.
                    self.close(out);
                    self.piece(out, kind, &whole);
                }
            }
        }
    }

    fn close(&mut self, out: &mut Vec<Value>) {
        let id = self.message_id();
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Text => out.push(json!({ "type": "TEXT_MESSAGE_END", "messageId": id })),
            Open::Reasoning => {
                out.push(json!({ "type": "REASONING_MESSAGE_END", "messageId": id }));
                out.push(json!({ "type": "REASONING_END", "messageId": id }));
            }
        }
    }

    fn result(&mut self, out: &mut Vec<Value>, ordinal: u32, content: &Value) {
        self.close(out);
        self.messages += 1;
        let content = match content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.push(json!({
            "type": "TOOL_CALL_RESULT", "messageId": self.message_id(), "toolCallId": self.call_id(ordinal),
            "content": content, "role": "tool",
        }));
    }

    fn end(&mut self, out: &mut Vec<Value>, status: TurnStatus, text: &str) {
        self.close(out);
        self.ended = true;
        let mut ids = json!({ "threadId": self.session, "runId": self.turn });
        if let Some(usage) = self.usage {
            ids["usage"] = json!([{ "inputTokens": usage.input, "outputTokens": usage.output }]);
        }
        let mut end = match status {
            TurnStatus::Done => json!({
                "type": "RUN_FINISHED", "outcome": { "type": "success" }, "result": { "status": status, "text": text },
            }),
            TurnStatus::Interrupted => json!({
                "type": "RUN_FINISHED", "outcome": { "type": "cancelled" }, "result": { "status": status },
            }),
            _ => return out.push(json!({ "type": "RUN_ERROR", "message": text, "code": "query_failed" })),
        };
        if let (Some(end), Value::Object(ids)) = (end.as_object_mut(), ids) {
            end.extend(ids);
        }
        out.push(end);
    }

    fn message_id(&self) -> String {
        format!("{}:m{}.{}{}", self.turn, self.seq, self.again, self.messages)
    }

    fn call_id(&self, ordinal: u32) -> String {
        format!("{}:{ordinal}", self.turn)
    }
}

/// Reads the id of an event: the turn, and the place in its log.
pub fn read_id(id: &str) -> Option<(&str, i64)> {
    let (turn, seq) = id.rsplit_once(':')?;
    Some((turn, seq.parse().ok().filter(|seq| *seq >= 0)?))
}

fn custom(name: &str, value: Value) -> Value {
    json!({ "type": "CUSTOM", "name": name, "value": value })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contract::Micros;
    use contract::chat::Finish;
    use contract::turn::{CallResult, PlannedCall};

    fn logged(seq: i64, event: TurnEvent) -> Watched {
        Watched::Event { entry: LoggedEvent { seq, at: Micros(1_000_000), event } }
    }

    fn asked(seq: i64) -> Watched {
        logged(seq, TurnEvent::ModelAsked { step: 1, attempt: 1, cut: 0 })
    }

    fn replied(seq: i64, text: &str, calls: Vec<PlannedCall>) -> Watched {
        let blocks = vec![Block::Text { text: text.into() }];
        logged(seq, TurnEvent::ModelReplied { blocks, calls, usage: None, finish: Finish::Stop })
    }

    fn text(text: &str) -> Watched {
        Watched::Text { text: text.into() }
    }

    fn begin() -> AgUi {
        let mut agui = AgUi::new(None);
        let first = agui.events(Watched::Turn { turn: "t".into(), session: "s".into() });
        assert_eq!(first[0].data["type"], "RUN_STARTED");
        agui
    }

    fn kinds(events: &[WireEvent]) -> Vec<&str> {
        events.iter().map(|event| event.data["type"].as_str().unwrap()).collect()
    }

    fn said(events: &[WireEvent]) -> String {
        events
            .iter()
            .filter(|e| e.data["type"] == "TEXT_MESSAGE_CONTENT")
            .filter_map(|e| e.data["delta"].as_str())
            .collect()
    }

    #[test]
    fn text_is_said_once_whatever_passed_by() {
        for (pieces, whole, expected) in [
            (vec!["Hel", "lo"], "Hello", "Hello"),
            (vec![], "Hello", "Hello"),
            (vec!["Hel"], "Hello", "Hello"),
            // A lost piece: what was shown stays, the whole follows in a message of its own.
            (vec!["lo"], "Hello", "loHello"),
        ] {
            let mut agui = begin();
            let mut all = agui.events(asked(1));
            for piece in &pieces {
                all.extend(agui.events(text(piece)));
            }
            all.extend(agui.events(replied(2, whole, vec![])));
            assert_eq!(said(&all), expected, "{pieces:?}");
            let starts = kinds(&all).iter().filter(|kind| **kind == "TEXT_MESSAGE_START").count();
            assert_eq!(starts, kinds(&all).iter().filter(|kind| **kind == "TEXT_MESSAGE_END").count());
        }
    }

    #[test]
    fn a_failed_attempt_closes_its_message() {
        let mut agui = begin();
        let mut all = agui.events(asked(1));
        all.extend(agui.events(text("half")));
        all.extend(agui.events(logged(2, TurnEvent::ModelFailed { status: Some(503), message: "busy".into() })));
        all.extend(agui.events(asked(3)));
        all.extend(agui.events(replied(4, "whole", vec![])));
        assert_eq!(
            kinds(&all),
            [
                "TEXT_MESSAGE_START",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_END",
                "CUSTOM",
                "TEXT_MESSAGE_START",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_END"
            ]
        );
    }

    #[test]
    fn calls_carry_their_places_and_results() {
        let mut agui = begin();
        let call = PlannedCall {
            ordinal: 0,
            model_call_id: "x".into(),
            tool: "desk_cancel".into(),
            args_text: "{\"order_id\":7}".into(),
        };
        let mut all = agui.events(replied(3, "", vec![call]));
        all.extend(agui.events(logged(5, TurnEvent::ApprovalAsked { ordinal: 0, approval: "a".into() })));
        let result = CallResult { ok: true, value: json!({ "done": true }), error: None, code: None };
        all.extend(agui.events(logged(7, TurnEvent::CallEnded { ordinal: 0, result })));
        all.extend(agui.events(logged(9, TurnEvent::Ended { status: TurnStatus::Done, text: "ok".into() })));
        assert_eq!(
            kinds(&all),
            ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "CUSTOM", "TOOL_CALL_RESULT", "RUN_FINISHED"]
        );
        let ids: Vec<_> = all.iter().filter_map(|event| event.id.as_deref()).collect();
        assert_eq!(ids, ["t:3", "t:5", "t:7", "t:9"]);
        assert!(agui.cut().is_empty());
    }

    #[test]
    fn every_end_closes_the_run() {
        for (status, kind) in [
            (TurnStatus::Done, "RUN_FINISHED"),
            (TurnStatus::Interrupted, "RUN_FINISHED"),
            (TurnStatus::Failed, "RUN_ERROR"),
        ] {
            let mut agui = begin();
            agui.events(Watched::Reasoning { text: "hm".into() });
            let end = agui.events(logged(2, TurnEvent::Ended { status, text: "x".into() }));
            assert_eq!(kinds(&end), ["REASONING_MESSAGE_END", "REASONING_END", kind]);
        }
        let mut agui = begin();
        agui.events(text("half"));
        assert_eq!(kinds(&agui.cut()), ["TEXT_MESSAGE_END", "RUN_ERROR"]);
    }

    #[test]
    fn a_continued_stream_names_no_message_a_second_time() {
        let named = |events: &[WireEvent]| -> Vec<String> {
            let starts = events.iter().filter(|event| event.data["type"] == "TEXT_MESSAGE_START");
            starts.map(|event| event.data["messageId"].as_str().unwrap().to_owned()).collect()
        };
        let mut whole = begin();
        let mut first = whole.events(asked(1));
        first.extend(whole.events(text("one")));
        first.extend(whole.events(replied(2, "one", vec![])));
        let mut rest = whole.events(asked(3));
        rest.extend(whole.events(replied(4, "two", vec![])));
        let mut continued = AgUi::new(Some(2));
        continued.events(Watched::Turn { turn: "t".into(), session: "s".into() });
        let mut again = continued.events(asked(3));
        again.extend(continued.events(replied(4, "two", vec![])));
        assert_eq!(named(&again).len(), named(&rest).len());
        for known in named(&first).iter().chain(&named(&rest)) {
            assert!(!named(&again).contains(known), "{known}: {again:?}");
        }
        let end = continued.events(logged(5, TurnEvent::Ended { status: TurnStatus::Done, text: "x".into() }));
        assert_eq!(end[0].data.get("usage"), None, "the sum of a part is no sum");
    }

    #[test]
    fn ids_read_back() {
        assert_eq!(read_id("0190-ab:17"), Some(("0190-ab", 17)));
        for wrong in ["", "17", "t:", "t:-1", "t:x"] {
            assert_eq!(read_id(wrong), None, "{wrong}");
        }
    }
}
