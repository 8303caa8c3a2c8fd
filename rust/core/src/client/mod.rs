//! Writes of users' rows.
//!
//! | file | job |
//! |---|---|
//! | `schema` | the columns of a write |
//! | `conform` | a user's columns in the table's types |
//! | `combine` | rows of one write that have the same key |
//! | `prepare` | the rows of a write before any is written |
//! | `transaction/` | one write, from its requested instant to its completed one, or back |

mod combine;
mod conform;
mod prepare;
mod schema;
mod transaction;

pub use transaction::{CommitExtra, Committed, Transaction};
