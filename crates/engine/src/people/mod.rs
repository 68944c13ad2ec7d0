//! People: who may do what in which tenant, and the operations on tenants, users and memberships.
//!
//! A user is one record of the whole installation and belongs to tenants by membership. A tenant's administrator sees and
//! changes members of that tenant only; everybody else answers as if absent. Three things keep one tenant from reaching
//! into another:
//!
//! - taking an existing user into a tenant is for administrators of the platform. For others a user who is no member is
//!   404, so nobody is drawn into a tenant, and shown there, without the platform's word;
//! - creating a user whose id exists anywhere answers `name_taken`, as for every name, and says nothing more;
//! - a user who belongs to several tenants, or administers the platform, is changed by administrators of the platform
//!   only, for the change would show elsewhere.

mod bootstrap;
mod members;
mod resolver;
mod tenants;
mod users;

pub use bootstrap::{Bootstrap, Home, bootstrap};
pub use resolver::Memberships;

use crate::Admitted;
use crate::failure::Failure;
use contract::ops::common::{is_space, trimmed};
use contract::{Code, Result, StudioError};
use rules::Partition;
use store::Tx;
use store::repo::people;

/// The tenant whose people an operation is about.
pub(crate) fn tenant(who: &Admitted) -> Result<Partition> {
    let partition = who.partition()?;
    if partition.is_global() {
        return Err(StudioError::new(
            Code::TenantRequired,
            422,
            "This needs a tenant, and this installation has none.",
        ));
    }
    Ok(partition.clone())
}

/// Longest text for people, in characters.
const LONGEST: usize = 200;

/// A text for people: not blank, of one line, not too long. Surrounding space goes.
pub(crate) fn label(field: &str, text: &str) -> Result<String> {
    let has_control = text.chars().any(char::is_control);
    let text = trimmed(text);
    if text.is_empty() || text.chars().count() > LONGEST || has_control {
        return Err(StudioError::invalid_request(format!("'{field}' must be one line of 1 to {LONGEST} characters.")));
    }
    Ok(text.to_owned())
}

/// An e-mail address, as far as one can be told from other text.
fn email(text: &str) -> Result<String> {
    let address = label("email", text)?;
    match address.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() && !address.contains(is_space) => Ok(address),
        _ => Err(StudioError::invalid_request("'email' must be an e-mail address.")),
    }
}

/// 409 for a change that would leave a tenant without an active administrator.
fn last_admin() -> StudioError {
    StudioError::new(
        Code::DeleteRefused,
        409,
        "This is the tenant's last active administrator. Make somebody else Admin first.",
    )
}

/// Whether somebody can administer the platform, looked at before a change that might end it. Whatever the change is, of a
/// membership, a user or a tenant, it is refused when afterwards nobody could sign in to undo it.
#[must_use]
pub(crate) struct Administered(bool);

impl Administered {
    /// How it stands before the change.
    pub fn before(tx: &mut dyn Tx) -> std::result::Result<Self, Failure> {
        Ok(Self(people::is_administered(tx)?))
    }

    /// Refuses the change, in its own transaction, if it ends it.
    pub fn still(self, tx: &mut dyn Tx) -> std::result::Result<(), Failure> {
        if self.0 && !people::is_administered(tx)? {
            let why = "After this, nobody could sign in as administrator of the platform. Let another one in first.";
            return Err(StudioError::new(Code::DeleteRefused, 409, why).into());
        }
        Ok(())
    }
}

/// A name of a group: a label without a comma, which separates groups where they are written.
fn group(text: &str) -> Result<String> {
    let group = label("groups", text)?;
    if group.contains(',') {
        return Err(StudioError::invalid_request("The name of a group must not contain a comma."));
    }
    Ok(group)
}
