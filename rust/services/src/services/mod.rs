//! Table services: actions on a table that are not writes of a user's rows. Their order of file operations is described in
//! `docs/write-protocol.md`.
//!
//! | file | job |
//! |---|---|
//! | `data_paths` | paths of plans and markers, checked before anything is deleted |
//! | `listings` | files of partitions |
//! | `rollback_plan` | what undoes an instant: by its markers, or by its commit metadata |
//! | `undo_files` | executes such a plan: deletes files, appends rollback blocks |
//! | `rollback` | the action: plan, files, metadata table, completed instant |
//! | `rollback_checks` | which instants may be rolled back |
//! | `restore` | undoes all instants after one |
//! | `failed_writes` | which pending instants have failed |
//! | `inline_options` | which services run after a write |
//! | `late_files` | data files that a writer put after it was rolled back |
//! | `late_logs` | log files that a writer added after it was rolled back, up to table version 7 |
//! | `needed_by_pending` | what pending writes need of the timeline and of data files |
//! | `leftovers` | markers and heartbeats that a writer left behind |
//! | `service_table` | the table or its metadata table, as services work on it |
//! | `archival/` | moves old instants to the archive |
//! | `cleaning/` | deletes files of old slices |
//! | `clustering/` | plans of clustering |
//! | `compaction/` | compactions: when they are due, what they take, their plans |
//! | `metadata_services/` | what runs on the metadata table before a write |

mod archival;
mod cleaning;
mod clustering;
mod compaction;
mod data_paths;
mod failed_writes;
mod inline_options;
mod late_files;
mod late_logs;
mod leftovers;
mod listings;
mod metadata_services;
mod needed_by_pending;
mod restore;
mod rollback;
mod rollback_checks;
mod rollback_plan;
mod service_table;
mod undo_files;

pub use archival::{Archival, ArchivalOptions, ArchivedInstant};
pub use cleaning::{Clean, CleanedFile, Cleaning, CleaningOptions, CleaningPolicy};
pub use clustering::{ClusteringOptions, PlannedClustering, PlannedGroup, clustering_plan, planned_clustering};
pub use compaction::{CompactionOptions, LogCompactionOptions, TableCompactions};
pub use failed_writes::{RolledBack, refused_by_metadata, roll_back_failed_writes};
pub use inline_options::{InlineServices, InlineStep};
pub use leftovers::{remove_files_of_attempt, remove_leftovers};
pub use metadata_services::MetadataServices;
pub use restore::{BegunRestore, check_no_restore};
pub use rollback::{BegunRollback, MetadataRollback, Rollbacks, UndoneFiles, UndonePreview};

#[cfg(test)]
mod tests;
