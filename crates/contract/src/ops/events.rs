//! Changes, as they happen, for whoever shows records.

use super::common::AfterQuery;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Events, NoBody, NoPath, Query};
use crate::{Result, StudioError};
use serde::{Deserialize, Serialize};

operations! {
    /// Watch what changes in the tenant. It says that something changed, never what: that is read as always.
    WatchChanges = "events.watch" {
        Get "/events", Read, Gates::RECORD,
        path: NoPath, query: ChangesQuery, body: NoBody, reply: Events<Change>, ok: 200,
        refusals: [InvalidRequest 400],
    }
}

/// `?topics=` (a list with commas) and `?after=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangesQuery {
    /// Only these topics; empty = all.
    pub topics: Vec<String>,
    /// The place in the journal that the caller has seen; none = from now on.
    pub after: Option<i64>,
}

impl Query for ChangesQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let mut topics = Vec::new();
        for (key, value) in &pairs {
            if key == "topics" {
                topics = value.split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned).collect();
            }
        }
        if topics.len() > 32 {
            return Err(StudioError::invalid_request("'topics' names at most 32 topics."));
        }
        Ok(Self { topics, after: AfterQuery::open(pairs)?.after })
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let topics = (!self.topics.is_empty()).then(|| ("topics".to_owned(), self.topics.join(",")));
        topics.into_iter().chain(AfterQuery { after: self.after }.pairs()).collect()
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![
            crate::schema::Parameter::new(
                "topics",
                "Only these, a list with commas of at most 32; without it all.",
                serde_json::json!({ "type": "string" }),
            ),
            crate::schema::Parameter::new(
                "after",
                "Continue after this place: the id of the last event that was seen.",
                serde_json::json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }),
            ),
        ]
    }
}

/// Something changed. The place in the journal is the event's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The kinds of subjects that changed, such as `agent`, `approval`, `member`; sorted.
    pub topics: Vec<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_query_reads_back() {
        let query = ChangesQuery { topics: vec!["agent".into(), "approval".into()], after: Some(7) };
        assert_eq!(ChangesQuery::open(query.pairs()).unwrap(), query);
        assert_eq!(ChangesQuery::open(vec![]).unwrap(), ChangesQuery::default());
        for after in ["x", "-1", "1.5", "99999999999999999999"] {
            assert!(ChangesQuery::open(vec![("after".into(), after.into())]).is_err(), "{after}");
        }
        assert!(ChangesQuery::open(vec![("topics".into(), "a,".repeat(40))]).is_err());
    }
}
