//! Log files of older slices that a writer added after it was rolled back, up to table version 7.
//!
//! Readers skip blocks of an instant that is not on the timeline until it is before the start of the active timeline.
//! Then they take them for committed, so that nothing of them may stay.
//!
//! | the log file | what is done |
//! |---|---|
//! | has blocks of the instant only | it is deleted: mortice appends to no log file, so that it is the writer's alone |
//! | the same, and a pending table service is to read it | a rollback block is appended to the slice: without a file of its plan the service would fail |
//! | a later log of the slice rolls the instant back | nothing: a rollback has listed it in the metadata table |
//! | has other blocks, too, or damaged ones | a rollback block is appended to the slice |
//! | has no block of the instant | nothing: it is that of a rollback block |

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rollback_plan::LogRollback;
use super::undo_files::{UndoFiles, rolls_back};
use crate::data_paths::DataPath;
use crate::listings::Listings;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::{Clock, RolledBackPartition};
use mortice_formats::log::{Block, BlockKind, BlockType, ForwardScan};
use mortice_storage::FileStore;
use mortice_table::timeline::Timeline;

/// The log files of one instant, which is not pending.
pub(crate) struct LateLogs<'a> {
    store: &'a Arc<dyn FileStore>,
    clock: &'a Clock,
    timeline: &'a Timeline,
    instant: &'a RequestedTime,
    listings: Listings<'a>,
}

/// Whose blocks a log file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocks {
    OfInstant,
    OfOthers,
    Mixed,
}

impl<'a> LateLogs<'a> {
    pub(crate) fn new(
        store: &'a Arc<dyn FileStore>,
        clock: &'a Clock,
        timeline: &'a Timeline,
        instant: &'a RequestedTime,
    ) -> Self {
        Self { store, clock, timeline, instant, listings: Listings::new(store) }
    }

    /// Undoes a log file of an instant that is not on the timeline.
    pub(crate) fn undo(&mut self, path: &DataPath) -> Result<()> {
        let Some(log) = self.written(path)? else { return Ok(()) };
        match self.blocks_of(path)? {
            Blocks::OfInstant if !self.is_planned(path, &log)? => self.delete(path),
            Blocks::OfOthers => Ok(()),
            Blocks::OfInstant | Blocks::Mixed => self.roll_back(path, log),
        }
    }

    /// Deletes a log file if it has no other blocks and no table service is to read it.
    pub(crate) fn delete_if_alone(&mut self, path: &DataPath) -> Result<()> {
        let Some(log) = self.written(path)? else { return Ok(()) };
        match self.blocks_of(path)? {
            Blocks::OfInstant if !self.is_planned(path, &log)? => self.delete(path),
            _ => Ok(()),
        }
    }

    /// Whether a pending compaction, log compaction or clustering is to read the log file, or may.
    fn is_planned(&self, path: &DataPath, log: &LogFileName) -> Result<bool> {
        let is_of = |partition: &str, file_id: &str| partition == path.partition && file_id == log.file_id;
        let timeline = self.timeline;
        let plans = timeline.pending_compactions()?.into_iter().chain(timeline.pending_log_compactions()?);
        let mut operations = plans.flat_map(|plan| plan.operations);
        Ok(operations.any(|one| is_of(&one.partition, &one.file_id) && one.log_files.contains(&log.name))
            || timeline.file_groups_in_pending_clustering()?.iter().any(|one| is_of(&one.partition, &one.file_id)))
    }

    /// The log file, if it was written and no later log rolls it back.
    fn written(&mut self, path: &DataPath) -> Result<Option<LogFileName>> {
        // Markers of Hudi before 0.8 have the name of the base file.
        let Some(log) = LogFileName::parse(&path.name) else { return Ok(None) };
        let logs = self.listings.logs(&path.partition, &log.file_id, &log.instant)?;
        let is_written = logs.iter().any(|(name, _)| *name == log);
        let mut later = logs.into_iter().map(|(name, _)| name).filter(|name| name.version > log.version);
        let is_rolled_back = later.try_fold(false, |found, later| {
            Ok::<_, Error>(
                found || rolls_back(self.store, &DataPath { name: later.name, ..path.clone() }, self.instant)?,
            )
        })?;
        Ok((is_written && !is_rolled_back).then_some(log))
    }

    fn delete(&self, path: &DataPath) -> Result<()> {
        let path = path.path();
        self.store.check_removable(&path)?;
        self.store.delete(&path)
    }

    /// A log file that cannot be read may have blocks of others.
    fn blocks_of(&self, path: &DataPath) -> Result<Blocks> {
        let (mut of_instant, mut of_others) = (false, false);
        for block in self.scan(path)? {
            let Ok(Block { kind: BlockKind::Sound(kind), header, .. }) = block else { return Ok(Blocks::Mixed) };
            let is_own = kind != BlockType::Command && header.requested_time().as_ref() == Some(self.instant);
            (of_instant, of_others) = (of_instant || is_own, of_others || !is_own);
        }
        Ok(match (of_instant, of_others) {
            (true, false) => Blocks::OfInstant,
            (true, true) => Blocks::Mixed,
            (false, _) => Blocks::OfOthers,
        })
    }

    fn scan(&self, path: &DataPath) -> Result<ForwardScan> {
        self.store.open(&path.path()).map(ForwardScan::new)
    }

    fn roll_back(&mut self, path: &DataPath, log: LogFileName) -> Result<()> {
        self.store.check_removable(&path.path())?;
        let rollback = self.clock.requested_time(&[self.timeline])?;
        let slice = LogRollback {
            partition: path.partition.clone(),
            file_id: log.file_id,
            base_instant: log.instant,
            logs: BTreeMap::from([(log.name, 0)]),
        };
        let undo = UndoFiles { store: self.store, instant: self.instant, rollback: &rollback };
        undo.append_rollback(&slice, &mut self.listings, &mut RolledBackPartition::default())
    }
}
