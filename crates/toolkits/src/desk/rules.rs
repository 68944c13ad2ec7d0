//! What a write does to an order. Pure: the preview and the change both ask here.

use super::orders::{FieldChange, Money, Order, Preview, Status};
use serde_json::{Value, json};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Cancel,
    /// This much, in whole units of the currency; none = all that is left.
    Refund(Option<f64>),
}

/// What becomes of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The order as it will be; none when nothing changes.
    pub after: Option<Order>,
    /// For the model and the person.
    pub message: String,
}

/// Works it out.
///
/// # Errors
/// Why it cannot be done, in words.
pub(super) fn plan(order: &Order, act: Act) -> Result<Plan, String> {
    let Order { order_id, currency, .. } = order;
    let unchanged = |message: String| Ok(Plan { after: None, message });
    match act {
        Act::Cancel => match order.status {
            Status::Cancelled => unchanged(format!("Order {order_id} was cancelled before.")),
            Status::Delivered => {
                Err(format!("Order {order_id} has been delivered and cannot be cancelled; its money can be paid back"))
            }
            Status::Refunded => {
                Err(format!("Order {order_id} has been paid back in full; there is nothing left to cancel"))
            }
            Status::Open | Status::Shipped => {
                let back = if order.status == Status::Shipped { " It is called back from its way." } else { "" };
                let left = order.total.0 - order.refunded.0;
                let paid = if left > 0 {
                    format!(" {} {currency} stay paid until a refund.", Money(left))
                } else {
                    String::new()
                };
                Ok(Plan {
                    after: Some(Order { status: Status::Cancelled, ..order.clone() }),
                    message: format!("Order {order_id} is cancelled.{back}{paid}"),
                })
            }
        },
        Act::Refund(amount) => {
            let left = Money(order.total.0 - order.refunded.0);
            let pay = match amount.map(Money::from_amount).transpose()? {
                None if left.0 == 0 => return unchanged(format!("Order {order_id} was paid back in full before.")),
                None => left,
                Some(amount) if amount > left => {
                    return Err(format!(
                        "{amount} {currency} is more than order {order_id} has left to pay back: {left} of {} {currency}",
                        order.total
                    ));
                }
                Some(amount) => amount,
            };
            let refunded = Money(order.refunded.0 + pay.0);
            let full = refunded == order.total;
            let status = if full { Status::Refunded } else { order.status };
            let words = if full {
                "all of it is paid back now".to_owned()
            } else {
                format!("{} stay paid", Money(left.0 - pay.0))
            };
            Ok(Plan {
                after: Some(Order { status, refunded, ..order.clone() }),
                message: format!("{pay} {currency} of order {order_id} are paid back; {words}."),
            })
        }
    }
}

/// What a person is shown before they decide.
pub(super) fn preview(order: &Order, act: Act) -> Preview {
    let nothing = |note| Preview { order_id: order.order_id, changes: Vec::new(), note: Some(note) };
    match plan(order, act) {
        Err(why) => nothing(format!("It would fail: {why}.")),
        Ok(Plan { after: None, message }) => nothing(format!("Nothing would change. {message}")),
        Ok(Plan { after: Some(after), .. }) => {
            let fields: [(&'static str, Value, Value); 2] = [
                ("status", json!(order.status), json!(after.status)),
                ("refunded", json!(order.refunded), json!(after.refunded)),
            ];
            let changes = fields
                .into_iter()
                .filter(|(_, before, after)| before != after)
                .map(|(field, before, after)| FieldChange { field, before, after })
                .collect();
            let note = format!(
                "{} × {} for {}, {} {}.",
                order.quantity, order.item, order.customer, order.total, order.currency
            );
            Preview { order_id: order.order_id, changes, note: Some(note) }
        }
    }
}
