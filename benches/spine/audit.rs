//! The check of the journal.

use super::Plan;
use super::report::{Report, Unit, thousands};
use super::world::{ROOT, TENANT, World, caller};
use contract::Micros;
use contract::ops::audit::VerifyAudit;
use contract::wire::{Json, WireRequest};
use rules::Partition;
use serde_json::json;
use std::time::Instant;
use store::{StoreError, Tx};
use trust::journal::{self, Entry};

/// Entries of one transaction of the filling.
const AT_ONCE: u64 = 500;

/// `audit verify` of everything, as an administrator of the platform: every entry, link and root is read and hashed anew.
pub async fn verify(world: &World, plan: &Plan, report: &mut Report) {
    let mut links = check(world).await;
    while links < plan.links {
        world.engine.store.write(move |tx| fill(tx, links)).await.unwrap();
        links += AT_ONCE;
    }
    let mut rates = Vec::new();
    for _ in 0..plan.rounds {
        let since = Instant::now();
        links = check(world).await;
        rates.push(links as f64 / since.elapsed().as_secs_f64());
    }
    report.measure(&format!("audit verify, {} links", thousands(links as f64)), Unit::PerSecond, &rates, 200_000.0);
}

async fn check(world: &World) -> u64 {
    let Json(report) = world.engine.call::<VerifyAudit>(caller(ROOT), WireRequest::default()).await.unwrap();
    assert!(report.ok, "{:?}", report.faults);
    report.links
}

fn fill(tx: &mut dyn Tx, from: u64) -> Result<(), StoreError> {
    let partition = Partition::tenant(TENANT).unwrap();
    for n in from..from + AT_ONCE {
        let subject = format!("agent:agent-{:05}", n % 1_000);
        let body =
            json!({ "fields": ["description"], "agent_id": "00000000-0000-4000-8000-000000000000", "version": n });
        let entry = Entry { partition: &partition, actor: "owner", action: "agent.updated", subject: &subject, body };
        journal::record(tx, Micros::now(), entry)?;
    }
    Ok(())
}
