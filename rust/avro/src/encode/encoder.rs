//! Rows of record batches as Avro datums.

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;

use super::bind;
use crate::schema::Schema;
use mortice_base::error::{Error, Result};

/// Encodes rows under one Avro schema. Columns are matched to fields by name (case-sensitive), at any depth.
#[derive(Debug, Clone)]
pub struct Encoder {
    schema: Schema,
}

impl Encoder {
    /// An encoder of batches of an Arrow schema.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the field: a column that no field has the name of, or that has it twice; a field
    /// without a column, default or null; a type that cannot be written without loss. `InvalidTable` where the Avro
    /// schema is no record or a default does not fit its field.
    pub fn new(schema: &Schema, columns: &ArrowSchema) -> Result<Self> {
        let encoder = Self { schema: schema.clone() };
        encoder.encode(&RecordBatch::new_empty(columns.clone().into()), &mut Vec::new(), &mut Vec::new())?;
        Ok(encoder)
    }

    /// Appends a datum for each row to `out`, and to `ends` where in `out` it ends.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and field: null where the schema requires a value; a value that does not fit (a
    /// decimal of too many digits, a time that is not a multiple of the schema's unit, a string that is not a symbol of
    /// an enum). Also what [`Self::new`] refuses, of a batch of another schema. After an error `out` and `ends` are as
    /// they were.
    pub fn encode(&self, batch: &RecordBatch, out: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<()> {
        let writer = bind::record(self.schema.as_record()?, batch.schema().fields(), batch.columns(), "")?;
        let before = (out.len(), ends.len());
        for row in 0..batch.num_rows() {
            if let Err(refused) = writer.write(row, out) {
                out.truncate(before.0);
                ends.truncate(before.1);
                let message = format!("row {row}, field {}: {}", refused.path, refused.why);
                return Err(Error::invalid_argument(message));
            }
            ends.push(out.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BinaryArray, Date64Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray,
        Float32Array, Float64Array, Int32Array, Int64Array, LargeStringArray, ListArray, NullArray, StringArray,
        StringViewArray, StructArray, Time32SecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
        TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt64Array,
    };
    use arrow_schema::{DataType, Field};

    use super::*;
    use mortice_base::error::ErrorKind;

    fn schema(fields: &str) -> Schema {
        Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)).unwrap()
    }

    /// The datums of a batch.
    fn datums(schema: &Schema, batch: &RecordBatch) -> Result<Vec<Vec<u8>>> {
        let (mut out, mut ends) = (vec![7], Vec::new());
        let encoded = Encoder::new(schema, &batch.schema()).and_then(|one| one.encode(batch, &mut out, &mut ends));
        if let Err(error) = encoded {
            assert_eq!((out, ends), (vec![7], Vec::new()), "an error leaves nothing");
            return Err(error);
        }
        let starts = std::iter::once(1).chain(ends.iter().copied());
        Ok(starts.zip(&ends).map(|(start, end)| out[start..*end].to_vec()).collect())
    }

    /// The datums of a column `f`, whose field is of a type.
    fn column(ty: &str, column: ArrayRef) -> Result<Vec<Vec<u8>>> {
        let batch = RecordBatch::try_from_iter_with_nullable([("f", column, true)]).unwrap();
        datums(&schema(&format!(r#"{{"name":"f","type":{ty}}}"#)), &batch)
    }

    fn logical(ty: &str, logical: &str) -> String {
        format!(r#"{{"type":"{ty}","logicalType":"{logical}"}}"#)
    }

    fn decimal(unscaled: i128, precision: u8, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![unscaled]).with_precision_and_scale(precision, scale).unwrap())
    }

    /// As Hudi 1.2.0 writes them.
    #[test]
    fn records_are_byte_for_byte_hudis() {
        let schema = schema(r#"{"name":"k","type":"string"},{"name":"v","type":["null","int"],"default":null}"#);
        let keys = Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
        let values = Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef;
        // The schema decides on the order.
        let batch = RecordBatch::try_from_iter([("v", values), ("k", keys.clone())]).unwrap();
        assert_eq!(datums(&schema, &batch).unwrap(), [&[2, 0x61, 2, 2][..], &[2, 0x62, 0]]);
        let keys = RecordBatch::try_from_iter([("k", keys)]).unwrap();
        assert_eq!(datums(&schema, &keys).unwrap(), [[2, 0x61, 0], [2, 0x62, 0]]);
    }

    #[test]
    fn every_type_has_its_bytes() {
        let dictionary: DictionaryArray<Int32Type> = vec!["B"].into_iter().collect();
        let pair = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])], 2);
        let fixed = FixedSizeBinaryArray::try_from_iter([[1_u8, 2]].into_iter()).unwrap();
        let utc = |micros| Arc::new(TimestampMicrosecondArray::from(vec![micros]).with_timezone("+02:00")) as ArrayRef;
        let cases: Vec<(String, ArrayRef, &[u8])> = vec![
            (r#""int""#.into(), Arc::new(UInt8Array::from(vec![200])), &[0x90, 3]),
            (r#""long""#.into(), Arc::new(Int32Array::from(vec![-1])), &[1]),
            (r#""long""#.into(), Arc::new(UInt64Array::from(vec![1])), &[2]),
            (r#""float""#.into(), Arc::new(Float32Array::from(vec![-0.0])), &[0, 0, 0, 0x80]),
            (r#""float""#.into(), Arc::new(Float32Array::from(vec![f32::from_bits(0x7fc0_0001)])), &[1, 0, 0xc0, 0x7f]),
            (r#""double""#.into(), Arc::new(Float64Array::from(vec![1.0])), &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
            (r#""double""#.into(), Arc::new(Int32Array::from(vec![1])), &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
            (r#""string""#.into(), Arc::new(LargeStringArray::from(vec!["ü"])), &[4, 0xc3, 0xbc]),
            (r#"["string","null"]"#.into(), Arc::new(StringViewArray::from(vec!["a"])), &[0, 2, b'a']),
            (r#"["string","null"]"#.into(), Arc::new(StringArray::from(vec![None::<&str>])), &[2]),
            (r#"["null","string"]"#.into(), Arc::new(NullArray::new(1)), &[0]),
            (r#""bytes""#.into(), Arc::new(fixed.clone()), &[4, 1, 2]),
            (r#"{"type":"fixed","name":"x","size":2}"#.into(), Arc::new(fixed), &[1, 2]),
            (r#"{"type":"fixed","name":"x","size":2}"#.into(), Arc::new(BinaryArray::from(vec![&[3, 4][..]])), &[3, 4]),
            (r#"{"type":"enum","name":"e","symbols":["A","B"]}"#.into(), Arc::new(dictionary), &[2]),
            (logical("int", "date"), Arc::new(Date64Array::from(vec![-86_400_000])), &[1]),
            (logical("int", "time-millis"), Arc::new(Time32SecondArray::from(vec![1])), &[0xd0, 0x0f]),
            (logical("long", "time-micros"), Arc::new(Time64NanosecondArray::from(vec![1000])), &[2]),
            (logical("long", "timestamp-micros"), utc(-1), &[1]),
            (logical("long", "timestamp-millis"), utc(-1000), &[1]),
            (logical("long", "local-timestamp-micros"), Arc::new(TimestampNanosecondArray::from(vec![1000])), &[2]),
            (r#"{"type":"array","items":["null","int"]}"#.into(), Arc::new(pair), &[4, 2, 2, 0, 0]),
            (r#"["null","int","long"]"#.into(), Arc::new(Int64Array::from(vec![1])), &[4, 2]),
            (r#"["int","string"]"#.into(), Arc::new(StringArray::from(vec![""])), &[2, 0]),
        ];
        for (ty, array, bytes) in cases {
            assert_eq!(column(&ty, array).unwrap(), [bytes], "{ty}");
        }
    }

    #[test]
    fn decimals_are_rescaled_and_extended_by_their_sign() {
        let bytes = r#"{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}"#;
        let fixed = r#"{"type":"fixed","name":"d","size":4,"logicalType":"decimal","precision":5,"scale":2}"#;
        for (value, in_bytes, in_fixed) in [
            (decimal(-1, 5, 2), &[2, 0xff][..], [0xff; 4]),
            (decimal(128, 5, 2), &[4, 0, 0x80], [0, 0, 0, 0x80]),
            (decimal(1, 3, 0), &[2, 100], [0, 0, 0, 100]),
            (decimal(1000, 10, 3), &[2, 100], [0, 0, 0, 100]),
            (decimal(99_999, 38, 2), &[6, 1, 0x86, 0x9f], [0, 1, 0x86, 0x9f]),
        ] {
            assert_eq!(column(bytes, value.clone()).unwrap(), [in_bytes]);
            assert_eq!(column(fixed, value).unwrap(), [in_fixed]);
        }
        let unfit = [(bytes, decimal(100_000, 38, 2)), (bytes, decimal(1001, 10, 3)), (bytes, decimal(1000, 38, 0))];
        for (ty, value) in unfit {
            let error = column(ty, value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(
                error.to_string().contains("row 0, field f") && error.to_string().contains("decimal(5,2)"),
                "{error}"
            );
        }
    }

    #[test]
    fn fields_without_a_column_take_their_default() {
        let schema = schema(
            r#"{"name":"a","type":"int"},{"name":"b","type":"string","default":"x"},
               {"name":"c","type":["int","null"],"default":3},{"name":"d","type":["int","null"]}"#,
        );
        let batch = RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).unwrap();
        assert_eq!(datums(&schema, &batch).unwrap(), [[2, 2, b'x', 0, 6, 2]]);
        let none = RecordBatch::try_from_iter([("d", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).unwrap();
        let error = datums(&schema, &none).unwrap_err();
        assert!(error.to_string().contains("field a (int) has no column, no default and no null"), "{error}");
    }

    #[test]
    fn what_stands_below_null_is_not_looked_at() {
        let ty = r#"["null",{"type":"record","name":"s","fields":[{"name":"a","type":"int"}]}]"#;
        let child = Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef;
        let field = Arc::new(Field::new("a", DataType::Int32, true));
        let nulls = Some(vec![true, false].into());
        let rows = StructArray::new(vec![field.clone()].into(), vec![child.clone()], nulls);
        assert_eq!(column(ty, Arc::new(rows)).unwrap(), [&[2, 2][..], &[0]]);
        let error = column(ty, Arc::new(StructArray::new(vec![field].into(), vec![child], None))).unwrap_err();
        assert!(error.to_string().contains("row 1, field f.a: null"), "{error}");
    }

    #[test]
    fn what_would_change_is_refused_by_row_and_field() {
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([None])]);
        let micros = |value: i64| Arc::new(TimestampMicrosecondArray::from(vec![value])) as ArrayRef;
        let cases: Vec<(String, ArrayRef, &str)> = vec![
            (r#""int""#.into(), Arc::new(Int64Array::from(vec![1])), "Int64 cannot be written as int"),
            (r#""string""#.into(), Arc::new(BinaryArray::from(vec![&b"a"[..]])), "Binary cannot be written as string"),
            (r#""bytes""#.into(), Arc::new(StringArray::from(vec!["a"])), "Utf8 cannot be written as bytes"),
            (r#""string""#.into(), Arc::new(NullArray::new(1)), "Null cannot be written as string"),
            (r#""string""#.into(), Arc::new(StringArray::from(vec![Some("a"), None])), "row 1, field f: null"),
            (r#"["int","string"]"#.into(), Arc::new(Int32Array::from(vec![None])), "not a branch of the union"),
            (r#"["null","boolean","string"]"#.into(), Arc::new(Int32Array::from(vec![1])), "[null, boolean, string]"),
            (r#"{"type":"array","items":"int"}"#.into(), Arc::new(list), "row 0, field f.element: null"),
            (
                r#"{"type":"enum","name":"e","symbols":["A"]}"#.into(),
                Arc::new(StringArray::from(vec!["a"])),
                "\"a\" is not a symbol",
            ),
            (
                r#"{"type":"fixed","name":"x","size":2}"#.into(),
                Arc::new(BinaryArray::from(vec![&[3][..]])),
                "1 bytes for a fixed of 2",
            ),
            (r#""long""#.into(), Arc::new(UInt64Array::from(vec![1 << 63])), "does not fit a long"),
            (logical("int", "date"), Arc::new(Date64Array::from(vec![1])), "no whole number of days"),
            (logical("long", "timestamp-micros"), micros(1), "without a time zone"),
            (logical("long", "local-timestamp-millis"), micros(1), "no whole number of milliseconds"),
            (
                logical("long", "local-timestamp-micros"),
                Arc::new(TimestampSecondArray::from(vec![i64::MAX])),
                "no whole number of microseconds that fits",
            ),
        ];
        for (ty, array, word) in cases {
            let error = column(&ty, array).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{ty}");
            assert!(error.to_string().contains(word) && error.to_string().contains("field f"), "{error}");
        }
    }

    #[test]
    fn columns_that_are_no_fields_are_refused() {
        let schema = schema(r#"{"name":"a","type":["null","int"]}"#);
        let one = || Arc::new(Int32Array::from(vec![1])) as ArrayRef;
        let twice = arrow_schema::Schema::new(vec![Field::new("a", DataType::Int32, true); 2]);
        let twice = RecordBatch::try_new(Arc::new(twice), vec![one(), one()]).unwrap();
        for (batch, word) in [
            (RecordBatch::try_from_iter([("A", one())]).unwrap(), "column A: record r has no such field; it has: a"),
            (twice, "column a is there more than once"),
        ] {
            let error = datums(&schema, &batch).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
