//! The options that all kinds of queries have.

use crate::split::MergerHandle;
use mortice_formats::filter::Filter;

/// The options that all kinds of queries have.
#[derive(Debug, Clone, Default)]
pub struct QueryOptions {
    /// Top-level columns in the order of the result; `None` selects all, meta columns first.
    pub columns: Option<Vec<String>>,
    /// The predicate on rows.
    pub filter: Filter,
    /// Merges records if the table has a custom payload class or record merger.
    pub merger: Option<MergerHandle>,
}
