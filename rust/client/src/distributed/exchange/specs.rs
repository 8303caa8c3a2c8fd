//! What a stage does, as the driver describes it to its tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::metadata_upkeep::{IndexedFile, IndexedGroup};
use mortice_services::PlannedClustering;
use mortice_services::verify::KeyComparison;
use mortice_table::file_group::FileSlice;
use mortice_write::assign::TaskKind;
use mortice_write::write::LogNaming;

/// The most partitions of a data frame: memory is allocated for each. Spark itself becomes unusable before.
const MOST_PARTITIONS: u32 = 1_000_000;

/// One stage of a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum StageSpec {
    /// Rows of the user become prepared rows.
    Prepare(PrepareSpec),
    /// Prepared rows are distributed by their keys.
    Split(Slots),
    /// Keys of base files are read and distributed.
    ReadKeys(ReadKeysSpec),
    /// Rows of the same keys are combined, and their file groups are found.
    Tag(TagSpec),
    /// The stored rows of keys are read and distributed.
    ReadRows(ReadRowsSpec),
    /// Rows are merged with the stored rows of their keys.
    Move(Slots),
    /// Rows are distributed to the tasks that write them.
    Route(RouteSpec),
    /// Rows are written.
    Write(WriteSpec),
    /// Rows of the user are written to new file groups by the task that has them.
    Insert(InsertSpec),
    /// The plan of a service is executed.
    Service(ServiceSpec),
}

impl StageSpec {
    /// Checks what memory is allocated for, as the bytes of a stage may come from anywhere.
    pub(crate) fn check(&self) -> Result<()> {
        let partitions = match self {
            Self::Split(slots) | Self::Move(slots) => slots.count,
            Self::ReadKeys(spec) => spec.slots.count,
            Self::Tag(spec) => spec.moves.as_ref().map_or(1, |slots| slots.count),
            Self::ReadRows(spec) => spec.slots.count,
            Self::Route(spec) => spec.partitions.max(spec.partition_of_task.iter().copied().max().unwrap_or(0)),
            Self::Prepare(_) | Self::Write(_) | Self::Insert(_) | Self::Service(_) => 1,
        };
        check_partitions(partitions)
    }
}

/// Refuses an impossible number of partitions of a data frame.
pub(crate) fn check_partitions(partitions: u32) -> Result<()> {
    if partitions > MOST_PARTITIONS {
        let message = format!("a stage of {partitions} partitions, expected at most {MOST_PARTITIONS}");
        return Err(Error::invalid_argument(message));
    }
    Ok(())
}

/// Slots of keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slots {
    /// How many there are; as many as partitions of the data frame.
    pub(crate) count: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrepareSpec {
    /// Whether no key is looked up: rows are all new, and need not be combined with others of their keys.
    pub(crate) is_direct: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadKeysSpec {
    pub(crate) slots: Slots,
    /// Slices with base files.
    pub(crate) slices: Vec<FileSlice>,
    /// Of each task, the slices that it reads.
    pub(crate) tasks: Vec<Vec<u32>>,
}

/// How a slot's rows are tagged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum TagBy {
    /// By keys of base files, which come with the rows. The file groups, in the order of their numbers.
    StoredKeys,
    /// By buckets: the latest slices.
    Buckets(Vec<FileSlice>),
    /// In the record index, and by the keys of base files that come with the rows, if there are any.
    RecordIndex,
    /// Not at all: all rows are new.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TagSpec {
    pub(crate) by: TagBy,
    /// Whether rows may be merged with stored ones before they are placed. Then tagged rows and the keys to read are
    /// sent on.
    pub(crate) moves: Option<Slots>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadRowsSpec {
    pub(crate) slots: Slots,
    /// The slices that have rows of the keys, in the order in which rows of a key count.
    pub(crate) slices: Vec<FileSlice>,
}

/// Where the rows of one source go.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceRoutes {
    /// Of each file group of the source, its task.
    pub(crate) groups: Vec<u32>,
    /// Of each class of new rows: the ends of ranges of their numbers, and their tasks.
    pub(crate) inserts: Vec<Vec<(u64, u32)>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteSpec {
    pub(crate) sources: BTreeMap<u32, SourceRoutes>,
    /// Of each task, the partition of the data frame that runs it.
    pub(crate) partition_of_task: Vec<u32>,
    /// Partitions of the data frame.
    pub(crate) partitions: u32,
}

/// A task without its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskSpec {
    pub(crate) partition: String,
    pub(crate) kind: TaskKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteSpec {
    pub(crate) tasks: Vec<TaskSpec>,
    /// Whether the commit needs the Bloom filters of files, which are large.
    pub(crate) keeps_blooms: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InsertSpec {
    /// Metadata of the user's own for the commit.
    pub(crate) user_metadata: BTreeMap<String, String>,
}

/// The parts of a service's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum ServiceParts {
    /// File slices that are compacted.
    Compact(Vec<FileSlice>),
    /// File slices whose logs are compacted, with the names of their new log files.
    LogCompact(Vec<(FileSlice, LogNaming)>),
    /// Groups of file slices that are clustered.
    Cluster(PlannedClustering),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSpec {
    pub(crate) parts: ServiceParts,
    /// Of each task, the parts that it executes.
    pub(crate) tasks: Vec<Vec<u32>>,
    /// Whether the commit needs the Bloom filters of files, which are large.
    pub(crate) keeps_blooms: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadPlacesSpec {
    pub(crate) slots: Slots,
    /// The slices whose rows have keys.
    pub(crate) slices: Vec<FileSlice>,
    /// Of each task, the slices that it reads; numbers after those of the slices are parts of the record index.
    pub(crate) tasks: Vec<Vec<u32>>,
    /// Into how many parts the record index is divided.
    pub(crate) index_parts: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareKeysSpec {
    /// Partitions and ids of the file groups, in the order of their numbers.
    pub(crate) groups: Vec<(String, String)>,
    pub(crate) compared: KeyComparison,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IndexPartsSpec {
    pub(crate) part: IndexPart,
    /// Of each task, the slices or files that it reads.
    pub(crate) tasks: Vec<Vec<u32>>,
}

/// What is read for indexes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum IndexPart {
    /// The number of keys of each slice.
    KeyCounts(Vec<FileSlice>),
    /// The ranges of these columns in each file.
    ColumnRanges(Vec<IndexedFile>, Vec<String>),
    /// A Bloom filter of the keys of each file.
    BloomFilters(Vec<IndexedFile>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadIndexKeysSpec {
    /// As many as file groups.
    pub(crate) slots: Slots,
    pub(crate) slices: Vec<FileSlice>,
    /// Of each task, the slices that it reads.
    pub(crate) tasks: Vec<Vec<u32>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteIndexSpec {
    /// What the index says of the slices, in their order.
    pub(crate) groups: Vec<IndexedGroup>,
    /// The init instant.
    pub(crate) instant: RequestedTime,
    /// The name of the open mark.
    pub(crate) mark: String,
}
