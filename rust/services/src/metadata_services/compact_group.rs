//! The compaction of one file group of the metadata table: base file and logs become a new base file
//! (`HoodieCompactor.compact`).

use super::merged_records::{MergeCounts, MergedRecords};
use super::record_schema::TargetSchema;
use super::sources::Sources;
use crate::service_table::ServiceTable;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, RequestedTime};
use mortice_commit::metadata_upkeep::{BaseHFileUpload, RecordSchema};
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::metadata::{HoodieRuntimeStats, HoodieWriteStat};
use mortice_write::write::MarkerKind;

/// The token of new files: a metadata table is compacted by one process at a time.
const WRITE_TOKEN: &str = "0-0-0";

/// A compaction of file groups of one table.
pub(super) struct GroupCompaction<'a> {
    pub(super) table: &'a ServiceTable,
    /// The compaction.
    pub(super) instant: &'a RequestedTime,
    /// The newest completed write, whose blocks and those before it are read.
    pub(super) latest: &'a RequestedTime,
    /// Which instants' blocks are read.
    pub(super) is_committed: &'a (dyn Fn(&RequestedTime) -> bool + Sync),
}

impl GroupCompaction<'_> {
    /// Writes the new base file of a slice, after its marker.
    pub(super) fn run(&self, slice: &FileSlice) -> Result<HoodieWriteStat> {
        let table = self.table;
        let time = table.store.time();
        let started = time.monotonic();
        let sources = Sources::open(table, slice, self.latest, self.is_committed)?;
        let of_table = RecordSchema::of_version(table.config.version);
        let schemas = sources.base.iter().chain(&sources.logs).filter_map(|source| source.schema.as_ref());
        let target = TargetSchema::of_sources(of_table, schemas)
            .map_err(|error| error.in_file(table.full_path(&slice.partition)))?;
        let blocks = [sources.log_blocks, sources.rollback_blocks];
        let name = BaseFileName::compose(&slice.file_id, WRITE_TOKEN, self.instant, "hfile")?.name;
        let path = format!("{}/{name}", slice.partition);
        let marker = if slice.base_file.is_some() { MarkerKind::Merge } else { MarkerKind::Create };
        table.markers(self.instant).create(&path, marker)?;
        let (counts, bytes) = self.write(sources, target, &path)?;
        let millis = time.millis_since(started);
        Ok(stat(slice, path, counts, (blocks, bytes, millis)))
    }

    fn write(&self, sources: Sources, target: TargetSchema, path: &str) -> Result<(MergeCounts, u64)> {
        let in_file = |error: Error| error.in_file(self.table.full_path(path));
        let store = self.table.store.as_ref();
        let mut file = BaseHFileUpload::start(store, self.table.in_store(path), target.text)?;
        let mut records = MergedRecords::new(sources, target)?;
        records.for_each(&mut |key, record| file.append(key, record).map_err(in_file))?;
        let bytes = file.finish().map_err(in_file)?;
        Ok((records.counts, bytes))
    }
}

/// What the commit says of the new base file.
fn stat(
    slice: &FileSlice,
    path: String,
    counts: MergeCounts,
    ([log_blocks, rollback_blocks], bytes, millis): ([u64; 2], u64, i64),
) -> HoodieWriteStat {
    let count = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
    let logs = slice.log_files.len() as u64;
    let log_bytes = slice.log_files.iter().fold(0_u64, |sum, log| sum.saturating_add(log.len));
    let base = slice.base_file.as_ref();
    HoodieWriteStat {
        file_id: Some(slice.file_id.clone()),
        path: Some(path),
        prev_commit: Some(base.map_or_else(|| "null".to_owned(), |base| base.instant.to_string())),
        num_writes: count(counts.records),
        num_deletes: count(counts.deletes),
        num_update_writes: count(counts.updates),
        num_inserts: count(counts.inserts),
        total_write_bytes: count(bytes),
        total_write_errors: Some(0),
        partition_path: Some(slice.partition.clone()),
        total_log_records: count(counts.log_records),
        total_log_files_compacted: count(logs),
        total_log_size_compacted: count(log_bytes),
        total_updated_records_compacted: count(counts.log_keys),
        total_log_blocks: count(log_blocks),
        total_corrupt_log_block: Some(0),
        total_rollback_blocks: count(rollback_blocks),
        file_size_in_bytes: count(bytes),
        prev_base_file: base.map(|base| base.name().to_owned()),
        runtime_stats: Some(HoodieRuntimeStats {
            total_scan_time: Some(0),
            total_upsert_time: Some(millis),
            total_create_time: Some(0),
            ..HoodieRuntimeStats::default()
        }),
        ..HoodieWriteStat::default()
    }
}
