//! The upkeep of the metadata table, on tables that Hudi wrote: its commits are written again, and compared.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs, unreachable_pub)]

mod hudi_commit;
mod initialize;
mod metadata_records;
mod replay;
mod roll_back;
mod services;
mod table_copy;
