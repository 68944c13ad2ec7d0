//! Where scripts come from.

use std::fs;

use super::super::{BUILT_IN, Scripts};

fn yaml(name: &str, say: &str) -> String {
    format!("name: {name}\nabout: Mine.\nrules: [{{say: {say}}}]\n")
}

#[test]
fn every_built_in_script_can_be_played() {
    let list = Scripts::default().list();
    assert_eq!(list.len(), BUILT_IN.len());
    for info in list {
        assert!(info.error.is_none(), "{:?}", info.error.map(|e| e.to_string()));
        assert!(info.built_in && !info.about.is_empty() && !info.examples.is_empty());
    }
}

#[test]
fn the_examples_of_built_in_scripts_are_understood() {
    for info in Scripts::default().list() {
        for example in &info.examples {
            let mut talk = super::Talk::with(&info.name);
            let text = talk.say(&example.replace("\\n", "\n"));
            assert!(!text.contains("none of them fits"), "{}: {example}: {text}", info.name);
        }
        // The teller and the summariser take any text; the others own up.
        if !matches!(info.name.as_str(), "slow-teller" | "summariser") {
            let text = super::Talk::with(&info.name).say("xyzzy plugh");
            assert!(text.contains("not a model"), "{}: {text}", info.name);
        }
    }
}

#[test]
fn a_file_wins_over_a_built_in_script_and_is_read_anew() {
    let first = tempfile::tempdir().unwrap();
    let second = tempfile::tempdir().unwrap();
    fs::write(first.path().join("greeter.yaml"), yaml("greeter", "a")).unwrap();
    fs::write(second.path().join("greeter.yaml"), yaml("greeter", "b")).unwrap();
    fs::write(second.path().join("own.yaml"), yaml("own", "a")).unwrap();
    fs::write(second.path().join("Not A Name.yaml"), "x").unwrap();
    fs::write(second.path().join("broken.yaml"), "name: broken\nabout: x\nrules: [{sya: x}]").unwrap();
    let gone = first.path().join("gone");
    let scripts = Scripts::new(vec![gone, first.path().into(), second.path().into()]);
    assert_eq!(scripts.find("greeter").unwrap().about, "Mine.");
    assert!(scripts.find("faq").is_ok());
    let list = scripts.list();
    assert_eq!(list.len(), BUILT_IN.len() + 2);
    let of = |name: &str| list.iter().find(|info| info.name == name).unwrap();
    assert!(!of("greeter").built_in && of("faq").built_in && !of("own").built_in);
    assert_eq!(of("broken").error.as_ref().unwrap().line, Some(3));

    let before = scripts.find("own").unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &scripts.find("own").unwrap()));
    fs::write(second.path().join("own.yaml"), yaml("own", "b").replace("Mine.", "New.")).unwrap();
    assert_eq!(scripts.find("own").unwrap().about, "New.");
}

#[test]
fn names_lead_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(folder.path().join("secret.yaml"), yaml("secret", "a")).unwrap();
    fs::create_dir(inner.join("folder.yaml")).unwrap();
    let scripts = Scripts::new(vec![inner.clone()]);
    let absolute = folder.path().join("secret");
    for name in ["../secret", "..", "", "a/b", "A", "x.yaml", "a\0b", "ä", absolute.to_str().unwrap(), &"a".repeat(65)]
    {
        let text = scripts.find(name).unwrap_err().to_string();
        assert!(text.contains("1 to 64 characters"), "{name}: {text}");
    }
    let text = scripts.find("nothing").unwrap_err().to_string();
    assert!(text.contains("no such script") && text.contains("orders-desk"), "{text}");

    fs::write(inner.join("other.yaml"), yaml("another", "a")).unwrap();
    fs::write(inner.join("bytes.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    fs::write(inner.join("long.yaml"), "ä".repeat(40_000)).unwrap();
    for (name, part) in
        [("other", "make them the same"), ("bytes", "UTF-8"), ("long", "64 KiB"), ("folder", "cannot be read")]
    {
        let text = scripts.find(name).unwrap_err().to_string();
        assert!(text.contains(part), "{name}: {text}");
        assert!(!text.contains(folder.path().to_str().unwrap()), "{text}");
    }
}
