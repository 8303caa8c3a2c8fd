//! Prepared rows as record batches: the table's columns, then what is known of each row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;

use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_write::row_set::{RowMarks, WriteRows};

const UNFIT: &str = "rows that are sent between processes";

/// Columns that every sent row has.
const KEY: &str = "_mortice_key";
const PARTITION: &str = "_mortice_partition";
const MARK: &str = "_mortice_mark";

/// Prepared rows with further columns of the stage that sends them.
pub(crate) fn to_batch(rows: &WriteRows, further: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    let own: [(&str, ArrayRef); 3] = [
        (KEY, Arc::new(rows.keys.record_keys.clone())),
        (PARTITION, Arc::new(rows.keys.partitions.clone())),
        (MARK, Arc::new(rows.marks.to_array())),
    ];
    let batch = rows.batches.to_batch()?;
    let (mut fields, mut columns) = (nullable(&rows.batches.schema()), batch.columns().to_vec());
    for (name, column) in own.into_iter().chain(further) {
        fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
        columns.push(column);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::internal_by(UNFIT))
}

/// Rows that are merged may lack values that the input's rows all have.
fn nullable(schema: &Schema) -> Vec<Arc<Field>> {
    schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect()
}

/// Rows that were sent, and their further columns.
pub(crate) struct SentRows {
    /// The rows.
    pub(crate) rows: WriteRows,
    further: RecordBatch,
}

impl SentRows {
    /// Reads the output of [`to_batch`], of which `types` are the table's columns.
    pub(crate) fn of_batch(batch: &RecordBatch, types: &SchemaRef) -> Result<Self> {
        let count = types.fields().len();
        let lacks = || Error::internal("a batch that does not consist of prepared rows");
        let (own, behind): (Vec<usize>, Vec<usize>) = (0..batch.num_columns()).partition(|at| *at < count);
        if own.len() != count {
            return Err(lacks());
        }
        let schema = Arc::new(Schema::new(nullable(types)));
        let columns = own.iter().map(|at| Arc::clone(batch.column(*at))).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let further = batch.project(&behind).map_err(Error::internal_by(UNFIT))?;
        let text = |name: &str| further.column_by_name(name)?.as_string_opt::<i32>().cloned();
        let marks = further.column_by_name(MARK).and_then(|column| column.as_primitive_opt());
        let rows = WriteRows::new(
            RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::internal_by(UNFIT))?.into(),
            RowKeys { record_keys: text(KEY).ok_or_else(lacks)?, partitions: text(PARTITION).ok_or_else(lacks)? },
            RowMarks::of_array(marks.ok_or_else(lacks)?)?,
        )?;
        Ok(Self { rows, further })
    }

    /// One of the further columns.
    pub(crate) fn column<T: Array + Clone + 'static>(&self, name: &str) -> Result<T> {
        let column = self.further.column_by_name(name).and_then(|column| column.as_any().downcast_ref::<T>());
        column.cloned().ok_or_else(|| Error::internal(format!("prepared rows without the column {name}")))
    }
}

/// Batches of one schema as one.
pub(crate) fn joined(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let Some(first) = batches.first() else { return Err(Error::internal("no batches to join")) };
    concat_batches(first.schema_ref(), batches)
        .map_err(|error| Error::invalid_argument("the rows of one task of a write are too large").caused_by(error))
}

/// No rows, with the table's columns.
pub(crate) fn no_rows(types: &SchemaRef) -> WriteRows {
    let no_text = || StringArray::from(Vec::<&str>::new());
    WriteRows {
        batches: RecordBatch::new_empty(Arc::new(Schema::new(nullable(types)))).into(),
        keys: RowKeys { record_keys: no_text(), partitions: no_text() },
        marks: RowMarks::default(),
    }
}
