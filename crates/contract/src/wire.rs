//! Requests and answers as they travel, whatever carries them: a function call, HTTP, or a line of a batch.

use crate::schema::Shape;
use crate::{Code, Result, StudioError, json};
use futures_util::stream::BoxStream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The HTTP verb of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The verb in capitals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// A body nobody has looked into yet: the contract says for each operation when it is opened.
#[derive(Clone, Debug, Default)]
pub enum Raw {
    /// No body.
    #[default]
    Absent,
    /// Bytes from outside.
    Bytes(Vec<u8>),
    /// A value from this process; goes through the same checks.
    Value(Value),
}

/// A request, undecoded but for its path.
#[derive(Clone, Debug, Default)]
pub struct WireRequest {
    /// Path parameters by name.
    pub path: BTreeMap<String, String>,
    /// Query pairs in their order.
    pub query: Vec<(String, String)>,
    /// The body.
    pub body: Raw,
}

/// An answer.
pub enum WireReply {
    /// A JSON body with its status.
    Json(u16, Value),
    /// A stream of events, each with an id by which a client continues.
    Events(u16, BoxStream<'static, WireEvent>),
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct WireEvent {
    /// Where to continue after this one; none for passing events such as text deltas.
    pub id: Option<String>,
    /// The event.
    pub data: Value,
}

/// Path parameters of an operation. They are texts, so that decoding cannot fail.
pub trait Params: Serialize + DeserializeOwned + Shape + Send + 'static {}

/// No path parameters.
#[derive(Clone, Debug, Default, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoPath {}
impl Params for NoPath {}

/// The query of an operation, opened late.
pub trait Query: Sized + Send + 'static {
    /// Reads the pairs.
    ///
    /// # Errors
    /// The refusal that the contract gives for a bad value.
    fn open(pairs: Vec<(String, String)>) -> Result<Self>;
    /// The pairs that `open` reads back.
    fn pairs(&self) -> Vec<(String, String)>;
    /// What `open` reads.
    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter>;
}

/// No query.
#[derive(Clone, Debug, Default)]
pub struct NoQuery;

impl Query for NoQuery {
    fn open(_: Vec<(String, String)>) -> Result<Self> {
        Ok(NoQuery)
    }
    fn pairs(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        Vec::new()
    }
}

/// The body of an operation, opened in three steps: bytes → value (`invalid_json`), `before_shape` (what is refused by
/// name), the typed shape.
pub trait Body: Sized + Send + 'static {
    /// Opens a raw body.
    ///
    /// # Errors
    /// The refusal of the first step that fails.
    fn open(raw: Raw) -> Result<Self>;
    /// The body as a value, for sending.
    fn raw(&self) -> Raw;
    /// Its canonical shape; none where no body is looked at.
    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> Option<schemars::Schema>;
}

/// No body; one that is sent is not looked at.
#[derive(Clone, Debug, Default)]
pub struct NoBody;

impl Body for NoBody {
    fn open(_: Raw) -> Result<Self> {
        Ok(NoBody)
    }
    fn raw(&self) -> Raw {
        Raw::Absent
    }
    #[cfg(feature = "schema")]
    fn schema(_: &mut schemars::SchemaGenerator) -> Option<schemars::Schema> {
        None
    }
}

/// A body that is a JSON object.
pub trait JsonBody: Serialize + DeserializeOwned + Shape + Send + 'static {
    /// Status of `invalid_request` for a wrong shape.
    const SHAPE_STATUS: u16 = 400;
    /// Whether an absent or unreadable body counts as `{}`.
    const LENIENT: bool = false;

    /// Brings a second accepted shape to the canonical one.
    fn canonical(raw: Value) -> Value {
        raw
    }

    /// What is refused by its name before the shape is looked at.
    ///
    /// # Errors
    /// The refusal.
    fn before_shape(_body: &Map<String, Value>) -> Result<()> {
        Ok(())
    }
}

