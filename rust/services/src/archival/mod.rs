//! Archival: moves old completed instants from the active timeline to the archive (`TimelineArchiverV1`,
//! `TimelineArchiverV2`).
//!
//! | file | job |
//! |---|---|
//! | `options` | how many commits stay, by Hudi's options |
//! | `chooser` | the instants to archive |
//! | `limits` | what instants must not be archived |
//! | `replaced` | replace commits whose replaced files have not been deleted |
//! | `archive_base` | the archive as it was read, on condition of which it is changed |
//! | `changed_archive` | the error of an archiver that finds the archive changed |
//! | `archive_log` | the archive up to table version 7: log files |
//! | `lsm_history` | the archive from table version 8 on: sorted parquet files and manifests |
//! | `compact_history` | merges small files of the history, deletes those that no manifest names |
//! | `run` | the action |
//! | `copy_archive` | a whole archive in the other layout |
//! | `requested` | archivals that a user asks for |
//!
//! An instant is in the archive before its files are deleted. An archiver that was stopped in between leaves it in
//! both, and the next one deletes the files first.

mod archive_base;
mod archive_log;
mod changed_archive;
mod chooser;
mod compact_history;
mod copy_archive;
mod limits;
mod lsm_history;
mod options;
mod replaced;
mod requested;
mod run;

pub(crate) use archive_base::ArchiveBase;
pub(crate) use chooser::instants_to_archive;
pub(crate) use copy_archive::{copy_archive, delete_archive};
pub(crate) use limits::of_timeline;
pub use options::ArchivalOptions;
pub(crate) use options::KeepCommits;
pub use requested::{ArchivalResult, plan_archival, run_archival};
pub(crate) use run::archive_instants;
pub use run::{Archival, ArchivedInstant};

#[cfg(test)]
mod pending_tests;
#[cfg(test)]
mod tests;
