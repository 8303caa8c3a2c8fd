//! The merged rows of some keys as they are stored, by file group.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use super::indexed_rows::{ByKey, IndexedRows, strings};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_base::row_number::at;
use mortice_formats::filter::{Filter, Literal, Operator, Term};
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};

/// More keys than these are not looked up by a filter.
const MOST_LOOK_UPS: usize = 100_000;

/// Stored rows, with the columns of the input.
pub(super) struct StoredRows {
    rows: RowBatches,
    by_key: ByKey<StoredRow>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredRow {
    pub(super) row: usize,
    /// An index into the file groups of the tagged rows.
    pub(super) group: u32,
}

impl StoredRows {
    /// Reads the rows of the keys of the chosen rows from the file groups that have them. Of several rows of a key the first counts.
    pub(super) fn read(table: &OpenTable, rows: &IndexedRows, chosen: &[bool]) -> Result<Self> {
        let collector = Collector::new(rows, chosen);
        let slices = rows.tagged.view.slices.iter();
        let slices: Vec<FileSlice> = slices.filter(|slice| collector.is_wanted(slice)).cloned().collect();
        let batches = scan(table, &slices, &collector.keys, &collector.schema)?;
        collector.collect(batches)
    }

    /// The same, of batches that [`read_stored_rows`] returned, in the order of the file slices.
    pub(super) fn of_batches(
        rows: &IndexedRows,
        chosen: &[bool],
        batches: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<Self> {
        Collector::new(rows, chosen).collect(batches)
    }

    pub(super) fn rows(&self) -> &RowBatches {
        &self.rows
    }

    /// The stored row of a key.
    pub(super) fn row_of(&self, key: &str) -> Option<StoredRow> {
        self.by_key.get(key).copied()
    }

    /// The keys that have a stored row, in the order of the rows.
    pub(super) fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<(usize, &str)> = self.by_key.iter().map(|(key, found)| (found.row, key.as_str())).collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }
}

/// Reads the merged rows of some keys of a file slice: record key, partition path and file name, and the columns of `schema` that the
/// table has.
///
/// # Errors
/// `Unsupported` for tables without meta columns; what reading the slice may fail with.
pub fn read_stored_rows(
    table: &OpenTable,
    slice: &FileSlice,
    keys: &BTreeSet<&str>,
    schema: &Schema,
) -> Result<Vec<RecordBatch>> {
    let mut found = Vec::new();
    for batch in scan(table, std::slice::from_ref(slice), keys, schema)? {
        let batch = batch?;
        let keys_of_batch = strings(&batch, meta_columns::RECORD_KEY)?;
        let is_wanted = |key: Option<&str>| key.is_some_and(|key| keys.contains(key));
        let places = (0_u64..).zip(&keys_of_batch).filter(|(_, key)| is_wanted(*key)).map(|(at, _)| at).collect();
        let taken = take(&batch, places)?;
        if taken.num_rows() > 0 {
            found.push(taken);
        }
    }
    Ok(found)
}

fn scan(
    table: &OpenTable,
    slices: &[FileSlice],
    keys: &BTreeSet<&str>,
    schema: &Schema,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    if !table.config.populate_meta_fields {
        return Err(Error::unsupported(
            "rows that move between partitions in a table without meta columns (hoodie.populate.meta.fields=false); use an index that is not global",
        ));
    }
    let options = QueryOptions { columns: Some(columns_of(table, schema)?), filter: filter_of(keys)?, merger: None };
    Ok(table.stored_rows(slices, &options)?.stream())
}

/// Collects the stored rows of the chosen rows' keys.
struct Collector<'r> {
    keys: BTreeSet<&'r str>,
    /// The file groups that may have them, by partition and file id.
    groups: HashMap<(&'r str, &'r str), u32>,
    schema: SchemaRef,
    kept: RowBatchesBuilder,
    by_key: ByKey<StoredRow>,
    count: usize,
}

impl<'r> Collector<'r> {
    fn new(rows: &'r IndexedRows, chosen: &[bool]) -> Self {
        let is_chosen = |row: usize| chosen.get(row) == Some(&true);
        let keys = rows.rows.keys.record_keys.iter().enumerate();
        let keys = keys.filter(|(row, _)| is_chosen(*row)).filter_map(|(_, key)| key).collect();
        let (groups, schema) = (groups_of(rows, &is_chosen), rows.rows.batches.schema());
        let kept = RowBatchesBuilder::new(nullable(&schema), rows.rows.batches.memory().clone());
        Self { keys, groups, schema, kept, by_key: ByKey::default(), count: 0 }
    }

