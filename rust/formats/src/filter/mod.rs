//! Filters: which rows are wanted, exactly.
//!
//! | file | job |
//! |---|---|
//! | `expr` | terms in disjunctive normal form, as a caller states and a split carries them |
//! | `literal` | literals cast to a column's type, exactly or not at all |
//! | `rounding` | comparisons with numbers that a column's type does not hold |
//! | `like` | patterns of SQL |
//! | `constants` | the filter simplified by columns that have one value in all rows |
//! | `key_filter` | the record keys that are wanted of a log |
//! | `evaluate` | the filter bound to a schema, and the rows of a batch that pass |
//! | `prune` | the filter asked of bounds: which stretches of rows can hold one that passes |
//! | `merged` | the same, of files whose rows are merged |
//! | `spark_sql` | the filter as a condition of Spark's SQL |

mod constants;
mod evaluate;
mod expr;
mod key_filter;
mod like;
mod literal;
mod merged;
mod prune;
mod rounding;
mod spark_sql;

pub use evaluate::BoundFilter;
pub use expr::{Filter, Literal, Operator, Term};
pub use key_filter::KeyFilter;
pub use prune::ColumnBounds;
