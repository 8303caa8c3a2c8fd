//! Batches converted to the columns of a parquet file.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use serde_json::Value;

use super::avro_rows::through_avro;
use super::direct::direct;
use super::lists::ListStructure;
use super::stored::{stored, stored_schema};
use mortice_avro::{ArrowMapping, Encoder, Field, Schema, arrow_schema};
use mortice_base::error::{Error, Result};

/// Converts batches to the columns that a parquet file of a record schema stores. Columns are matched to fields by
/// name.
///
/// Columns of the file's own types are passed on as they are. A column that a value could be refused of is encoded as
/// Avro and decoded again, so that [`Encoder`] alone says what a schema takes.
#[derive(Debug)]
pub struct ParquetColumns {
    schema: Schema,
    lists: ListStructure,
    /// The fields' Arrow types before decimals become bytes.
    types: ArrowSchema,
    stored: SchemaRef,
    /// The batch schema that was checked last.
    checked: Option<SchemaRef>,
}

impl ParquetColumns {
    /// Creates a converter for a record schema.
    ///
    /// # Errors
    /// `InvalidTable` if the schema is not a record; `Unsupported`, naming the field, for types that have no Arrow
    /// type.
    pub fn new(schema: &Schema, lists: ListStructure) -> Result<Self> {
        let types = arrow_schema(schema, ArrowMapping::File)?;
        let stored = stored_schema(schema, lists)?;
        Ok(Self { schema: schema.clone(), lists, types, stored, checked: None })
    }

    /// The records' schema.
    pub(super) const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The structure of lists.
    pub(super) const fn lists(&self) -> ListStructure {
        self.lists
    }

    /// The types of the converted columns.
    #[must_use]
    pub const fn stored_schema(&self) -> &SchemaRef {
        &self.stored
    }

    /// Checks that rows of these columns can be written.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`Encoder::new`].
    pub fn check(&mut self, columns: &SchemaRef) -> Result<()> {
        if self.checked.as_ref() != Some(columns) {
            Encoder::new(&self.schema, columns)?;
            self.checked = Some(Arc::clone(columns));
        }
        Ok(())
    }

    /// Converts a batch.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and field, for columns and values that the schema does not take (see [`Encoder`]).
    pub fn convert(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.check(batch.schema_ref())?;
        let fields = &self.schema.as_record()?.fields;
        let mut columns: Vec<Option<ArrayRef>> = fields
            .iter()
            .zip(self.types.fields())
            .map(|(field, target)| column_of(field, batch, target.data_type()))
            .collect();
        let rest: Vec<Field> = fields
            .iter()
            .zip(&columns)
            .filter(|(_, column)| column.is_none())
            .map(|(field, _)| field.clone())
            .collect();
        if !rest.is_empty() {
            let encoded = through_avro(&Schema::record(&self.schema.as_record()?.name, rest), batch)?;
            let missing = columns.iter_mut().filter(|column| column.is_none());
            missing.zip(encoded.columns()).for_each(|(column, encoded)| *column = Some(Arc::clone(encoded)));
        }
        let columns: Vec<ArrayRef> = columns.into_iter().flatten().collect();
        if columns.len() != fields.len() {
            return Err(Error::internal("a column was lost on the way to parquet"));
        }
        stored(&columns, &self.schema, &self.stored, self.lists)
    }
}

