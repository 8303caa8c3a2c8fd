//! Logs that were begun before a compaction was completed, and are not in it.
//!
//! Their writers found keys in the base file before the compaction. If such a key had been deleted, the compaction
//! leaves it out, and the log has its newest row: an index of base files alone does not find it, so that an upsert
//! writes it a second time and a delete does not delete it. Hudi does so.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use crate::file_group::{BaseFile, FileSlice, LogFile};
use crate::plan::open_table::OpenTable;
use crate::timeline::{Action, Instant};
use mortice_base::error::Result;
use mortice_base::names::{CompletionTime, LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;

pub(in crate::plan) struct LogsBesideCompaction<'a> {
    table: &'a OpenTable,
    /// Up to table version 7, where names do not say when an instant was completed.
    times_of_files: OnceCell<BTreeMap<RequestedTime, CompletionTime>>,
}

impl<'a> LogsBesideCompaction<'a> {
    pub(in crate::plan) const fn new(table: &'a OpenTable) -> Self {
        Self { table, times_of_files: OnceCell::new() }
    }

    /// Adds to the slices of base files the logs of `slices` that were begun before the compaction that made the file
    /// was completed: also before it was planned, if they were completed after that. Up to table version 7, where a log
    /// has blocks of several writes, those that can have such blocks.
    /// Of an archived compaction there are none.
    pub(in crate::plan) fn add_to(&self, base_files: &mut [FileSlice], slices: &[FileSlice]) -> Result<()> {
        let with_logs = slices.iter().filter(|slice| !slice.log_files.is_empty());
        let with_logs: HashMap<&str, &FileSlice> =
            with_logs.filter_map(|slice| Some((slice.base_file.as_ref()?.path.as_str(), slice))).collect();
        for base in base_files {
            let file = base.base_file.as_ref();
            if let Some((file, slice)) = file.and_then(|file| Some((file, with_logs.get(file.path.as_str())?))) {
                base.log_files = self.logs_of(file, slice)?;
            }
        }
        Ok(())
    }

    fn logs_of(&self, file: &BaseFile, slice: &FileSlice) -> Result<Vec<LogFile>> {
        let Some(completion) = self.completion(&file.instant)? else { return Ok(Vec::new()) };
        let is_before_end = |time: &RequestedTime| time.as_str() < completion.as_str();
        let logs = slice.log_files.iter();
        Ok(match self.table.config.layout() {
            TimelineLayout::V1 => {
                // A compaction is not planned while a write is pending.
                let is_beside = |time: &RequestedTime| *time > file.instant && is_before_end(time);
                let mut writes = self.table.timeline.completed_writes();
                match writes.any(|write| is_beside(&write.requested_time)) {
                    true => logs.cloned().collect(),
                    false => Vec::new(),
                }
            }
            TimelineLayout::V2 => {
                let is_beside =
                    |log: &&LogFile| LogFileName::parse(log.name()).is_some_and(|name| is_before_end(&name.instant));
                logs.filter(is_beside).cloned().collect()
            }
        })
    }

    /// When a compaction of the active timeline was completed.
    fn completion(&self, instant: &RequestedTime) -> Result<Option<CompletionTime>> {
        let timeline = &self.table.timeline;
        // Of a merge-on-read table, compactions are completed as commits, and other writes of base files as delta
        // commits.
        let is_it =
            |one: &&Instant| one.requested_time == *instant && one.action == Action::Commit && one.is_completed_write();
        let Some(found) = timeline.instants().iter().find(is_it) else { return Ok(None) };
        if found.completion_time.is_some() {
            return Ok(found.completion_time.clone());
        }
        let times = match self.times_of_files.get() {
            Some(times) => times,
            None => {
                let times = timeline.times_of_files(&self.table.config)?;
                self.times_of_files.get_or_init(|| times)
            }
        };
        Ok(times.get(instant).cloned())
    }
}
