//! Opens a table's metadata table. It is planned and read like any table: as a snapshot of one of its partitions.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;

use super::file_slices::SelectedSlices;
use crate::file_group::{FileSlice, FileSystemView, PartitionFiles, files_of};
use crate::metadata_table::{
    EachBatch, FILES, FOLDER, KEY, KeyPrefixes, MetadataRows, MetadataTable, ReadCommits, SelectedRows,
    check_index_files, check_log_files, is_empty_first_log, pending, shard, uri_of,
};
use crate::plan::open_table::OpenTable;
use crate::plan::query::ScanRequest;
use crate::plan::query_kind::RowForm;
use crate::plan::query_options::QueryOptions;
use crate::plan::scan::Scan;
use crate::read::{SharedReport, SplitReader, newest_schema};
use crate::schema::table_schema::{self, TableSchema};
use crate::split::{PathColumns, Query, Split};
use crate::timeline::Timeline;
use mortice_avro::Schema;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::filter::{Filter, KeyFilter, Literal, Operator, Term};
use mortice_merge::config::{MergeSemantics, OnCorrupt, OnDamage, ReadOptions};
use mortice_storage::{Storage, StorageOptions, SubfolderStorage, parallel};

/// The most rows of a batch of listings. Each row lists a partition, which may have thousands of files: the listings of
/// 8,192 partitions of 100 files are 110 MB.
const LISTINGS: usize = 256;
const GONE: &str = "the metadata table is gone, and the table's properties still name its partitions; the next write of mortice \
                    builds it again, as do Table.build_metadata(rebuild=True) and `mortice metadata build --rebuild`";

/// Opens the metadata table of the table at `uri` with the storage `storage`, as of the table's timeline.
pub(in crate::plan) fn open(
    (uri, storage): (&str, &Arc<dyn Storage>),
    storage_options: &StorageOptions,
    timeline: &Timeline,
    options: &ReadOptions,
) -> Result<MetadataTable> {
    from_table(open_table((uri, storage), storage_options, options)?, timeline)
}

/// Opens the metadata table as a table.
pub(in crate::plan) fn open_table(
    (uri, storage): (&str, &Arc<dyn Storage>),
    storage_options: &StorageOptions,
    options: &ReadOptions,
) -> Result<OpenTable> {
    OpenTable::read(storage_of(storage), &uri_of(uri), storage_options, options_of(options)).map_err(
        |error| match error.kind() {
            ErrorKind::NotFound => Error::invalid_table(GONE).in_file(uri_of(uri)),
            _ => error,
        },
    )
}

/// The storage of the metadata table of the table in a storage.
pub(in crate::plan) fn storage_of(storage: &Arc<dyn Storage>) -> Arc<dyn Storage> {
    Arc::new(SubfolderStorage::new(Arc::clone(storage), FOLDER))
}

/// The options that it is read with.
pub(in crate::plan) fn options_of(options: &ReadOptions) -> ReadOptions {
    // Readers of tables skip corrupt blocks. Here such a block may contain the list of files, and storage can be listed
    // instead.
    let on_corrupt = OnCorrupt::Raise;
    // Damage is an error by that, too; lengths are compared only of files that look incomplete.
    let on_damage = OnDamage::Warn;
    ReadOptions {
        semantics: MergeSemantics::V1x,
        prune: true,
        metadata: false,
        on_corrupt,
        on_damage,
        ..options.clone()
    }
}

/// The metadata table that is opened as a table, as of the timeline of the table that it belongs to.
pub(in crate::plan) fn from_table(mut table: OpenTable, timeline: &Timeline) -> Result<MetadataTable> {
    let uri = table.uri.clone();
    let in_table = |error: Error| error.in_file(&uri);
    table.merge.check_supported(MergeSemantics::V1x).map_err(in_table)?;
    let schema = match table_schema::at(&table.timeline, &table.config, None)? {
        Some(TableSchema { schema, .. }) => schema,
        None => {
            let stored = schema_of_files(&table).map_err(in_table)?;
            table.config.create_schema = Some(stored.json().to_owned());
            stored
        }
    };
    let written = timeline.completed_writes().map(|write| write.requested_time.clone()).collect();
    let (pending, commits) = (pending(timeline), ReadCommits::default());
    let rows = MetadataTableRows { table, pending, written, commits, listed: Mutex::default() };
    MetadataTable::new(Box::new(rows), schema, timeline).map_err(in_table)
}