    fn is_wanted(&self, slice: &FileSlice) -> bool {
        self.groups.contains_key(&(slice.partition.as_str(), slice.file_id.as_str()))
    }

    fn collect(mut self, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<StoredRows> {
        for batch in batches {
            self.add(&batch?)?;
        }
        Ok(StoredRows { rows: self.kept.finish(), by_key: self.by_key })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut places = Vec::new();
        let [keys, partitions, files] =
            [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH, meta_columns::FILE_NAME]
                .map(|name| strings(batch, name));
        let (keys, partitions, files) = (keys?, partitions?, files?);
        for (at, ((key, partition), file)) in (0_u64..).zip(keys.iter().zip(&partitions).zip(&files)) {
            // Rows of other keys, and further rows of a key: one of them is merged.
            let is_wanted = |key: &&str| self.keys.contains(key) && !self.by_key.contains_key(*key);
            let Some(key) = key.filter(is_wanted) else { continue };
            let (Some(partition), Some(file)) = (partition, file) else {
                return Err(Error::invalid_table(format!("the row of key {key:?} does not say in which file it is")));
            };
            // A base row has the name of its base file, a log row the file id.
            let file_id = file.split_once('_').map_or(file, |(file_id, _)| file_id);
            let group = self.groups.get(&(partition, file_id)).ok_or_else(|| {
                Error::invalid_table(format!(
                    "the row of key {key:?} says that it is in file {file:?} of partition {partition:?}, and is not"
                ))
            })?;
            self.by_key.insert(key.to_owned(), StoredRow { row: self.count + places.len(), group: *group });
            places.push(at);
        }
        self.count += places.len();
        self.kept.push(in_columns(&take(batch, places)?, &self.schema)?)
    }
}

/// The file groups that the chosen rows may be in, by partition and file id.
fn groups_of<'r>(rows: &'r IndexedRows, is_chosen: &impl Fn(usize) -> bool) -> HashMap<(&'r str, &'r str), u32> {
    let tagged = &rows.tagged;
    let of_rows =
        tagged.locations.iter().enumerate().filter(|(row, _)| is_chosen(*row)).filter_map(|(_, group)| *group);
    let further = tagged.further.iter().filter(|further| is_chosen(at(further.row)));
    let wanted: BTreeSet<u32> = of_rows.chain(further.map(|further| further.group)).collect();
    (0_u32..)
        .zip(&tagged.groups)
        .filter(|(group, _)| wanted.contains(group))
        .map(|(group, location)| ((location.partition.as_str(), location.file_id.as_str()), group))
        .collect()
}

/// The columns to read: those of the input that the table has, and three meta columns.
fn columns_of(table: &OpenTable, schema: &Schema) -> Result<Vec<String>> {
    let (_, types) = table.schema_at(None)?;
    let meta = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH, meta_columns::FILE_NAME];
    let names = schema.fields().iter().map(|field| field.name().as_str()).filter(|name| !meta.contains(name));
    let known = names.filter(|name| types.fields().find(name).is_some());
    Ok(meta.into_iter().chain(known).map(str::to_owned).collect())
}

fn filter_of(keys: &BTreeSet<&str>) -> Result<Filter> {
    if keys.len() > MOST_LOOK_UPS {
        return Ok(Filter::default());
    }
    let literals = keys.iter().map(|key| Literal::Text((*key).to_owned())).collect();
    Ok(Filter::any_of(vec![vec![Term::new(meta_columns::RECORD_KEY, Operator::In, literals)?]]))
}

fn take(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    let taken = take_record_batch(batch, &UInt64Array::from(rows));
    taken.map_err(|error| Error::internal("rows of a batch").caused_by(error))
}

fn nullable(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(
        schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>(),
    ))
}

/// Rows with the columns of the input; columns that the table does not have yet are null.
fn in_columns(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch> {
    let column = |field: &Arc<arrow_schema::Field>| match batch.column_by_name(field.name()) {
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        Some(column) if column.data_type() == field.data_type() => Ok(Arc::clone(column)),
        Some(column) => arrow_cast::cast(column, field.data_type()).map_err(|error| {
            Error::unsupported(format!("column {:?} of stored rows as {}", field.name(), field.data_type()))
                .caused_by(error)
        }),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let rows = RecordBatch::try_new_with_options(nullable(schema), columns, &options);
    rows.map_err(|error| Error::internal("stored rows").caused_by(error))
}
