//! Personal tokens: `tsf_`, random digits, and a check by which a typing error is told from a revoked token.
//!
//! Only the SHA-256 of a token is stored; it is shown once. What counts is the role now ∩ the token's scopes.

use crate::failure::Failure;
use crate::people::{label, tenant};
use crate::{Admitted, Engine, Serve, SignIn};
use contract::canonical::sha256_hex;
use contract::operation::Effect;
use contract::ops::common::IdPath;
use contract::ops::tokens::{
    CreateToken, ListTenantTokens, ListTokens, RevokeTenantToken, RevokeToken, Token, TokenCreate, TokenList,
    TokenRevoked,
};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Code, Micros, Result, StudioError, ids};
use rules::RequestScope;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use store::Store;
use store::repo::tokens::Found;
use store::repo::{people, tokens};
use trust::journal::{self, Entry};

/// What a token can be limited to.
pub const SCOPES: [&str; 6] = ["run", "read", "author:agents", "author:tools", "manage:tools", "analysis"];

const START: &str = "tsf_";
/// Hex digits of randomness: 160 bits.
const RANDOM: usize = 40;
/// Hex digits of the check.
const CHECK: usize = 8;
/// Characters that are kept to tell tokens apart.
const PREFIX: usize = 12;
/// A use is written at most this often, in microseconds, for each write is a commit.
const USE_EVERY: i64 = 60_000_000;

/// Takes away what the token does not have. A limited token never administers, and authors only with the scope for agents:
/// a scope knows one right to author, and a token for tools alone must not reach agents.
pub(crate) fn narrow(scope: &mut RequestScope, scopes: Option<&[String]>) {
    if let Some(scopes) = scopes.filter(|scopes| !scopes.is_empty()) {
        scope.is_superuser = false;
        scope.may_administer = false;
        scope.may_author &= scopes.iter().any(|scope| scope == "author:agents");
    }
}

/// Whether a token with these scopes may be used for an operation of this effect; none or empty = unlimited. Reading needs
/// any scope, running `run`, writing `author:agents`, for agents are all that a limited token can write; answering for the
/// person, and their tokens and keys, take an unlimited one.
pub fn permits(scopes: Option<&[String]>, effect: Effect) -> bool {
    let Some(scopes) = scopes.filter(|scopes| !scopes.is_empty()) else {
        return true;
    };
    let any = |wanted: &[&str]| scopes.iter().any(|scope| wanted.contains(&scope.as_str()));
    match effect {
        Effect::Read => true,
        Effect::Run => any(&["run"]),
        Effect::Decide | Effect::Secure => false,
        Effect::Write => any(&["author:agents"]),
    }
}

/// Whether a token with these scopes reaches data analysis: its own scope, or managing tools, which implies it.
pub fn permits_analysis(scopes: Option<&[String]>) -> bool {
    scopes.is_none_or(|s| s.is_empty() || s.iter().any(|s| s == "analysis" || s == "manage:tools"))
}

fn check_digits(body: &str) -> String {
    let mut hash = sha256_hex(format!("astudio-token-check {body}").as_bytes());
    hash.truncate(CHECK);
    hash
}

fn make() -> Result<String> {
    let mut random = [0u8; RANDOM / 2];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "no random numbers");
        StudioError::internal()
    })?;
    let mut secret = START.to_owned();
    for byte in random {
        let _ = write!(secret, "{byte:02x}");
    }
    let check = check_digits(&secret);
    Ok(secret + &check)
}

/// Whether the text is a token as it was shown: form and check.
fn is_whole(text: &str) -> bool {
    text.starts_with(START)
        && text.len() == START.len() + RANDOM + CHECK
        && text.is_ascii()
        && check_digits(&text[..text.len() - CHECK]) == text[text.len() - CHECK..]
}

fn refuse(why: &str) -> StudioError {
    StudioError::new(Code::Unauthorized, 401, why)
}

/// A token that is still good.
fn good(found: Option<Found>, now: i64) -> Result<Found> {
    match found.filter(|token| !token.revoked) {
        None => Err(refuse("This token is unknown or was revoked. Make a new one.")),
        Some(token) if token.expires_at.is_some_and(|end| end <= now) => {
            Err(refuse("This token has expired. Make a new one."))
        }
        Some(token) => Ok(token),
    }
}

