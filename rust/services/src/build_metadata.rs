//! The metadata table that a user asks for: built, built again, deleted; its indexes added and dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::transaction::change_metadata;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::metadata_upkeep::{
    FoundMetadata, IndexBuilder, LocalIndexBuilder, METADATA_ROOT, MetadataUpkeep, PlannedPartitions, split_column,
};
use mortice_commit::writable_table::{TableLocation, WritableTable, read_options};
use mortice_merge::config::{ReadOptions, option_names};
use mortice_storage::FileStore;
use mortice_table::file_group::list_table;
use mortice_table::metadata_table::{FILES, IndexDefinitions};
use mortice_table::plan::OpenTable;

/// What is to be done with a metadata table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataBuildRequest {
    /// Indexes to add: `column_stats`, `partition_stats`, `record_index`, `bloom_filters`, and secondary indexes, with
    /// their column: `secondary_index_by_city(city)`.
    pub added: Vec<String>,
    /// Indexes to drop.
    pub dropped: Vec<String>,
    /// Whether it is deleted before, and built again with the partitions that it had.
    pub rebuilds: bool,
    /// Whether it is deleted, and not built.
    pub deletes: bool,
}

/// What was, or would be, done with a metadata table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataBuildResult {
    /// The partitions that it has afterwards.
    pub partitions: Vec<String>,
    /// Those that were built.
    pub added: Vec<String>,
    /// Those that were deleted, also to be built again.
    pub dropped: Vec<String>,
    /// The number of the table's data files, which are listed, and read for indexes.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The files of the metadata table that are deleted, with their bytes.
    pub deleted: Vec<(String, u64)>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Builds the metadata table of a table that has none, with Hudi's partitions and the indexes that are asked for; adds
/// indexes to one that is there, and drops others; builds it again; or deletes it. The properties of the table name a
/// partition once it is complete, and do not name it any more before it is deleted.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for indexes that cannot be added or dropped, for options and tables;
/// up to table version 7 while an instant is pending; those of reading the files and of the storage, after which it can
/// be repeated.
pub fn run_metadata_build(
    location: &TableLocation,
    request: &MetadataBuildRequest,
    options: &BTreeMap<String, String>,
) -> Result<MetadataBuildResult> {
    run_metadata_build_with(location, request, options, Arc::new(LocalIndexBuilder::new(location.progress())))
}

/// The same, with indexes that a builder builds.
///
/// # Errors
/// As for [`run_metadata_build`]; those of the builder.
pub fn run_metadata_build_with(
    location: &TableLocation,
    request: &MetadataBuildRequest,
    options: &BTreeMap<String, String>,
    builder: Arc<dyn IndexBuilder>,
) -> Result<MetadataBuildResult> {
    let target = open_table(location, request, options)?.with_index_builder(builder);
    let mut built = preview(&target, request)?;
    let after = change_metadata(&target, request.rebuilds)?;
    let partitions: BTreeSet<&String> = after.config.metadata_partitions.iter().collect();
    let expected: BTreeSet<&String> = built.partitions.iter().collect();
    // Another writer may have changed the table meanwhile; what this one was asked for has to be there.
    let is_asked = |name: &String| added(request).any(|added| added == name) || request.dropped.contains(name);
    if let Some(missed) = partitions.symmetric_difference(&expected).find(|name| is_asked(name)) {
        let message = format!("another writer changes the index {missed} of the metadata table; run it again");
        return Err(Error::new(ErrorKind::WriteConflict, message).in_file(location.uri()));
    }
    built.partitions = partitions.into_iter().cloned().collect();
    Ok(built)
}

/// An index of a metadata table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataIndex {
    /// The partition of the metadata table.
    pub name: String,
    /// The type; that of an index that is not defined is its name.
    pub kind: String,
    /// The columns; none of an index of record keys.
    pub columns: Vec<String>,
}

/// The indexes of the metadata table of a table, in the order of its properties.
///
/// # Errors
/// Those of opening the table; `InvalidTable` if the definitions of its indexes cannot be read.
pub fn indexes(location: &TableLocation) -> Result<Vec<MetadataIndex>> {
    let table = location.open_table(ReadOptions::default())?;
    let IndexDefinitions(mut definitions) = IndexDefinitions::load(table.storage.as_ref())?;
    let names = table.config.metadata_partitions.iter().filter(|name| *name != FILES);
    Ok(names
        .map(|name| match definitions.remove(name) {
            Some(defined) => {
                // Those of column statistics are a choice of columns, which grows with the table.
                let columns = if *name == defined.kind { Vec::new() } else { defined.source_fields };
                MetadataIndex { name: name.clone(), kind: defined.kind, columns }
            }
            None => MetadataIndex { name: name.clone(), kind: name.clone(), columns: Vec::new() },
        })
        .collect())
}

/// What [`run_metadata_build`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_metadata_build`].
pub fn plan_metadata_build(
    location: &TableLocation,
    request: &MetadataBuildRequest,
    options: &BTreeMap<String, String>,
) -> Result<MetadataBuildResult> {
    preview(&open_table(location, request, options)?, request)
}

