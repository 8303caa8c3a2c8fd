//! The local file system.
//!
//! | file | contents |
//! |---|---|
//! | `storage` | a folder; windowed reads if mapping fails |
//! | `mmap` | a memory-mapped file: ranges are slices of the mapping |
//! | `open_files` | opens files; not too many at once |
//! | `anchored` | names in open folders, so that changes do not follow links |
//! | `create` | files that are created exclusively and appended to |
//! | `put` | whole files, replaced crash-safely |
//! | `replace_version` | a file is replaced if it has a known version |
//! | `staged` | temporary files, versions, and Hadoop's checksums |
//! | `root_lock` | the advisory lock of a folder |

mod anchored;
pub(crate) mod create;
pub(crate) mod mmap;
mod open_files;
pub(crate) mod put;
mod replace_version;
mod root_lock;
mod staged;
pub(crate) mod storage;
