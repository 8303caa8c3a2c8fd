//! The columns that Hudi adds to every row (`HoodieRecord.HOODIE_META_COLUMNS`).

/// `_hoodie_commit_time`: the instant that wrote the row.
pub const COMMIT_TIME: &str = "_hoodie_commit_time";
/// `_hoodie_commit_seqno`: `<instant>_<task>_<n>`.
pub const COMMIT_SEQNO: &str = "_hoodie_commit_seqno";
/// `_hoodie_record_key`.
pub const RECORD_KEY: &str = "_hoodie_record_key";
/// `_hoodie_partition_path`.
pub const PARTITION_PATH: &str = "_hoodie_partition_path";
/// `_hoodie_file_name`: the name of the base file; in log records the file id.
pub const FILE_NAME: &str = "_hoodie_file_name";
/// `_hoodie_operation`: only in tables that store it.
pub const OPERATION: &str = "_hoodie_operation";
/// `_hoodie_is_deleted`: a user column that marks a row as a delete.
pub const IS_DELETED: &str = "_hoodie_is_deleted";

/// The five columns that come first in every row, in this order.
pub const ALL: [&str; 5] = [COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME];
