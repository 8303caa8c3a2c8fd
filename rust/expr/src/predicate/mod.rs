//! Filters of all forms as one tree, and the normal form in which readers evaluate it.
//!
//! Text, terms, and expressions of pyarrow and polars become a [`Predicate`]. Its logic is SQL's: a comparison with
//! null is neither true nor false, and a row is selected if the whole predicate is true. A negation is moved to the
//! comparisons, where it replaces the operator.
//!
//! | file | job |
//! |---|---|
//! | `tree` | predicates |
//! | `paths` | columns and fields by their names |
//! | `values` | values of Arrow arrays as literals |
//! | `condition` | the text of a filter as a predicate |
//! | `pyarrow` | expressions of pyarrow, and the form in which it serialises them |
//! | `polars` | expressions of polars, of JSON |
//! | `normal_form` | alternatives of conjunctions |
//! | `pushdown` | the filter that a reader gets: exact, or of at least the rows that a predicate selects |
//! | `misuse` | what is wrong with terms and literals |

mod condition;
mod json;
mod misuse;
mod normal_form;
mod paths;
mod polars;
mod pushdown;
mod pyarrow;
mod pyarrow_form;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_libraries;
mod tree;
mod values;

pub use condition::condition;
pub use misuse::{Misuse, operator};
pub use normal_form::MOST_TERMS;
pub use polars::polars_predicate;
pub use pushdown::{conjunction, of_terms};
pub use pyarrow::{pyarrow_columns, pyarrow_predicate};
pub use tree::Predicate;
pub(crate) use values::literal_at;
