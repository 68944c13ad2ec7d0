//! The orders of the demo: 1001 to 1040, the same on every machine.

use contract::Micros;
use toolkits::desk::{Money, Order, Status};

const CUSTOMERS: [&str; 8] =
    ["Ada Novak", "Bo Lindqvist", "Carla Mendes", "Dev Rao", "Emma Kerr", "Farid Haddad", "Grete Olsen", "Hiro Tanaka"];
const ITEMS: [(&str, i64); 7] = [
    ("Wool blanket", 5925),
    ("Desk lamp", 3450),
    ("Coffee grinder", 8900),
    ("Linen apron", 2750),
    ("Tea pot", 4200),
    ("Reading chair", 24900),
    ("Wall clock", 3990),
];
/// What stands in turn for ten orders.
const STATUSES: [Status; 10] = [
    Status::Delivered,
    Status::Shipped,
    Status::Open,
    Status::Delivered,
    Status::Cancelled,
    Status::Shipped,
    Status::Open,
    Status::Refunded,
    Status::Open,
    Status::Shipped,
];
/// 2026-11-02T08:00:00+00:00.
const FIRST: Micros = Micros(1_793_606_400_000_000);

/// All of them.
pub(super) fn all() -> Vec<Order> {
    (0..40_usize).map(order).collect()
}

fn order(n: usize) -> Order {
    let at = i64::try_from(n).expect("there are forty orders");
    let (item, price) = ITEMS[n % ITEMS.len()];
    let quantity = 1 + at % 3;
    let total = Money(price * quantity);
    // 1012 is the one that "came broken" in the examples.
    let status = if n == 11 { Status::Delivered } else { STATUSES[n % STATUSES.len()] };
    Order {
        order_id: 1001 + at,
        customer: CUSTOMERS[n % CUSTOMERS.len()].into(),
        item: item.into(),
        quantity,
        total,
        currency: "EUR".into(),
        status,
        placed_at: FIRST.plus_seconds(at * 11 * 3600 + (at % 7) * 540),
        refunded: if status == Status::Refunded { total } else { Money(0) },
    }
}
