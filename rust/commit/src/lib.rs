//! The commit protocol: from an instant that is requested to one that is completed.
//!
//! [`commit`] makes the files of instants, locks and heartbeats, and [`metadata_upkeep`] keeps the metadata table. A
//! [`writable_table`] is the handle that writes and table services work on. `docs/write-protocol.md` describes the
//! order of all changes to a table.

pub mod commit;
pub mod metadata_upkeep;
pub mod writable_table;