/// Opens the table and checks what is asked for. The options have those that the request adds.
fn open_table(
    location: &TableLocation,
    request: &MetadataBuildRequest,
    options: &BTreeMap<String, String>,
) -> Result<WritableTable> {
    if request.deletes && (request.rebuilds || !request.added.is_empty() || !request.dropped.is_empty()) {
        let message = "a metadata table that is deleted cannot be built again, and has no indexes to add or drop";
        return Err(Error::invalid_argument(message));
    }
    let mut options = options.clone();
    options.insert(option_names::METADATA_ENABLE.name().to_owned(), (!request.deletes).to_string());
    // The metadata table may be damaged.
    let table = location.open_table(ReadOptions { metadata: false, ..read_options(&options)? })?;
    let target = WritableTable::of_table(location, table, &options, "metadata")?;
    // Hudi has no option for one of the indexes.
    let indexes = target.metadata_options().clone().with_indexes(&request.added, &request.dropped)?;
    Ok(target.with_metadata_options(indexes))
}

fn preview(target: &WritableTable, request: &MetadataBuildRequest) -> Result<MetadataBuildResult> {
    let (store, table) = (target.store(), target.latest());
    let in_table = |error: Error| error.in_file(target.uri());
    table.check_nothing_is_registered()?;
    let mut planned = MetadataUpkeep::planned(store, &table, target.metadata_options()).map_err(in_table)?;
    let is_unusable =
        matches!(MetadataUpkeep::find(store, &table, target.metadata_options())?, FoundMetadata::Unusable(_));
    let rebuilds = request.rebuilds || is_unusable && !request.deletes;
    let builds = !request.deletes && (rebuilds || !request.added.is_empty() || planned.before.is_empty());
    if builds {
        MetadataUpkeep::check_can_build(&table, target.metadata_options()).map_err(in_table)?;
    }
    let is_dropped = |name: &String| planned.dropped.contains(name) && !planned.added.contains(name);
    let mut after: BTreeSet<String> = planned.before.iter().filter(|name| !is_dropped(name)).cloned().collect();
    after.extend(planned.added.iter().cloned());
    added(request).try_for_each(|name| check_possible(name, &after)).map_err(in_table)?;
    if rebuilds && !planned.before.is_empty() {
        planned.dropped.clone_from(&planned.before);
        planned.added = after.iter().cloned().collect();
    }
    let mut built = MetadataBuildResult { warnings: target.warnings(), ..MetadataBuildResult::default() };
    built.deleted = deleted_files(store.as_ref(), &planned, request.deletes || rebuilds)?;
    if !planned.added.is_empty() {
        (built.files, built.bytes) = data_files(&table)?;
    }
    built.partitions = after.into_iter().collect();
    (built.added, built.dropped) = (planned.added, planned.dropped);
    Ok(built)
}

/// The names of the indexes that are to be added.
fn added(request: &MetadataBuildRequest) -> impl Iterator<Item = &str> {
    request.added.iter().map(|added| split_column(added).0)
}

/// Makes sure that the metadata table will have an index that was asked for.
fn check_possible(index: &str, after: &BTreeSet<String>) -> Result<()> {
    let has_base = index != "partition_stats" || after.contains("column_stats");
    if after.contains(index) && has_base {
        return Ok(());
    }
    let needs = match index {
        "partition_stats" => {
            "column_stats, partitions, table version 8 or later, parquet base files, and columns without ids"
        }
        secondary if secondary.starts_with("secondary_index_") => "table version 8 or later",
        _ => "parquet base files that were not bootstrapped, and columns without ids (schema on read)",
    };
    Err(Error::unsupported(format!("index {index} of the metadata table: it needs {needs}")))
}

/// The files that are deleted: those of partitions, or all; also what is left of those that are not there.
fn deleted_files(store: &dyn FileStore, planned: &PlannedPartitions, is_all: bool) -> Result<Vec<(String, u64)>> {
    let folders: Vec<String> = match is_all || planned.before.is_empty() {
        true => vec![METADATA_ROOT.to_owned()],
        false => {
            let names = planned.dropped.iter().chain(&planned.unlisted);
            names.map(|name| format!("{METADATA_ROOT}/{name}")).collect()
        }
    };
    let mut files = Vec::new();
    for folder in folders {
        files.extend(store.list_recursively(&folder)?.into_iter().map(|(path, status)| (path, status.len)));
    }
    Ok(files)
}

/// The number of the table's data files, and their bytes.
fn data_files(table: &OpenTable) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0_u64, 0_u64);
    for partition in list_table(table.storage.as_ref())? {
        let bases = partition.base_files.iter().map(|base| base.len);
        for len in bases.chain(partition.log_files.iter().map(|log| log.len)) {
            (files, bytes) = (files.saturating_add(1), bytes.saturating_add(len));
        }
    }
    Ok((files, bytes))
}
