//! What tasks report to the driver.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::received_keys::Received;
use super::slots::RowSum;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::metadata_upkeep::BloomText;
use mortice_services::verify::KeyFindings;
use mortice_write::write::{ColumnRange, WriteStatus};

/// The report of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ReadReport {
    /// Rows were prepared.
    Prepared(PreparedReport),
    /// A slot's rows were tagged, and wait for stored rows.
    Tagged(TaggedReport),
    /// Rows of a slot, or of a task that prepares them, have their places.
    Placed(PlacedReport),
    /// A task's rows were written.
    Written(WrittenReport),
    /// A part of a service's plan was executed.
    PartResult(Box<PartReport>),
    /// The keys of a slot were compared.
    KeysCompared(Box<KeysReport>),
    /// A part of an index was read.
    IndexPart(IndexPartReport),
    /// The base file of a file group of a record index was written.
    IndexWritten(Box<IndexFileReport>),
    /// A task failed, and would again.
    Failed(FailureReport),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreparedReport {
    pub(super) rows: RowSum,
    pub(super) bytes: u64,
    pub(super) partitions: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaggedReport {
    pub(super) slot: u32,
    /// Rows that the slot got.
    pub(super) taken: RowSum,
    /// Rows that are sent on.
    pub(super) sent: RowSum,
    /// The partitions of the file groups that the rows are tagged with.
    pub(super) partitions: BTreeSet<String>,
    /// The file groups whose stored rows are wanted.
    pub(super) wanted: BTreeSet<(String, String)>,
}

/// Rows of a file group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupCount {
    pub(super) partition: String,
    pub(super) file_id: String,
    /// Rows, each as often as its key is in the base file.
    pub(super) placed: u64,
    /// Rows, each once.
    pub(super) once: u64,
    /// Those that are no deletes.
    pub(super) live: u64,
}

/// New rows that may go to the same file groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassCount {
    pub(super) partition: String,
    pub(super) bucket: Option<u32>,
    pub(super) rows: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlacedReport {
    pub(super) source: u32,
    /// Rows that the task got.
    pub(super) taken: RowSum,
    /// Rows that have a place, each as often as it is written at most.
    pub(super) placed: RowSum,
    pub(super) bytes: u64,
    pub(super) groups: Vec<GroupCount>,
    pub(super) classes: Vec<ClassCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenReport {
    pub(super) task: u32,
    pub(super) rows: RowSum,
    pub(super) statuses: Vec<WriteStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartReport {
    /// The part's number in the plan.
    pub(super) part: u32,
    /// Its new files, of which there may be none.
    pub(super) statuses: Vec<WriteStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeysReport {
    pub(super) received: Received,
    pub(super) findings: KeyFindings,
}

/// What was read of a slice, or of a file with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum IndexPartReport {
    KeyCount(u64),
    ColumnRanges(u32, Vec<ColumnRange>),
    BloomFilter(u32, BloomText),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IndexFileReport {
    pub(super) file_group: u32,
    pub(super) received: Received,
    /// The base file; none of a file group without keys.
    pub(super) statuses: Vec<WriteStatus>,
}

/// An error as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureReport {
    code: String,
    message: String,
    path: Option<String>,
    offset: Option<u64>,
    block: Option<u64>,
    instant: Option<String>,
}

/// Errors of the rows, the options or the table: another attempt would end in the same way.
const LASTING: [ErrorKind; 4] =
    [ErrorKind::InvalidArgument, ErrorKind::Unsupported, ErrorKind::InvalidTable, ErrorKind::Internal];

impl FailureReport {
    /// The error as a value, if another attempt of the task would fail alike.
    pub(super) fn of_lasting(error: &Error) -> Option<Self> {
        let place = error.location();
        LASTING.contains(&error.kind()).then(|| Self {
            code: error.kind().code().to_owned(),
            message: error.text(),
            path: place.path.clone(),
            offset: place.offset,
            block: place.block,
            instant: place.instant.clone(),
        })
    }

    /// The error.
    pub(super) fn into_error(self) -> Error {
        let kind = LASTING.into_iter().find(|kind| kind.code() == self.code).unwrap_or(ErrorKind::Internal);
        let mut error = Error::new(kind, self.message);
        if let Some(path) = &self.path {
            error = error.in_file(path);
        }
        if let Some(offset) = self.offset {
            error = error.at_offset(offset);
        }
        if let Some(block) = self.block {
            error = error.in_block(block);
        }
        if let Some(instant) = &self.instant {
            error = error.at_instant(instant);
        }
        error
    }
}

impl ReadReport {
    /// The serialised form.
    ///
    /// # Errors
    /// `Internal` if the values cannot be serialised.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self)
            .map_err(|error| Error::internal("the report of a task cannot be serialised").caused_by(error))
    }

    /// Reads reports; the error of one that failed.
    ///
    /// # Errors
    /// `InvalidArgument` for other bytes; the first error that a task reports.
    pub(super) fn read_all(reports: &[Vec<u8>]) -> Result<Vec<Self>> {
        let read = |bytes: &Vec<u8>| {
            let unreadable = "the report of a task cannot be read: install the same release of mortice on the driver and on all executors";
            let report =
                serde_json::from_slice(bytes).map_err(|error| Error::invalid_argument(unreadable).caused_by(error))?;
            match report {
                Self::Failed(failure) => Err(failure.into_error()),
                report => Ok(report),
            }
        };
        reports.iter().map(read).collect()
    }
}
