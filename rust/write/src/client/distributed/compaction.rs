//! The driver's part of compactions whose slices are merged in other processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::driver::mark_of;
use super::packing::{bin_count, bins_of};
use super::reports::ReadReport;
use super::specs::{CompactSpec, LogCompactSpec, StageSpec};
use super::state::WriteState;
use crate::maintenance::compaction::{Compaction, log_slices_of, open_table, pending, schedule, slices_of};
use crate::metadata_upkeep::keeps_blooms;
use crate::rows::WriteSchema;
use crate::transaction::{CommitExtra, Committed, Transaction, begin_service};
use crate::writable_table::{TableLocation, WritableTable};
use crate::write::{LogCompactHandle, WriteStatus};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::PinnedTable;

/// A compaction that was asked for is due at once, unless options say after how many delta commits.
const COMMITS: Option<u64> = Some(0);
/// Bytes that one task reads, if there are enough slices.
const TASK_BYTES: u64 = 256 << 20;

/// What logs are merged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionTarget {
    /// Base files.
    BaseFiles,
    /// Log files: a log compaction.
    LogFiles,
}

impl CompactionTarget {
    /// What messages call the service.
    const fn service(self) -> &'static str {
        match self {
            Self::BaseFiles => "compact",
            Self::LogFiles => "log_compact",
        }
    }

    const fn kind(self) -> Compaction {
        match self {
            Self::BaseFiles => Compaction::IntoBaseFiles { commits: COMMITS },
            Self::LogFiles => Compaction::IntoLogs,
        }
    }
}

/// What tasks do: the stage, and the number of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactStep {
    /// The stage, for all tasks.
    pub stage: Vec<u8>,
    /// Tasks.
    pub tasks: u32,
}

/// A compaction under way.
struct Running {
    transaction: Transaction,
    slices: usize,
    schema: String,
}

/// Compactions of a table, one after the other.
pub struct DistributedCompaction {
    target: Arc<WritableTable>,
    into: CompactionTarget,
    parallelism: u32,
    waiting: Vec<RequestedTime>,
    running: Option<Running>,
}

impl DistributedCompaction {
    /// Checks the table and the options. Nothing is changed.
    ///
    /// # Errors
    /// As for [`crate::client::compact`] and [`crate::client::log_compact`].
    pub fn open(
        location: &TableLocation,
        options: &BTreeMap<String, String>,
        into: CompactionTarget,
        parallelism: u32,
    ) -> Result<Self> {
        let target = open_table(location, options, into.service())?;
        if into == CompactionTarget::LogFiles {
            LogCompactHandle::check(&target.latest()).map_err(|error| error.in_file(location.uri()))?;
        }
        Ok(Self { target, into, parallelism, waiting: Vec::new(), running: None })
    }

