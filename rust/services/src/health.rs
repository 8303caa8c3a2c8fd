//! The health of a table: what slows its queries down, what is pending, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::needs::grouped;
use mortice_base::error::{Error, Result};
use mortice_commit::commit::epoch_millis;
use mortice_formats::filter::Filter;
use mortice_merge::config::{ReadOptions, WriteOptions, option_names};
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table;
use mortice_table::plan::{ListedSlices, OpenTable};
use mortice_table::timeline::{Action, Instant, InstantState};

const STALE_MILLIS: i64 = 3_600_000;

/// The health of a table.
#[derive(Debug)]
pub struct Health {
    /// When it was determined: ISO 8601, in UTC.
    pub at: String,
    /// The number of partitions.
    pub partitions: usize,
    /// The number of file groups that queries read.
    pub file_groups: usize,
    /// Their base files.
    pub base_files: FileCount,
    /// The log files that queries merge.
    pub log_files: FileCount,
    /// The file groups that have log files, those with the most bytes of logs first.
    pub debt: Vec<GroupDebt>,
    /// Base files below Hudi's limit for small files, in partitions that have several of them: a partition's only one
    /// cannot be made larger by joining it with others.
    pub small_files: FileCount,
    /// The number of completed writes since the last compaction.
    pub writes_since_compaction: usize,
    /// The last completed instant of each kind: `write`, `compaction`, `clustering`, or an action of Hudi.
    pub last: BTreeMap<&'static str, Instant>,
    /// The last instant that was archived.
    pub archived_until: Option<Instant>,
    /// What has not completed.
    pub pending: Vec<PendingInstant>,
    /// The metadata table; none if the table has none.
    pub metadata: Option<MetadataHealth>,
}

/// Files and their size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCount {
    /// How many there are.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
}

/// What a query of a file group reads besides its base file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDebt {
    /// The partition path.
    pub partition: String,
    /// The id of the file group.
    pub file_id: String,
    /// The size of its base file; 0 without one.
    pub base_bytes: u64,
    /// The log files that a query merges.
    pub log_files: FileCount,
}

/// An instant that has not completed.
#[derive(Debug, Clone)]
pub struct PendingInstant {
    /// The instant.
    pub instant: Instant,
    /// How long ago it was requested; none if its time is not one of the calendar.
    pub age_millis: Option<i64>,
    /// Whether its writer is probably dead: plans of services may stay pending as long as anyone likes.
    pub is_stale: bool,
}

/// The state of the metadata table.
#[derive(Debug)]
pub struct MetadataHealth {
    /// What it indexes.
    pub partitions: Vec<String>,
    /// Whether queries list files by it.
    pub is_used: bool,
    /// How queries list files, and why.
    pub listing: String,
    /// Its base files.
    pub base_files: FileCount,
    /// Its log files.
    pub log_files: FileCount,
    /// Why it cannot be read.
    pub problem: Option<Error>,
}

/// Returns the health of a table, in the state in which it was opened, at a time. No data is read.
///
/// # Errors
/// Those of listing files and of reading the timeline.
pub fn health(table: &Arc<OpenTable>, now: DateTime<Utc>) -> Result<Health> {
    let listed = table.snapshot_slices()?;
    let slices = &listed.slices;
    let instants = Instants::from_table(table, now.timestamp_millis())?;
    let metadata = metadata_of(table, &listed);
    let archived = table.timeline.archived()?.iter().filter(|one| one.is_completed());
    Ok(Health {
        at: now.format("%Y-%m-%dT%H:%M:%S+00:00").to_string(),
        partitions: slices.iter().map(|slice| &slice.partition).collect::<BTreeSet<_>>().len(),
        file_groups: slices.len(),
        base_files: base_files(slices),
        log_files: log_files(slices),
        debt: debt_of(slices),
        small_files: small_files(slices)?,
        writes_since_compaction: instants.writes_since_compaction,
        last: instants.last,
        archived_until: archived.max_by(|one, other| one.requested_time.cmp(&other.requested_time)).cloned(),
        pending: instants.pending,
        metadata,
    })
}

impl FileCount {
    fn from_sizes(sizes: impl Iterator<Item = u64>) -> Self {
        sizes.fold(Self::default(), |sum, size| Self {
            files: sum.files.saturating_add(1),
            bytes: sum.bytes.saturating_add(size),
        })
    }
}

fn base_files(slices: &[FileSlice]) -> FileCount {
    FileCount::from_sizes(slices.iter().filter_map(|slice| slice.base_file.as_ref()).map(|base| base.len))
}

fn log_files(slices: &[FileSlice]) -> FileCount {
    FileCount::from_sizes(slices.iter().flat_map(|slice| &slice.log_files).map(|log| log.len))
}

