//! The rows of the list, read page by page. Pages far from where one looks are let go and read again with their cursor, so
//! that memory does not grow with the number of agents.

use contract::Micros;
use contract::ops::agents::{AgentItem, AgentList};

/// Rows of a page.
pub(super) const SIZE: usize = 200;
/// Pages kept on each side of the one in use.
const KEPT: usize = 4;

/// What a row shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub name: String,
    pub llm: Option<String>,
    pub category: Option<String>,
    pub visibility: String,
    pub owner: Option<String>,
    pub version: Option<i64>,
    pub updated: Option<Micros>,
    pub enabled: bool,
    pub can_manage: bool,
}

impl From<AgentItem> for Row {
    fn from(item: AgentItem) -> Self {
        Self {
            name: item.name,
            llm: item.llm,
            category: item.category,
            visibility: item.visibility,
            owner: item.owner,
            version: item.version,
            updated: item.updated_at,
            enabled: item.enabled,
            can_manage: item.can_manage,
        }
    }
}

#[derive(Debug, Default)]
struct Page {
    /// Where it starts; the first has none.
    cursor: Option<String>,
    rows: Option<Vec<Row>>,
    /// Rows it had when it was read last.
    count: usize,
    /// Whether it is to be read again although its rows are there.
    stale: bool,
}

/// A page to be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub page: usize,
    pub cursor: Option<String>,
}

/// All pages.
#[derive(Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    /// Whether the last page is the end of the list.
    complete: bool,
}

impl Default for Pages {
    fn default() -> Self {
        Self { pages: vec![Page::default()], complete: false }
    }
}

impl Pages {
    /// Rows whose place is known.
    pub fn known(&self) -> usize {
        (self.pages.len().max(1) - 1) * SIZE + self.pages.last().map_or(0, |page| page.count)
    }

    /// How many there are in all, once the end was seen.
    pub fn total(&self) -> Option<usize> {
        self.complete.then(|| self.known())
    }

    /// A row, if its page is here.
    pub fn row(&self, index: usize) -> Option<&Row> {
        #[cfg(test)]
        touched::one();
        self.pages.get(index / SIZE)?.rows.as_ref()?.get(index % SIZE)
    }

    /// Where the row of this name is, among the pages that are here.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.pages.iter().enumerate().find_map(|(number, page)| {
            let at = page.rows.as_ref()?.iter().position(|row| row.name == name)?;
            Some(number * SIZE + at)
        })
    }

    /// The next page to be read for somebody who looks at the rows around `selected`.
    pub fn wanted(&self, selected: usize, rows: usize) -> Option<Wanted> {
        let near = rows.clamp(20, SIZE);
        [selected, selected + near, selected.saturating_sub(near)].into_iter().find_map(|row| {
            // A row behind the last one that is known is on the last page, whose cursor is known.
            let number = (row / SIZE).min(self.pages.len() - 1);
            self.want(number)
        })
    }

    /// The page on which the list goes on; none at its end.
    pub fn wanted_last(&self) -> Option<Wanted> {
        self.want(self.pages.len() - 1)
    }

    fn want(&self, number: usize) -> Option<Wanted> {
        let page = self.pages.get(number)?;
        (page.rows.is_none() || page.stale).then(|| Wanted { page: number, cursor: page.cursor.clone() })
    }

    /// Takes a page that was read for somebody at `selected`.
    pub fn take(&mut self, number: usize, list: AgentList, selected: usize) {
        let Some(page) = self.pages.get_mut(number) else { return };
        page.count = list.agents.len();
        page.stale = false;
        page.rows = Some(list.agents.into_iter().map(Row::from).collect());
        match list.next_cursor.flatten() {
            Some(cursor) => {
                match self.pages.get_mut(number + 1) {
                    Some(next) if next.cursor.as_ref() == Some(&cursor) => {}
                    // Something changed before the next page: it begins elsewhere, and how far the list goes is open again.
                    // Its rows stay in sight until they are read anew.
                    Some(next) => {
                        next.cursor = Some(cursor);
                        next.stale = true;
                        self.complete = false;
                    }
                    None => {
                        self.pages.push(Page { cursor: Some(cursor), ..Page::default() });
                        self.complete = false;
                    }
                }
            }
            None => {
                self.pages.truncate(number + 1);
                self.complete = true;
            }
        }
        self.let_go(selected);
    }

    fn let_go(&mut self, selected: usize) {
        let here = selected / SIZE;
        for (number, page) in self.pages.iter_mut().enumerate() {
            if number.abs_diff(here) > KEPT {
                page.rows = None;
            }
        }
    }

    /// Everything is to be read again; what is shown stays until then.
    pub fn refresh(&mut self) {
        for page in &mut self.pages {
            page.stale = true;
        }
    }

    /// This page is to be read again.
    pub fn spoil(&mut self, number: usize) {
        if let Some(page) = self.pages.get_mut(number) {
            page.stale = true;
        }
    }

    /// Where a page starts.
    #[cfg(test)]
    pub fn cursor(&self, number: usize) -> Option<&str> {
        self.pages.get(number)?.cursor.as_deref()
    }

    /// Pages whose rows are here.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.pages.iter().filter(|page| page.rows.is_some()).count()
    }
}

/// Counts rows looked at, so that a test can say that cost does not grow with the list.
#[cfg(test)]
pub(super) mod touched {
    use std::cell::Cell;

    thread_local! {
        static ROWS: Cell<usize> = const { Cell::new(0) };
    }

    pub fn one() {
        ROWS.set(ROWS.get() + 1);
    }

    /// Rows looked at since the last time this was asked.
    pub fn take() -> usize {
        ROWS.replace(0)
    }
}
