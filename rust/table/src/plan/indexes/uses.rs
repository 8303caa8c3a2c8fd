//! What indexes did for a query.

use std::fmt::Display;

use mortice_base::error::Error;

/// What indexes did for a query.
#[derive(Debug, Clone, Default)]
pub(in crate::plan) struct IndexUses {
    /// The names of indexes, and what each of them left out, or why it was not used.
    pub(in crate::plan) lines: Vec<(String, String)>,
    /// Sentences about damaged indexes.
    pub(in crate::plan) warnings: Vec<String>,
}

impl IndexUses {
    /// Notes what an index did.
    pub(super) fn note(&mut self, index: &str, result: impl Display) {
        self.lines.push((index.to_owned(), result.to_string()));
    }

    /// Notes why an index was not used, where that is nothing unusual.
    pub(super) fn not_used(&mut self, index: &str, why: impl Display) {
        self.note(index, format_args!("not used: {why}"));
    }

    /// Notes that an index could not be used, and warns of it.
    pub(super) fn failed(&mut self, index: &str, error: &Error) {
        self.not_used(index, error);
        self.warnings.push(format!("a query does not use the {index} of the table: {error}"));
    }
}
