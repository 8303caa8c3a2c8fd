//! HDFS, by its own protocol.
//!
//! | file | contents |
//! |---|---|
//! | `storage` | a folder of HDFS |
//! | `file` | a file: blocks looked up, ranges read |
//! | `create` | files that are created exclusively and appended to |
//! | `put` | whole files |
//! | `handle` | the client and the I/O thread of a cluster; forks |
//! | `error` | errors of HDFS, by kind |

pub(crate) mod create;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod handle;
pub(crate) mod put;
pub(crate) mod storage;
