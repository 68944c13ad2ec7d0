//! Test sessions as rows. A session belongs to one person and one agent for its whole life.

use crate::{Row, StoreError, Tx, vals};
use contract::Micros;
use rules::partition::Partition;

/// A test session.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SessionRow {
    pub id: String,
    pub partition: String,
    pub user_id: String,
    pub agent_id: String,
    pub agent_name: String,
    /// What people call it by.
    pub name: String,
    /// The credential whose default session it is.
    pub credential: Option<String>,
    /// The agent's version it runs on until it ends.
    pub agent_version: i64,
    /// Another model than the agent's.
    pub model: Option<String>,
    pub started_at: Micros,
    pub last_at: Micros,
    pub ended_at: Option<Micros>,
}

const COLUMNS: &str = "id, partition, user_id, agent_id, agent_name, name, credential, agent_version, model, started_at, last_at, ended_at";

fn read(row: Row) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        id: row.text(0)?,
        partition: row.text(1)?,
        user_id: row.text(2)?,
        agent_id: row.text(3)?,
        agent_name: row.text(4)?,
        name: row.text(5)?,
        credential: row.opt_text(6)?,
        agent_version: row.int(7)?,
        model: row.opt_text(8)?,
        started_at: Micros(row.int(9)?),
        last_at: Micros(row.int(10)?),
        ended_at: row.opt_int(11)?.map(Micros),
    })
}

/// Inserts a session.
pub fn insert(tx: &mut dyn Tx, s: &SessionRow) -> Result<(), StoreError> {
    tx.exec(
        &format!("insert into sessions ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"),
        vals![
            &s.id,
            &s.partition,
            &s.user_id,
            &s.agent_id,
            &s.agent_name,
            &s.name,
            s.credential.clone(),
            s.agent_version,
            s.model.clone(),
            s.started_at.0,
            s.last_at.0,
            s.ended_at.map(|t| t.0)
        ],
    )
    .map(drop)
}

/// A session by its id.
pub fn get(tx: &mut dyn Tx, id: &str) -> Result<Option<SessionRow>, StoreError> {
    tx.query_one(&format!("select {COLUMNS} from sessions where id = $1"), vals![id])?.map(read).transpose()
}

/// The newest session of this name that the person has with this agent, live ones first.
pub fn find(
    tx: &mut dyn Tx,
    partition: &Partition,
    user: &str,
    agent_id: &str,
    name: &str,
) -> Result<Option<SessionRow>, StoreError> {
    tx.query_one(
        &format!(
            "select {COLUMNS} from sessions where partition = $1 and user_id = $2 and agent_id = $3 and name = $4 \
             order by ended_at is null desc, last_at desc limit 1"
        ),
        vals![partition.as_str(), user, agent_id, name],
    )?
    .map(read)
    .transpose()
}

/// The live default session of a credential with an agent, newest first.
pub fn find_default(
    tx: &mut dyn Tx,
    partition: &Partition,
    user: &str,
    agent_id: &str,
    credential: &str,
) -> Result<Option<SessionRow>, StoreError> {
    tx.query_one(
        &format!(
            "select {COLUMNS} from sessions where partition = $1 and user_id = $2 and agent_id = $3 and credential = $4 \
             and ended_at is null order by started_at desc, id desc limit 1"
        ),
        vals![partition.as_str(), user, agent_id, credential],
    )?
    .map(read)
    .transpose()
}

/// The person's sessions with an agent, newest first, with how many turns each has.
pub fn list(
    tx: &mut dyn Tx,
    partition: &Partition,
    user: &str,
    agent_id: &str,
) -> Result<Vec<(SessionRow, i64)>, StoreError> {
    tx.query(
        &format!(
            "select {COLUMNS}, (select count(*) from turns where turns.session_id = sessions.id) from sessions \
             where partition = $1 and user_id = $2 and agent_id = $3 order by last_at desc, id desc limit 1000"
        ),
        vals![partition.as_str(), user, agent_id],
    )?
    .into_iter()
    .map(|row| {
        let turns = row.int(12)?;
        Ok((read(row)?, turns))
    })
    .collect()
}

/// How many live sessions run on an older version of an agent.
pub fn stale(tx: &mut dyn Tx, agent_id: &str, version: i64) -> Result<i64, StoreError> {
    let row = tx.query_one(
        "select count(*) from sessions where agent_id = $1 and agent_version < $2 and ended_at is null",
        vals![agent_id, version],
    )?;
    row.map_or(Ok(0), |row| row.int(0))
}

/// Marks a session as used; a model given replaces its own.
pub fn touch(tx: &mut dyn Tx, id: &str, at: Micros, model: Option<&str>) -> Result<(), StoreError> {
    tx.exec("update sessions set last_at = $2, model = coalesce($3, model) where id = $1", vals![id, at.0, model])
        .map(drop)
}

/// Ends a session. False when it had ended.
pub fn end(tx: &mut dyn Tx, id: &str, at: Micros) -> Result<bool, StoreError> {
    Ok(tx.exec("update sessions set ended_at = $2 where id = $1 and ended_at is null", vals![id, at.0])? == 1)
}
