//! The keys as a page of the documentation, made from the action table.

use crate::action::{ACTIONS, Context};
use crate::keymap::Key;

const FIRST: &str = "\
# Keys

Made by `astudio docs keys` from the program's own table. In the workbench F1 shows the keys that work where you are, and
the palette (Ctrl-P) finds every action by its name.

A key means what the innermost context says: a dialog before the place, the place before what holds everywhere. A key
that writes a letter goes to the text field that has the focus. Own keys are set in the settings place, or in
`config.toml` by the name of the action:

```toml
[workbench.keys]
quit = [\"ctrl-x\"]
```

Two actions on one key in one context are refused by name.
";

/// The page.
pub fn keys() -> String {
    let mut page = FIRST.to_owned();
    let mut contexts: Vec<Context> = Vec::new();
    for info in ACTIONS {
        if !contexts.contains(&info.context) {
            contexts.push(info.context);
        }
    }
    for context in contexts {
        page += &format!("\n## {}\n\n| key | action | what it does |\n|---|---|---|\n", context.title());
        for info in ACTIONS.iter().filter(|info| info.context == context) {
            let keys: Vec<String> =
                labels(info.keys).iter().map(|key| format!("`{}`", key.replace('|', "\\|"))).collect();
            page += &format!("| {} | `{}` | {} |\n", keys.join(" "), info.id, info.about);
        }
    }
    page
}

/// Keys of the table as people read them.
pub fn labels(keys: &[&str]) -> Vec<String> {
    keys.iter().filter_map(|key| Key::parse(key).ok()).map(|key| key.label()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_the_documentation_is_the_table() {
        let kept = include_str!("../../../docs/keys.md");
        assert!(kept == super::keys(), "docs/keys.md is stale: write it with `astudio docs keys > docs/keys.md`");
    }
}
