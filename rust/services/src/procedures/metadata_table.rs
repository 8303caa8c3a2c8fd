//! The metadata table: `show_metadata_table_partitions`, `show_metadata_table_files`, `show_metadata_table_stats`,
//! `validate_metadata_table_files`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::call::Call;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_commit::metadata_upkeep::METADATA_ROOT;
use mortice_storage::{Storage, SubfolderStorage};
use mortice_table::file_group::{FileSystemView, PartitionFiles, list_table};
use mortice_table::metadata_table::MetadataTable;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;

/// The property that names its partitions.
const PARTITIONS: &str = "hoodie.table.metadata.partitions";

/// Returns the metadata table.
///
/// # Errors
/// `InvalidArgument` if the table has none with this partition; errors of opening it.
pub(super) fn metadata_of<'a>(table: &'a OpenTable, partition: &str) -> Result<&'a MetadataTable> {
    if !table.config.properties.list(&[PARTITIONS]).iter().any(|name| name == partition) {
        return Err(Error::invalid_argument(format!("the table has no metadata table with the partition {partition}")));
    }
    table.metadata_table().map_err(|error| Error::new(error.kind(), error.text()).in_file(&table.uri))
}

/// `show_metadata_table_partitions`.
pub(super) fn partitions(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let listing = metadata_of(&call.table, "files")?.list(None)?;
    Ok(listing.files.into_iter().map(|files| row![files.partition]).collect())
}

/// `show_metadata_table_files`, by default of the root.
pub(super) fn files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let wanted = call.arguments.text("partition").unwrap_or_default();
    let choose = |paths: &[&str]| Ok(paths.iter().map(|path| *path == wanted).collect());
    let listing = metadata_of(&call.table, "files")?.list(Some(&choose))?;
    let names: BTreeSet<&str> = listing.files.iter().flat_map(PartitionFiles::names).collect();
    Ok(names.into_iter().take(call.arguments.limit()).map(|name| row![name]).collect())
}

/// `show_metadata_table_stats`: files and bytes of its latest slices, by partition. Hudi has them while its metrics are
/// on, and no rows otherwise.
pub(super) fn sizes(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    metadata_of(&call.table, "files")?;
    let table: Arc<dyn Storage> = Arc::clone(&call.table.storage);
    let storage: Arc<dyn Storage> = Arc::new(SubfolderStorage::new(table, METADATA_ROOT));
    let config = mortice_merge::config::TableConfig::load(storage.as_ref())?;
    let timeline = Timeline::load(&storage, &config)?;
    let view = FileSystemView::new(&timeline, &config, None)?;
    let mut rows = Vec::new();
    for files in list_table(storage.as_ref())? {
        let (mut bases, mut logs, mut base_bytes, mut log_bytes) = (0_u64, 0_u64, 0_u64, 0_u64);
        for slice in view.slices(&files)? {
            if let Some(base) = &slice.base_file {
                bases = bases.saturating_add(1);
                base_bytes = base_bytes.saturating_add(base.len);
            }
            for log in &slice.log_files {
                logs = logs.saturating_add(1);
                log_bytes = log_bytes.saturating_add(log.len);
            }
        }
        let partition = &files.partition;
        for (name, number) in [
            ("baseFileCount", bases),
            ("logFileCount", logs),
            ("totalBaseFileSizeInBytes", base_bytes),
            ("totalLogFileSizeInBytes", log_bytes),
        ] {
            rows.push(row![format!("{partition}.{name}"), number.to_string()]);
        }
    }
    Ok(rows)
}

/// `validate_metadata_table_files`: files of which storage and metadata table have another size, or which one of them
/// does not have; with `verbose` all files.
pub(super) fn validate(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let listed = sizes_of(&metadata_of(&call.table, "files")?.list(None)?.files);
    let stored = sizes_of(&list_table(call.table.storage.as_ref())?);
    let is_verbose = call.arguments.boolean("verbose");
    let all: BTreeSet<_> = listed.keys().chain(stored.keys()).collect();
    let rows = all.into_iter().filter_map(|file| {
        let (stored, listed) = (stored.get(file).copied(), listed.get(file).copied());
        let (partition, name) = file;
        (is_verbose || stored != listed).then(|| {
            row![partition, name, stored.is_some(), listed.is_some(), stored.unwrap_or(0), listed.unwrap_or(0),]
        })
    });
    Ok(rows.collect())
}

fn sizes_of(partitions: &[PartitionFiles]) -> BTreeMap<(String, String), u64> {
    let mut sizes = BTreeMap::new();
    for files in partitions {
        let bases = files.base_files.iter().map(|base| (&base.name.name, base.len));
        for (name, len) in bases.chain(files.log_files.iter().map(|log| (&log.name.name, log.len))) {
            sizes.insert((files.partition.clone(), name.clone()), len);
        }
    }
    sizes
}
