//! Merging: log records and base rows of the same key become one row (`BufferedRecordMerger` of Hudi 1.x;
//! `HoodieMergedLogRecordScanner` of 0.x).
//!
//! | file | job |
//! |---|---|
//! | `input` | the contract: what a log must say of its records, and how winners are fetched |
//! | `base_rows` | base rows, by what log records find them |
//! | `ordering` | ordering values, comparable as Hudi compares them |
//! | `ordering_tuple` | several ordering fields as one value |
//! | `binlog_place` | ordering values that are places in a MySQL binlog |
//! | `orderings` | ordering values, kept |
//! | `deletes` | which rows of a data block are deletes |
//! | `rules` | who wins, by merge mode |
//! | `key_index` | the latest record of each key, keys left where they lie |
//! | `key_table` | from hashes to entries, a cache line for a look-up |
//! | `key_part` | a part of all keys, where they are too many for one pass |
//! | `incoming` | a log record, its key looked up |
//! | `histories` | the log records of some keys, to be folded or set aside |
//! | `merger` | log records in, fates of base rows and remaining inserts out |
//! | `every_row` | no merge: every row of a log |
//! | `fold` | rows that are made of several records, field by field |
//! | `output` | base rows and log rows woven into one batch |
//! | `patch` | rows of a batch replaced in place |
//!
//! Nothing here knows a log file: the same merger serves a reference implementation in a test.

pub mod fold;

mod base_rows;
mod binlog_place;
mod deletes;
mod every_row;
mod histories;
mod incoming;
mod input;
mod key_index;
mod key_part;
mod key_table;
mod merger;
mod ordering;
mod ordering_tuple;
mod orderings;
mod output;
mod patch;
mod rules;

pub use base_rows::{BaseRows, NUMBER_LEN, numbers_as_keys};
pub use deletes::DeleteMarkers;
pub use every_row::EveryRow;
pub use histories::Histories;
pub use input::{Fetched, LogBatch, LogKind, LogSink, RowRef, Winners};
pub use key_part::KeyPart;
pub use merger::{Fate, Merger};
pub use ordering::{OrderingColumn, OrderingValue, double_order};
pub use output::{DeletedRows, log_rows, weave};
pub use rules::{OverBase, Rules};
