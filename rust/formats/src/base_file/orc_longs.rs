//! Longs of an ORC file that are local timestamps of microseconds in the table: Hudi has no other ORC type for them
//! (`AvroOrcUtils`). Those of milliseconds are refused by `conform`: Hudi reads them as microseconds.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema as ArrowSchema};

use mortice_avro::{Record, Schema, Type};
use mortice_base::error::{Error, Result};
use mortice_base::names::FieldNames;

/// The table's schema, and the names of its columns in the file.
pub(super) struct OrcLongs {
    table: Schema,
    names: FieldNames,
}

impl OrcLongs {
    /// Returns `None` if no value of the table is a local timestamp of microseconds.
    pub(super) fn new(table: &Schema, names: &FieldNames) -> Option<Self> {
        has_local_timestamp(table.root()).then(|| Self { table: table.clone(), names: names.clone() })
    }

    /// Returns a batch of the file, whose longs are local timestamps where those of the table are.
    pub(super) fn as_timestamps(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let failed = |error| Error::invalid_table("columns of an ORC file make no batch").caused_by(error);
        let fields = batch.schema_ref().fields();
        let (fields, columns) =
            of_fields(fields, batch.columns(), self.table.as_record()?, &self.names).map_err(failed)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options).map_err(failed)
    }
}

fn has_local_timestamp(table: &Type) -> bool {
    match table.non_null() {
        Type::LocalTimestampMicros => true,
        Type::Array(inner) | Type::Map(inner) => has_local_timestamp(inner),
        Type::Record(record) => record.fields.iter().any(|field| has_local_timestamp(&field.ty)),
        _ => false,
    }
}

fn of_fields(
    fields: &Fields,
    columns: &[ArrayRef],
    table: &Record,
    names: &FieldNames,
) -> std::result::Result<(Fields, Vec<ArrayRef>), ArrowError> {
    let of_column = |(field, column): (&FieldRef, &ArrayRef)| {
        let (name, inside) = names.in_table(field.name());
        let column = match table.field(&name) {
            Some(wanted) => of_array(column, &wanted.ty, inside)?,
            None => Arc::clone(column),
        };
        Ok((retyped(field, &column), column))
    };
    let pairs = fields.iter().zip(columns).map(of_column).collect::<std::result::Result<Vec<_>, ArrowError>>()?;
    let (fields, columns): (Vec<FieldRef>, Vec<ArrayRef>) = pairs.into_iter().unzip();
    Ok((fields.into(), columns))
}

fn of_array(array: &ArrayRef, table: &Type, names: &FieldNames) -> std::result::Result<ArrayRef, ArrowError> {
    Ok(match (array.data_type(), table.non_null()) {
        (DataType::Int64, Type::LocalTimestampMicros) => {
            Arc::new(array.as_primitive::<Int64Type>().reinterpret_cast::<TimestampMicrosecondType>())
        }
        (DataType::Struct(fields), Type::Record(record)) => {
            let nulls = array.nulls().cloned();
            let (fields, columns) = of_fields(fields, array.as_struct().columns(), record, names)?;
            Arc::new(StructArray::try_new_with_length(fields, columns, nulls, array.len())?)
        }
        (DataType::List(item), Type::Array(items)) => {
            let list = array.as_list::<i32>();
            let values = of_array(list.values(), items, names)?;
            let item = retyped(item, &values);
            Arc::new(ListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (DataType::Map(entries, sorted), Type::Map(wanted)) => {
            let map = array.as_map();
            let (DataType::Struct(fields), [keys, values]) = (entries.data_type(), map.entries().columns()) else {
                return Ok(Arc::clone(array));
            };
            let values = of_array(values, wanted, names)?;
            let columns = vec![Arc::clone(keys), values];
            let fields: Fields = fields.iter().zip(&columns).map(|(field, column)| retyped(field, column)).collect();
            let pairs = StructArray::try_new(fields.clone(), columns, None)?;
            let entries = Arc::new(entries.as_ref().clone().with_data_type(DataType::Struct(fields)));
            Arc::new(MapArray::try_new(entries, map.offsets().clone(), pairs, map.nulls().cloned(), *sorted)?)
        }
        _ => Arc::clone(array),
    })
}

fn retyped(field: &FieldRef, column: &ArrayRef) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(column.data_type().clone()))
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn longs_are_local_timestamps_where_those_of_the_table_are() {
        let local = r#"{"type":"long","logicalType":"local-timestamp-micros"}"#;
        let table = format!(
            r#"{{"type":"record","name":"t","fields":[{{"name":"a","type":["null",{local}]}},
               {{"name":"n","type":{{"type":"long","logicalType":"local-timestamp-millis"}}}},{{"name":"l","type":{{"type":"array","items":["null",{local}]}}}},
               {{"name":"s","type":{{"type":"record","name":"s","fields":[{{"name":"m","type":
                 {{"type":"long","logicalType":"local-timestamp-micros"}}}}]}}}}]}}"#
        );
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let list = ListArray::new(item, OffsetBuffer::from_lengths([2, 0]), Arc::clone(&longs), None);
        let inner = Fields::from(vec![Field::new("m", DataType::Int64, true)]);
        let structs = StructArray::new(inner, vec![Arc::clone(&longs)], None);
        let batch = RecordBatch::try_from_iter([
            ("old", Arc::clone(&longs)),
            ("n", longs),
            ("l", Arc::new(list) as ArrayRef),
            ("s", Arc::new(structs)),
        ]);
        let mut names = FieldNames::default();
        names.add("a", Some("old"), FieldNames::default());
        let found = OrcLongs::new(&Schema::parse(&table).unwrap(), &names).unwrap();
        let found = found.as_timestamps(&batch.unwrap()).unwrap();
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let kinds: Vec<&DataType> = found.columns().iter().map(|column| column.data_type()).collect();
        assert_eq!(kinds[..2], [&micros, &DataType::Int64]);
        assert_eq!(found.column(0).as_primitive::<TimestampMicrosecondType>().value(0), 1);
        assert_eq!(found.column(2).as_list::<i32>().value_type(), micros);
        assert_eq!(found.column(3).as_struct().column(0).data_type(), &micros);
        assert!(
            OrcLongs::new(&Schema::parse(r#"{"type":"record","name":"t","fields":[]}"#).unwrap(), &names).is_none()
        );
    }
}
