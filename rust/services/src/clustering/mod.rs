//! Clustering: rows of file groups are written to new file groups, in another order and size. Rows do not change.
//!
//! ```text
//! plan on the timeline ─> merged rows of each group ─> (row_order) ─> new base files ─> replace commit
//! ```
//! | file | job |
//! |---|---|
//! | `planning/` | which file slices are rewritten, and how |
//! | `cluster` | plans, and executes what is planned |
//! | `inline` | the same after a write |
//! | `run` | the rows of a plan's groups, written |
//! | `group_output` | the new files of a group, by size or by node |
//! | `rings` | the rings of consistent hashing that a plan leaves |
//! | `row_order` | the order of rows: by columns, or along a curve |
//! | `space_curve` | Z-order and the Hilbert curve |
//! | `sortable` | values as bytes that sort as the values do |
//! | `value_ranks` | coordinates of values of any types and ranges |

mod cluster;
mod group_output;
mod inline;
pub(crate) mod planning;
mod rings;
mod row_order;
mod run;
mod sortable;
mod space_curve;
mod value_ranks;

pub use cluster::open_table;
pub use cluster::pending;
pub use cluster::plan_of;
pub use cluster::schedule;
pub(crate) use cluster::{check_order, execute_plan, plans_of};
pub(crate) use inline::{cluster_inline, commits_since_clustering};
pub use rings::{buckets_of_plan, store_rings};
pub use run::ClusteringRun;

pub use cluster::{ClusteringResult, plan_clustering, run_clustering};
pub use planning::{ClusteringOptions, PlannedClustering, PlannedGroup};
