//! What does not fit in memory: set aside in files, mapped back, gone with the last who looks at it.
//!
//! | file | job |
//! |---|---|
//! | `folder` | where such files are made: nameless, so that a process that dies leaves none behind |
//! | `kept_bytes` | bytes, kept as they are |
//! | `batches` | record batches, written one after the other and read again in that order |

mod batches;
mod folder;
mod kept_bytes;

pub use batches::{BatchReader, BatchWriter};
pub use folder::SpillFolder;