fn debt_of(slices: &[FileSlice]) -> Vec<GroupDebt> {
    let with_logs = slices.iter().filter(|slice| !slice.log_files.is_empty());
    let mut found: Vec<_> = with_logs
        .map(|slice| GroupDebt {
            partition: slice.partition.clone(),
            file_id: slice.file_id.clone(),
            base_bytes: slice.base_file.as_ref().map_or(0, |base| base.len),
            log_files: log_files(std::slice::from_ref(slice)),
        })
        .collect();
    found.sort_by(|one, other| {
        let bytes = other.log_files.bytes.cmp(&one.log_files.bytes);
        bytes.then_with(|| (&one.partition, &one.file_id).cmp(&(&other.partition, &other.file_id)))
    });
    found
}

fn small_files(slices: &[FileSlice]) -> Result<FileCount> {
    let limit = WriteOptions::default().integer::<u64>(option_names::PARQUET_SMALL_FILE_LIMIT)?;
    let mut by_partition: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for slice in slices {
        if let Some(base) = slice.base_file.as_ref().filter(|base| base.len < limit) {
            by_partition.entry(&slice.partition).or_default().push(base.len);
        }
    }
    Ok(FileCount::from_sizes(by_partition.into_values().filter(|sizes| sizes.len() > 1).flatten()))
}

/// The instants of the active timeline.
#[derive(Default)]
struct Instants {
    last: BTreeMap<&'static str, Instant>,
    writes_since_compaction: usize,
    pending: Vec<PendingInstant>,
}

impl Instants {
    fn from_table(table: &OpenTable, now_millis: i64) -> Result<Self> {
        let mut found = Self::default();
        for instant in table.timeline.instants() {
            if !instant.is_completed() {
                found.pending.push(pending(table, instant, now_millis));
                continue;
            }
            let kind = table.timeline.kind_of(instant, table.config.table_type)?;
            match kind {
                "compaction" => found.writes_since_compaction = 0,
                "write" => found.writes_since_compaction = found.writes_since_compaction.saturating_add(1),
                _ => {}
            }
            found.last.insert(kind, instant.clone());
        }
        Ok(found)
    }
}

fn pending(table: &OpenTable, instant: &Instant, now_millis: i64) -> PendingInstant {
    let requested = epoch_millis(instant.requested_time.as_str(), table.config.timeline_zone);
    let age_millis = requested.map(|requested| now_millis.saturating_sub(requested));
    let is_plan = matches!(instant.action, Action::Compaction | Action::LogCompaction | Action::Clustering)
        && instant.state == InstantState::Requested;
    let is_stale = !is_plan && age_millis.is_some_and(|age| age > STALE_MILLIS);
    PendingInstant { instant: instant.clone(), age_millis, is_stale }
}

impl PendingInstant {
    /// What is wrong if it is stale, in words.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if !self.is_stale {
            return None;
        }
        // Tenths of an hour.
        let tenths = self.age_millis.unwrap_or_default().saturating_add(180_000) / 360_000;
        let hours = grouped(tenths / 10);
        Some(format!(
            "{} {} has been pending for {hours}.{} hours: if its writer is dead, the next write, or rollback, undoes it",
            self.instant.action.name(),
            self.instant.requested_time,
            tenths % 10
        ))
    }
}

fn metadata_of(table: &OpenTable, listed: &ListedSlices) -> Option<MetadataHealth> {
    let named = table.config.properties.get("hoodie.table.metadata.partitions").unwrap_or_default();
    let mut partitions: Vec<String> = named.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    partitions.sort();
    if partitions.is_empty() {
        return None;
    }
    let slices = OpenTable::open(&metadata_table::uri_of(&table.uri), &table.storage_options, ReadOptions::default())
        .and_then(|opened| opened.file_slices(None, &Filter::default()));
    let (slices, problem) = match slices {
        Ok(slices) => (slices, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    Some(MetadataHealth {
        partitions,
        is_used: listed.is_by_metadata,
        listing: listed.listing.clone(),
        base_files: base_files(&slices),
        log_files: log_files(&slices),
        problem,
    })
}

impl MetadataHealth {
    /// What is wrong if queries do not use it, in words; `shown` shows an error.
    ///
    /// # Errors
    /// Those of `shown`.
    pub fn unused<E>(
        &self,
        shown: impl FnOnce(&Error) -> std::result::Result<String, E>,
    ) -> std::result::Result<Option<String>, E> {
        let reason = match &self.problem {
            Some(error) => shown(error)?,
            None if self.is_used => return Ok(None),
            None => format!("files are listed from {}", self.listing),
        };
        Ok(Some(format!("the metadata table is not used: {reason}; build_metadata(rebuild=True) builds it again")))
    }
}
