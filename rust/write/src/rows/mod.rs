//! The rows of a write: a user's columns in the table's types, checked, combined and sorted, before any of them is
//! written.
//!
//! | file | job |
//! |---|---|
//! | `options` | what options say of the rows of a write |
//! | `schema` | the columns of a write |
//! | `evolve` | columns of the table that a write changes |
//! | `schema_changes` | what a write changes of a table's columns |
//! | `operations` | the column of operations, and which rows of a write are deletes |
//! | `conform` | a user's columns in the table's types |
//! | `exact_cast` | values in the table's types, none of which changes |
//! | `value_place` | where a value is, for messages |
//! | `input_rows` | a user's rows as they are read |
//! | `delete_marks` | which rows are deletes |
//! | `read_rows`, `reader_pool` | a user's batches in the table's types, with their keys, by several threads |
//! | `row_source` | where the rows of a write come from |
//! | `refused_rows` | rows that cannot be written, left out |
//! | `required` | nulls where the table requires a value |
//! | `duplicates` | inserted rows whose keys are in the table |
//! | `combine` | rows of one write that have the same key |
//! | `repeated_changes` | rows of one key that a merge has made of several stored rows |
//! | `new_keys` | rows of one write whose keys are new |
//! | `prepare` | the rows of a write before any is written |
//! | `partial_update` | updates of some of the columns |
//! | `row_sorter` | rows sorted, set aside in files where they are many |
//! | `sort_mode` | the order of the rows of a bulk insert |

mod combine;
mod conform;
mod delete_marks;
mod duplicates;
mod evolve;
mod exact_cast;
mod input_rows;
mod new_keys;
mod operations;
mod options;
mod partial_update;
mod prepare;
mod read_rows;
mod reader_pool;
mod refused_rows;
mod repeated_changes;
mod required;
mod row_sorter;
mod row_source;
mod schema;
mod schema_changes;
mod sort_mode;
mod value_place;

pub use combine::combine as combine_rows;
pub use conform::Rules;
pub use delete_marks::DeleteMarks;
pub use duplicates::DuplicatePolicy;
pub use duplicates::effective_operation;
pub use input_rows::read_input;
pub use new_keys::combine_new_keys;
pub use operations::check_inserts;
pub use operations::is_delete;
pub use options::RowOptions;
pub use partial_update::columns_of;
pub use partial_update::partial_schema;
pub use prepare::Preparation;
pub use prepare::RowOrigin;
pub use read_rows::FullRows;
pub use reader_pool::ReaderPool;
pub use refused_rows::ReadRows;
pub use refused_rows::RefusedRows;
pub use row_sorter::RowSorter;
pub use row_sorter::SortedRows;
pub use row_sorter::SortedRun;
pub use row_source::RowSource;
pub use schema::OUTPUT;
pub use schema::WriteSchema;
pub use schema::check_new_columns;
pub use schema::without_meta_columns;
pub use schema::{DELETES_KEY, UPDATES_KEY};
pub use schema_changes::SchemaChange;
pub use sort_mode::SortMode;
pub use value_place::ValuePlace;
