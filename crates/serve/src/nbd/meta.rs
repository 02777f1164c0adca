//! Metadata contexts: the only one is block allocation.

use super::input::Reader;

pub(super) const CONTEXT: &str = "base:allocation";

/// Its id in replies.
pub(super) const CONTEXT_ID: u32 = 1;

const QUERIES_MAX: u32 = 64;

pub(super) fn queries(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut reader = Reader(data);
    let name = reader.text()?;
    let count = reader.u32().filter(|count| *count <= QUERIES_MAX)?;
    let queries = (0..count).map(|_| reader.text()).collect::<Option<_>>()?;
    reader.0.is_empty().then_some((name, queries))
}

/// Returns whether the queries select our context; listing without a query requests all.
pub(super) fn selects(queries: &[&str], listing: bool) -> bool {
    // A query of a namespace alone is allowed when listing only.
    let all = listing && queries.is_empty();
    all || queries.iter().any(|query| *query == CONTEXT || (listing && *query == "base:"))
}
