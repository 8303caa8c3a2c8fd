//! A base file whose columns have had other names than the table's are now: read under the file's names, delivered
//! under the table's, nested fields too. Queries of ambiguous columns are errors.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use super::reader::{BaseBatches, BaseFile};
use crate::filter::{BoundFilter, ColumnBounds};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{CaseNames, FieldNames};

/// The file with its columns under the table's names. A query of an ambiguous one is an error.
pub(super) fn renamed(file: Box<dyn BaseFile>, names: CaseNames) -> Box<dyn BaseFile> {
    if names.is_identity() { file } else { Box::new(RenamedFile { file, names: Arc::new(names) }) }
}

struct RenamedFile {
    file: Box<dyn BaseFile>,
    names: Arc<CaseNames>,
}

impl RenamedFile {
    fn in_file(&self, wanted: &SchemaRef) -> SchemaRef {
        Arc::new(Schema::new(fields_in_file(wanted.fields(), self.names.names())))
    }

    fn checked_in_file(&self, wanted: &SchemaRef) -> Result<SchemaRef> {
        self.names.check(wanted.fields().iter().map(|field| field.name().as_str()))?;
        Ok(self.in_file(wanted))
    }
}

impl BaseFile for RenamedFile {
    fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    fn avro_schema(&self) -> Option<String> {
        self.file.avro_schema()
    }

    fn footer_value(&self, key: &str) -> Option<String> {
        self.file.footer_value(key)
    }

    fn has_column(&self, name: &str) -> bool {
        let (in_file, _) = self.names.names().in_file(name);
        self.names.is_ambiguous(name) || self.file.has_column(&in_file)
    }

    fn kept_rows(&self) -> Vec<Range<u64>> {
        self.file.kept_rows()
    }

    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()> {
        self.file.keep_rows(rows)
    }

    fn row_groups(&self) -> Vec<u64> {
        self.file.row_groups()
    }

    fn column_bytes(&self, wanted: &SchemaRef) -> Option<Vec<u64>> {
        self.file.column_bytes(&self.in_file(wanted))
    }

    fn bounds(&self, wanted: &Field) -> Option<ColumnBounds> {
        if self.names.is_ambiguous(wanted.name()) {
            return None;
        }
        let wanted: FieldRef = Arc::new(wanted.clone());
        let in_file = fields_in_file(&Fields::from(vec![wanted]), self.names.names());
        self.file.bounds(in_file.first()?)
    }

    fn again(&self) -> Option<Box<dyn BaseFile>> {
        Some(Box::new(Self { file: self.file.again()?, names: Arc::clone(&self.names) }))
    }

    fn keep_row_groups(&mut self, kept: Range<usize>) {
        self.file.keep_row_groups(kept);
    }

    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64> {
        // The filter goes by places in `wanted`, which stay.
        let wanted = self.checked_in_file(wanted)?;
        self.file.prune(&wanted, filter)
    }

    fn least_batch_rows(&self, wanted: &SchemaRef, limit: BatchLimit) -> Result<usize> {
        self.file.least_batch_rows(&self.checked_in_file(wanted)?, limit)
    }

    fn batches(self: Box<Self>, wanted: &SchemaRef, limit: BatchLimit) -> Result<BaseBatches> {
        let (in_file, wanted) = (self.checked_in_file(wanted)?, Arc::clone(wanted));
        let batches = self.file.batches(&in_file, limit)?;
        Ok(Box::new(batches.map(move |batch| labelled_batch(&batch?, &wanted))))
    }
}

fn fields_in_file(fields: &Fields, names: &FieldNames) -> Fields {
    let in_file = |field: &FieldRef| {
        let (name, inside) = names.in_file(field.name());
        let kind = type_in_file(field.data_type(), inside);
        field.as_ref().clone().with_name(name).with_data_type(kind)
    };
    fields.iter().map(in_file).collect()
}

fn type_in_file(kind: &DataType, names: &FieldNames) -> DataType {
    if names.is_identity() {
        return kind.clone();
    }
    let retyped =
        |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(type_in_file(field.data_type(), names)));
    match kind {
        DataType::Struct(fields) => DataType::Struct(fields_in_file(fields, names)),
        DataType::List(item) => DataType::List(retyped(item)),
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(pair) => {
                let pair = DataType::Struct(pair.iter().map(retyped).collect());
                DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
            }
            _ => kind.clone(),
        },
        _ => kind.clone(),
    }
}

fn labelled_batch(batch: &RecordBatch, wanted: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(wanted.fields());
    let columns = columns.map(|(column, field)| labelled(column, field.data_type())).collect::<Result<_, _>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    columns
        .and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(wanted), columns, &options))
        .map_err(|error| Error::invalid_table("renamed columns of a base file make no batch").caused_by(error))
}

