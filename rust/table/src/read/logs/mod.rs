//! The logs of a slice: its valid blocks, their records loaded into a merge, and the rows of winning records.
//!
//! | file | contents |
//! |---|---|
//! | `log_blocks` | the valid blocks of a slice |
//! | `block_schemas` | whether blocks have the schemas of their writes |
//! | `damage` | whether a log has lost bytes of a completed write |
//! | `log_source` | the location of the rows of each block |
//! | `log_records` | fetches winning rows |
//! | `log_loader` | loads the keys of blocks into the merge |
//! | `deleted_rows` | deleted keys as rows |
//! | `unmerged` | streams log rows without merging |

mod block_schemas;
pub(in crate::read) mod damage;
pub(in crate::read) mod deleted_rows;
pub(in crate::read) mod log_blocks;
pub(in crate::read) mod log_loader;
pub(in crate::read) mod log_records;
pub(in crate::read) mod log_source;
pub(in crate::read) mod unmerged;
