//! Metadata tables whose indexes are built in other processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::distributed::exchange::{
    Exchange, IndexPart, IndexPartReport, IndexPartsSpec, ReadIndexKeysSpec, ReadReport, Received, Slots, TableStage,
    TableWork, TaskRunner, WriteIndexSpec, tasks_by_cost,
};
use crate::distributed::rows::KEY_FILE_BYTES;
use mortice_base::error::{Error, Result};
use mortice_base::names::BaseFileName;
use mortice_commit::commit::OpenMark;
use mortice_commit::metadata_upkeep::{
    BloomText, IndexBuilder, IndexedFile, IndexedGroup, METADATA_ROOT, NewRecordIndex,
};
use mortice_commit::writable_table::TableLocation;
use mortice_services::{MetadataBuildRequest, MetadataBuildResult, run_metadata_build_with};
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::RECORD_INDEX;
use mortice_table::plan::{OpenTable, PinnedTable};
use mortice_write::write::{ColumnRange, WriteStatus};

/// Bytes that count for a file of which the footer is read: some 2,000 files are worth a task of their own.
const FOOTER_BYTES: u64 = 256 << 10;

/// Builds or changes a metadata table as [`run_metadata_build`](mortice_services::run_metadata_build) does; tasks of an
/// engine read files for its indexes, and write the base files of a record index.
///
/// # Errors
/// As for [`run_metadata_build`](mortice_services::run_metadata_build); those of the engine.
pub fn build_metadata_by_tasks(
    location: &TableLocation,
    request: &MetadataBuildRequest,
    options: &BTreeMap<String, String>,
    runner: Arc<dyn TaskRunner>,
) -> Result<MetadataBuildResult> {
    run_metadata_build_with(location, request, options, Arc::new(TaskIndexBuilder { runner }))
}

/// Builds indexes by tasks of an engine.
struct TaskIndexBuilder {
    runner: Arc<dyn TaskRunner>,
}

impl TaskIndexBuilder {
    /// The items of each task, given their bytes, and the number of tasks.
    fn tasks(&self, costs: &[u64]) -> Result<(Vec<Vec<u32>>, u32)> {
        let tasks = tasks_by_cost(costs, KEY_FILE_BYTES, self.runner.parallelism());
        let count = u32::try_from(tasks.len());
        Ok((tasks, count.map_err(|_| Error::unsupported("4,294,967,296 tasks of a stage"))?))
    }

    /// What tasks have read, one part of each item.
    fn read_parts(&self, table: &OpenTable, costs: Vec<u64>, part: IndexPart) -> Result<Vec<IndexPartReport>> {
        let (tasks, count) = self.tasks(&costs)?;
        let stage = TableStage::ReadIndexParts(IndexPartsSpec { part, tasks });
        let stage = TableWork { table: PinnedTable::new(table), stage }.serialized()?;
        let reports = ReadReport::read_all(&self.runner.run(&stage, count)?)?;
        if reports.len() != costs.len() {
            return Err(Error::internal(format!("{} of {} files were read for an index", reports.len(), costs.len())));
        }
        let part = |report| match report {
            ReadReport::IndexPart(part) => Ok(part),
            _ => Err(other_part()),
        };
        reports.into_iter().map(part).collect()
    }

    fn write_index_files(
        &self,
        table: &OpenTable,
        slices: &[FileSlice],
        index: &NewRecordIndex<'_>,
        mark: &str,
    ) -> Result<Vec<WriteStatus>> {
        let costs: Vec<u64> = slices.iter().map(FileSlice::total_len).collect();
        let (tasks, count) = self.tasks(&costs)?;
        let pinned = PinnedTable::new(table);
        let stage = |stage| TableWork { table: pinned.clone(), stage }.serialized();
        let slots = Slots { count: index.file_groups };
        let read = ReadIndexKeysSpec { slots, slices: slices.to_vec(), tasks };
        let write = WriteIndexSpec {
            groups: slices.iter().map(IndexedGroup::of_slice).collect(),
            instant: index.instant.clone(),
            mark: mark.to_owned(),
        };
        let (read, then) = (stage(TableStage::ReadIndexKeys(read))?, stage(TableStage::WriteIndex(write))?);
        let partitions = index.file_groups;
        let reports = self.runner.exchange(Exchange { read: &read, tasks: count, then: &then, partitions })?;
        let (mut received, mut written) = (Vec::new(), BTreeMap::new());
        for report in ReadReport::read_all(&reports)? {
            let ReadReport::IndexWritten(report) = report else {
                return Err(Error::internal("another report than that of a record index"));
            };
            received.push(report.received);
            if written.insert(report.file_group, report.statuses).is_some() {
                return Err(Error::internal("a file group of a record index was written twice"));
            }
        }
        Received::check_all(received, count)?;
        Ok(written.into_values().flatten().collect())
    }
}

