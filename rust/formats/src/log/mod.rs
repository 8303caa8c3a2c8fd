//! Log files: framing of blocks, their headers and contents, and the selection of valid blocks.
//!
//! | file | contents |
//! |---|---|
//! | `layout` | magic, ordinals and header keys of the format, shared with writers |
//! | `header` | the header and footer maps |
//! | `header_form` | whether the header has the form that writers give it |
//! | `block` | one block, valid or corrupt |
//! | `window` | bytes of a source, mapped or fetched in windows |
//! | `native` | native logs: files of the format of base files, one block each |
//! | `forward` | framing from the front (`HoodieLogFileReader`) |
//! | `backward` | framing from the end by trailing lengths |
//! | `scan_rules` | rules of a scan, by release |
//! | `valid_blocks` | selects the valid blocks of a slice: commits, rollbacks, log compaction |
//! | `content` | the contents of blocks |
//! | `native_deletes` | the deleted keys of a native log |
//! | `block_deletes` | the deleted keys of one block, and as strings |
//! | `block_records` | the records of one block, in the units of the file |
//! | `record_batches` | the same, in batches |
//! | `positions` | the row numbers in the base file that a block's records update |
//! | `position_list` | the same of native logs |
//! | `newest` | the last schema, found from the end |
//! | `log_file` | one log file, independent of a table |
//! | `writer` | writes blocks and files |

pub mod content;
pub mod writer;

mod backward;
mod block;
mod block_deletes;
mod block_records;
mod forward;
mod header;
mod header_form;
mod layout;
mod log_file;
mod native;
mod native_deletes;
mod newest;
mod position_list;
mod positions;
mod record_batches;
mod scan_rules;
mod valid_blocks;
mod window;

pub use backward::backward;
pub use block::{Block, BlockDamage, BlockKind, DamageEffect};
pub use block_deletes::deleted_keys;
pub use forward::ForwardScan;
pub use header::Header;
pub use layout::{BlockType, HeaderKey, LOG_FORMAT_VERSION, MAGIC};
pub use log_file::{LogFile, block_positions};
pub use native::{NATIVE_LOG_METADATA, NATIVE_LOG_VERSION};
pub use newest::newest_schema;
pub use positions::positions;
pub use scan_rules::{LaterBlocks, ScanOrder, ScanRules};
pub use valid_blocks::{BlockRef, ScanControl, ValidBlocks};
