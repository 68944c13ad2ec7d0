//! Bytes for the terminal that are no part of a frame: clipboard, title, bell and notice. Everything put into them is cleaned
//! first, so that no text of others can end the sequence.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::path::Path;
use text::Safe;

/// Most bytes that terminals take by OSC 52.
const OSC52_MOST: usize = 74_994;

/// How text got to the clipboard.
pub struct Route {
    /// What to write to the terminal.
    pub bytes: Option<Vec<u8>>,
    /// What to tell the person.
    pub said: String,
}

/// Finds a way to the clipboard: OSC 52, wrapped for tmux, else a file.
pub fn copy(text: &str, dir: &Path) -> Route {
    let encoded = STANDARD.encode(text);
    if encoded.len() > OSC52_MOST {
        let path = dir.join("copied.txt");
        let said = match std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, text)) {
            Ok(()) => format!("Too long for the terminal's clipboard; written to {}.", path.display()),
            Err(error) => format!("Too long for the terminal's clipboard, and the file failed: {}.", error.kind()),
        };
        return Route { bytes: None, said };
    }
    let tmux = std::env::var_os("TMUX").is_some();
    let sequence = format!("\x1b]52;c;{encoded}\x07");
    let (bytes, way) = if tmux {
        (format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")), "through tmux (OSC 52)")
    } else {
        (sequence, "through the terminal (OSC 52)")
    };
    Route { bytes: Some(bytes.into_bytes()), said: format!("Copied {} characters {way}.", text.chars().count()) }
}

/// Sets the terminal's title.
pub fn title(text: &str) -> Vec<u8> {
    format!("\x1b]2;{}\x07", Safe::clean(text)).into_bytes()
}

/// A bell; with a desktop notice when the terminal is not in front.
pub fn notice(text: &str, front: bool) -> Vec<u8> {
    if front { b"\x07".to_vec() } else { format!("\x07\x1b]9;{}\x07", Safe::clean(text)).into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::{copy, notice, title};

    #[test]
    fn text_of_others_cannot_end_a_sequence() {
        let evil = "x\x07\x1b]52;c;ZXZpbA==\x07";
        for bytes in [title(evil), notice(evil, false)] {
            let inside = &bytes[..bytes.len() - 1];
            assert_eq!(inside.iter().filter(|b| **b == 0x1b).count(), 1, "{:?}", String::from_utf8_lossy(&bytes));
        }
        let route = copy(evil, std::path::Path::new("."));
        let bytes = route.bytes.unwrap();
        assert!(bytes.iter().filter(|b| **b == 0x07 || **b == 0x9c).count() <= 1);
    }
}
