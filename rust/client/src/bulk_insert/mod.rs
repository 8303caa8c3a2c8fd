//! Bulk inserts: rows that go to new file groups (`SparkBulkInsertHelper`).
//!
//! ```text
//! batches ─> chunks ─> work: keys ─> place_router ─> work: new base files
//! ```
//! | file | job |
//! |---|---|
//! | `chunks` | the input in parts |
//! | `keyed_rows` | rows with their keys |
//! | `sorter` | rows sorted by partition and key |
//! | `lanes` | threads |
//! | `work` | what they do with rows |
//! | `place_router` | rows on their way to the series of file groups of their partitions |
//! | `spreading` | which series rows go to |
//! | `sorted_runs` | the threads of a bulk insert that sorts |
//! | `partition_writers` | the files that one thread writes |
//! | `bulk_insert` | all of it |
//!
//! Memory holds some chunks, runs of rows to be sorted, and open row groups; not the input.

#[expect(clippy::module_inception, reason = "the module's main function has its name")]
mod bulk_insert;
mod chunks;
mod keyed_rows;
mod lanes;
mod partition_writers;
mod place_router;
mod sorted_runs;
mod sorter;
mod spreading;
mod work;

pub use bulk_insert::bulk_insert;
pub(super) use keyed_rows::{KeyedRows, outputs_of};
pub(super) use partition_writers::{BulkTarget, PartitionWriters};
