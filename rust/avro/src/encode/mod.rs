//! Arrow to Avro: rows of a batch as datums of a given schema, the inverse of the decoder.
//!
//! | file | job |
//! |---|---|
//! | `encoder` | rows of batches |
//! | `bind` | which writer a column has for an Avro type |
//! | `column_writer` | the trait of a writer, and null |
//! | `numbers`, `strings`, `decimals`, `nested` | the writers |
//! | `hudi_schema` | the schema that Hudi's Spark writer gives columns |
//! | `new_columns` | which columns a table may get |
//!
//! A column is bound to its Avro type once a batch; then rows are written one after the other, each value by its
//! column's writer. What Arrow holds in another width or unit is accepted where no value changes; where that depends on
//! the value, the row that does not fit is refused.

mod bind;
mod column_writer;
mod decimals;
mod encoder;
mod hudi_schema;
mod nested;
mod new_columns;
mod numbers;
mod strings;

pub use encoder::Encoder;
pub use hudi_schema::{hudi_fields, hudi_schema};
pub use new_columns::{check_names, check_new_columns};
