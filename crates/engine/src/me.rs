//! Who the caller is. Touches no storage.

use crate::Host;
use crate::{Admitted, Engine, Serve};
use contract::Result;
use contract::ops::me::{GetMe, Me};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};

impl Serve<GetMe> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<Me>> {
        let plain = who.host == Host::Plain;
        Ok(Json(Me {
            tenant: who.scope.tenant().map(str::to_owned),
            may_author: who.scope.may_author,
            may_administer: who.scope.may_administer && !plain,
            enabled: who.scope.studio_enabled || plain,
            is_superuser: who.scope.is_superuser,
            user_id: who.user,
        }))
    }
}