/// The sign-in of a token. User, tenant and membership are not looked at here: the scope resolver does on each request.
///
/// # Errors
/// 401 for a text that is no token, and for one that is unknown, revoked or at its end.
pub async fn sign_in(store: &Store, secret: &str) -> Result<SignIn> {
    let secret = secret.trim();
    if !is_whole(secret) {
        return Err(refuse("This is not a whole token. Check that it was copied completely."));
    }
    let hash = sha256_hex(secret.as_bytes());
    let found = store.read::<_, Failure, _>(|tx| Ok(tokens::by_hash(tx, &hash)?)).await?;
    let now = Micros::now().0;
    let token = good(found, now)?;
    if token.last_used_at.is_none_or(|last| now - last >= USE_EVERY) {
        let id = token.id.clone();
        let noted = store.write::<_, Failure, _>(move |tx| Ok(tokens::touch(tx, &id, now)?)).await;
        // A full disk must not keep people from reading.
        if let Err(error) = noted {
            tracing::warn!(?error, "the use of a token could not be noted");
        }
    }
    Ok(SignIn {
        user_id: token.user,
        tenant: Some(token.tenant),
        credential: token.id,
        is_token: true,
        token_scopes: Some(token.scopes).filter(|scopes| !scopes.is_empty()),
        ..SignIn::default()
    })
}

/// Looks at the token of a sign-in again: it may have been revoked since, or have ended.
///
/// # Errors
/// 401 when it is good no more.
pub(crate) async fn still_good(store: &Store, id: &str) -> Result<()> {
    let found = store.read::<_, Failure, _>(|tx| Ok(tokens::by_id(tx, id)?)).await?;
    good(found, Micros::now().0).map(drop)
}

/// The scopes of a new token: known ones.
fn scopes(wanted: Vec<String>) -> Result<Vec<String>> {
    let wanted: BTreeSet<String> = wanted.into_iter().collect();
    if let Some(unknown) = wanted.iter().find(|scope| !SCOPES.contains(&scope.as_str())) {
        let known = SCOPES.join(", ");
        return Err(StudioError::invalid_request(format!("'{unknown}' is no scope of a token; there are {known}.")));
    }
    Ok(wanted.into_iter().collect())
}

impl Serve<ListTokens> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<TokenList>> {
        let tenant = tenant(&who)?;
        let tokens =
            self.store.read::<_, Failure, _>(|tx| Ok(tokens::list(tx, tenant.as_str(), Some(&who.user))?)).await?;
        Ok(Json(TokenList { count: tokens.len(), tokens }))
    }
}

impl Serve<CreateToken> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, body: Late<TokenCreate>) -> Result<Json<Token>> {
        let tenant = tenant(&who)?;
        let TokenCreate { name, scopes: wanted, days } = body.open()?;
        let name = label("name", &name)?;
        let scopes = scopes(wanted)?;
        if days.is_some_and(|days| !(1..=3650).contains(&days)) {
            return Err(StudioError::invalid_request("'days' must be a whole number from 1 to 3650."));
        }
        let secret = make()?;
        let now = Micros::now();
        let wanted_end = days.map(|days| now.plus_seconds(i64::from(days) * 86_400).0);
        let maker = who.sign_in.is_token.then(|| who.sign_in.credential.clone());
        let new = tokens::NewToken {
            id: ids::record_id(),
            hash: sha256_hex(secret.as_bytes()),
            prefix: secret[..PREFIX].to_owned(),
            name,
            tenant: tenant.as_str().to_owned(),
            user: who.user.clone(),
            scopes,
            created_at: now.0,
            expires_at: wanted_end,
        };
        let token = self
            .store
            .write::<_, Failure, _>(move |tx| {
                // Whoever the host's own resolver lets in need not be a person of ours.
                let member = people::get_member(tx, tenant.as_str(), &who.user)?.ok_or_else(|| {
                    StudioError::invalid_request("Only a member of the tenant can have tokens, and you are none.")
                })?;
                let mut new = new.clone();
                if let Some(maker) = &maker {
                    // Read where it is written: one that was revoked meanwhile leaves none behind that goes on, and one that
                    // ends has no heir that does not.
                    let end = good(tokens::by_id(tx, maker)?, now.0)?.expires_at;
                    new.expires_at = end.into_iter().chain(new.expires_at).min();
                }
                tokens::insert(tx, &new)?;
                let entry = Entry {
                    partition: &tenant,
                    actor: &who.user,
                    action: "token.created",
                    subject: &format!("token:{}", new.id),
                    body: json!({ "prefix": new.prefix, "scopes": new.scopes, "days": days }),
                };
                journal::record(tx, now, entry)?;
                Ok(Token {
                    id: new.id.clone(),
                    name: new.name.clone(),
                    prefix: new.prefix.clone(),
                    scopes: new.scopes.clone(),
                    role: member.role,
                    tenant: new.tenant.clone(),
                    user: new.user.clone(),
                    created_at: now,
                    expires_at: new.expires_at.map(Micros),
                    last_used_at: None,
                    secret: None,
                })
            })
            .await?;
        Ok(Json(Token { secret: Some(secret), ..token }))
    }
}