/// The column of a field, if it can be converted directly; nulls if there is none and null is its default.
fn column_of(field: &Field, batch: &RecordBatch, target: &DataType) -> Option<ArrayRef> {
    match batch.column_by_name(&field.name) {
        Some(column) => direct(&field.ty, column, target),
        None if field.ty.is_nullable() && matches!(field.default, None | Some(Value::Null)) => {
            Some(new_null_array(target, batch.num_rows()))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{
        Array, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
        Float32Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray, NullArray, StringArray,
        StringViewArray, StructArray, Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt32Array,
    };
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Field as ArrowField;

    use super::*;

    fn logical(ty: &str, logical: &str) -> String {
        format!(r#"{{"type":"{ty}","logicalType":"{logical}"}}"#)
    }

    fn decimal(values: Vec<Option<i128>>, precision: u8) -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, 2).unwrap())
    }

    /// Five rows of a struct with a null in it, and of lists and maps of which some are empty or null.
    fn nested() -> [(&'static str, String, ArrayRef); 3] {
        let strings: ArrayRef =
            Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("c"), Some("d"), Some("e")]));
        let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1, 2, 3, 4, 5]).with_timezone("+01:00"));
        let fields = vec![
            Arc::new(ArrowField::new("at", times.data_type().clone(), true)),
            Arc::new(ArrowField::new("t", DataType::LargeUtf8, true)),
        ];
        let nulls = NullBuffer::from(vec![true, true, false, true, true]);
        let rows: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![times, strings], Some(nulls.clone())));
        let record = format!(
            r#"{{"type":"record","name":"s","fields":[{{"name":"t","type":["null","string"]}},{{"name":"at","type":["null",{}]}}]}}"#,
            logical("long", "timestamp-micros")
        );
        let offsets = OffsetBuffer::from_lengths([1, 0, 2, 1, 1]);
        let item = Arc::new(ArrowField::new("item", rows.data_type().clone(), true));
        let list: ArrayRef = Arc::new(ListArray::new(item, offsets.clone(), Arc::clone(&rows), Some(nulls)));
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d", "e"]));
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4), Some(5)]));
        let entries = StructArray::try_from(vec![("keys", keys), ("values", values)]).unwrap();
        let entry = Arc::new(ArrowField::new("entries", entries.data_type().clone(), false));
        let map: ArrayRef = Arc::new(arrow_array::MapArray::new(entry, offsets, entries, None, false));
        [
            ("s", record.clone(), rows),
            ("l", format!(r#"{{"type":"array","items":["null",{}]}}"#, record.replace(r#""s""#, r#""item""#)), list),
            ("m", r#"{"type":"map","values":["null","long"]}"#.to_owned(), map),
        ]
    }

    fn plain() -> Vec<(&'static str, String, ArrayRef)> {
        let dictionary: DictionaryArray<Int32Type> =
            vec![Some("x"), None, Some("y"), Some("x"), None].into_iter().collect();
        let word = |ty: &str| format!(r#""{ty}""#);
        let fixed = |size: usize| {
            format!(
                r#"{{"type":"fixed","name":"f{size}","size":{size},"logicalType":"decimal","precision":9,"scale":2}}"#
            )
        };
        let some = [Some(1), None, Some(-3), Some(127), Some(0)];
        let decimals: Vec<Option<i128>> = some.iter().map(|one| one.map(i128::from)).collect();
        vec![
            (
                "boolean",
                word("boolean"),
                Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, Some(true)])),
            ),
            ("tiny", word("int"), Arc::new(Int8Array::from(some.to_vec()))),
            ("unsigned", word("long"), Arc::new(UInt32Array::from(vec![u32::MAX, 0, 1, 2, 3]))),
            ("wide", word("double"), Arc::new(Float32Array::from(vec![0.1, -0.0, f32::NAN, 1.0, f32::INFINITY]))),
            (
                "view",
                word("string"),
                Arc::new(StringViewArray::from(vec![Some("a long text, not inlined"), None, Some(""), None, None])),
            ),
            ("dictionary", word("string"), Arc::new(dictionary)),
            (
                "bytes",
                word("bytes"),
                Arc::new(BinaryViewArray::from(vec![Some(&b"\xff"[..]), None, Some(&b""[..]), None, Some(&b"x"[..])])),
            ),
            ("null", word("string"), Arc::new(NullArray::new(5))),
            ("d4", fixed(4), decimal(decimals.clone(), 9)),
            ("d8", fixed(8), decimal(decimals.clone(), 18)),
            ("d17", fixed(17), decimal(decimals, 9)),
        ]
    }

    fn times() -> Vec<(&'static str, String, ArrayRef)> {
        let longs: Vec<Option<i64>> = vec![Some(1), None, Some(-3), Some(127), Some(0)];
        let utc = |column: TimestampMicrosecondArray| Arc::new(column.with_timezone("Asia/Tokyo")) as ArrayRef;
        vec![
            ("date", logical("int", "date"), Arc::new(Date32Array::from(vec![Some(1), None, Some(-1), None, Some(9)]))),
            ("time", logical("int", "time-millis"), Arc::new(Time32MillisecondArray::from(vec![1, 2, 3, 4, 5]))),
            ("times", logical("long", "time-micros"), Arc::new(Time64MicrosecondArray::from(longs.clone()))),
            ("at", logical("long", "timestamp-micros"), utc(longs.clone().into())),
            (
                "of_millis",
                logical("long", "timestamp-micros"),
                Arc::new(TimestampMillisecondArray::from(longs.clone()).with_timezone("UTC")),
            ),
            (
                "of_nanos",
                logical("long", "local-timestamp-micros"),
                Arc::new(TimestampNanosecondArray::from(vec![1000, 2000, 0, -1000, 5000])),
            ),
            (
                "local",
                logical("long", "local-timestamp-millis"),
                Arc::new(TimestampMillisecondArray::from(longs.clone())),
            ),
            ("long", r#""long""#.to_owned(), Arc::new(Int64Array::from(longs))),
            (
                "raw",
                r#"{"type":"fixed","name":"raw","size":1}"#.into(),
                Arc::new(
                    FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                        [Some([1]), None, Some([2]), None, None].into_iter(),
                        1,
                    )
                    .unwrap(),
                ),
            ),
        ]
    }

    fn table() -> (Schema, RecordBatch) {
        let columns: Vec<_> = plain().into_iter().chain(times()).chain(nested()).collect();
        let field = |(name, ty, _): &(&str, String, ArrayRef)| format!(r#"{{"name":"{name}","type":["null",{ty}]}}"#);
        let fields = columns.iter().map(field).collect::<Vec<_>>().join(",");
        let schema = Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)).unwrap();
        let columns = columns.into_iter().map(|(name, _, column)| (name, column, true));
        (schema, RecordBatch::try_from_iter_with_nullable(columns).unwrap())
    }

    /// What is converted directly is what the Avro form would have made of it, also of slices.
    #[test]
    fn columns_are_the_same_with_and_without_the_avro_form() {
        let (schema, batch) = table();
        let mut converter = ParquetColumns::new(&schema, ListStructure::ThreeLevels).unwrap();
        for (start, len) in [(0, 5), (1, 3), (2, 1), (4, 1), (3, 0)] {
            let part = batch.slice(start, len);
            let through = through_avro(&schema, &part).unwrap();
            let expected = stored(through.columns(), &schema, converter.stored_schema(), converter.lists).unwrap();
            let converted = converter.convert(&part).unwrap();
            for (field, (one, other)) in schema.fields().iter().zip(converted.columns().iter().zip(expected.columns()))
            {
                assert_eq!(one, other, "{} of {len} rows from {start}", field.name);
            }
        }
        let direct = schema.fields().iter().zip(converter.types.fields());
        let slow: Vec<&str> = direct
            .filter(|(field, target)| column_of(field, &batch, target.data_type()).is_none())
            .map(|(field, _)| field.name.as_str())
            .collect();
        assert_eq!(slow, ["of_nanos"], "values of a finer unit may not be whole ones of the file's");
    }

    #[test]
    fn decimals_of_too_many_digits_are_refused() {
        let ty = r#"{"type":"fixed","name":"f","size":4,"logicalType":"decimal","precision":9,"scale":2}"#;
        let schema =
            Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{{"name":"d","type":{ty}}}]}}"#)).unwrap();
        let mut converter = ParquetColumns::new(&schema, ListStructure::ThreeLevels).unwrap();
        for (value, fits) in [(999_999_999, true), (-999_999_999, true), (1_000_000_000, false), (i128::MIN, false)] {
            let batch = RecordBatch::try_from_iter([("d", decimal(vec![Some(value)], 38))]).unwrap();
            assert_eq!(converter.convert(&batch).is_ok(), fits, "{value}");
        }
    }

    #[test]
    fn lists_of_two_levels_hold_no_nulls() {
        let schema =
            r#"{"type":"record","name":"r","fields":[{"name":"l","type":{"type":"array","items":["null","int"]}}]}"#;
        let schema = Schema::parse(schema).unwrap();
        let batch = |values: [Option<i32>; 2]| {
            let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(values)]);
            RecordBatch::try_from_iter([("l", Arc::new(list) as ArrayRef)]).unwrap()
        };
        let mut converter = ParquetColumns::new(&schema, ListStructure::TwoLevels).unwrap();
        assert!(converter.convert(&batch([Some(1), Some(2)])).is_ok());
        let error = converter.convert(&batch([Some(1), None])).unwrap_err();
        assert!(error.to_string().contains("field l") && error.to_string().contains("null element"), "{error}");
        let mut converter = ParquetColumns::new(&schema, ListStructure::ThreeLevels).unwrap();
        assert!(converter.convert(&batch([Some(1), None])).is_ok());
    }
}
