//! A table that is being changed: where it is, its storage, checked options, concurrency, and the state in which it was
//! last seen.
//!
//! | file | job |
//! |---|---|
//! | `location` | where a table is, and how it is opened there |
//! | `table` | the handle that every write and service works on |
//! | `key_encoding` | how keys of one field by the complex key generator are written |
//! | `state` | the table and its metadata table at one time |

mod key_encoding;
mod location;
mod state;
mod table;

pub use location::TableLocation;
pub use state::TableState;
pub use table::{WritableTable, read_options};
