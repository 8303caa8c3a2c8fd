//! Rows that are compared with stored ones before they are written (`MERGE INTO`): in the table's types, their keys, and which of them a
//! filter selects. It needs no table but its properties, so that tasks of other processes can do it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};

use super::conform::{Rules, ValuePlace};
use super::evolve::FILL_MISSING;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::{BoundFilter, Filter};
use mortice_merge::config::{Properties, TableConfig, option_values};
use mortice_merge::keys::{RowKeyReader, RowKeys};

/// The columns of a batch that a table has, in the types of the table; the others as they are.
///
/// A value is taken over only if the table's type holds it unchanged. Unlike those of an upsert, numbers of a wider type are taken over
/// by their values, as they do not change the table. A null is taken over also where the table's column is not nullable: the write
/// refuses it, if it writes it.
///
/// # Errors
/// `InvalidArgument`, naming the column, for a type or a value that the table's column does not hold.
pub fn columns_of_table(
    batch: &RecordBatch,
    columns: &Schema,
    options: &BTreeMap<String, String>,
) -> Result<RecordBatch> {
    let rules = Rules { by_value: true, fills: option_values::boolean(options, FILL_MISSING, false)? };
    let given = batch.schema();
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut arrays = Vec::with_capacity(batch.num_columns());
    for (field, array) in given.fields().iter().zip(batch.columns()) {
        match columns.fields().find(field.name()) {
            None => {
                fields.push(Arc::clone(field));
                arrays.push(Arc::clone(array));
            }
            Some((_, target)) => {
                arrays.push(rules.conform(array, target, ValuePlace::column(field.name(), 0))?);
                fields.push(Arc::new(target.as_ref().clone().with_nullable(true)));
            }
        }
    }
    batch_of(fields, arrays, batch.num_rows())
}

fn batch_of(fields: Vec<FieldRef>, arrays: Vec<arrow_array::ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| Error::internal("converted columns are no batch").caused_by(error))
}

/// Makes the record keys and partition paths of rows as a write of them would.
#[derive(Debug)]
pub struct GivenKeys {
    config: TableConfig,
    options: BTreeMap<String, String>,
}

impl GivenKeys {
    /// Of a table with these properties, and a write with these options.
    ///
    /// # Errors
    /// `InvalidTable` and `Unsupported` for the properties.
    pub fn new(properties: Properties, options: BTreeMap<String, String>) -> Result<Self> {
        Ok(Self { config: TableConfig::from_properties(properties)?, options })
    }

    /// Record keys and partition paths of rows in the table's types. If they have no partition columns and `key_alone` is true,
    /// their paths are empty.
    ///
    /// # Errors
    /// Those of [`RowKeyReader::for_deletes`] and [`RowKeyReader::read`].
    pub fn keys(&self, batch: &RecordBatch, first_row: u64, key_alone: bool) -> Result<RowKeys> {
        RowKeyReader::for_deletes(&self.config, &batch.schema(), &self.options, key_alone)?.read(batch, first_row)
    }

    /// Partition paths alone; the columns of the record key may have any values.
    ///
    /// # Errors
    /// As for [`GivenKeys::keys`].
    pub fn partitions(&self, batch: &RecordBatch) -> Result<StringArray> {
        RowKeyReader::new(&self.config, &batch.schema(), &self.options)?.read_partitions(batch, 0)
    }
}

/// Which rows a filter selects, by the rules of queries. Columns may have other types than those that tables store.
///
/// # Errors
/// `InvalidArgument` for a filter that does not fit the columns.
pub fn selected_rows(batch: &RecordBatch, filter: &Filter) -> Result<BooleanArray> {
    let given = batch.schema();
    let rules = Rules { by_value: true, fills: true };
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut arrays = Vec::with_capacity(batch.num_columns());
    for (field, array) in given.fields().iter().zip(batch.columns()) {
        let stored = Field::new(field.name(), stored_type(field.data_type()), true);
        arrays.push(rules.conform(array, &stored, ValuePlace::column(field.name(), 0))?);
        fields.push(Arc::new(stored));
    }
    let batch = batch_of(fields, arrays, batch.num_rows())?;
    BoundFilter::bind(filter, &batch.schema())?.mask(&batch)
}

