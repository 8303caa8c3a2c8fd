//! Merging: log records and base rows of the same key become one row (`BufferedRecordMerger` of Hudi 1.x;
//! `HoodieMergedLogRecordScanner` of 0.x).
//!
//! The merge is a hash join. Log records are the build side: an index by record key. Base rows are the probe side: a
//! stream of batches. What no base row matches is inserted at the end.
//!
//! | file | job |
//! |---|---|
//! | `input` | the contract: what a log must say of its records, and how winning records are fetched |
//! | `base_rows` | base rows, as keys or row numbers to look up |
//! | `ordering` | ordering values, comparable as Hudi compares them |
//! | `ordering_tuple` | several ordering fields as one value |
//! | `binlog_position` | ordering values that are positions in a MySQL binlog |
//! | `orderings` | stored ordering values |
//! | `deletes` | which rows of a data block are deletes |
//! | `rules` | which record wins, by merge mode |
//! | `key_index` | the latest record of each key; keys stay in the bytes of their block |
//! | `key_table` | from hashes to entries, one cache line for each look-up |
//! | `hash_range` | the keys of one pass, where there are too many for one |
//! | `incoming` | a log record whose key was looked up |
//! | `outcome` | what the merge makes of a base row |
//! | `winning_records` | a build side: the winning log record of each key |
//! | `grouped_records` | a build side: all log records of each key |
//! | `record_groups` | record groups taken out of the index, to be folded or spilled |
//! | `every_row` | no merge: every row of a log |
//! | `fold` | rows that are made of several records, field by field |
//! | `output` | outcomes applied to a batch of base rows |
//! | `patch` | rows of a batch replaced in place |
//! | `record_batches` | records fetched from batches in memory |
//! | `engine` | the merge of one file slice: build, probe, outcomes, output |
//!
//! Nothing here does I/O or knows a log file: readers and writers bring the records, and a test races the merge against
//! a naive one.

pub mod engine;
pub mod fold;

mod base_rows;
mod binlog_position;
mod deletes;
mod every_row;
mod grouped_records;
mod hash_range;
mod incoming;
mod input;
mod key_index;
mod key_table;
mod ordering;
mod ordering_tuple;
mod orderings;
mod outcome;
mod output;
mod patch;
mod record_batches;
mod record_groups;
mod rules;
mod winning_records;

pub use base_rows::{BaseRows, NUMBER_LEN, numbers_as_keys};
pub use deletes::DeleteMarkers;
pub use every_row::EveryRow;
pub use grouped_records::GroupedRecords;
pub use hash_range::HashRange;
pub use input::{FetchedRows, LogBatch, LogKind, LogSink, RecordFetcher, RowRef};
pub use key_table::KeyTable;
pub use ordering::{OrderingColumn, OrderingValue, double_order};
pub use outcome::MergeOutcome;
pub use output::{DeletedRows, apply_outcomes, fetch_rows};
pub use record_batches::RecordBatches;
pub use record_groups::RecordGroups;
pub use rules::{OverBase, RecordMergeRules};
pub use winning_records::WinningRecords;
