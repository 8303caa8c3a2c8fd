//! Writes log files: blocks are composed in memory, and each append is one write.
//!
//! ```text
//! records ─> avro_block, parquet_block ─┐
//! keys ────> delete_block ──────────────┼─> BlockBytes* ── LogWriter::append ─> .<file id>_<instant>.log.<version>_<token>
//! instants > command_block ─────────────┘
//! ```
//! | file | contents |
//! |---|---|
//! | `block_header` | the header map of a block to write |
//! | `block_bytes` | the frame around a content |
//! | `avro_block` | records as Avro data blocks |
//! | `parquet_block` | records as a parquet data block |
//! | `hfile_block` | records under their keys as an HFile data block: the metadata table's |
//! | `record_format` | the choice between the two |
//! | `ordering_columns` | ordering values, by column type |
//! | `delete_block` | deleted keys |
//! | `native_metadata` | the header of a native log, for the metadata of its file |
//! | `native_deletes` | deleted keys as rows of a native log |
//! | `command_block` | the rollback of an instant |
//! | `log_writer` | files: names, creation, appending, size limit, durability |

mod avro_block;
mod block_bytes;
mod block_header;
mod command_block;
mod delete_block;
mod hfile_block;
mod log_writer;
mod native_deletes;
mod native_metadata;
mod ordering_columns;
mod parquet_block;
mod record_format;

pub use avro_block::{avro_block_frame, avro_block_of_datums, avro_blocks};
pub use block_bytes::{BlockBytes, BlockFrame};
pub use block_header::BlockHeader;
pub use command_block::rollback_block;
pub use delete_block::{DeleteColumns, PartitionPath, delete_block};
pub use hfile_block::hfile_block;
pub use log_writer::{LogWriter, LogWriterOptions, WrittenBlock};
pub use native_deletes::NativeDeletes;
pub use parquet_block::parquet_block;
pub use record_format::{RecordFormat, record_blocks};
