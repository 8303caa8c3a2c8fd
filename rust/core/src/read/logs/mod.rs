//! Logs of a slice: the blocks that count, their records loaded into a merge, and the rows of winning records.
//!
//! | file | job |
//! |---|---|
//! | `log_blocks` | the blocks of a slice that count |
//! | `log_source` | where the rows of each block lie |
//! | `log_records` | rows that win, fetched |
//! | `log_loader` | the merger fed with the keys of blocks |
//! | `deleted_rows` | deleted keys as rows |
//! | `unmerged` | log rows as they stand, streamed |

pub(in crate::read) mod deleted_rows;
pub(in crate::read) mod log_blocks;
pub(in crate::read) mod log_loader;
pub(in crate::read) mod log_records;
pub(in crate::read) mod log_source;
pub(in crate::read) mod unmerged;
