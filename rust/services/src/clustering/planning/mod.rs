//! Plans of clustering: which file slices are rewritten, and how.
//!
//! | file | job |
//! |---|---|
//! | `options` | Hudi's options of plans |
//! | `partitions` | which partitions are planned |
//! | `plan` | groups of small file slices, by size |
//! | `ring_plan` | file groups of consistent hashing, split and merged |
//! | `planned` | plans read again, to be executed |

mod options;
mod partitions;
mod plan;
mod planned;
mod ring_plan;

pub use options::ClusteringOptions;
pub(crate) use options::{Curve, RowLayout};
pub(crate) use plan::clustering_plan;
pub(crate) use planned::planned_clustering;
pub use planned::{PlannedClustering, PlannedGroup};
pub(crate) use ring_plan::{RingBounds, RingPlan};
