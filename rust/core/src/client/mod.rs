//! Writes of users' rows.
//!
//! | file | job |
//! |---|---|
//! | `schema` | the columns of a write |
//! | `conform` | a user's columns in the table's types |
//! | `combine` | rows of one write that have the same key |
//! | `prepare` | the rows of a write before any is written |
//! | `profile` | what a write is about to do, for other writers |
//! | `tasks` | the rows of one file group, written |
//! | `write` | from a user's rows to the commit |
//! | `create_for_write` | the table that a write creates |
//! | `distributed/` | writes whose rows are in other processes |
//! | `transaction/` | one write, from its requested instant to its completed one, or back |

mod combine;
mod conform;
mod create_for_write;
pub mod distributed;
mod prepare;
mod profile;
mod schema;
mod tasks;
mod transaction;
mod write;

pub use create_for_write::create_table_for_write;
pub use transaction::{CommitExtra, Committed, Transaction};
pub use write::{WriteInput, WriteResult, write};
