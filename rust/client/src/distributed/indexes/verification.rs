//! Verifications whose keys are read and compared in other processes.

use std::sync::Arc;

use crate::distributed::exchange::{
    CompareKeysSpec, Exchange, ReadPlacesSpec, ReadReport, Received, Slots, TableStage, TableWork, TaskRunner,
    tasks_by_cost,
};
use crate::distributed::rows::KEY_FILE_BYTES;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_commit::writable_table::TableLocation;
use mortice_formats::filter::Filter;
use mortice_services::verify::{
    Finding, KeyComparison, KeyFindings, VerifyOptions, VerifyReport, index_scope, leaves_stale_keys, unreadable_index,
    verify_with,
};
use mortice_storage::FileStore;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, PinnedTable};

/// Verifies a table as [`verify`](mortice_services::verify) does; tasks of an engine read the keys and compare them.
///
/// # Errors
/// As for [`verify`](mortice_services::verify); those of the engine.
pub fn verify_by_tasks(
    location: &TableLocation,
    options: &VerifyOptions,
    runner: &dyn TaskRunner,
) -> Result<VerifyReport> {
    verify_with(location, options, &|store, table, is_global| key_findings(runner, store, table, is_global))
}

/// The findings, which are those of one process.
fn key_findings(
    runner: &dyn TaskRunner,
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    is_global: bool,
) -> Result<Vec<Finding>> {
    let slices = table.file_slices(None, &Filter::default())?;
    let mut defects = Vec::new();
    let index = index_scope(store, table).and_then(|scope| {
        let pinned = scope.map(|_| PinnedTable::with_metadata(table)).transpose()?;
        Ok((scope, pinned.unwrap_or_else(|| PinnedTable::new(table))))
    });
    let (index, pinned) = match index {
        Ok(found) => found,
        Err(error) => {
            defects.push(unreadable_index(error)?);
            (None, PinnedTable::new(table))
        }
    };
    let compared = KeyComparison { is_global, index, leaves_stale_keys: leaves_stale_keys(table)? };
    let (read, tasks, slots) = read_spec(slices, index.is_some(), runner.parallelism())?;
    if tasks == 0 {
        return Ok(defects);
    }
    let groups = read.slices.iter().map(|slice| (slice.partition.clone(), slice.file_id.clone())).collect();
    let compare = CompareKeysSpec { groups, compared };
    let stage = |stage| TableWork { table: pinned.clone(), stage }.serialized();
    let (read, then) = (stage(TableStage::ReadKeyPlaces(read))?, stage(TableStage::CompareKeys(compare))?);
    let reports = runner.exchange(Exchange { read: &read, tasks, then: &then, partitions: slots })?;
    let (mut received, mut findings) = (Vec::new(), KeyFindings::default());
    for report in ReadReport::read_all(&reports)? {
        let ReadReport::KeysCompared(report) = report else {
            return Err(Error::internal("another report than that of compared keys"));
        };
        received.push(report.received);
        findings.merge(report.findings)?;
    }
    let [unreadable, mut index] = Received::check_all(received, tasks)?;
    index.sort();
    // What the rows of a slice that cannot be read are is not known, nor what the rest of an index says.
    let is_compared = unreadable.is_empty() && index.is_empty();
    if unreadable.is_empty() {
        defects.extend(index.into_iter().take(1));
    } else {
        defects.clear();
    }
    defects.extend(unreadable);
    let findings = if is_compared { findings } else { findings.without_index() };
    defects.extend(findings.into_findings());
    Ok(defects)
}

/// What tasks read, and the number of tasks and of slots.
fn read_spec(slices: Vec<FileSlice>, has_index: bool, parallelism: u32) -> Result<(ReadPlacesSpec, u32, u32)> {
    let costs: Vec<u64> = slices.iter().map(FileSlice::total_len).collect();
    let mut tasks = tasks_by_cost(&costs, KEY_FILE_BYTES, parallelism);
    let number = |count: usize| u32::try_from(count).map_err(|_| Error::unsupported("4,294,967,296 tasks of a stage"));
    let slots = number(tasks.len())?.max(1);
    // Keys of rows and of the index are about as many.
    let index_parts = if has_index { slots } else { 0 };
    let first_part = number(slices.len())?;
    tasks.extend((0..index_parts).map(|part| vec![first_part.saturating_add(part)]));
    let count = number(tasks.len())?;
    Ok((ReadPlacesSpec { slots: Slots { count: slots }, slices, tasks, index_parts: at(index_parts) }, count, slots))
}
