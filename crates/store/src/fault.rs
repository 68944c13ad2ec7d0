//! Named places at which a test can stop, slow or fail the process. They exist only with the feature
//! `failpoints`; in a shipped build every function here is empty.
//!
//! `ASTUDIO_FAULT` is a comma list of `name[@n]=abort|kill|delay:MS|error` (at the n-th pass, else at
//! every pass) and of bare names, which switch a behaviour on for as long as the process lives.

/// Marks a place. Answers `true` if the caller shall fail here as if its own operation had.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn point(_name: &str) -> bool {
    false
}

/// Whether `ASTUDIO_FAULT` names this switch.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn active(_name: &str) -> bool {
    false
}

#[cfg(feature = "failpoints")]
pub use on::{active, point};

#[cfg(feature = "failpoints")]
mod on {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[derive(Debug, PartialEq)]
    enum Action {
        Switch,
        Abort,
        Kill,
        Delay(Duration),
        Error,
    }

    #[derive(Debug)]
    struct Fault {
        name: String,
        at: Option<u64>,
        action: Action,
        passes: AtomicU64,
    }

    fn parse(text: &str) -> Result<Vec<Fault>, String> {
        let one = |item: &str| {
            let (place, action) = match item.split_once('=') {
                None => (item, Action::Switch),
                Some((place, "abort")) => (place, Action::Abort),
                Some((place, "kill")) => (place, Action::Kill),
                Some((place, "error")) => (place, Action::Error),
                Some((place, other)) => {
                    let ms = other.strip_prefix("delay:").and_then(|n| n.parse().ok());
                    let ms = ms.ok_or_else(|| format!("unknown action in {item:?}"))?;
                    (place, Action::Delay(Duration::from_millis(ms)))
                }
            };
            let (name, at) = match place.split_once('@') {
                None => (place, None),
                Some((name, n)) => {
                    let n = n.parse().map_err(|_| format!("no number in {item:?}"))?;
                    (name, Some(n))
                }
            };
            Ok(Fault { name: name.to_owned(), at, action, passes: AtomicU64::new(0) })
        };
        let items = text.split(',').map(str::trim);
        items.filter(|item| !item.is_empty()).map(one).collect()
    }

    fn faults() -> &'static [Fault] {
        static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
        FAULTS.get_or_init(|| {
            let text = std::env::var("ASTUDIO_FAULT").unwrap_or_default();
            // A test whose fault is misspelt would pass for the wrong reason.
            parse(&text).unwrap_or_else(|why| panic!("ASTUDIO_FAULT: {why}"))
        })
    }

    /// Marks a place. Answers `true` if the caller shall fail here as if its own operation had.
    pub fn point(name: &str) -> bool {
        let mut fail = false;
        for fault in faults().iter().filter(|fault| fault.name == name) {
            let pass = fault.passes.fetch_add(1, Ordering::SeqCst) + 1;
            if fault.at.is_some_and(|at| at != pass) {
                continue;
            }
            match fault.action {
                Action::Switch => {}
                Action::Abort => std::process::abort(),
                Action::Kill => kill(),
                Action::Delay(time) => std::thread::sleep(time),
                Action::Error => fail = true,
            }
        }
        fail
    }

    /// Whether `ASTUDIO_FAULT` names this switch.
    pub fn active(name: &str) -> bool {
        let on = |fault: &Fault| fault.name == name && fault.action == Action::Switch;
        faults().iter().any(on)
    }

    fn kill() -> ! {
        let me = std::process::id().to_string();
        let sent = std::process::Command::new("kill").args(["-9", &me]).status();
        if sent.is_ok() {
            std::thread::sleep(Duration::from_secs(5));
        }
        std::process::abort()
    }

    #[cfg(test)]
    mod tests {
        #![allow(clippy::unwrap_used)]
        use super::*;

        #[test]
        fn the_list_is_read() {
            let list = parse("a@3=kill, b=delay:20,c,d=error").unwrap();
            assert_eq!((list[0].name.as_str(), list[0].at), ("a", Some(3)));
            assert_eq!(list[0].action, Action::Kill);
            assert_eq!(list[1].action, Action::Delay(Duration::from_millis(20)));
            assert_eq!(list[2].action, Action::Switch);
            assert_eq!(list[3].action, Action::Error);
            assert!(parse("a=explode").is_err());
            assert!(parse("a@x=kill").is_err());
        }
    }
}