/// The schema in the files of the partition `files`, for a metadata table of hudi-rs, whose commits have none.
fn schema_of_files(table: &OpenTable) -> Result<Schema> {
    let view = FileSystemView::new(&table.timeline, &table.config, None)?;
    let slices = view.slices(&files_of(table.storage.as_ref(), FILES)?)?;
    let instants = table.timeline.instant_filter(table.timeline.latest_visible());
    let no_schema = || Error::unsupported("neither the commits nor the files of the metadata table have a schema");
    let text = newest_schema(&slices, &instants, table.storage.as_ref())?.ok_or_else(no_schema)?;
    Ok(TableSchema::of_files(&Schema::parse(&text)?, None, &table.config)?.schema)
}

/// The rows of a metadata table.
struct MetadataTableRows {
    table: OpenTable,
    /// Instants that are pending on the table's timeline.
    pending: BTreeSet<RequestedTime>,
    /// The completed writes of the table.
    written: BTreeSet<RequestedTime>,
    /// The commits to it whose metadata was read.
    commits: ReadCommits,
    /// The files of partitions that were read.
    listed: Mutex<HashMap<String, Arc<ListedPartition>>>,
}

/// The files of a partition, and the slices of the timeline.
struct ListedPartition {
    files: PartitionFiles,
    slices: Slices,
    is_checked: OnceLock<()>,
}

impl MetadataRows for MetadataTableRows {
    fn timeline(&self) -> &Timeline {
        &self.table.timeline
    }

    fn rows(&self, partition: &str, columns: &[&str], keys: Option<&BTreeSet<String>>) -> Result<Vec<RecordBatch>> {
        let scan = match keys {
            Some(keys) => self.plan_of_keys(partition, columns, keys, |slices| slices),
            None => self.plan(partition, columns, |slices| slices),
        }?;
        self.read(&scan)
    }

    fn for_each_batch(
        &self,
        partition: &str,
        rows: SelectedRows<'_>,
        columns: &[&str],
        each: EachBatch<'_>,
    ) -> Result<()> {
        let scan = match rows {
            SelectedRows::Part(part) => self.plan(partition, columns, |slices| part.selected(slices)),
            SelectedRows::Keys(keys) => self.plan_of_keys(partition, columns, keys, |slices| slices),
            SelectedRows::Prefixes(prefixes) => self.plan_of_prefixes(partition, columns, prefixes),
        }?;
        self.map_splits(&scan, |mut reader| reader.try_for_each(|batch| each(&batch?))).map(drop)
    }

    fn check_index(&self, partition: &str) -> Result<()> {
        let listed = self.listed(partition)?;
        if listed.is_checked.get().is_none() {
            let threads = self.table.storage.requests_at_once();
            check_index_files(&listed.files, &self.table.timeline, &self.written, &self.commits, threads)?;
            let _ = listed.is_checked.set(());
        }
        Ok(())
    }

    fn base_rows(&self, partition: &str, columns: &[&str], keys: &BTreeSet<String>) -> Result<Vec<RecordBatch>> {
        let scan = self.plan_of_keys(partition, columns, keys, |mut slices| {
            slices.retain(|slice| slice.base_file.is_some());
            slices.iter_mut().for_each(|slice| Arc::make_mut(slice).log_files.clear());
            slices
        })?;
        self.read(&scan)
    }
}

/// The slices of a partition that are read.
type Slices = Vec<Arc<FileSlice>>;

impl MetadataTableRows {
    fn plan(&self, partition: &str, columns: &[&str], select: impl FnOnce(Slices) -> Slices) -> Result<Scan> {
        let columns = Some(columns.iter().map(|name| (*name).to_owned()).collect());
        let request = ScanRequest {
            name: "metadata",
            options: &QueryOptions { columns, ..QueryOptions::default() },
            form: RowForm::MERGED,
            schema_at: None,
            path_columns: PathColumns::default(),
            is_latest: false,
        };
        let mut scan = self.table.scan(request, |_| {
            let found = self.slices(partition)?;
            Ok(SelectedSlices { slices: select(found.slices), ..found })
        })?;
        if partition == FILES {
            let mut query = Query::clone(&scan.query);
            query.options.batch_rows = query.options.batch_rows.min(LISTINGS);
            scan.query = Arc::new(query);
            scan.splits.iter_mut().for_each(|split| split.query = Arc::clone(&scan.query));
        }
        Ok(scan)
    }

    /// Plans to read only the rows of these keys.
    fn plan_of_keys(
        &self,
        partition: &str,
        columns: &[&str],
        keys: &BTreeSet<String>,
        select: impl FnOnce(Slices) -> Slices,
    ) -> Result<Scan> {
        let scan = self.plan(partition, columns, select)?;
        let filter_of = |keys: Vec<&str>| {
            let literals = keys.into_iter().map(|key| Literal::Text(key.to_owned())).collect();
            Ok(Filter::any_of(vec![vec![Term::new(KEY, Operator::In, literals)?]]))
        };
        Ok(Scan { splits: splits_of_keys(scan.splits, keys, true, &filter_of)?, ..scan })
    }

