//! The writing half of mortice: from rows or a table service to a completed instant.
//!
//! [`write`] makes base files and log files in one task, [`commit`] the files of instants, locks and heartbeats. A [`row_set`] is what
//! is known of the rows of a write, [`index`] and [`assign`] find the file group of each row, [`metadata_upkeep`] keeps the metadata table. A [`writable_table`] is the
//! handle that writes and services work on, and [`services`] plans table services. A [`transaction`] takes a write from its requested instant to its completed one: [`maintenance`] executes table
//! services in it, and [`client`] writes the [`rows`] of a user. `docs/write-protocol.md` describes the order of all
//! changes to a table.

pub mod assign;
pub mod client;
pub mod commit;
pub mod index;
pub mod maintenance;
pub mod metadata_upkeep;
pub mod row_set;
pub mod rows;
pub mod services;
pub mod transaction;
pub mod writable_table;
pub mod write;
