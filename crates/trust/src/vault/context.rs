//! What a sealed secret is bound to.

use super::VaultError;

const TEXT: u8 = 1;
const INTEGER: u8 = 2;

/// Whose secret, which one, for what. The same context must be given to open what was sealed with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    purpose: &'static str,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: &'static str,
    tag: u8,
    value: String,
}

impl Context {
    /// A person's key for a provider.
    pub fn provider_key(user: &str, provider: &str) -> Self {
        let fields = vec![Field::user(user), Field::text("provider", provider), Field::text("field", "api_key")];
        Self { purpose: "parrot-llm-key", fields }
    }

    /// A person's credential under a name: the secrets of a configured toolkit or server.
    pub fn credential(user: &str, name: &str) -> Self {
        let fields = vec![Field::user(user), Field::text("name", name), Field::text("field", "credential")];
        Self { purpose: "parrot-credential", fields }
    }

    /// The arguments of the call that an approval is for.
    pub fn approval_args(approval: &str) -> Self {
        Self { purpose: "astudio-approval-args", fields: vec![Field::text("approval_id", approval)] }
    }

    /// The bytes that are authenticated: every part behind its length, so that no two contexts read alike.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, VaultError> {
        let mut out = Vec::with_capacity(128);
        push(&mut out, self.purpose)?;
        push(&mut out, "db")?;
        let count = u16::try_from(self.fields.len()).map_err(|_| VaultError::Context)?;
        out.extend(count.to_be_bytes());
        for field in &self.fields {
            if field.value.is_empty() {
                return Err(VaultError::Context);
            }
            push(&mut out, field.name)?;
            out.push(field.tag);
            push(&mut out, &field.value)?;
        }
        Ok(out)
    }
}

fn push(out: &mut Vec<u8>, text: &str) -> Result<(), VaultError> {
    let length = u32::try_from(text.len()).map_err(|_| VaultError::Context)?;
    out.extend(length.to_be_bytes());
    out.extend(text.as_bytes());
    Ok(())
}

impl Field {
    fn text(name: &'static str, value: &str) -> Self {
        Self { name, tag: TEXT, value: value.to_owned() }
    }

    /// An id of digits alone is a number in the envelopes of the original. One with a leading zero stays a text, or
    /// `7` and `07` would be one person.
    fn user(id: &str) -> Self {
        let number = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) && (id == "0" || !id.starts_with('0'));
        Self { name: "user_id", tag: if number { INTEGER } else { TEXT }, value: id.to_owned() }
    }
}
