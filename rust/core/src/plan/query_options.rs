//! The options that all kinds of queries have.

use crate::filter::Filter;
use crate::split::MergerHandle;

/// The options that all kinds of queries have.
#[derive(Debug, Clone, Default)]
pub struct QueryOptions {
    /// Top-level columns in the order wanted; `None` selects all, meta columns first.
    pub columns: Option<Vec<String>>,
    /// The rows to deliver.
    pub filter: Filter,
    /// Merges records if the table asks for a payload class or a record merger that is not Hudi's own.
    pub merger: Option<MergerHandle>,
}
