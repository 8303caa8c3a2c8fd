//! One write: begin, inflight, commit or abort. The order of the file operations is described in
//! `docs/write-protocol.md`.
//!
//! | file | job |
//! |---|---|
//! | `begin` | failed writes of others, the metadata table, the requested instant |
//! | `complete` | markers, conflicts, metadata table, the completed instant; what is removed after it |
//! | `place` | whether the instant is still this writer's, just before and after it is completed |
//! | `undo` | the rollback of a write that failed |
//! | `recorded_store` | which data files the write has begun |
//! | `service` | plans of table services, and the beginning of their execution |
//! | `new_keys` | keys that others have inserted, too |
//! | `preview` | the table as the write would leave it |
//! | `write_result` | what a write did |
//! | `commit_metadata` | what is written into the completed instant |

mod begin;
mod claims;
mod column_ids;
mod commit_metadata;
mod complete;
#[cfg(any(test, feature = "testing"))]
pub mod later_clean;
mod new_keys;
mod place;
mod preview;
mod recorded_store;
mod service;
mod undo;
mod write_result;

pub use column_ids::ColumnIds;
pub use service::begin_service;
pub use service::give_up;
pub(crate) use service::{ExecutePlan, MakePlan, change_metadata, schedule, schedule_and_begin};

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use recorded_store::DataStore;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_commit::commit::{Clock, CommitValidator, Heartbeat, TimelineWriter};
use mortice_commit::writable_table::WritableTable;
use mortice_storage::{FileStore, PutOutcome};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::HoodieCommitMetadata;
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::WriteStatus;

/// A write under way. Its instant is on the timeline, and pending.
///
/// A transaction that is dropped stays pending; the next write rolls it back.
pub struct Transaction {
    target: Arc<WritableTable>,
    data: DataStore,
    clock: Clock,
    files: TimelineWriter,
    table: Arc<OpenTable>,
    operation: WriteOperation,
    action: Action,
    instant: RequestedTime,
    heartbeat: Option<Heartbeat>,
    /// Whether it has begun to write to the metadata table.
    is_in_metadata: bool,
}

/// What a commit has besides its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitExtra {
    /// The schema of the rows, Avro JSON without meta columns.
    pub schema: String,
    /// Metadata of the user's own: checkpoints.
    pub user_metadata: BTreeMap<String, String>,
    /// The file groups that the write replaces, by partition.
    pub replaced: BTreeMap<String, Vec<String>>,
    /// The columns with their ids, if the write changes them; none: they stay as they are.
    pub column_ids: Option<ColumnIds>,
}

/// A write that is part of the table.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Its requested time.
    pub instant: RequestedTime,
    /// When it was completed; none up to table version 7.
    pub completion_time: Option<CompletionTime>,
    /// What it did.
    pub operation: WriteOperation,
    /// What is in the completed instant, apart from replaced file groups.
    pub metadata: HoodieCommitMetadata,
    /// Its files.
    pub statuses: Vec<WriteStatus>,
}

impl Transaction {
    /// The table as it was when the write began: what is looked up in it is what conflicts are checked against.
    #[must_use]
    pub fn table(&self) -> &Arc<OpenTable> {
        &self.table
    }

    /// The table's root, for writing.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn FileStore> {
        self.data.store()
    }

    /// The requested time.
    #[must_use]
    pub fn instant(&self) -> &RequestedTime {
        &self.instant
    }

    /// The write with a check of the table before it is completed.
    pub fn with_validator(mut self, validator: Option<Arc<dyn CommitValidator>>) -> Self {
        self.target = Arc::new(WritableTable::clone(&self.target).with_validator(validator));
        self
    }

    /// The table that is written to.
    pub fn target(&self) -> &Arc<WritableTable> {
        &self.target
    }

    /// What the write does.
    #[must_use]
    pub fn operation(&self) -> WriteOperation {
        self.operation
    }

    /// Puts the inflight instant on the timeline, with the workload profile: what is about to be written. Before the
    /// first data file.
    ///
    /// # Errors
    /// Those of the storage: abort the write then.
    pub fn inflight(&mut self, profile: &HoodieCommitMetadata) -> Result<()> {
        let content = self.files.commit_content(profile)?;
        self.start(&content)
    }

    /// The same without a profile, as Hudi's bulk inserts do: their rows are not counted before they are written.
    ///
    /// # Errors
    /// Those of the storage: abort the write then.
    pub fn inflight_without_profile(&mut self) -> Result<()> {
        self.start(&Bytes::new())
    }

    /// Whether it executes a plan, which stays on the timeline if it fails.
    fn is_service(&self) -> bool {
        matches!(self.operation, WriteOperation::Compact | WriteOperation::LogCompact | WriteOperation::Cluster)
    }

    fn start(&self, content: &Bytes) -> Result<()> {
        match self.files.start(&self.instant, self.action, content)? {
            PutOutcome::Written(_) => self.confirm_inflight(),
            PutOutcome::Refused => {
                let message = "the write is inflight already: another writer has the same instant, so that the table has several \
                               writers without a lock";
                Err(Error::new(ErrorKind::AlreadyExists, message).at_instant(&self.instant))
            }
        }
    }
}

pub use write_result::WriteResult;

#[cfg(test)]
mod tests;
