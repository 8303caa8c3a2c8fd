//! Schema: what columns a table has, and had.
//!
//! | file | job |
//! |---|---|
//! | `table_schema` | the table's Avro schema at an instant |
//! | `internal_schema`, `internal_types` | schemas whose fields have ids: schema on read |
//! | `evolution` | what columns were called when a file was written |
//! | `any_case` | columns whose names differ in case |

mod any_case;
mod evolution;
mod internal_schema;
mod internal_types;
pub mod table_schema;

pub use any_case::case_names;
pub use evolution::{HISTORY_FOLDER, LATEST_SCHEMA, SchemaEvolution, history_text, in_tables_names};
pub use internal_schema::InternalSchema;
