//! Plans of clustering: which file slices are rewritten, and how.
//!
//! | file | job |
//! |---|---|
//! | `options` | Hudi's options of plans |
//! | `partitions` | which partitions are planned |
//! | `plan` | groups of small file slices, by size |
//! | `planned` | plans read again, to be executed |

mod options;
mod partitions;
mod plan;
mod planned;

pub use options::ClusteringOptions;
pub(crate) use options::{Curve, RowLayout};
pub(crate) use plan::clustering_plan;
pub(crate) use planned::planned_clustering;
pub use planned::{PlannedClustering, PlannedGroup};
