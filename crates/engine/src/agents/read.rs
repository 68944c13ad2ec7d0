//! Reading agents: one, all, or page by page.

use super::page::Ask;
use super::{guard::not_found, item};
use crate::errors::from_store;
use crate::{Admitted, Engine, Serve};
use contract::Result;
use contract::ops::agents::{AgentItem, AgentList, GetAgent, ListAgents};
use contract::ops::common::{NamePath, Page};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use rules::access::Caller;
use rules::names::is_record_name;
use rules::partition::Partition;
use store::repo::agents as repo;
use store::repo::agents::list::{self, After, Reach};
use store::{StoreError, Tx};

impl Serve<GetAgent> for Engine {
    async fn serve(&self, who: Admitted, path: NamePath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<AgentItem>> {
        let partition = who.partition()?;
        let name = path.name.as_str();
        let agent = match is_record_name(name) {
            true => self.store.read(|tx| repo::by_name(tx, partition, name)).await.map_err(from_store)?,
            false => None,
        };
        let item = agent.and_then(|agent| item::whole(&who.access_caller(), partition, agent));
        item.map(Json).ok_or_else(|| not_found(name))
    }
}

impl Serve<ListAgents> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, query: Late<Page>, _: Late<NoBody>) -> Result<Json<AgentList>> {
        let page = query.open()?;
        let paged = page.is_paged();
        let ask = Ask::new(&page, &who.user)?;
        let Some(partition) = who.partition.clone() else {
            return Ok(Json(AgentList { agents: Vec::new(), count: 0, next_cursor: paged.then_some(None) }));
        };
        let caller = who.access_caller();
        let (agents, next) = if paged {
            self.store.read(|tx| fill(tx, &partition, &caller, &ask)).await
        } else {
            self.store.read_long(move |tx| fill(tx, &partition, &caller, &ask)).await
        }
        .map_err(from_store)?;
        Ok(Json(AgentList { count: agents.len(), agents, next_cursor: paged.then_some(next) }))
    }
}

/// The items of a page and the cursor behind them.
type Filled = (Vec<AgentItem>, Option<String>);

/// Fills a page. Reads on while rows fall away that the database could not judge, so that a
/// page is short only at the end; and the cursor names a row that was shown, never one that was hidden.
fn fill(tx: &mut dyn Tx, partition: &Partition, caller: &Caller, ask: &Ask) -> std::result::Result<Filled, StoreError> {
    let reach = reach(caller);
    // One more than the page holds tells whether another follows.
    let limit = ask.limit.map(|limit| limit + 1);
    let mut items: Vec<AgentItem> = Vec::new();
    let mut after = ask.after.clone();
    loop {
        let asked = list::Ask {
            reach: &reach,
            terms: &ask.terms,
            order: ask.order,
            descending: ask.descending,
            after: after.as_ref(),
            limit,
        };
        let rows = list::rows(tx, partition, &asked)?;
        let more = limit.is_some_and(|limit| rows.len() == limit as usize);
        after = rows.last().map(|row| After { name: row.name.clone(), updated_at: row.updated_at });
        let holds = |row: &repo::Head| ask.terms.iter().all(|term| term.holds(row));
        items.extend(rows.into_iter().filter(holds).filter_map(|row| item::seen(caller, partition, row)));
        match limit {
            Some(limit) if items.len() >= limit as usize => {
                items.truncate(limit as usize - 1);
                let next = items.last().map(|last| ask.cursor(last));
                return Ok((items, next));
            }
            Some(_) if more => {}
            _ => return Ok((items, None)),
        }
    }
}

fn reach(caller: &Caller) -> Reach {
    match caller {
        Caller::OptedIn(scope) if !scope.may_administer && !scope.is_superuser => Reach::Member {
            user: caller.user_id().unwrap_or_default().to_owned(),
            groups: scope.groups.iter().cloned().collect(),
        },
        Caller::OptedIn(_) | Caller::Plain(_) => Reach::All,
    }
}