    /// Plans to read only the rows of keys with these prefixes.
    fn plan_of_prefixes(&self, partition: &str, columns: &[&str], wanted: KeyPrefixes<'_>) -> Result<Scan> {
        let scan = self.plan(partition, columns, |slices| slices)?;
        let filter_of = |prefixes: Vec<&str>| KeyFilter::filter_of_prefixes(KEY, prefixes);
        let splits = splits_of_keys(scan.splits, wanted.prefixes, wanted.are_hashed, &filter_of)?;
        Ok(Scan { splits, ..scan })
    }

    fn read(&self, scan: &Scan) -> Result<Vec<RecordBatch>> {
        let batches = self.map_splits(scan, |reader| reader.collect::<Result<Vec<_>>>())?;
        Ok(batches.into_iter().flatten().collect())
    }

    /// Reads the splits of a scan, several at the same time.
    fn map_splits<R: Send>(&self, scan: &Scan, read: impl Fn(SplitReader) -> Result<R> + Sync) -> Result<Vec<R>> {
        let table = &self.table;
        let threads = table.options.threads.unwrap_or_else(|| table.storage.requests_at_once());
        parallel::map(&scan.splits, threads, |split: &Split| {
            let reader = SplitReader::new(split.clone(), SharedReport::default())?;
            read(reader.with_storage(Arc::clone(&table.storage)))
        })
    }

    /// Returns the slices of a partition.
    fn slices(&self, partition: &str) -> Result<SelectedSlices> {
        let table = &self.table;
        let view = FileSystemView::new(&table.timeline, &table.config, None)?;
        let Some(latest) = view.query_instant() else { return Ok(SelectedSlices::default()) };
        let mut instants = table.timeline.instant_filter(Some(latest));
        instants.inflight.extend(self.pending.iter().cloned());
        let slices = self.listed(partition)?.slices.clone();
        // From version 8 each file is of one instant; but that may be pending on the table's timeline.
        Ok(SelectedSlices { slices, instants, commits_by_block: true, ..SelectedSlices::default() })
    }

    /// Lists a partition when it is first read. Its timeline is fixed, and so are its slices.
    fn listed(&self, partition: &str) -> Result<Arc<ListedPartition>> {
        if let Some(listed) = self.listed.lock().unwrap_or_else(PoisonError::into_inner).get(partition) {
            return Ok(Arc::clone(listed));
        }
        let table = &self.table;
        let view = FileSystemView::new(&table.timeline, &table.config, None)?;
        let files = files_of(table.storage.as_ref(), partition)?;
        let slices = view.slices(&files)?;
        if partition == FILES {
            check_log_files(&files, &slices, &table.timeline, &self.written)?;
        }
        // Reading a log without records would take a request for each file group.
        let without_empty = |mut slice: FileSlice| {
            if slice.base_file.is_some() {
                slice.log_files.retain(|log| !is_empty_first_log(log));
            }
            Arc::new(slice)
        };
        let slices = slices.into_iter().map(without_empty).collect();
        let listed = Arc::new(ListedPartition { files, slices, is_checked: OnceLock::new() });
        let mut known = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(partition.to_owned(), Arc::clone(&listed));
        Ok(listed)
    }
}

/// Makes a filter of keys, or of prefixes of keys.
type FilterOf<'a> = &'a dyn Fn(Vec<&str>) -> Result<Filter>;

/// Returns the splits that can have rows of these keys, each of the keys that it can have: a filter takes time and
/// memory by the number of its keys. If the keys are not hashed, each split can have any of them.
fn splits_of_keys(
    splits: Vec<Split>,
    keys: &BTreeSet<String>,
    are_hashed: bool,
    filter_of: FilterOf<'_>,
) -> Result<Vec<Split>> {
    let query_of =
        |split: &Split, keys: Vec<&str>| Ok(Arc::new(Query { filter: filter_of(keys)?, ..Query::clone(&split.query) }));
    let ids: Vec<&str> = splits.iter().map(|split| split.slice.file_id.as_str()).collect();
    let Some(assigned) = are_hashed.then(|| shard::keys_of_groups(&ids, keys)).flatten() else {
        let Some(first) = splits.first().filter(|_| !keys.is_empty()) else { return Ok(Vec::new()) };
        let query = query_of(first, keys.iter().map(String::as_str).collect())?;
        return Ok(splits.into_iter().map(|split| Split { query: Arc::clone(&query), ..split }).collect());
    };
    let asked = splits.into_iter().zip(assigned).filter(|(_, keys)| !keys.is_empty());
    asked.map(|(split, keys)| Ok(Split { query: query_of(&split, keys)?, ..split })).collect()
}
