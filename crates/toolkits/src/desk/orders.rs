//! Orders, money, arguments and answers of the desk.

use contract::Micros;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Money in hundredths of its currency. In JSON it is a number of whole units, such as 12.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub i64);

impl Money {
    /// From a number as people and models write it.
    ///
    /// # Errors
    /// In words: it is not above zero, or has more than two digits after the point.
    pub fn from_amount(amount: f64) -> Result<Self, String> {
        let cents = (amount * 100.0).round();
        // Beyond this a float no longer holds every hundredth.
        if !(1.0..=1e13).contains(&cents) {
            return Err("The amount must be above zero and payable".into());
        }
        if (amount * 100.0 - cents).abs() > 1e-4 {
            return Err("The amount has more than two digits after the point".into());
        }
        #[allow(clippy::cast_possible_truncation)]
        Ok(Self(cents as i64))
    }
}

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 % 100 {
            0 => s.serialize_i64(self.0 / 100),
            #[allow(clippy::cast_precision_loss)]
            _ => s.serialize_f64(self.0 as f64 / 100.0),
        }
    }
}

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Status {
    /// Paid, not sent yet.
    Open,
    /// On its way.
    Shipped,
    /// With the customer.
    Delivered,
    /// Called off.
    Cancelled,
    /// Paid back in full.
    Refunded,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Open, Self::Shipped, Self::Delivered, Self::Cancelled, Self::Refunded];

    /// As it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Shipped => "shipped",
            Self::Delivered => "delivered",
            Self::Cancelled => "cancelled",
            Self::Refunded => "refunded",
        }
    }

    /// Reads a stored text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Order {
    /// Its number, unique in the tenant.
    pub order_id: i64,
    /// Who ordered.
    pub customer: String,
    /// What.
    pub item: String,
    /// How many.
    pub quantity: i64,
    /// What was paid.
    pub total: Money,
    /// Currency of all its money.
    pub currency: String,
    /// Where it stands.
    pub status: Status,
    /// When it was placed.
    pub placed_at: Micros,
    /// How much of the total was paid back.
    pub refunded: Money,
}

/// A list of orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Orders {
    /// Newest first.
    pub orders: Vec<Order>,
    /// Whether there are more.
    pub truncated: bool,
}

/// What a write answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The order.
    pub order_id: i64,
    /// Where it stands now.
    pub status: Status,
    /// Whether this call changed something.
    pub changed: bool,
    /// In words.
    pub message: String,
}

/// What a write would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Preview {
    /// The order.
    pub order_id: i64,
    /// Field by field; empty when nothing would change.
    pub changes: Vec<FieldChange>,
    /// What else there is to know, such as why it would fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One field of a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FieldChange {
    pub field: &'static str,
    pub before: serde_json::Value,
    pub after: serde_json::Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListArgs {
    /// Only orders that stand here.
    pub status: Option<Status>,
    /// How many at most; the desk gives no more than 50.
    #[schemars(range(min = 1))]
    pub limit: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GetArgs {
    /// The number of the order.
    #[schemars(range(min = 1))]
    pub order_id: i64,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CancelArgs {
    /// The number of the order.
    #[schemars(range(min = 1))]
    pub order_id: i64,
    /// Why, in the customer's words.
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RefundArgs {
    /// The number of the order.
    #[schemars(range(min = 1))]
    pub order_id: i64,
    /// How much to pay back, in the order's currency. Left out: all that has not been paid back yet.
    #[schemars(range(min = 0.01))]
    pub amount: Option<f64>,
    /// Why, in the customer's words.
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}
