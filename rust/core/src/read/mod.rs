//! Reading: a split becomes a stream of record batches.
//!
//! | file | job |
//! |---|---|
//! | `projection` | which columns are delivered, carried and probed |
//! | `log_blocks` | the blocks of a slice that count |
//! | `path_values` | partition values as they stand in the path |
//! | `row_range` | base rows of an incremental query |
//! | `record_key` | record keys: stored, or virtual |
//! | `row_numbers` | whether base rows are known by their numbers instead |
//! | `field_path` | a field, perhaps inside of structs |
//! | `ordering_field` | ordering values of one field |
//! | `log_keys` | keys, ordering values and delete marks of a block |
//! | `deleted_rows` | deleted keys as rows |
//! | `log_loader` | the merger fed with the keys of blocks |
//! | `log_source` | where the rows of each block lie |
//! | `log_records` | rows that win, fetched |
//! | `merge_plan` | how the records of a key are merged |
//! | `memory` | what a merge may keep in memory, and what it sets aside |
//! | `settled` | what becomes of keys that do not fit in memory, in passes |
//! | `base_rows` | base rows folded, and what becomes of them |
//! | `base_segments` | base rows that a part of a slice gives, or looks at |
//! | `base_filter` | which terms of a filter may leave out base rows |
//! | `unmerged` | log rows as they stand, streamed |
//! | `base_bounds` | whether base rows have to say what they are ordered by |
//! | `merge_base` | the rows that logs are merged with |
//! | `base_threads` | base rows read by threads of their own, each some of the columns |
//! | `split_base` | the base file of a split |
//! | `slice_merge` | base rows and log rows of a slice, merged |
//! | `file_slice` | the slice of a split, read |
//! | `image_text` | rows as JSON, the images of changed rows |
//! | `change_batch` | changes as rows |
//! | `log_changes` | what logs change in the rows of a slice |
//! | `change_logs` | what change logs tell |
//! | `changes` | what a commit changed, read |
//! | `row_columns` | columns of rows that are merged without a table |
//! | `commit_order` | such rows, in the order of their commits |
//! | `rows_merge` | rows merged as those of a table are |
//! | `split_reader` | one split, read |
//! | `file_schema` | the schema that files hold, where commits hold none |
//! | `pool` | several splits, read at once |
//! | `reader_threads` | the threads of a stream |
//! | `ahead` | how far they may be ahead of the consumer |
//! | `report` | what a read has met |

mod ahead;
mod base_bounds;
mod base_filter;
mod base_rows;
mod base_segments;
mod base_threads;
mod change_batch;
mod change_logs;
mod changes;
mod commit_order;
mod deleted_rows;
mod field_path;
mod file_schema;
mod file_slice;
mod image_text;
mod log_blocks;
mod log_changes;
mod log_keys;
mod log_loader;
mod log_records;
mod log_source;
mod memory;
mod merge_base;
mod merge_plan;
mod ordering_field;
mod path_values;
mod pool;
mod projection;
mod reader_threads;
mod record_key;
mod report;
mod row_columns;
mod row_numbers;
mod row_range;
mod rows_merge;
mod settled;
mod slice_files;
mod slice_merge;
mod split_base;
mod split_reader;
mod unmerged;

pub use file_schema::newest_schema;
pub use pool::Stream;
pub use report::{Corrupt, Report, SharedReport};
pub use rows_merge::{RowsMerge, RowsMergeOptions};
pub use split_reader::SplitReader;
