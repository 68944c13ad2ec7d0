//! What a model says before its reply is whole. There is one growing copy per driven turn; each watcher reads it at its own pace,
//! so that a slow one costs no memory and misses nothing, and one that comes late hears the answer from its beginning.

use tokio::sync::watch;

/// A run of text of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    pub text: String,
    pub is_reasoning: bool,
}

#[derive(Debug, Default)]
struct Said {
    /// Place in the log of the question that is answered.
    question: i64,
    pieces: Vec<Piece>,
}

/// The driver's end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speaker(watch::Sender<Said>);

impl Speaker {
    /// Says more of the answer to the question at this place of the log. What was said to an earlier one is forgotten: it is in
    /// the log by now.
    pub fn say(&self, question: i64, text: &str, is_reasoning: bool) {
        self.0.send_modify(|said| {
            if said.question != question {
                *said = Said { question, pieces: Vec::new() };
            }
            match said.pieces.last_mut().filter(|last| last.is_reasoning == is_reasoning) {
                Some(last) => last.text.push_str(text),
                None => said.pieces.push(Piece { text: text.to_owned(), is_reasoning }),
            }
        });
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// A watcher's end. Who has seen the log up to `after` is told what is said to a later question from its beginning, and to
    /// the one at this place only what comes from now on.
    pub fn listen(&self, after: i64) -> Listener {
        let said = self.0.subscribe();
        let place = {
            let now = said.borrow();
            match now.question <= after {
                true => Place::end_of(&now),
                false => Place::default(),
            }
        };
        Listener { said, place }
    }
}

/// How far a watcher has read.
#[derive(Debug, Default)]
struct Place {
    question: i64,
    piece: usize,
    byte: usize,
}

impl Place {
    fn end_of(said: &Said) -> Self {
        let (piece, byte) = said.pieces.len().checked_sub(1).map_or((0, 0), |n| (n, said.pieces[n].text.len()));
        Self { question: said.question, piece, byte }
    }
}

/// A watcher's end.
#[derive(Debug)]
pub(crate) struct Listener {
    said: watch::Receiver<Said>,
    place: Place,
}

impl Listener {
    /// Takes what was said to this question and not taken yet.
    pub fn take(&mut self, question: i64) -> Vec<Piece> {
        let said = self.said.borrow();
        if said.question != question {
            return Vec::new();
        }
        if self.place.question != question {
            self.place = Place { question, ..Place::default() };
        }
        let mut new: Vec<Piece> = said.pieces[self.place.piece.min(said.pieces.len())..].to_vec();
        if let Some(first) = new.first_mut() {
            first.text.drain(..self.place.byte);
        }
        self.place = Place::end_of(&said);
        new.retain(|piece| !piece.text.is_empty());
        new
    }

    /// Waits until more is said; answers to which question. Cancelled safely. None when nobody will say anything more.
    pub async fn more(&mut self) -> Option<i64> {
        self.said.changed().await.ok()?;
        Some(self.said.borrow_and_update().question)
    }
}

#[cfg(test)]
mod tests {
    use super::{Listener, Piece, Speaker};

    fn text(pieces: &[Piece]) -> String {
        pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    fn piece(text: &str, is_reasoning: bool) -> Piece {
        Piece { text: text.into(), is_reasoning }
    }

    #[test]
    fn each_listener_hears_all_of_it_once_at_its_own_pace() {
        let speaker = Speaker::default();
        let (mut quick, mut slow) = (speaker.listen(0), speaker.listen(0));
        let mut heard = String::new();
        for word in ["a", "é", "👍", "z"] {
            speaker.say(2, word, false);
            heard += &text(&quick.take(2));
        }
        assert_eq!(heard, "aé👍z");
        assert_eq!(slow.take(2), [piece("aé👍z", false)]);
        assert_eq!(slow.take(2), []);
    }

    #[test]
    fn kinds_keep_their_order() {
        let speaker = Speaker::default();
        let mut listener = speaker.listen(0);
        speaker.say(2, "hm", true);
        assert_eq!(listener.take(2), [piece("hm", true)]);
        speaker.say(2, "m", true);
        speaker.say(2, "yes", false);
        speaker.say(2, "or?", true);
        assert_eq!(listener.take(2), [piece("m", true), piece("yes", false), piece("or?", true)]);
    }

    #[test]
    fn another_question_begins_anew() {
        let speaker = Speaker::default();
        let mut listener = speaker.listen(0);
        speaker.say(2, "long and old", false);
        assert_eq!(text(&listener.take(2)), "long and old");
        speaker.say(5, "new", false);
        assert_eq!(listener.take(2), []);
        assert_eq!(text(&listener.take(5)), "new");
    }

    #[test]
    fn who_comes_late_hears_the_beginning_unless_it_was_there() {
        let speaker = Speaker::default();
        speaker.say(2, "one ", false);
        let heard = |mut listener: Listener| {
            speaker.say(2, "two ", false);
            text(&listener.take(2))
        };
        assert_eq!(heard(speaker.listen(0)), "one two ");
        assert_eq!(heard(speaker.listen(2)), "two ");
    }

    #[tokio::test]
    async fn a_word_between_two_looks_is_not_slept_over() {
        let speaker = Speaker::default();
        let mut listener = speaker.listen(0);
        speaker.say(2, "a", false);
        assert_eq!(listener.more().await, Some(2));
        speaker.say(2, "b", false);
        assert_eq!(text(&listener.take(2)), "ab");
        assert_eq!(listener.more().await, Some(2), "told once more than needed, never once less");
        drop(speaker);
        assert_eq!(listener.more().await, None);
    }
}
