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
pub(crate) enum ReadReport {
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
pub(crate) struct PreparedReport {
    pub(crate) rows: RowSum,
    pub(crate) bytes: u64,
    pub(crate) partitions: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaggedReport {
    pub(crate) slot: u32,
    /// Rows that the slot got.
    pub(crate) taken: RowSum,
    /// Rows that are sent on.
    pub(crate) sent: RowSum,
    /// The partitions of the file groups that the rows are tagged with.
    pub(crate) partitions: BTreeSet<String>,
    /// The file groups whose stored rows are wanted.
    pub(crate) wanted: BTreeSet<(String, String)>,
}

/// Rows of a file group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupCount {
    pub(crate) partition: String,
    pub(crate) file_id: String,
    /// Rows, each as often as its key is in the base file.
    pub(crate) placed: u64,
    /// Rows, each once.
    pub(crate) once: u64,
    /// Those that are no deletes.
    pub(crate) live: u64,
}

/// New rows that may go to the same file groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassCount {
    pub(crate) partition: String,
    pub(crate) bucket: Option<u32>,
    pub(crate) rows: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlacedReport {
    pub(crate) source: u32,
    /// Rows that the task got.
    pub(crate) taken: RowSum,
    /// Rows that have a place, each as often as it is written at most.
    pub(crate) placed: RowSum,
    pub(crate) bytes: u64,
    pub(crate) groups: Vec<GroupCount>,
    pub(crate) classes: Vec<ClassCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenReport {
    pub(crate) task: u32,
    pub(crate) rows: RowSum,
    pub(crate) statuses: Vec<WriteStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartReport {
    /// The part's number in the plan.
    pub(crate) part: u32,
    /// Its new files, of which there may be none.
    pub(crate) statuses: Vec<WriteStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysReport {
    pub(crate) received: Received,
    pub(crate) findings: KeyFindings,
}

/// What was read of a slice, or of a file with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum IndexPartReport {
    KeyCount(u64),
    ColumnRanges(u32, Vec<ColumnRange>),
    BloomFilter(u32, BloomText),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IndexFileReport {
    pub(crate) file_group: u32,
    pub(crate) received: Received,
    /// The base file; none of a file group without keys.
    pub(crate) statuses: Vec<WriteStatus>,
}

/// An error as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureReport {
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
    pub(crate) fn of_lasting(error: &Error) -> Option<Self> {
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
    pub(crate) fn into_error(self) -> Error {
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
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self)
            .map_err(|error| Error::internal("the report of a task cannot be serialised").caused_by(error))
    }

    /// Reads reports; the error of one that failed.
    pub(crate) fn read_all(reports: &[Vec<u8>]) -> Result<Vec<Self>> {
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
