//! The writing half of mortice: from rows or a table service to a completed instant.
//!
//! [`write`] makes base files and log files in one task, [`commit`] the files of instants, locks and heartbeats, [`index`] and
//! [`assign`] find the file group of each row, [`metadata_upkeep`] keeps the metadata table, [`services`] plans and runs table
//! services, and [`client`] is one write from a user's rows to the commit. `docs/write-protocol.md` describes the order of all
//! changes to a table.

pub mod assign;
pub mod client;
pub mod commit;
pub mod index;
pub mod metadata_upkeep;
pub mod services;
pub mod write;