    /// Sentences on options that have no effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.target.warnings()
    }

    /// Plans a compaction, if one is due, and returns its requested time.
    ///
    /// # Errors
    /// As for [`crate::client::compact`] and [`crate::client::log_compact`].
    pub fn schedule(&self) -> Result<Option<RequestedTime>> {
        schedule(&self.target, self.into.kind())
    }

    /// Looks for the compactions that are pending. Returns how many there are. Log compactions that a later compaction has overtaken
    /// are rolled back.
    ///
    /// # Errors
    /// Those of reading the timeline; as for [`pending`].
    pub fn find_pending(&mut self) -> Result<usize> {
        self.waiting = pending(&self.target, self.into.kind())?;
        self.waiting.reverse();
        Ok(self.waiting.len())
    }

    /// Begins the next pending compaction that no other process executes; none after the last.
    ///
    /// # Errors
    /// As for [`begin_service`], [`slices_of`] and [`log_slices_of`]; the compaction stays pending.
    pub fn begin_next(&mut self) -> Result<Option<CompactStep>> {
        while let Some(instant) = self.waiting.pop() {
            let Some(transaction) = begin_service(&self.target, self.into.kind().operation(), &instant)? else {
                continue;
            };
            let step = self.step_of(&transaction);
            let (transaction, (step, slices, schema)) = transaction.or_abort(step)?;
            self.running = Some(Running { transaction, slices, schema });
            return Ok(Some(step));
        }
        Ok(None)
    }

    fn step_of(&self, transaction: &Transaction) -> Result<(CompactStep, usize, String)> {
        let table = transaction.table();
        let (spec, tasks, count) = match self.into {
            CompactionTarget::BaseFiles => {
                let slices = slices_of(transaction)?;
                let (tasks, count) = (self.slices_by_task(slices.iter()), slices.len());
                let keeps_blooms = keeps_blooms(&table.config);
                let number = tasks.len();
                (StageSpec::Compact(CompactSpec { slices, tasks, keeps_blooms }), number, count)
            }
            CompactionTarget::LogFiles => {
                let slices = log_slices_of(transaction)?;
                let (tasks, count) = (self.slices_by_task(slices.iter().map(|(slice, _)| slice)), slices.len());
                let number = tasks.len();
                (StageSpec::LogCompact(LogCompactSpec { slices, tasks }), number, count)
            }
        };
        let schema = WriteSchema::of_table(table)?.columns.json().to_owned();
        mark_of(transaction).open()?;
        let number = u32::try_from(tasks).map_err(|_| Error::internal("4 billion tasks"))?;
        let state = WriteState {
            table: PinnedTable::new(table),
            operation: self.into.kind().operation(),
            options: self.target.options().clone(),
            instant: Some(transaction.instant().clone()),
            schema: schema.clone(),
            updated: Vec::new(),
        };
        let stage = state.to_bytes(spec)?;
        Ok((CompactStep { stage, tasks: number }, count, schema))
    }

    /// The slices of each task.
    fn slices_by_task<'a>(&self, slices: impl Iterator<Item = &'a FileSlice>) -> Vec<Vec<u32>> {
        let costs: Vec<u64> = slices.map(FileSlice::total_len).collect();
        let total = costs.iter().fold(0_u64, |sum, cost| sum.saturating_add(*cost));
        let bins = bin_count(total, TASK_BYTES, self.parallelism, costs.len());
        let mut tasks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (slice, bin) in (0..).zip(bins_of(&costs, bins)) {
            tasks.entry(bin).or_default().push(slice);
        }
        tasks.into_values().collect()
    }

    /// Completes the compaction that was begun, given the reports of its tasks.
    ///
    /// # Errors
    /// What tasks have reported as errors; those of [`Transaction::commit`]. The compaction stays pending then, without its files, unless
    /// the message says otherwise.
    pub fn commit(&mut self, reports: &[Vec<u8>]) -> Result<Committed> {
        let Running { transaction, slices, schema } =
            self.running.take().ok_or_else(|| Error::internal("a compaction that has not begun"))?;
        let statuses = statuses(reports, slices).and_then(|statuses| {
            mark_of(&transaction).close()?;
            Ok(statuses)
        });
        let (transaction, statuses) = transaction.or_abort(statuses)?;
        transaction.commit(statuses, &CommitExtra { schema, ..CommitExtra::default() })
    }

    /// Undoes the execution of the compaction that was begun, which stays pending.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that.
    pub fn abort(&mut self, reason: &Error) -> Result<()> {
        self.waiting.clear();
        self.running.take().map_or(Ok(()), |running| running.transaction.abort(reason))
    }
}

/// The statuses of so many slices: one report of each.
fn statuses(reports: &[Vec<u8>], slices: usize) -> Result<Vec<WriteStatus>> {
    let mut statuses: BTreeMap<u32, Vec<WriteStatus>> = BTreeMap::new();
    for report in ReadReport::read_all(reports)? {
        let ReadReport::CompactionResult(report) = report else {
            return Err(Error::internal("another report than that of a compacted slice"));
        };
        if statuses.insert(report.slice, report.statuses).is_some() {
            return Err(Error::internal(format!("slice {} was compacted twice", report.slice)));
        }
    }
    let is_last = statuses.keys().next_back().is_none_or(|last| usize::try_from(*last).is_ok_and(|last| last < slices));
    if statuses.len() != slices || !is_last {
        return Err(Error::internal(format!("{} of {slices} slices were compacted", statuses.len())));
    }
    Ok(statuses.into_values().flatten().collect())
}
