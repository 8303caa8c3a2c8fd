//! Bulk inserts: rows that go to new file groups (`SparkBulkInsertHelper`).
//!
//! ```text
//! batches ─> keys ─> (sorter) ─> threads ─> partition_writers ─> new base files
//! ```
//! | file | job |
//! |---|---|
//! | `chunks` | the input in parts |
//! | `keyed_rows` | rows with their keys |
//! | `sorter` | rows sorted by partition and key |
//! | `lanes` | threads that do any stage |
//! | `pipeline` | threads |
//! | `partition_writers` | the files that one thread writes |
//! | `bulk_insert` | all of it |
//!
//! Memory holds some batches, a run of rows to be sorted, and open row groups; not the input.

#[expect(clippy::module_inception, reason = "the module's main function has its name")]
mod bulk_insert;
mod chunks;
mod keyed_rows;
#[allow(dead_code, reason = "bulk inserts move to it in the next change")]
mod lanes;
mod partition_writers;
mod pipeline;
mod sorter;

pub use bulk_insert::bulk_insert;
pub(super) use keyed_rows::{KeyedRows, outputs_of};
pub(super) use partition_writers::{BulkTarget, PartitionWriters};
