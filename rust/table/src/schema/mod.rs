//! Schema: what columns a table has, and had.
//!
//! | file | job |
//! |---|---|
//! | `table_schema` | the table's Avro schema at an instant |
//! | `internal_schema`, `internal_types` | schemas whose fields have ids: schema on read |
//! | `evolution` | what columns were called when a file was written |

mod evolution;
mod internal_schema;
mod internal_types;
pub mod table_schema;

pub use evolution::{SchemaEvolution, in_tables_names};
pub use internal_schema::InternalSchema;
