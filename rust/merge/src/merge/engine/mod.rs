//! The merge of one file slice as a hash join, without I/O.
//!
//! 1. Log records are added in commit order to the [`BuildSide`], which indexes them by key.
//! 2. Base rows are merged batch by batch ([`MergeEngine::merge`]): each stays, is replaced, or is deleted.
//! 3. The records whose keys no base row matched are inserted ([`MergeEngine::inserts`]).
//!
//! Callers supply the records and the batches: file slices, rows in memory, compaction and copy-on-write merges. If the
//! keys do not fit in memory, the caller indexes one [`super::HashRange`] after the other, spills what each pass finds,
//! and gives it to the engine in place of a build side ([`SpilledGroups`]).
//!
//! | file | job |
//! |---|---|
//! | `build_side` | log records by key: the winning one, or all of them |
//! | `base_batch` | a batch of base rows, and how their keys are read |
//! | `batch_outcomes` | what the merge makes of a batch of base rows |
//! | `merge_counts` | how many rows were inserted, updated and deleted |
//! | `merge_engine` | the merge |

mod base_batch;
mod batch_outcomes;
mod build_side;
mod merge_counts;
mod merge_engine;

pub use base_batch::{BaseBatch, BaseKeys};
pub use batch_outcomes::{BatchOutcomes, RowChanges};
pub use build_side::BuildSide;
pub use merge_counts::MergeCounts;
pub use merge_engine::{MergeEngine, SpilledGroups};