/// The array with other names inside. Its shape is that of `wanted` already.
fn labelled(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    let nulls = array.nulls().cloned();
    Ok(match (array.data_type(), wanted) {
        (DataType::Struct(_), DataType::Struct(fields)) => Arc::new(labelled_struct(array.as_struct(), fields)?),
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = labelled(list.values(), item.data_type())?;
            Arc::new(ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, nulls)?)
        }
        (DataType::Map(..), DataType::Map(entries, sorted)) => {
            let map = array.as_map();
            let DataType::Struct(pair) = entries.data_type() else { return Ok(Arc::clone(array)) };
            let pairs = labelled_struct(map.entries(), pair)?;
            Arc::new(MapArray::try_new(Arc::clone(entries), map.offsets().clone(), pairs, nulls, *sorted)?)
        }
        _ => Arc::clone(array),
    })
}

fn labelled_struct(array: &StructArray, fields: &Fields) -> Result<StructArray, ArrowError> {
    let children = array.columns().iter().zip(fields).map(|(child, field)| labelled(child, field.data_type()));
    let children = children.collect::<Result<Vec<_>, _>>()?;
    StructArray::try_new_with_length(fields.clone(), children, array.nulls().cloned(), array.len())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    /// A file of one batch, which gives columns by name, and null columns for names that it does not have.
    struct OneBatch(RecordBatch);

    impl BaseFile for OneBatch {
        fn row_count(&self) -> u64 {
            self.0.num_rows() as u64
        }

        fn avro_schema(&self) -> Option<String> {
            None
        }

        fn has_column(&self, name: &str) -> bool {
            self.0.column_by_name(name).is_some()
        }

        fn prune(&mut self, _: &SchemaRef, _: &BoundFilter) -> Result<u64> {
            Ok(0)
        }

        fn kept_rows(&self) -> Vec<Range<u64>> {
            super::super::row_ranges::whole(self.row_count())
        }

        fn keep_rows(&mut self, _: Vec<Range<u64>>) -> Result<()> {
            Ok(())
        }

        fn batches(self: Box<Self>, wanted: &SchemaRef, _: BatchLimit) -> Result<BaseBatches> {
            let column = |field: &FieldRef| {
                let found = self.0.column_by_name(field.name()).cloned();
                let found = found.unwrap_or_else(|| arrow_array::new_null_array(field.data_type(), self.0.num_rows()));
                assert_eq!(found.data_type(), field.data_type());
                found
            };
            let columns = wanted.fields().iter().map(column).collect();
            Ok(Box::new(std::iter::once(Ok(RecordBatch::try_new(Arc::clone(wanted), columns).unwrap()))))
        }
    }

    fn pair(name: &str) -> Fields {
        Fields::from(vec![Field::new(name, DataType::Int32, true), Field::new("same", DataType::Int32, true)])
    }

    fn list_of(fields: Fields) -> DataType {
        DataType::new_list(DataType::Struct(fields), true)
    }

    #[test]
    fn columns_and_nested_fields_come_under_their_new_names() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let structs = StructArray::new(pair("x"), vec![Arc::clone(&numbers), Arc::clone(&numbers)], None);
        let item = Arc::new(Field::new_list_field(DataType::Struct(pair("x")), true));
        let list: ArrayRef =
            Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2, 0]), Arc::new(structs), None));
        let strings: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let file = RecordBatch::try_from_iter([("old", strings), ("list", list), ("gone", numbers)]).unwrap();

        let mut inside = FieldNames::default();
        inside.add("y", Some("x"), FieldNames::default());
        let mut names = FieldNames::default();
        names.add("new", Some("old"), FieldNames::default());
        names.add("list", Some("list"), inside);
        names.add("gone", None, FieldNames::default());
        let wanted = Arc::new(Schema::new(vec![
            Field::new("gone", DataType::Int32, true),
            Field::new("new", DataType::Utf8, true),
            Field::new("list", list_of(pair("y")), true),
        ]));
        let batch = renamed(Box::new(OneBatch(file)), names.into())
            .batches(&wanted, BatchLimit::with_rows(10))
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(batch.schema(), wanted);
        assert_eq!(batch.column(0).null_count(), 2, "another column of that name");
        assert_eq!(batch.column(1).as_string::<i32>().value(1), "b");
        let rows = batch.column(2).as_list::<i32>().value(0);
        assert_eq!(rows.as_struct().column_by_name("y").unwrap().as_ref(), &Int32Array::from(vec![1, 2]));
    }
}