impl<T: JsonBody> Body for T {
    fn open(raw: Raw) -> Result<Self> {
        let value = match value_of(raw) {
            Ok(value) => value,
            Err(_) if T::LENIENT => Value::Object(Map::new()),
            Err(error) => return Err(error),
        };
        let value = T::canonical(value);
        let shape = |why: String| StudioError::new(Code::InvalidRequest, T::SHAPE_STATUS, why);
        let Value::Object(map) = &value else {
            return Err(StudioError::invalid_request("The body must be a JSON object."));
        };
        T::before_shape(map)?;
        serde_json::from_value(value).map_err(|e| shape(format!("The body does not fit: {e}.")))
    }

    fn raw(&self) -> Raw {
        Raw::Value(serde_json::to_value(self).unwrap_or_default())
    }

    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> Option<schemars::Schema> {
        Some(generator.subschema_for::<T>())
    }
}

fn value_of(raw: Raw) -> Result<Value> {
    let invalid = |why: String| StudioError::new(Code::InvalidJson, 400, why);
    match raw {
        Raw::Absent => Err(invalid("A JSON body is needed.".into())),
        Raw::Bytes(bytes) => json::parse(&bytes).map_err(|fault| invalid(format!("The body is {fault}."))),
        Raw::Value(value) if json::has_nul(&value) => Err(invalid(format!("The body is {}.", json::JsonFault::Nul))),
        Raw::Value(value) => Ok(value),
    }
}

/// Something opened when the contract's order says so.
pub struct Late<T>(Box<dyn FnOnce() -> Result<T> + Send>);

impl<T: 'static> Late<T> {
    /// Wraps the opening.
    pub fn new(open: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        Self(Box::new(open))
    }

    /// Opens it.
    ///
    /// # Errors
    /// The refusal that the contract gives for what was sent.
    pub fn open(self) -> Result<T> {
        (self.0)()
    }
}

/// What an operation answers when it succeeds.
pub trait Reply: Sized + Send + 'static {
    /// Whether it is a stream of events.
    const STREAMS: bool = false;
    /// As it travels, with the operation's success status.
    fn into_wire(self, ok: u16) -> WireReply;
    /// Reads it back.
    ///
    /// # Errors
    /// `internal_error` when the other side answered something else.
    fn from_wire(reply: WireReply) -> Result<Self>;
    /// Its shape; of one event, when it is a stream.
    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema;
}

/// A JSON answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T>(pub T);

impl<T: Serialize + DeserializeOwned + Shape + Send + 'static> Reply for Json<T> {
    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<T>()
    }

    fn into_wire(self, ok: u16) -> WireReply {
        WireReply::Json(ok, serde_json::to_value(&self.0).unwrap_or_default())
    }

    fn from_wire(reply: WireReply) -> Result<Self> {
        match reply {
            WireReply::Json(_, value) => serde_json::from_value(value).map(Json).map_err(|e| {
                StudioError::new(Code::InternalError, 500, format!("The server answered in another shape: {e}."))
            }),
            WireReply::Events(..) => Err(StudioError::new(
                Code::InternalError,
                500,
                "The server answered with a stream where one answer was expected.",
            )),
        }
    }
}

/// A stream of events.
pub struct Events<E>(pub BoxStream<'static, (Option<String>, E)>);

impl<E: Serialize + DeserializeOwned + Shape + Send + 'static> Reply for Events<E> {
    const STREAMS: bool = true;

    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<E>()
    }

    fn into_wire(self, ok: u16) -> WireReply {
        use futures_util::StreamExt as _;
        let stream = self.0.map(|(id, event)| WireEvent { id, data: serde_json::to_value(&event).unwrap_or_default() });
        WireReply::Events(ok, stream.boxed())
    }

    fn from_wire(reply: WireReply) -> Result<Self> {
        use futures_util::StreamExt as _;
        match reply {
            WireReply::Events(_, stream) => Ok(Events(
                stream
                    .filter_map(|event| async move { Some((event.id, serde_json::from_value(event.data).ok()?)) })
                    .boxed(),
            )),
            WireReply::Json(..) => Err(StudioError::new(
                Code::InternalError,
                500,
                "The server answered at once where a stream was expected.",
            )),
        }
    }
}
