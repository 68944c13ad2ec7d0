//! The order desk of a small shop: reading orders, cancelling and refunding them.
//!
//! A host's toolkit in miniature. Every order belongs to a tenant, and to the others it does not exist. What a write
//! changes is worked out by one pure function ([`rules`]), so the preview a person sees and the change that follows
//! cannot differ in kind. A change and the key of its approval are written in one transaction ([`book`]): so the desk can
//! say after a crash whether a call ran, and the same approval never changes anything twice.

mod book;
mod orders;
mod rules;
#[cfg(test)]
mod tests;

pub use book::{BookError, stock};
pub use orders::{Changed, Money, Order, Orders, Status};

use async_trait::async_trait;
use book::{Book, Write};
use orders::{CancelArgs, GetArgs, ListArgs, RefundArgs};
use rules::Act;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tools::{Granted, HostTool, HostToolkit, HostTools, Look, Method, Tool, ToolError};

/// What every slug of the desk starts with.
pub const PREFIX: &str = "desk_";
/// The toolkit.
pub const TOOLKIT: &str = "desk_orders";
/// The standalone tool.
pub const GET_ORDER: &str = "desk_get_order";

/// Most orders in one list. A model that sees a part is told so.
pub const MAX_ORDERS: usize = 50;

/// Called after a change was committed and before the tool answers.
pub type AfterEffect = Arc<dyn Fn() + Send + Sync>;

/// The desk's tools over this SQLite file, which is made when the first call comes.
pub fn host_tools(db: PathBuf) -> HostTools {
    host_tools_with(db, None)
}

/// The same with something to be called between a change and its answer, where a test may stop the process.
pub fn host_tools_with(db: PathBuf, after_effect: Option<AfterEffect>) -> HostTools {
    let build = move || Ok(Arc::new(Desk::new(db.clone(), after_effect.clone())) as Arc<dyn Tool>);
    let list = Method::read::<ListArgs>(
        "list_orders",
        "List the orders of the shop, newest first. `truncated` says that there are more than were returned.",
    );
    let cancel = Method::write::<CancelArgs>(
        "cancel_order",
        "Cancel an order that has not been delivered. Money that was paid is not paid back by this.",
    );
    let refund = Method::write::<RefundArgs>(
        "refund_order",
        "Pay back what was paid for an order, or a part of it. Without an amount: all that has not been paid back yet.",
    );
    let get = Method::read::<GetArgs>(GET_ORDER, "Read one order by its number.");
    HostTools::new(PREFIX)
        .toolkit(
            HostToolkit::new(TOOLKIT, "desk", "Orders of the shop: list, cancel, refund.", build.clone())
                .tenant_bound()
                .category("orders")
                .method(list)
                .method(cancel)
                .method(refund),
        )
        .tool(HostTool::new(GET_ORDER, get, build).tenant_bound().category("orders"))
}

struct Desk {
    book: Arc<Book>,
    after_effect: Option<AfterEffect>,
}

impl Desk {
    fn new(db: PathBuf, after_effect: Option<AfterEffect>) -> Self {
        Self { book: Arc::new(Book::new(db)), after_effect }
    }

    /// Works with the book on a thread that may block.
    async fn work<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Book) -> Result<T, BookError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let book = self.book.clone();
        match tokio::task::spawn_blocking(move || f(&book)).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(ToolError::new(error.to_string())),
            Err(_) => Err(ToolError::new("The desk failed inside.")),
        }
    }
}

fn tenant(look: &Look<'_>) -> Result<String, ToolError> {
    look.tenant().map(str::to_owned).ok_or_else(|| ToolError::new("The desk needs a tenant."))
}

fn answer<T: serde::Serialize>(value: T) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|_| ToolError::new("The desk's answer could not be written."))
}

/// What a call of a write wants; none for the methods that read.
fn act(look: &Look<'_>) -> Result<Option<(i64, Act, Option<String>)>, ToolError> {
    Ok(match look.method() {
        "cancel_order" => {
            let args: CancelArgs = look.args()?;
            Some((args.order_id, Act::Cancel, args.reason))
        }
        "refund_order" => {
            let args: RefundArgs = look.args()?;
            Some((args.order_id, Act::Refund(args.amount), args.reason))
        }
        _ => None,
    })
}

#[async_trait]
impl Tool for Desk {
    async fn run(&self, call: Granted<'_>) -> Result<Value, ToolError> {
        let tenant = tenant(call.look())?;
        if let Some((order_id, act, reason)) = act(call.look())? {
            // The facts say "write", so there is always an approval; without its key the change could run twice.
            let key = call
                .idempotency_key()
                .ok_or_else(|| ToolError::new("The desk changes nothing without an approval."))?;
            let write = Write { tenant, order_id, act, reason, key: key.to_owned(), method: call.method().to_owned() };
            let after = self.after_effect.clone();
            return answer(self.work(move |book| book.write(&write, after.as_deref())).await?);
        }
        match call.method() {
            "list_orders" => {
                let ListArgs { status, limit } = call.args()?;
                let limit = limit.and_then(|n| usize::try_from(n).ok()).unwrap_or(MAX_ORDERS).clamp(1, MAX_ORDERS);
                answer(self.work(move |book| book.list(&tenant, status, limit)).await?)
            }
            GET_ORDER => {
                let GetArgs { order_id } = call.args()?;
                answer(self.work(move |book| book.get(&tenant, order_id)).await?)
            }
            other => Err(ToolError::new(format!("The desk has no method '{other}'."))),
        }
    }

    async fn preview(&self, look: Look<'_>) -> Result<Option<Value>, ToolError> {
        let Some((order_id, act, _)) = act(&look)? else { return Ok(None) };
        let tenant = tenant(&look)?;
        answer(self.work(move |book| book.preview(&tenant, order_id, act)).await?).map(Some)
    }

    async fn did_run(&self, _: Look<'_>, key: &str) -> Option<bool> {
        let key = key.to_owned();
        self.work(move |book| book.did_run(&key)).await.ok()
    }

    async fn close(&self) -> Result<(), String> {
        self.work(|book| {
            book.close();
            Ok(())
        })
        .await
        .map_err(|_| "the desk's book could not be closed".to_owned())
    }
}
