//! Filters: which rows are wanted, exactly.
//!
//! | file | job |
//! |---|---|
//! | `expr` | terms in disjunctive normal form, as a caller states and a split carries them |
//! | `literal` | literals cast to a column's type, exactly or not at all |
//! | `evaluate` | the filter bound to a schema, and the rows of a batch that pass |

mod evaluate;
mod expr;
mod literal;

pub use evaluate::BoundFilter;
pub use expr::{Filter, Literal, Operator, Term};