impl Engine {
    async fn revoke(&self, who: Admitted, id: String, own: bool) -> Result<Json<TokenRevoked>> {
        let tenant = tenant(&who)?;
        let revoked = TokenRevoked { id: id.clone(), revoked: true };
        let now = Micros::now();
        self.store
            .write::<_, Failure, _>(move |tx| {
                let whose = own.then_some(who.user.as_str());
                let user = tokens::revoke(tx, tenant.as_str(), whose, &id, now.0)?
                    .ok_or_else(|| StudioError::not_found("Token", &id))?;
                let entry = Entry {
                    partition: &tenant,
                    actor: &who.user,
                    action: "token.revoked",
                    subject: &format!("token:{id}"),
                    body: json!({ "user": user }),
                };
                Ok(journal::record(tx, now, entry)?)
            })
            .await?;
        Ok(Json(revoked))
    }
}

impl Serve<RevokeToken> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<TokenRevoked>> {
        self.revoke(who, path.id, true).await
    }
}

impl Serve<ListTenantTokens> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<TokenList>> {
        let tenant = tenant(&who)?;
        let tokens = self.store.read::<_, Failure, _>(|tx| Ok(tokens::list(tx, tenant.as_str(), None)?)).await?;
        Ok(Json(TokenList { count: tokens.len(), tokens }))
    }
}

impl Serve<RevokeTenantToken> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<TokenRevoked>> {
        self.revoke(who, path.id, false).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn list(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn a_typing_error_is_told_from_an_unknown_token() {
        let secret = make().unwrap();
        assert!(is_whole(&secret), "{secret}");
        assert_ne!(secret, make().unwrap());
        for at in 0..secret.len() {
            let mut typed = secret.clone().into_bytes();
            typed[at] = if typed[at] == b'0' { b'1' } else { b'0' };
            assert!(!is_whole(std::str::from_utf8(&typed).unwrap()), "{at}");
            assert!(!is_whole(&secret[..at]));
        }
        assert!(!is_whole(&format!("{secret}0")));
        assert!(!is_whole("tsf_€€€€€€€€€€€€€€€€"));
    }

    #[test]
    fn what_counts_is_role_and_scopes() {
        let full = || {
            let mut scope = RequestScope::new(Some("ana"), Some("acme"));
            (scope.may_author, scope.may_administer, scope.is_superuser) = (true, true, true);
            scope
        };
        let rights = |scopes: Option<&[String]>| {
            let mut scope = full();
            narrow(&mut scope, scopes);
            (scope.may_author, scope.may_administer, scope.is_superuser)
        };
        assert_eq!(rights(None), (true, true, true));
        assert_eq!(rights(Some(&[])), (true, true, true));
        for scope in ["run", "read", "author:tools", "manage:tools", "analysis", "*"] {
            assert_eq!(rights(Some(&list(&[scope]))), (false, false, false), "{scope}");
        }
        assert_eq!(rights(Some(&list(&["run", "author:agents"]))), (true, false, false));
        let mut viewer = RequestScope::new(Some("vic"), Some("acme"));
        narrow(&mut viewer, Some(&list(&["author:agents"])));
        assert!(!viewer.may_author, "a scope gives nothing that the role does not");
    }

    #[test]
    fn effects_of_limited_tokens() {
        let may = |scopes: &[&str]| {
            let scopes = list(scopes);
            [Effect::Read, Effect::Run, Effect::Write, Effect::Decide, Effect::Secure]
                .map(|effect| permits(Some(&scopes), effect))
        };
        assert_eq!(may(&[]), [true, true, true, true, true]);
        assert_eq!(may(&["read"]), [true, false, false, false, false]);
        assert_eq!(may(&["run"]), [true, true, false, false, false]);
        assert_eq!(may(&["author:agents"]), [true, false, true, false, false]);
        assert_eq!(may(&["author:tools", "analysis"]), [true, false, false, false, false]);
        assert_eq!(may(&["run", "manage:tools"]), [true, true, false, false, false]);
        assert_eq!(may(&SCOPES), [true, true, true, false, false]);
        let analysis = |scopes: &[&str]| permits_analysis(Some(&list(scopes)));
        assert!(analysis(&["analysis"]) && analysis(&["manage:tools"]) && analysis(&[]));
        assert!(!analysis(&["run", "read", "author:tools"]));
    }

    #[test]
    fn a_token_has_scopes_that_there_are() {
        assert_eq!(scopes(list(&["run", "run"])).unwrap(), ["run"]);
        assert_eq!(scopes(list(&[])).unwrap(), Vec::<String>::new());
        assert!(scopes(list(&["admin"])).is_err());
    }
}
