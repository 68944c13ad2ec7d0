//! Shapes as JSON Schema, under the feature `schema`; without it nothing is asked of a type and nothing is built.
//!
//! A bound in a schema repeats what the code checks and checks nothing itself.

#[cfg(feature = "schema")]
pub use described::*;

/// A type whose shape can be said, where shapes are said at all.
#[cfg(feature = "schema")]
pub trait Shape: schemars::JsonSchema {}
#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Shape for T {}

/// A type whose shape can be said, where shapes are said at all.
#[cfg(not(feature = "schema"))]
pub trait Shape {}
#[cfg(not(feature = "schema"))]
impl<T> Shape for T {}

#[cfg(feature = "schema")]
mod described {
    use schemars::transform::{Transform, transform_subschemas};
    use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
    use serde_json::{Value, json};
    use std::borrow::Cow;

    /// A text for people: one line of 1 to 200 characters.
    pub const LABEL: &str =
        r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
    /// Name of a group: a label without a comma.
    pub const GROUP: &str =
        r"^[^,\u0000-\u001f\u007f-\u009f]*[^,\s\u0000-\u001f\u007f-\u009f][^,\u0000-\u001f\u007f-\u009f]*$";
    /// An e-mail address, as far as the code looks; white space around it goes.
    pub const EMAIL: &str = concat!(
        r"^[\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*",
        r"[^@\s\u0000-\u001f\u007f-\u009f]+@[^\s\u0000-\u001f\u007f-\u009f]+",
        r"[\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$"
    );
    /// Who decides approvals.
    pub const DECIDERS: &str = r"^(asker|admins|group:[^,\u0000-\u001f\u007f-\u009f]*[^,\s\u0000-\u001f\u007f-\u009f][^,\u0000-\u001f\u007f-\u009f]*)$";
    /// One or more of `a-z`, `0-9`, `_`, `-`.
    pub const SLUG: &str = "^[a-z0-9_-]+$";
    /// Id of a user.
    pub const USER: &str = "^[a-z0-9_-]{1,64}$";
    /// Id of a tenant.
    pub const TENANT: &str = "^[a-z0-9][a-z0-9_-]{0,62}$";
    /// Name of a test session.
    pub const SESSION: &str = "^[!-~]{1,128}$";
    /// A text that says something.
    pub const SAID: &str = r"\S";
    /// An integer as text, or nothing.
    pub const VERSION: &str = r"^(\s*[+-]?[0-9]{1,18}\s*)?$";

    /// A parameter of a query.
    pub struct Parameter {
        /// Its name.
        pub name: &'static str,
        /// One line for people.
        pub about: &'static str,
        /// What it may be.
        pub schema: Schema,
    }

    impl Parameter {
        /// A parameter with this shape.
        pub fn new(name: &'static str, about: &'static str, schema: Value) -> Self {
            Self { name, about, schema: schema.try_into().unwrap_or_default() }
        }
    }

    /// An `expected_version` of a body.
    pub struct ExpectedVersion;

    impl JsonSchema for ExpectedVersion {
        fn schema_name() -> Cow<'static, str> {
            "ExpectedVersion".into()
        }
        fn inline_schema() -> bool {
            true
        }
        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": ["integer", "string", "null"], "minimum": i64::MIN, "maximum": i64::MAX, "pattern": VERSION,
            })
        }
    }

    /// The generator of what clients send, or of what they get.
    pub fn generator(sent: bool) -> SchemaGenerator {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        if !sent {
            settings = settings.for_serialize();
        }
        settings.into_generator()
    }

    /// Brings what a generator made to the form of the document: words of a comment flow, and number types of this language
    /// are bounds, for what is sent.
    #[derive(Clone)]
    pub struct Tidy {
        /// Whether clients send it.
        pub sent: bool,
    }

    impl Transform for Tidy {
        fn transform(&mut self, schema: &mut Schema) {
            transform_subschemas(self, schema);
            if let Some(Value::String(text)) = schema.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            let (least, most) = match schema.get("format").and_then(Value::as_str) {
                Some("uint16") => (json!(0), json!(u16::MAX)),
                Some("uint32") => (json!(0), json!(u32::MAX)),
                Some("uint64" | "uint") => (json!(0), json!(u64::MAX)),
                Some("int64") => (json!(i64::MIN), json!(i64::MAX)),
                _ => return,
            };
            schema.remove("format");
            if self.sent {
                let bounds = schema.ensure_object();
                bounds.entry("minimum").or_insert(least);
                bounds.entry("maximum").or_insert(most);
            }
        }
    }
}
