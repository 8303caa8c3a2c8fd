//! Changes to a table's `.hoodie` folder. The order of their file operations is described in `docs/write-protocol.md`.
//!
//! | file | job |
//! |---|---|
//! | `new_table` | the properties of a new table |
//! | `new_table_options` | properties that a user may set when a table is created |
//! | `create_table` | a new table in storage |

mod create_table;
mod new_table;
mod new_table_options;

pub use create_table::create_table;
pub use new_table::NewTable;
