//! The timeline: completed and pending actions on a table.
//!
//! | file | contents |
//! |---|---|
//! | `instant` | an action with its times and its state |
//! | `instant_kind` | what an instant is: a write, or a table service |
//! | `layout_v1`, `layout_v2` | file names of the two layouts |
//! | `load` | lists the active timeline; the highest state of each instant counts |
//! | `timeline` | queries of instants: completed, visible, first and last |
//! | `metadata_files` | reads files of instants: commit metadata, plans, replaced file groups |
//! | `commit_metadata`, `service_plans`, `avro_value` | fast partial readers of those files, for planning |
//! | `metadata` | typed readers and writers of all those files |
//! | `archived_v1` | the archive of layout 1 |
//! | `history_v2` | the archive of layout 2 |
//! | `archive_files` | what an archiver reads of the archive |
//! | `archived` | archived instants, and metadata of all instants, in either layout |
//! | `archived_action` | an instant of the archive with its metadata and plan |
//! | `archived_since` | writes that were archived since a timeline was listed |
//! | `compacted_logs` | log files that compactions skipped |
//! | `range` | the range of an incremental query |
//! | `read_position` | how far a reader of commits has come |
//! | `write_operation`, `operations` | the operation of a commit, and what follows from it |
//! | `positions` | positions between the writes of a timeline |
//! | `hollow_commits` | pending writes in a range that later ones have overtaken |
//! | `writes_in_range` | the writes of a range, active and archived |
//! | `time_travel` | validation of time-travel instants |
//! | `savepoint` | the files that a savepoint keeps |
//! | `removed_since` | files that cleans and rollbacks have removed since a timeline was listed |
//! | `instant_filter` | selection of log blocks by instant |
//! | `written_ranges` | the bytes of files that completed writes wrote |

mod archive_files;
mod archived;
mod archived_action;
mod archived_since;
mod archived_v1;
mod avro_value;
mod commit_metadata;
mod compacted_logs;
mod history_v2;
mod hollow_commits;
mod instant;
mod instant_filter;
mod instant_kind;
mod layout_v1;
mod layout_v2;
mod load;
#[cfg(any(test, feature = "testing"))]
mod memory_storage;
pub mod metadata;
mod metadata_files;
#[cfg(any(test, feature = "testing"))]
mod named_timeline;
mod operations;
mod positions;
mod range;
mod read_position;
mod removed_since;
mod savepoint;
mod service_plans;
mod time_travel;
#[expect(clippy::module_inception, reason = "the module's main type has its name")]
mod timeline;
mod write_operation;
mod writes_in_range;
mod written_ranges;

pub use archive_files::{HistoryFile, history_batches, history_files, manifest_files};
pub use archived_action::ArchivedAction;
pub use commit_metadata::{CommitMetadata, MetadataPart, WriteStat};
pub use hollow_commits::HollowCommitPolicy;
pub use instant::{Action, Instant, InstantState};
pub use instant_filter::InstantFilter;
pub use metadata_files::{PendingCompaction, ReplacedFileGroup};
pub use range::{TimelineRange, WriteVisitor};
pub use read_position::ReadPosition;
pub use removed_since::RemovedFiles;
pub use service_plans::CompactionOperation;
pub use timeline::{CompletionStatus, Timeline};
pub use write_operation::WriteOperation;
pub use written_ranges::{WrittenRange, WrittenRanges};

#[cfg(any(test, feature = "testing"))]
pub use memory_storage::MemoryStorage;
#[cfg(any(test, feature = "testing"))]
pub use named_timeline::timeline;
