//! The merged rows of some keys as they are stored, by file group.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::indexed_rows::{ByKey, IndexedRows, strings};
use crate::error::{Error, Result};
use crate::file_group::FileSlice;
use crate::filter::{Filter, Literal, Operator, Term};
use crate::names::meta_columns;
use crate::plan::{OpenTable, QueryOptions};

/// More keys than these are not looked up by a filter.
const MOST_LOOK_UPS: usize = 100_000;

/// Stored rows, with the columns of the input.
pub(super) struct StoredRows {
    rows: RecordBatch,
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
        if !table.config.populate_meta_fields {
            return Err(Error::unsupported(
                "rows that move between partitions in a table without meta columns (hoodie.populate.meta.fields=false); use an index that is not global",
            ));
        }
        let is_chosen = |row: usize| chosen.get(row) == Some(&true);
        let keys: BTreeSet<&str> = rows
            .keys
            .record_keys
            .iter()
            .enumerate()
            .filter(|(row, _)| is_chosen(*row))
            .filter_map(|(_, key)| key)
            .collect();
        let (slices, groups) = slices_of(rows, &is_chosen);
        let columns = columns_of(table, &rows.rows.schema())?;
        let options = QueryOptions { columns: Some(columns), filter: filter_of(&keys)?, merger: None };
        let schema = rows.rows.schema();
        let (mut kept, mut by_key, mut count) = (Vec::new(), ByKey::<StoredRow>::default(), 0_usize);
        for batch in table.stored_rows(&slices, &options)?.stream() {
            let batch = batch?;
            let mut places = Vec::new();
            let [keys_of_batch, partitions, files] =
                [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH, meta_columns::FILE_NAME]
                    .map(|name| strings(&batch, name));
            let (keys_of_batch, partitions, files) = (keys_of_batch?, partitions?, files?);
            for (at, ((key, partition), file)) in (0_u64..).zip(keys_of_batch.iter().zip(&partitions).zip(&files)) {
                let (Some(key), Some(partition), Some(file)) = (key, partition, file) else { continue };
                if !keys.contains(key) || by_key.contains_key(key) {
                    continue;
                }
                // A base row has the name of its base file, a log row the file id.
                let file_id = file.split('_').next().unwrap_or_default();
                let group = groups.get(&(partition, file_id)).ok_or_else(|| {
                    Error::invalid_table(format!(
                        "the row of key {key:?} says that it is in file {file:?} of partition {partition:?}, and is not"
                    ))
                })?;
                by_key.insert(key.to_owned(), StoredRow { row: count + places.len(), group: *group });
                places.push(at);
            }
            count += places.len();
            kept.push(in_columns(&take(&batch, places)?, &schema)?);
        }
        let nullable = nullable(&schema);
        let rows = concat_batches(&nullable, &kept).map_err(|error| Error::internal("stored rows").caused_by(error))?;
        Ok(Self { rows, by_key })
    }

    pub(super) fn rows(&self) -> &RecordBatch {
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

/// The slices that the chosen rows may be in, and the file groups by partition and file id.
fn slices_of<'r>(
    rows: &'r IndexedRows,
    is_chosen: &impl Fn(usize) -> bool,
) -> (Vec<FileSlice>, HashMap<(&'r str, &'r str), u32>) {
    let tagged = &rows.tagged;
    let of_rows =
        tagged.locations.iter().enumerate().filter(|(row, _)| is_chosen(*row)).filter_map(|(_, group)| *group);
    let further = tagged.further.iter().filter(|further| usize::try_from(further.row).is_ok_and(is_chosen));
    let wanted: BTreeSet<u32> = of_rows.chain(further.map(|further| further.group)).collect();
    let groups: HashMap<(&str, &str), u32> = (0_u32..)
        .zip(&tagged.groups)
        .filter(|(group, _)| wanted.contains(group))
        .map(|(group, location)| ((location.partition.as_str(), location.file_id.as_str()), group))
        .collect();
    let slices = tagged.view.slices.iter();
    let slices = slices.filter(|slice| groups.contains_key(&(slice.partition.as_str(), slice.file_id.as_str())));
    (slices.cloned().collect(), groups)
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
