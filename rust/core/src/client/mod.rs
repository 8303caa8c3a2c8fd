//! Writes of users' rows.
//!
//! | file | job |
//! |---|---|
//! | `transaction/` | one write, from its requested instant to its completed one, or back |

mod transaction;

pub use transaction::{CommitExtra, Committed, Transaction};
