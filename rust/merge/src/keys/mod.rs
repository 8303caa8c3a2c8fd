//! Keys: the record key, ordering value and partition path of a record, from Avro records, rows of base files, and
//! Arrow batches.
//!
//! | file | contents |
//! |---|---|
//! | `key_generator` | how the table's key generator makes record keys |
//! | `partition_part` | how it makes the segments of partition paths |
//! | `partition_path` | the values of partition columns in a path |
//! | `path_time` | times in partition paths |
//! | `path_value` | bounds of a partition column, derived from its segment of the path |
//! | `field_path` | a field of the table, possibly nested in structs |
//! | `record_key` | record keys: stored, virtual, or replaced by row numbers |
//! | `row_number_column` | the optional last column of a batch of base rows: row numbers |
//! | `ordering_field` | ordering values of one field |
//! | `key_columns` | the key, ordering values and delete marks of the records of a block |
//! | `row_keys` | record keys and partition paths of rows that are written |
//! | `key_options` | what options say of them |
//! | `row_generator` | which key generator makes them |
//! | `row_text` | values of key and partition columns as text |
//! | `path_check` | values that a partition path cannot have |
//! | `row_partitions`, `row_times`, `time_pattern`, `path_escape` | partition paths: of values, of times, their patterns, escaped |
//! | `pattern_item`, `pattern_output`, `pattern_input`, `pattern_names` | fields of these patterns, written and parsed; names |
//! | `time_zone` | time zones by name |
//! | `base_keys` | the keys and ordering values of base rows, as the merge reads them |

pub mod partition_path;
pub mod path_time;

mod base_keys;
mod field_path;
mod key_columns;
mod key_generator;
mod key_options;
mod ordering_field;
mod partition_part;
mod path_check;
mod path_escape;
mod path_value;
mod pattern_input;
mod pattern_item;
mod pattern_names;
mod pattern_output;
mod record_key;
mod row_generator;
mod row_keys;
mod row_number_column;
mod row_partitions;
mod row_text;
mod row_times;
mod time_pattern;
mod time_zone;

pub use field_path::FieldPath;
pub use key_columns::{KeyBatch, KeyColumns};
pub use key_options::KeyOptions;
pub use partition_part::{PartitionPart, TimeFormat};
pub use path_value::{PathValue, bounds_of};
pub use record_key::{LogKeys, RecordKey};
pub use row_generator::undecided_key_field;
pub use row_keys::{RowKeyReader, RowKeys, check_key_type};
pub use row_number_column::{with_row_numbers, without_row_numbers};
