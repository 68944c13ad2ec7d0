//! The bounds of the model parameters: one table, for the check and for the catalogue that shows them.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// A bound that a value breaks, or that it has the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Constraint {
    /// Must be greater.
    Gt,
    /// Must be greater or equal.
    Ge,
    /// Must be less.
    Lt,
    /// Must be less or equal.
    Le,
    /// Must be a number, or a whole number.
    Type,
}

impl Constraint {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Gt => value > limit,
            Self::Ge => value >= limit,
            Self::Lt => value < limit,
            Self::Le => value <= limit,
            Self::Type => true,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Gt => "greater than",
            Self::Ge => "at least",
            Self::Lt => "less than",
            Self::Le => "at most",
            Self::Type => "of type",
        }
    }
}

/// What a model parameter may be.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Name of the parameter.
    pub field: &'static str,
    /// Whether it must be a whole number.
    pub integer: bool,
    /// Limits, the lower first.
    pub limits: &'static [(Constraint, u8)],
}

/// The four parameters.
pub const MODEL_PARAMS: [Bounds; 4] = [
    Bounds { field: "temperature", integer: false, limits: &[(Constraint::Ge, 0), (Constraint::Le, 2)] },
    Bounds { field: "max_tokens", integer: true, limits: &[(Constraint::Gt, 0)] },
    Bounds { field: "top_k", integer: true, limits: &[(Constraint::Gt, 0)] },
    Bounds { field: "top_p", integer: false, limits: &[(Constraint::Gt, 0), (Constraint::Le, 1)] },
];

impl Bounds {
    fn limit(&self, limit: u8) -> Value {
        if self.integer { json!(limit) } else { json!(f64::from(limit)) }
    }
}

/// One fault of a model parameter: an entry of the `details` of `invalid_config`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParamFault {
    /// Name of the parameter.
    pub field: &'static str,
    /// What it breaks.
    pub constraint: Constraint,
    /// The limit, of the parameter's type; null for a wrong type.
    pub limit: Value,
    /// The fault in words.
    pub message: String,
}

/// The faults of the four model parameters in `params`, in the order of [`MODEL_PARAMS`]; other keys are not looked at. Absent and null
/// mean unset. A whole number does for a fraction, never the other way, and text is no number.
pub fn check_model_params(params: &Map<String, Value>) -> Vec<ParamFault> {
    MODEL_PARAMS
        .iter()
        .filter_map(|bounds| {
            let value = params.get(bounds.field).filter(|value| !value.is_null())?;
            let typed = if bounds.integer { value.is_i64() || value.is_u64() } else { value.is_number() };
            let Some(number) = value.as_f64().filter(|_| typed) else {
                let kind = if bounds.integer { "a whole number" } else { "a number" };
                return Some(ParamFault {
                    field: bounds.field,
                    constraint: Constraint::Type,
                    limit: Value::Null,
                    message: format!("{} must be {kind}.", bounds.field),
                });
            };
            bounds.limits.iter().find(|(constraint, limit)| !constraint.holds(number, f64::from(*limit))).map(
                |&(constraint, limit)| ParamFault {
                    field: bounds.field,
                    constraint,
                    limit: bounds.limit(limit),
                    message: format!("{} must be {} {limit}.", bounds.field, constraint.words()),
                },
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(value: Value) -> Value {
        let found = check_model_params(value.as_object().unwrap_or(&Map::new()));
        json!(found.iter().map(|fault| json!([fault.field, fault.constraint, fault.limit])).collect::<Vec<_>>())
    }

    #[test]
    fn bounds() {
        for good in [
            json!({}),
            json!({"temperature": 0, "max_tokens": 1, "top_k": 1, "top_p": 1}),
            json!({"temperature": 2.0, "top_p": 0.0001, "max_tokens": u64::MAX}),
            json!({"temperature": null, "max_tokens": null, "top_k": null, "top_p": null}),
            json!({"other": "x"}),
        ] {
            assert_eq!(faults(good.clone()), json!([]), "{good}");
        }
        for (bad, expected) in [
            (json!({"temperature": -0.1}), json!([["temperature", "ge", 0.0]])),
            (json!({"temperature": 2.1}), json!([["temperature", "le", 2.0]])),
            (json!({"max_tokens": 0}), json!([["max_tokens", "gt", 0]])),
            (json!({"max_tokens": 1.5}), json!([["max_tokens", "type", null]])),
            (json!({"top_k": -1}), json!([["top_k", "gt", 0]])),
            (json!({"top_k": "5"}), json!([["top_k", "type", null]])),
            (json!({"top_p": 0}), json!([["top_p", "gt", 0.0]])),
            (json!({"top_p": 1.01}), json!([["top_p", "le", 1.0]])),
            (json!({"top_p": true}), json!([["top_p", "type", null]])),
            (
                json!({"top_p": 2, "temperature": [], "top_k": 0}),
                json!([["temperature", "type", null], ["top_k", "gt", 0], ["top_p", "le", 1.0]]),
            ),
        ] {
            assert_eq!(faults(bad.clone()), expected, "{bad}");
        }
    }

    #[test]
    fn a_fault_as_json() {
        let params = json!({"top_p": 2});
        let found = check_model_params(params.as_object().unwrap_or(&Map::new()));
        assert_eq!(
            json!(found),
            json!([{"field": "top_p", "constraint": "le", "limit": 1.0, "message": "top_p must be at most 1."}])
        );
    }
}
