//! Table: the one door. What users ask of a table, planned.
//!
//! | file | job |
//! |---|---|
//! | `table` | opens a table; snapshot and read-optimized queries |
//! | `incremental` | queries of what a range of commits wrote |
//! | `follow` | commits one by one, as they complete |
//! | `changes` | queries of what a range of commits changed, row by row |
//! | `ask` | what queries ask for |
//! | `slices` | the file slices of a query, cut down by filters |
//! | `query` | schema, columns and slices of one query put together |
//! | `query_plan` | a query that is not planned yet, and its schema |
//! | `columns` | the columns of an answer |
//! | `path_columns` | the columns whose values are in the paths of partitions |
//! | `scan` | a planned query |

mod ask;
mod changes;
mod columns;
mod follow;
mod incremental;
mod path_columns;
mod query;
mod query_plan;
mod scan;
mod slices;
#[expect(clippy::module_inception, reason = "the room's main thing bears its name")]
mod table;

pub use ask::{Ask, Between};
pub use follow::{Follower, Start, Step};
pub use query_plan::{QueryKind, QueryPlan};
pub use scan::Scan;
pub use table::Table;
