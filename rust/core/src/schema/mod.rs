//! Schema: what columns a table has, and had.
//!
//! | file | job |
//! |---|---|
//! | `table_schema` | the table's Avro schema at an instant |

pub mod table_schema;
