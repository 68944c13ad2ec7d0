//! The life of an approval as a pure rule.
//!
//! `pending → approved | rejected | expired | withdrawn`; `approved → consumed | void`. Everything else is refused.

use contract::Micros;
use contract::ops::approvals::ApprovalStatus as Status;

/// Who wants to act on an approval.
#[derive(Clone, Debug, Default)]
pub struct Who<'a> {
    /// Their user id.
    pub user: &'a str,
    /// Whether they administer the tenant.
    pub administers: bool,
    /// Their groups.
    pub groups: Option<&'a std::collections::BTreeSet<String>>,
}

/// What decides over an approval's next step.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    /// Where it stands.
    pub status: Status,
    /// Who asked.
    pub asker: String,
    /// `asker`, `admins` or `group:NAME`.
    pub deciders: String,
    /// Whether the asker may not decide.
    pub four_eyes: bool,
    /// When a pending one ends by itself.
    pub expires_at: Micros,
    /// When it was decided.
    pub decided_at: Option<Micros>,
}

/// Something done to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A person says yes.
    Approve,
    /// A person says no.
    Reject,
    /// The asker takes it back.
    Withdraw,
    /// The call is about to run.
    Consume,
}

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such approval for this person.
    NotFound,
    /// It has been answered, or has ended.
    Already,
    /// It was pending, and its time is over.
    Expired,
    /// It was approved too long ago.
    Overdue,
    /// Nobody has said yes.
    NotApproved,
}

impl Life {
    /// Whether this person may answer.
    ///
    /// With four eyes the asker never may; where only the asker could, an administrator takes their place.
    pub fn may_decide(&self, who: &Who<'_>) -> bool {
        let is_asker = who.user == self.asker;
        if self.four_eyes && is_asker {
            return false;
        }
        match self.deciders.as_str() {
            "asker" if self.four_eyes => who.administers,
            "asker" => is_asker,
            "admins" => who.administers,
            rule => {
                rule.strip_prefix("group:").is_some_and(|group| who.groups.is_some_and(|groups| groups.contains(group)))
            }
        }
    }

    /// Whether this person may know of it: who asked, and who may answer.
    pub fn may_see(&self, who: &Who<'_>) -> bool {
        who.user == self.asker || self.may_decide(who)
    }

    /// Where it stands at `now`: time passes without anybody writing it down.
    pub fn status_at(&self, now: Micros, void_seconds: i64) -> Status {
        match (self.status, self.decided_at) {
            (Status::Pending, _) if now >= self.expires_at => Status::Expired,
            (Status::Approved, Some(at)) if now >= at.plus_seconds(void_seconds) => Status::Void,
            (status, _) => status,
        }
    }

    /// What follows.
    ///
    /// # Errors
    /// Why nothing does.
    pub fn after(&self, act: Act, who: &Who<'_>, now: Micros, void_seconds: i64) -> Result<Status, Refused> {
        let allowed = match act {
            Act::Approve | Act::Reject => self.may_decide(who),
            Act::Withdraw => who.user == self.asker,
            // The runtime consumes, for the turn that asked; who may do that is fenced by the turn's lease.
            Act::Consume => true,
        };
        if !allowed {
            return Err(Refused::NotFound);
        }
        match (act, self.status_at(now, void_seconds)) {
            (Act::Approve, Status::Pending) => Ok(Status::Approved),
            (Act::Reject, Status::Pending) => Ok(Status::Rejected),
            (Act::Withdraw, Status::Pending) => Ok(Status::Withdrawn),
            (Act::Consume, Status::Approved) => Ok(Status::Consumed),
            (Act::Consume, Status::Void) if self.status == Status::Approved => Err(Refused::Overdue),
            (Act::Consume, _) => Err(Refused::NotApproved),
            (_, Status::Expired) => Err(Refused::Expired),
            _ => Err(Refused::Already),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(deciders: &str, four_eyes: bool) -> Life {
        Life {
            status: Status::Pending,
            asker: "ann".into(),
            deciders: deciders.into(),
            four_eyes,
            expires_at: Micros(1_000_000),
            decided_at: None,
        }
    }

    fn user(user: &str) -> Who<'_> {
        Who { user, ..Who::default() }
    }

    #[test]
    fn who_may_decide() {
        let admin = Who { user: "adm", administers: true, groups: None };
        assert!(life("asker", false).may_decide(&user("ann")));
        assert!(!life("asker", false).may_decide(&user("bob")));
        assert!(!life("asker", false).may_decide(&admin), "another person's own test chat");
        assert!(life("asker", true).may_decide(&admin) && !life("asker", true).may_decide(&user("ann")));
        assert!(life("admins", false).may_decide(&admin) && !life("admins", false).may_decide(&user("ann")));
        let groups = ["ops".to_owned()].into();
        let member = Who { user: "bob", administers: false, groups: Some(&groups) };
        assert!(life("group:ops", false).may_decide(&member) && !life("group:dev", false).may_decide(&member));
        let asker = Who { user: "ann", administers: true, groups: Some(&groups) };
        assert!(!life("admins", true).may_decide(&asker) && !life("group:ops", true).may_decide(&asker));
    }

    #[test]
    fn only_who_asked_withdraws_and_to_others_there_is_nothing_to_withdraw() {
        let admin = Who { user: "adm", administers: true, groups: None };
        for deciders in ["admins", "asker"] {
            let life = life(deciders, false);
            assert_eq!(life.after(Act::Withdraw, &admin, Micros(1), 600), Err(Refused::NotFound), "{deciders}");
            assert_eq!(life.after(Act::Withdraw, &user("ann"), Micros(1), 600), Ok(Status::Withdrawn));
        }
    }

    #[test]
    fn expiry_is_strict_at_the_edge() {
        let pending = life("asker", false);
        let who = user("ann");
        assert_eq!(pending.after(Act::Approve, &who, Micros(999_999), 600), Ok(Status::Approved));
        assert_eq!(pending.after(Act::Approve, &who, Micros(1_000_000), 600), Err(Refused::Expired));
        let approved = Life { status: Status::Approved, decided_at: Some(Micros(0)), ..pending };
        assert_eq!(approved.after(Act::Consume, &who, Micros(599_999_999), 600), Ok(Status::Consumed));
        assert_eq!(approved.after(Act::Consume, &who, Micros(600_000_000), 600), Err(Refused::Overdue));
    }

    #[test]
    fn only_the_listed_steps_exist() {
        let who = user("ann");
        for status in Status::ALL {
            for act in [Act::Approve, Act::Reject, Act::Withdraw, Act::Consume] {
                let life = Life { status, decided_at: Some(Micros(0)), ..life("asker", false) };
                let next = life.after(act, &who, Micros(1), 600);
                let expected = match (status, act) {
                    (Status::Pending, Act::Approve) => Some(Status::Approved),
                    (Status::Pending, Act::Reject) => Some(Status::Rejected),
                    (Status::Pending, Act::Withdraw) => Some(Status::Withdrawn),
                    (Status::Approved, Act::Consume) => Some(Status::Consumed),
                    _ => None,
                };
                assert_eq!(next.ok(), expected, "{status:?} {act:?}");
            }
        }
    }
}
