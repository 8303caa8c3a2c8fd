//! From the options to the commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use bytes::Bytes;

use super::options::{BootstrapMode, BootstrapOptions};
use super::partitions::SourcePartitions;
use super::skeletons::Skeletons;
use super::source::{SourceFile, SourceFolder};
use crate::WriteInput;
use crate::bulk_insert::bulk_insert;
use crate::create_for_write::create_table_for_write;
use crate::write::user_metadata;
use mortice_avro as avro;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::panics::caught;
use mortice_commit::commit::{NewTable, create_bootstrapped_table};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::{ReadOptions, option_names};
use mortice_services::transaction::{CommitExtra, Transaction, WriteResult};
use mortice_storage::{FileStore, open_beside};
use mortice_table::bootstrap::index_files;
use mortice_table::timeline::WriteOperation;
use mortice_write::rows::WriteSchema;
use mortice_write::write::WriteStatus;

const HIVE_STYLE: &str = option_names::HIVE_STYLE_PARTITIONING.name();
const METADATA_TABLE: &str = "hoodie.metadata.enable";

/// Makes a table of a folder of Parquet files (`hoodie.bootstrap.base.path`), which the options of a write describe.
///
/// In a metadata-only bootstrap, the default, the rows stay where they are: the table needs its source until all of its
/// file groups were rewritten. A table without commits is taken over, so that a bootstrap that stopped is run again.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for options that describe no table and for a source that makes none;
/// `AlreadyExists` if there is a table with commits; those of the storage.
pub fn bootstrap(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<WriteResult> {
    let BootstrapOptions { source: root, mode, decodes_folders, mut write } = BootstrapOptions::resolve(options)?;
    let store = location.open_store()?;
    let source = SourceFolder::open(open_beside(&*store, &root, location.storage_options(), false)?)?;
    let columns = NewTable::from_write_options(&write)?.partition_by;
    // Custom key generators name the type after a colon.
    let columns = columns.iter().map(|name| name.split(':').next().unwrap_or(name).to_owned()).collect();
    let partitions = SourcePartitions { columns, decodes_folders };
    for file in &source.files {
        partitions.check(file).map_err(|error| error.in_file(source.full_path(file)))?;
    }
    if !write.contains_key(HIVE_STYLE) && partitions.are_hive_style(&source.files) {
        write.insert(HIVE_STYLE.to_owned(), "true".to_owned());
    }
    let columns = source.columns(&partitions.columns)?;
    match mode {
        BootstrapMode::FullRecord => full_record(location, &source, &partitions, &columns, &write),
        BootstrapMode::MetadataOnly => {
            let table = NewTable::from_write_options(&write)?;
            created(location, create_bootstrapped_table(&*store, &table, &columns, &root).map(|()| true))?;
            metadata_only(location, &root, &source, &partitions, &write)
        }
    }
}

/// Makes sure that a table that was there before has no commit.
fn created(location: &TableLocation, outcome: Result<bool>) -> Result<()> {
    let exists = match outcome {
        Ok(true) => return Ok(()),
        Ok(false) => Error::new(ErrorKind::AlreadyExists, "there is a table here already: choose another path"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => error,
        Err(error) => return Err(error),
    };
    let table = location.open_table(ReadOptions::default())?;
    if table.timeline.completed_writes().next().is_none() { Ok(()) } else { Err(exists.in_file(location.uri())) }
}

/// Writes all rows of the source, as an ordinary table.
fn full_record(
    location: &TableLocation,
    source: &SourceFolder,
    partitions: &SourcePartitions,
    columns: &ArrowSchema,
    options: &BTreeMap<String, String>,
) -> Result<WriteResult> {
    created(location, create_table_for_write(location, WriteOperation::BulkInsert, columns, options))?;
    let table = avro::hudi_schema(columns, "source")?;
    let types = avro::arrow_schema(&table, avro::ArrowMapping::Table)?;
    let rows_of = |file: &SourceFile| -> Result<_> {
        let own = types
            .fields()
            .iter()
            .filter(|field| file.has_column(field.name()) || !is_of_path(partitions, field.name()));
        let wanted: SchemaRef = Arc::new(ArrowSchema::new(own.cloned().collect::<Vec<_>>()));
        source.rows(file, &table, &wanted)
    };
    let mut batches = source.files.iter().flat_map(|file| {
        let (rows, failed) = match rows_of(file) {
            Ok(rows) => (Some(rows), None),
            Err(error) => (None, Some(Err(error))),
        };
        let completed = move |rows: Result<RecordBatch>| in_order(&partitions.complete(file, &rows?)?, columns);
        rows.into_iter().flatten().map(completed).chain(failed)
    });
    let schema = Arc::new(ArrowSchema::new(types.fields().clone()));
    let input = WriteInput { schema, batches: &mut batches, is_in_memory: false, options, validator: None };
    bulk_insert(location, input)
}

fn is_of_path(partitions: &SourcePartitions, name: &str) -> bool {
    partitions.columns.iter().any(|column| column == name)
}

/// The columns of rows in the order of the table.
fn in_order(rows: &RecordBatch, columns: &ArrowSchema) -> Result<RecordBatch> {
    let places: Vec<usize> =
        columns.fields().iter().filter_map(|field| rows.schema().index_of(field.name()).ok()).collect();
    rows.project(&places).map_err(Error::internal_by("columns of rows are there"))
}

/// Writes the skeletons and the index of a table that was created.
fn metadata_only(
    location: &TableLocation,
    root: &str,
    source: &SourceFolder,
    partitions: &SourcePartitions,
    options: &BTreeMap<String, String>,
) -> Result<WriteResult> {
    let mut of_commit = options.clone();
    // The next write builds it, of all files.
    of_commit.insert(METADATA_TABLE.to_owned(), "false".to_owned());
    let table = location.open_table(ReadOptions::default())?;
    if table.config.record_key_fields.is_empty() || !table.config.populate_meta_fields {
        let message = "a metadata-only bootstrap needs a record key and meta columns \
                       (hoodie.datasource.write.recordkey.field, hoodie.populate.meta.fields=true)";
        return Err(Error::invalid_argument(message).in_file(location.uri()));
    }
    let target = Arc::new(WritableTable::of_table(location, table, &of_commit, "bootstrap")?);
    let mut transaction = Transaction::begin_bootstrap(&target)?;
    let written = caught("a bootstrap", || skeletons(&mut transaction, root, source, partitions));
    let (transaction, (statuses, schema)) = transaction.or_abort(written)?;
    let extra = CommitExtra {
        schema: schema.columns.json().to_owned(),
        user_metadata: user_metadata(options),
        ..CommitExtra::default()
    };
    let committed = transaction.commit(statuses, &extra)?;
    target.leave();
    Ok(WriteResult { warnings: target.warnings(), ..WriteResult::new(committed) })
}

fn skeletons(
    transaction: &mut Transaction,
    root: &str,
    source: &SourceFolder,
    partitions: &SourcePartitions,
) -> Result<(Vec<WriteStatus>, WriteSchema)> {
    let (table, target) = (Arc::clone(transaction.table()), Arc::clone(transaction.target()));
    let schema = WriteSchema::of_table(&table)?;
    transaction.inflight_without_profile()?;
    let (statuses, entries) = Skeletons {
        store: transaction.store(),
        config: &table.config,
        schema: &schema,
        settings: target.settings(),
        instant: transaction.instant(),
        source,
        partitions,
    }
    .write()?;
    // Readers look for the index where they find a skeleton, which they see once the commit is completed.
    let store: &Arc<dyn FileStore> = transaction.store();
    for (path, content) in index_files(root, &entries, store.time().now().timestamp_millis())? {
        store.put(path, &Bytes::from(content), None)?;
    }
    Ok((statuses, schema))
}
