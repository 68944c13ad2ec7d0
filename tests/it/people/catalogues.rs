//! Cases P: catalogues.

use super::town::{NOTHING, Town};
use contract::ops::catalog::GetCatalog;
use serde_json::json;

#[tokio::test]
async fn catalogues_say_what_there_is() {
    let town = Town::new().await;
    let read = async |who: &str, kind: &str| town.call::<GetCatalog>(who, &[("kind", kind)], NOTHING).await;
    // P01, P02, P07, P09, P11.
    for who in ["vic@acme", "nt"] {
        let classes = read(who, "base-classes").await.ok();
        let rows = classes.as_array().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(names, engine::agents::classes::STOCK);
        for row in rows {
            if row["available"] == true {
                assert!(row["params"].is_object() && row["docstring"].is_string(), "{row}");
                assert_eq!(row["allowed"], row["abstract"] == false, "{row}");
            } else {
                assert!(row["error"].is_string(), "{row}");
            }
        }
        assert_eq!(read(who, "vector-stores").await.ok().as_array().unwrap().len(), 7);
        assert!(read(who, "llm-clients").await.ok().is_array());
    }
    read("nt", "tools").await.refused(422, "tenant_required");
    assert_eq!(read("vic@acme", "tools").await.ok(), json!([]));
    read("vic@acme", "nonsense").await.refused(404, "not_found");
    let bounds = read("vic@acme", "model-params").await.ok();
    assert_eq!(bounds["properties"]["temperature"]["maximum"], 2);
    assert_eq!(bounds["properties"]["top_p"]["exclusiveMinimum"], 0);
    assert_eq!(bounds["properties"]["top_k"]["type"], json!(["integer", "null"]));
    assert!(bounds.get("unsupported").is_none());

    // P04, on the host of the other world, which has a toolkit.
    let world = crate::world::World::empty(crate::world::Setup::default());
    let tools = world.call::<GetCatalog>("u1", crate::world::ask().path("kind", "tools")).await.ok();
    let rows = tools.as_array().unwrap();
    assert!(rows.is_sorted_by_key(|row| row["slug"].as_str().unwrap()), "{tools}");
    let notes = rows.iter().find(|row| row["slug"] == "hx_notes").unwrap();
    assert_eq!((&notes["source"], &notes["dotted_path"]), (&json!("host"), &NOTHING));
    assert_eq!(notes["access"], json!({ "read": ["hx_list_notes"], "write": ["hx_add_note"] }));
}
