//! Numbers and times as people read them.

use contract::Micros;

/// A number with what it counts: `1 turn`, `1,204 turns`.
pub fn count(n: impl TryInto<usize>, one: &str, many: &str) -> String {
    let n = n.try_into().unwrap_or(usize::MAX);
    format!("{} {}", thousands(n), if n == 1 { one } else { many })
}

/// A number with a comma before each three digits.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time to the minute, in UTC.
pub fn minute(at: Micros) -> String {
    cut(at, 16)
}

/// A time to the second, in UTC.
pub fn second(at: Micros) -> String {
    cut(at, 19)
}

fn cut(at: Micros, length: usize) -> String {
    at.to_rfc3339().get(..length).unwrap_or_default().replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        assert_eq!(count(1, "entry", "entries"), "1 entry");
        assert_eq!(
            (count(0_u64, "turn", "turns"), count(1204, "turn", "turns")),
            ("0 turns".into(), "1,204 turns".into())
        );
    }

    #[test]
    fn times_are_short() {
        let at = Micros(1_790_000_000_123_456);
        assert_eq!((minute(at), second(at)), ("2026-09-21 14:13".into(), "2026-09-21 14:13:20".into()));
    }
}
