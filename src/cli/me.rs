//! `astudio me`.

use super::ctx::Ctx;
use super::exit::{Exit, Outcome};
use super::table::record;
use contract::ops::me::GetMe;
use contract::wire::{Json, NoBody, NoPath, NoQuery};

/// Says who the caller is.
pub async fn run(ctx: &Ctx) -> Outcome {
    let Json(me) = ctx.call::<GetMe>(NoPath {}, NoQuery, NoBody).await?;
    let mark = |yes: bool| Some(if yes { "yes" } else { "no" }.to_owned());
    ctx.out.answer(&me, |out| {
        record(
            out,
            &[
                ("user", Some(me.user_id.clone())),
                ("tenant", Some(me.tenant.clone().unwrap_or_else(|| "none".to_owned()))),
                ("may author", mark(me.may_author)),
                ("may administer", mark(me.may_administer)),
                ("superuser", mark(me.is_superuser)),
                ("studio enabled", mark(me.enabled)),
            ],
        )
    })?;
    Ok(Exit::Done)
}