/// The type of a column of a table that holds values of another one.
fn stored_type(kind: &DataType) -> DataType {
    use DataType as T;
    match kind {
        T::Int8 | T::Int16 | T::UInt8 | T::UInt16 => T::Int32,
        T::UInt32 | T::UInt64 => T::Int64,
        T::Float16 => T::Float32,
        T::LargeUtf8 | T::Utf8View => T::Utf8,
        T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => T::Binary,
        T::Date64 => T::Date32,
        T::Timestamp(_, zone) => T::Timestamp(TimeUnit::Microsecond, zone.clone()),
        T::Dictionary(_, values) => stored_type(values),
        T::Null => T::Boolean,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Float64Array, Int64Array, StructArray, UInt64Array};
    use arrow_schema::Fields;

    use super::*;
    use mortice_formats::filter::{Literal, Operator, Term};

    fn one(name: &str, array: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([(name, array)]).unwrap()
    }

    fn converted(array: ArrayRef, to: DataType) -> Result<ArrayRef> {
        let columns = Schema::new(vec![Field::new("c", to, false)]);
        columns_of_table(&one("c", array), &columns, &BTreeMap::new()).map(|batch| Arc::clone(batch.column(0)))
    }

    #[test]
    fn wider_numbers_are_taken_over_by_value() {
        let longs = |value: i64| Arc::new(Int64Array::from(vec![Some(value), None])) as ArrayRef;
        let doubles = |value: f64| Arc::new(Float64Array::from(vec![Some(value), None])) as ArrayRef;
        for (array, to) in [
            (longs(7), DataType::Int32),
            (longs(7), DataType::Float64),
            (doubles(7.0), DataType::Int32),
            (doubles(0.5), DataType::Float32),
            (doubles(f64::NAN), DataType::Float32),
        ] {
            assert_eq!(converted(array, to.clone()).unwrap().data_type(), &to);
        }
        for (array, to) in [
            (longs(1 << 40), DataType::Int32),
            (longs((1 << 53) + 1), DataType::Float64),
            (longs(i64::MAX), DataType::Float64),
            (longs(2), DataType::Boolean),
            (longs(2), DataType::Utf8),
            (doubles(1.5), DataType::Int32),
            (doubles(1e300), DataType::Float32),
            (doubles(0.1), DataType::Float32),
            (doubles(1.25), DataType::Decimal128(10, 2)),
        ] {
            let error = converted(array, to).unwrap_err();
            assert!(
                error.kind() == mortice_base::ErrorKind::InvalidArgument && error.to_string().contains("\"c\""),
                "{error}"
            );
        }
    }

    #[test]
    fn structs_have_the_fields_of_the_table() {
        let fields =
            |names: &[&str]| names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Fields>();
        let given = |names: &[&str]| {
            let children = names.iter().map(|_| Arc::new(Int64Array::from(vec![1])) as ArrayRef).collect();
            Arc::new(StructArray::new(fields(names), children, None)) as ArrayRef
        };
        let stored = DataType::Struct(fields(&["x", "y"]));
        assert!(converted(given(&["y", "x"]), stored.clone()).is_ok());
        assert!(converted(given(&["x", "y", "z"]), stored.clone()).unwrap_err().to_string().contains("\"z\""));
        assert!(converted(given(&["x"]), stored.clone()).unwrap_err().to_string().contains("\"y\""));
        let options = BTreeMap::from([(FILL_MISSING.to_owned(), "true".to_owned())]);
        let columns = Schema::new(vec![Field::new("c", stored, true)]);
        assert!(columns_of_table(&one("c", given(&["x"])), &columns, &options).is_ok());
    }

    #[test]
    fn filters_take_columns_that_no_table_has() {
        let filter = Filter::any_of(vec![vec![Term::new("c", Operator::Gt, vec![Literal::Int(1)]).unwrap()]]);
        let rows = one("c", Arc::new(UInt64Array::from(vec![Some(1), None, Some(2)])));
        assert_eq!(selected_rows(&rows, &filter).unwrap(), BooleanArray::from(vec![false, false, true]));
    }

    #[test]
    fn a_path_needs_no_key_and_a_key_no_path() {
        let lines = "hoodie.table.version=9\nhoodie.table.name=t\nhoodie.table.recordkey.fields=id\nhoodie.table.partition.fields=p\nhoodie.table.keygenerator.type=SIMPLE";
        let properties: Properties =
            lines.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let keys = GivenKeys::new(properties, BTreeMap::new()).unwrap();
        let strings = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
        let rows = RecordBatch::try_from_iter([
            ("id", strings(vec![None, Some("a")])),
            ("p", strings(vec![Some("x"), Some("")])),
        ])
        .unwrap();
        let paths = StringArray::from(vec!["x", "__HIVE_DEFAULT_PARTITION__"]);
        assert_eq!(keys.partitions(&rows).unwrap(), paths);
        assert!(keys.keys(&rows, 0, false).is_err());
        let rows = rows.slice(1, 1);
        assert_eq!(keys.keys(&rows, 0, false).unwrap().partitions, paths.slice(1, 1));
        let alone = rows.project(&[0]).unwrap();
        assert_eq!(keys.keys(&alone, 0, true).unwrap().record_keys, StringArray::from(vec!["a"]));
        assert!(keys.keys(&alone, 0, false).is_err());
    }
}