impl IndexBuilder for TaskIndexBuilder {
    fn count_keys(&self, table: &OpenTable, slices: &[FileSlice]) -> Result<u64> {
        let costs = slices.iter().map(FileSlice::total_len).collect();
        let parts = self.read_parts(table, costs, IndexPart::KeyCounts(slices.to_vec()))?;
        let count = |part| match part {
            IndexPartReport::KeyCount(keys) => Ok(keys),
            _ => Err(other_part()),
        };
        parts.into_iter().map(count).try_fold(0_u64, |sum, keys| Ok(sum.saturating_add(keys?)))
    }

    fn column_ranges(
        &self,
        table: &OpenTable,
        files: &[IndexedFile],
        columns: &[String],
    ) -> Result<Vec<Vec<ColumnRange>>> {
        // Footers alone are read.
        let costs = vec![FOOTER_BYTES; files.len()];
        let parts = self.read_parts(table, costs, IndexPart::ColumnRanges(files.to_vec(), columns.to_vec()))?;
        let ranges = |part| match part {
            IndexPartReport::ColumnRanges(number, ranges) => Ok((number, ranges)),
            _ => Err(other_part()),
        };
        in_order(parts.into_iter().map(ranges))
    }

    fn bloom_filters(&self, table: &OpenTable, files: &[IndexedFile]) -> Result<Vec<BloomText>> {
        let costs = files.iter().map(|file| file.bytes).collect();
        let parts = self.read_parts(table, costs, IndexPart::BloomFilters(files.to_vec()))?;
        let filter = |part| match part {
            IndexPartReport::BloomFilter(number, filter) => Ok((number, filter)),
            _ => Err(other_part()),
        };
        in_order(parts.into_iter().map(filter))
    }

    fn write_record_index(
        &self,
        table: &OpenTable,
        slices: &[FileSlice],
        index: &NewRecordIndex<'_>,
    ) -> Result<Vec<WriteStatus>> {
        if slices.is_empty() {
            return Ok(Vec::new());
        }
        let name = format!("{}-{}", index.instant, uuid::Uuid::new_v4());
        let mark = OpenMark::below(Arc::clone(index.store), METADATA_ROOT, index.instant, &name);
        mark.close_all()?;
        mark.open()?;
        let written = self.write_index_files(table, slices, index, &name);
        // From now on, no attempt adds a file.
        let closed = mark.close();
        let written = written?;
        closed?;
        delete_others(index, &written)?;
        Ok(written)
    }
}

fn other_part() -> Error {
    Error::internal("another report than that of a part of an index")
}

/// Parts in the order of their numbers, which are all there.
fn in_order<T>(parts: impl Iterator<Item = Result<(u32, T)>>) -> Result<Vec<T>> {
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let count = parts.len();
    let numbered: BTreeMap<u32, T> = parts.into_iter().collect();
    if numbered.len() != count {
        return Err(Error::internal("a file was read twice for an index"));
    }
    Ok(numbered.into_values().collect())
}

/// Deletes base files of attempts that failed, or were repeated.
fn delete_others(index: &NewRecordIndex<'_>, written: &[WriteStatus]) -> Result<()> {
    let files = written.iter().filter_map(|status| status.file.as_ref());
    let kept: BTreeSet<String> = files.map(|file| format!("{METADATA_ROOT}/{}", file.path)).collect();
    let stored = index.store.list_recursively(&format!("{METADATA_ROOT}/{RECORD_INDEX}"))?;
    // Logs are HFiles, too, from table version 10 on.
    let is_base = |path: &str| path.rsplit('/').next().is_some_and(|name| BaseFileName::parse(name).is_some());
    let mut others = stored.iter().filter(|(path, _)| is_base(path) && !kept.contains(path));
    others.try_for_each(|(path, _)| index.store.delete(path))
}
