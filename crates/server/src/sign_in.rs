//! Who calls: from the headers of a request to a sign-in.

use async_trait::async_trait;
use contract::{Code, Result, StudioError};
use engine::SignIn;
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE};
use sha2::{Digest as _, Sha256};
use store::Store;
use subtle::ConstantTimeEq as _;

/// The cookie and the header that name a test session.
const SESSION_COOKIE: &str = "astudio_session";
const SESSION_HEADER: &str = "x-studio-session";

/// Checks the credentials of a request. A host that mounts the server brings its own.
#[async_trait]
pub trait SignInSource: Send + Sync {
    /// The sign-in of a request; none when it carries no credential.
    ///
    /// # Errors
    /// 401 for a credential that is not good.
    async fn sign_in(&self, headers: &HeaderMap) -> Result<Option<SignIn>>;
}

/// Personal tokens: `Authorization: Bearer tsf_…`.
pub struct Tokens(pub Store);

#[async_trait]
impl SignInSource for Tokens {
    async fn sign_in(&self, headers: &HeaderMap) -> Result<Option<SignIn>> {
        match bearer(headers)? {
            Some(token) => engine::tokens::sign_in(&self.0, token).await.map(Some),
            None => Ok(None),
        }
    }
}

/// One token that lives as long as the process, for a host without people.
pub struct OneToken {
    digest: [u8; 32],
    sign_in: SignIn,
}

impl OneToken {
    /// Makes a token for this sign-in. Answers the source and the token, which is kept nowhere.
    ///
    /// # Errors
    /// 500 when the machine has no random numbers.
    pub fn make(sign_in: SignIn) -> Result<(Self, String)> {
        let mut random = [0u8; 24];
        getrandom::fill(&mut random).map_err(|_| StudioError::internal())?;
        let token = random.iter().fold("tsp_".to_owned(), |token, byte| token + &format!("{byte:02x}"));
        Ok((Self { digest: Sha256::digest(token.as_bytes()).into(), sign_in }, token))
    }
}

#[async_trait]
impl SignInSource for OneToken {
    async fn sign_in(&self, headers: &HeaderMap) -> Result<Option<SignIn>> {
        let Some(token) = bearer(headers)? else { return Ok(None) };
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if bool::from(digest.ct_eq(&self.digest)) {
            return Ok(Some(self.sign_in.clone()));
        }
        Err(unauthorized("This is not the token that was printed when the server started."))
    }
}

/// The bearer token of a request.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let wrong = || unauthorized("Send the header 'Authorization: Bearer TOKEN'.");
    let (scheme, token) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(wrong)?;
    if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
        return Err(wrong());
    }
    Ok(Some(token.trim()))
}

fn unauthorized(message: &str) -> StudioError {
    StudioError::new(Code::Unauthorized, 401, message)
}

/// The test session that a request names beside its body: the header, else the cookie. Whether it is a name is looked at by the
/// operation that uses it, after its gates.
pub fn session(headers: &HeaderMap) -> Option<String> {
    if let Some(value) = headers.get(SESSION_HEADER) {
        return Some(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, value)| value.to_owned()).next()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_a_bearer_token_is_a_credential() {
        assert_eq!(bearer(&HeaderMap::new()).unwrap(), None);
        assert_eq!(bearer(&headers("authorization", "Bearer  abc ")).unwrap(), Some("abc"));
        assert_eq!(bearer(&headers("authorization", "bearer abc")).unwrap(), Some("abc"));
        for wrong in ["", "Bearer", "Bearer ", "Basic YTpi", "abc"] {
            assert_eq!(bearer(&headers("authorization", wrong)).unwrap_err().status, 401, "{wrong}");
        }
    }

    #[tokio::test]
    async fn the_one_token_is_the_only_one() {
        let (source, token) = OneToken::make(SignIn { user_id: "ann".into(), ..SignIn::default() }).unwrap();
        let good = source.sign_in(&headers("authorization", &format!("Bearer {token}"))).await.unwrap().unwrap();
        assert_eq!(good.user_id, "ann");
        assert!(source.sign_in(&HeaderMap::new()).await.unwrap().is_none());
        let cut = &token[..token.len() - 1];
        assert_eq!(source.sign_in(&headers("authorization", &format!("Bearer {cut}"))).await.unwrap_err().status, 401);
        assert_ne!(OneToken::make(SignIn::default()).unwrap().1, token);
    }

    #[test]
    fn a_header_names_the_session_before_a_cookie() {
        let mut both = headers("cookie", "a=1; astudio_session=c-1; b=2");
        assert_eq!(session(&both).as_deref(), Some("c-1"));
        both.insert("x-studio-session", HeaderValue::from_static("h-1"));
        assert_eq!(session(&both).as_deref(), Some("h-1"));
        assert_eq!(session(&headers("cookie", "astudio_sessions=x")), None);
        assert_eq!(session(&headers("x-studio-session", "")).as_deref(), Some(""), "it is refused where it is used");
    }
}
