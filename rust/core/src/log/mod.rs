//! Log files: blocks framed in bytes, their headers and contents, and which of them count.
//!
//! | file | job |
//! |---|---|
//! | `layout` | the container's magic, ordinals and header keys, shared with writers |
//! | `header` | the header and footer maps |
//! | `block` | one block, sound or corrupt |
//! | `window` | bytes of a source, mapped or fetched by windows |
//! | `forward` | framing from the front (`HoodieLogFileReader`) |
//! | `backward` | framing from the end, by trailing lengths |
//! | `scan_rules` | what a scan goes by, release by release |
//! | `valid_blocks` | which blocks of a slice count: commits, rollbacks, log compaction |
//! | `content` | what is in a block |
//! | `block_deletes` | the deleted keys of one block, as text |
//! | `block_records` | the records of one block, as they are |
//! | `record_batches` | the same, some at a time |
//! | `positions` | the rows of the base file that a block's records update |
//! | `newest` | the last schema, from the end |
//! | `log_file` | one log file, looked at by itself |
//! | `writer` | blocks and files, written |

pub mod content;
pub mod writer;

mod backward;
mod block;
mod block_deletes;
mod block_records;
mod forward;
mod header;
mod layout;
mod log_file;
mod newest;
mod positions;
mod record_batches;
mod scan_rules;
mod valid_blocks;
mod window;

pub use backward::backward;
pub use block::{Block, BlockKind, Damage, Verdict};
pub use forward::Forward;
pub use header::Header;
pub use layout::{BlockType, HeaderKey, LOG_FORMAT_VERSION, MAGIC};
pub use log_file::{LogFile, block_positions};
pub use newest::newest_schema;
pub use positions::positions;
pub use scan_rules::{Later, ScanOrder, ScanRules};
pub use valid_blocks::{BlockRef, Scan, ValidBlocks};
