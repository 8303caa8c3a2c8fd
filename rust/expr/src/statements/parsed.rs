//! What the clauses of statements say. Places are numbers of characters in the text.

/// Where a part of a statement begins and ends (exclusive). Spark evaluates expressions and queries as they are there.
pub type TextSpan = (usize, usize);

/// The name of a table, of a column or of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Its parts, without quotes.
    pub parts: Vec<String>,
    /// Where it begins.
    pub at: usize,
    /// Where what follows it begins.
    pub behind: usize,
}
