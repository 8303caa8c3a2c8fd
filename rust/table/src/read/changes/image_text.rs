//! Rows as JSON: the images of changed rows. Hudi has two formats, depending on the source of a row; both are compact
//! here, with fields in the table's order.
//!
//! | | [`ImageFormat::Row`]: Spark's row by Jackson (`InternalRowToJsonStringConverter`) | [`ImageFormat::Record`]: Avro's `GenericData.toString` |
//! |---|---|---|
//! | null | omitted, except in lists | `null` |
//! | dates, timestamps | days, microseconds | days, the schema's unit |
//! | bytes | base64 | a string with one character per byte |
//! | `fixed` | base64 | a list of signed bytes |
//! | decimals | digits | their bytes, as `bytes` or `fixed` are written |
//! | NaN, infinities | `"NaN"`, `"Infinity"` | the same |
//!
//! Jackson serializes only one property of Spark's decimal class, so Hudi writes `{"zero":false}` for each decimal that
//! is not zero (measured: 1.2 on Spark 3.5). Here the digits are written.

use std::fmt::Write as _;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType,
};
use arrow_array::{
    Array, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, TimeUnit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::split::Query;
use mortice_avro::{self as avro, Field, Type, shortest};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns;

/// The maximum size of a string column, given by Arrow's offsets.
const MOST_BYTES: usize = i32::MAX as usize;

/// One of the formats of Hudi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum ImageFormat {
    /// A row of Spark, serialized by Jackson.
    Row,
    /// The same without meta columns (Hudi 1.3, `CDCFileGroupIterator.convertBufferedRecordToJsonString`).
    DataRow,
    /// The string representation of an Avro record.
    Record,
}

impl ImageFormat {
    /// Returns the format of the rows of a query.
    pub(in crate::read) fn of_rows(query: &Query) -> Self {
        if query.images_are_data { Self::DataRow } else { Self::Row }
    }

    /// Returns the rows of a batch, whose columns are fields of the table.
    pub(in crate::read) fn images_of_batch(self, table: &avro::Schema, rows: &RecordBatch) -> Result<StringArray> {
        let schema = rows.schema();
        let is_meta = |name: &str| meta_columns::ALL.contains(&name) || name == meta_columns::OPERATION;
        let is_in_image = |name: &str| self != Self::DataRow || !is_meta(name);
        let columns = schema.fields().iter().zip(rows.columns()).filter(|(column, _)| is_in_image(column.name()));
        let columns = columns.map(|(column, array)| {
            let field = table.field(column.name()).ok_or_else(|| misfit(column.name()))?;
            Ok((name_of(&field.name), self.bind(&field.ty, array.as_ref())?))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.strings(rows.num_rows(), |row, out| {
            self.write_fields(&columns, row, out)?;
            Ok(true)
        })
    }

    /// Returns the records of a column; null for a null record.
    pub(in crate::read) fn images_of_records(self, fields: &[Field], records: &StructArray) -> Result<StringArray> {
        let columns = self.fields(fields, records)?;
        self.strings(records.len(), |row, out| {
            let is_there = records.is_valid(row);
            if is_there {
                self.write_fields(&columns, row, out)?;
            }
            Ok(is_there)
        })
    }

    fn strings(self, rows: usize, mut write: impl FnMut(usize, &mut String) -> Result<bool>) -> Result<StringArray> {
        let mut strings = StringBuilder::with_capacity(rows, 0);
        let mut text = String::new();
        for row in 0..rows {
            text.clear();
            let is_there = write(row, &mut text)?;
            if strings.values_slice().len().saturating_add(text.len()) > MOST_BYTES {
                let message = "the images of a batch of changes exceed 2 GiB; use fewer rows per batch (batch_rows)";
                return Err(Error::new(ErrorKind::MemoryLimit, message));
            }
            strings.append_option(is_there.then_some(&text));
        }
        Ok(strings.finish())
    }

    fn fields<'a>(self, fields: &[Field], records: &'a StructArray) -> Result<Vec<(String, BoundColumn<'a>)>> {
        let bound = fields.iter().map(|field| {
            let array = records.column_by_name(&field.name).ok_or_else(|| misfit(&field.name))?;
            Ok((name_of(&field.name), self.bind(&field.ty, array.as_ref())?))
        });
        bound.collect()
    }

    fn bind<'a>(self, ty: &Type, array: &'a dyn Array) -> Result<BoundColumn<'a>> {
        let ty = ty.non_null();
        if let Type::Vector(vector) = ty {
            return Err(unsupported_vector(vector.shape.descriptor()));
        }
        let cells = match array.data_type() {
            DataType::List(_) | DataType::Map(..) | DataType::Struct(_) => self.nested(ty, array)?,
            _ => self.scalar(ty, array)?,
        };
        let cells = cells.ok_or_else(|| misfit(&array.data_type().to_string()))?;
        Ok(BoundColumn { array, cells })
    }

    /// None if the array is not of the type.
    fn scalar<'a>(self, ty: &Type, array: &'a dyn Array) -> Result<Option<CellData<'a>>> {
        Ok(match array.data_type() {
            DataType::Null => Some(CellData::Nothing),
            DataType::Boolean => array.as_boolean_opt().map(CellData::Booleans),
            DataType::Int32 => array.as_primitive_opt::<Int32Type>().map(|array| CellData::Ints(array.clone())),
            DataType::Date32 => {
                array.as_primitive_opt::<Date32Type>().map(|days| CellData::Ints(days.reinterpret_cast()))
            }
            DataType::Int64 => array.as_primitive_opt::<Int64Type>().map(|array| CellData::Longs(array.clone(), 1)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let is_in_millis = matches!(ty, Type::TimestampMillis | Type::LocalTimestampMillis);
                let unit = if self == Self::Record && is_in_millis { 1000 } else { 1 };
                array
                    .as_primitive_opt::<TimestampMicrosecondType>()
                    .map(|array| CellData::Longs(array.reinterpret_cast(), unit))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => array
                .as_primitive_opt::<TimestampMillisecondType>()
                .map(|array| CellData::Longs(array.reinterpret_cast(), 1)),
            DataType::Float32 => array.as_primitive_opt::<Float32Type>().map(CellData::Floats),
            DataType::Float64 => array.as_primitive_opt::<Float64Type>().map(CellData::Doubles),
            DataType::Utf8 => array.as_string_opt::<i32>().map(CellData::Strings),
            DataType::Binary => {
                array.as_binary_opt::<i32>().map(|array| CellData::Bytes(array, matches!(ty, Type::Fixed(_))))
            }
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary_opt().map(CellData::Fixed),
            DataType::Decimal128(_, scale) => {
                let width = match ty {
                    Type::Decimal(decimal) => decimal.fixed.as_ref().map(|fixed| fixed.size),
                    _ => None,
                };
                let scale = u32::try_from(*scale).map_err(|_| misfit(&array.data_type().to_string()))?;
                array.as_primitive_opt::<Decimal128Type>().map(|array| CellData::Decimals(array, scale, width))
            }
            _ => None,
        })
    }

    /// None if the array is not of the type.
    fn nested<'a>(self, ty: &Type, array: &'a dyn Array) -> Result<Option<CellData<'a>>> {
        Ok(match array.data_type() {
            DataType::List(_) => match (ty, array.as_list_opt::<i32>()) {
                (Type::Array(items), Some(list)) => {
                    Some(CellData::List(list, Box::new(self.bind(items, list.values().as_ref())?)))
                }
                _ => None,
            },
            DataType::Map(..) => match (ty, array.as_map_opt()) {
                (Type::Map(values), Some(map)) => {
                    let bound = self.bind(values, map.values().as_ref())?;
                    map.keys().as_string_opt::<i32>().map(|keys| CellData::Map(map, keys, Box::new(bound)))
                }
                _ => None,
            },
            DataType::Struct(_) => match (ty, array.as_struct_opt()) {
                (Type::Record(record), Some(records)) => Some(CellData::Struct(self.fields(&record.fields, records)?)),
                (Type::Union(branches), Some(members)) => Some(self.union(branches, members)?),
                _ => None,
            },
            _ => None,
        })
    }

    /// A union of several types: one member of a struct has the value. Spark writes the struct, Avro the value.
    fn union<'a>(self, branches: &[Type], members: &'a StructArray) -> Result<CellData<'a>> {
        let branches = branches.iter().filter(|branch| **branch != Type::Null);
        let bound = branches.zip(members.columns()).map(|(branch, array)| self.bind(branch, array.as_ref()));
        let bound = bound.collect::<Result<Vec<_>>>()?;
        Ok(match self {
            Self::Row | Self::DataRow => {
                let named = bound.into_iter().enumerate().map(|(at, bound)| (name_of(&format!("member{at}")), bound));
                CellData::Struct(named.collect())
            }
            Self::Record => CellData::OneOf(bound),
        })
    }

    fn write_fields(self, fields: &[(String, BoundColumn<'_>)], row: usize, out: &mut String) -> Result<()> {
        out.push('{');
        let mut is_first = true;
        for (name, bound) in fields {
            if self != Self::Record && bound.is_null(row) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(',');
            }
            out.push_str(name);
            self.write(bound, row, out)?;
        }
        out.push('}');
        Ok(())
    }

    fn write(self, bound: &BoundColumn<'_>, row: usize, out: &mut String) -> Result<()> {
        if bound.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        let number = |out: &mut String, value: i64| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{value}");
        };
        match &bound.cells {
            CellData::Nothing => out.push_str("null"),
            CellData::Booleans(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
            CellData::Ints(array) => number(out, array.value(row).into()),
            CellData::Longs(array, unit) => number(out, array.value(row).div_euclid(*unit)),
            CellData::Floats(array) => {
                let value = array.value(row);
                quoted_unless(value.is_finite(), out, |out| avro::write_float(value, out));
            }
            CellData::Doubles(array) => {
                let value = array.value(row);
                quoted_unless(value.is_finite(), out, |out| avro::write_double(value, out));
            }
            CellData::Strings(array) => write_text(array.value(row).chars(), out),
            CellData::Bytes(array, is_fixed) => self.write_bytes(array.value(row), *is_fixed, out),
            CellData::Fixed(array) => self.write_bytes(array.value(row), true, out),
            CellData::Decimals(array, scale, width) => match self {
                Self::Row | Self::DataRow => avro::write_decimal(array.value(row), *scale, out),
                Self::Record => {
                    let bytes = array.value(row).to_be_bytes();
                    match width {
                        Some(width) => self.write_bytes(&widened(&bytes, *width), true, out),
                        None => self.write_bytes(shortest(&bytes), false, out),
                    }
                }
            },
            CellData::List(array, items) => {
                written(array.value_offsets(), row, ['[', ']'], out, |item, out| {
                    self.write(items, item, out)?;
                    Ok(true)
                })?;
            }
            CellData::Map(array, keys, values) => {
                written(array.value_offsets(), row, ['{', '}'], out, |entry, out| {
                    if self != Self::Record && values.is_null(entry) {
                        return Ok(false);
                    }
                    write_text(keys.value(entry).chars(), out);
                    out.push(':');
                    self.write(values, entry, out)?;
                    Ok(true)
                })?
            }
            CellData::Struct(fields) => self.write_fields(fields, row, out)?,
            CellData::OneOf(members) => match members.iter().find(|member| !member.is_null(row)) {
                Some(member) => self.write(member, row, out)?,
                None => out.push_str("null"),
            },
        }
        Ok(())
    }

    fn write_bytes(self, bytes: &[u8], is_fixed: bool, out: &mut String) {
        match (self, is_fixed) {
            (Self::Row | Self::DataRow, _) => {
                out.push('"');
                STANDARD.encode_string(bytes, out);
                out.push('"');
            }
            (Self::Record, false) => write_text(bytes.iter().map(|byte| char::from(*byte)), out),
            (Self::Record, true) => {
                out.push('[');
                for (at, byte) in bytes.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    let _ = write!(out, "{comma}{}", byte.cast_signed());
                }
                out.push(']');
            }
        }
    }
}

/// A column with the information that is needed to write its values.
struct BoundColumn<'a> {
    array: &'a dyn Array,
    cells: CellData<'a>,
}

impl BoundColumn<'_> {
    fn is_null(&self, row: usize) -> bool {
        matches!(self.cells, CellData::Nothing) || self.array.is_null(row)
    }
}

enum CellData<'a> {
    Nothing,
    Booleans(&'a BooleanArray),
    Ints(Int32Array),
    /// Integers, and their divisor.
    Longs(Int64Array, i64),
    Floats(&'a Float32Array),
    Doubles(&'a Float64Array),
    Strings(&'a StringArray),
    /// Bytes, and whether they are of a `fixed`.
    Bytes(&'a BinaryArray, bool),
    Fixed(&'a FixedSizeBinaryArray),
    /// Decimals, their scale, and the size of the `fixed` that stores them.
    Decimals(&'a Decimal128Array, u32, Option<usize>),
    List(&'a ListArray, Box<BoundColumn<'a>>),
    Map(&'a MapArray, &'a StringArray, Box<BoundColumn<'a>>),
    /// Members, with their names as they are written, including the colon.
    Struct(Vec<(String, BoundColumn<'a>)>),
    OneOf(Vec<BoundColumn<'a>>),
}

/// Writes the items of one list or map between brackets; `item` returns whether it wrote one.
fn written(
    offsets: &[i32],
    row: usize,
    [open, close]: [char; 2],
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Result<bool>,
) -> Result<()> {
    let offset = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok());
    let (Some(start), Some(end)) = (offset(row), offset(row + 1)) else {
        return Err(Error::internal(format!("row {row} of {} offsets of a list", offsets.len())));
    };
    out.push(open);
    let mut before = out.len();
    for at in start..end {
        if item(at, out)? {
            before = out.len();
            out.push(',');
        }
    }
    out.truncate(if out.ends_with(',') { before } else { out.len() });
    out.push(close);
    Ok(())
}

fn name_of(name: &str) -> String {
    let mut text = String::new();
    write_text(name.chars(), &mut text);
    text.push(':');
    text
}

fn quoted_unless(is_plain: bool, out: &mut String, write: impl FnOnce(&mut String)) {
    let quote = if is_plain { "" } else { "\"" };
    out.push_str(quote);
    write(out);
    out.push_str(quote);
}

fn write_text(text: impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    for character in text {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04X}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Extends a number's bytes to the width of a `fixed`.
fn widened(bytes: &[u8], width: usize) -> Vec<u8> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let shortest = shortest(bytes);
    let mut wide = vec![sign; width.saturating_sub(shortest.len())];
    wide.extend_from_slice(shortest);
    wide
}

/// Hudi 1.2 fails on them too: it reads the columns of an image as nested ones.
#[cold]
fn unsupported_vector(descriptor: String) -> Error {
    let message = format!(
        "unsupported column type {descriptor} in a query of changes: Hudi writes no image of it; use an incremental query"
    );
    Error::unsupported(message)
}

fn misfit(name: &str) -> Error {
    Error::invalid_table(format!("an image of a row cannot be written: {name} is not what the schema says"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Int32Array, Int64Array, TimestampMicrosecondArray};
    use arrow_schema::{Field as ArrowField, Fields};

    use super::*;

    fn strings(ty: &str, values: ArrayRef) -> [Vec<String>; 2] {
        let text = format!(r#"{{"type":"record","name":"r","fields":[{{"name":"f","type":{ty}}}]}}"#);
        let schema = avro::Schema::parse(&text).unwrap();
        let rows = RecordBatch::try_from_iter_with_nullable([("f", values, true)]).unwrap();
        [ImageFormat::Row, ImageFormat::Record].map(|form| {
            let strings = form.images_of_batch(&schema, &rows).unwrap();
            let value = |text: &str| text.strip_prefix("{\"f\":").unwrap().strip_suffix('}').unwrap().to_owned();
            strings.iter().map(|text| value(text.unwrap())).collect()
        })
    }

    /// Checks the values of a column of one type, in both formats.
    fn check(ty: &str, values: ArrayRef, row: &[&str], record: &[&str]) {
        let owned = |strings: &[&str]| strings.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(strings(ty, values), [owned(row), owned(record)], "{ty}");
    }

    fn both(ty: &str, values: ArrayRef, strings: &[&str]) {
        check(ty, values, strings, strings);
    }

    #[test]
    fn numbers_are_javas() {
        let strings = ["0.1", "1.0E10", "\"NaN\"", "\"-Infinity\"", "-0.0"];
        both(r#""double""#, Arc::new(Float64Array::from(vec![0.1, 1e10, f64::NAN, f64::NEG_INFINITY, -0.0])), &strings);
        both(r#""float""#, Arc::new(Float32Array::from(vec![0.1, 1e10, f32::NAN, f32::NEG_INFINITY, -0.0])), &strings);
        both(r#""long""#, Arc::new(Int64Array::from(vec![i64::MIN, 7])), &["-9223372036854775808", "7"]);
        both(r#""boolean""#, Arc::new(BooleanArray::from(vec![true, false])), &["true", "false"]);
    }

    #[test]
    fn bytes_and_decimals_by_format() {
        let bytes = BinaryArray::from(vec![&[0_u8, 255, 34][..], b""]);
        check(r#""bytes""#, Arc::new(bytes), &["\"AP8i\"", "\"\""], &["\"\\u0000\u{ff}\\\"\"", "\"\""]);
        let fixed = BinaryArray::from(vec![&[0_u8, 255][..]]);
        check(r#"{"type":"fixed","name":"x","size":2}"#, Arc::new(fixed), &["\"AP8=\""], &["[0,-1]"]);
        let decimals = || Arc::new(Decimal128Array::from(vec![-1_500, 0]).with_precision_and_scale(9, 2).unwrap());
        let decimal = r#""logicalType":"decimal","precision":9,"scale":2"#;
        let of_fixed = format!(r#"{{"type":"fixed","name":"x","size":4,{decimal}}}"#);
        check(&of_fixed, decimals(), &["-15.00", "0.00"], &["[-1,-1,-6,36]", "[0,0,0,0]"]);
        let of_bytes = format!(r#"{{"type":"bytes",{decimal}}}"#);
        check(&of_bytes, decimals(), &["-15.00", "0.00"], &["\"\u{fa}$\"", "\"\\u0000\""]);
    }

    #[test]
    fn a_record_keeps_the_schemas_unit() {
        let moments = || Arc::new(TimestampMicrosecondArray::from(vec![-1_000, 2_500]).with_timezone("UTC"));
        check(r#"{"type":"long","logicalType":"timestamp-millis"}"#, moments(), &["-1000", "2500"], &["-1", "2"]);
        both(r#"{"type":"long","logicalType":"timestamp-micros"}"#, moments(), &["-1000", "2500"]);
    }

    fn pair(names: [&str; 2], numbers: Vec<Option<i32>>, words: Vec<Option<&str>>) -> StructArray {
        let [number, word] = names;
        let fields = Fields::from(vec![
            ArrowField::new(number, DataType::Int32, true),
            ArrowField::new(word, DataType::Utf8, true),
        ]);
        StructArray::new(fields, vec![Arc::new(Int32Array::from(numbers)), Arc::new(StringArray::from(words))], None)
    }

    #[test]
    fn a_row_leaves_out_nulls_but_in_lists() {
        let record = r#"{"type":"record","name":"s","fields":[{"name":"a","type":["null","int"]},{"name":"b","type":["null","string"]}]}"#;
        let structs = pair(["a", "b"], vec![Some(1), None, None], vec![None, Some("x\u{1}\n"), None]);
        let row = [r#"{"a":1}"#, r#"{"b":"x\u0001\n"}"#, "{}"];
        check(
            record,
            Arc::new(structs),
            &row,
            &[r#"{"a":1,"b":null}"#, r#"{"a":null,"b":"x\u0001\n"}"#, r#"{"a":null,"b":null}"#],
        );
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![None, Some(2)]), Some(vec![])]);
        both(r#"{"type":"array","items":["null","int"]}"#, Arc::new(lists), &["[null,2]", "[]"]);
    }

    #[test]
    fn a_union_is_a_struct_in_a_row_and_its_value_in_a_record() {
        let union = pair(["member0", "member1"], vec![Some(1), None], vec![None, Some("x")]);
        let row = [r#"{"member0":1}"#, r#"{"member1":"x"}"#];
        check(r#"["int","string"]"#, Arc::new(union), &row, &["1", "\"x\""]);
    }

    #[test]
    fn a_column_that_is_not_of_its_type_is_refused() {
        let text = r#"{"type":"record","name":"r","fields":[{"name":"f","type":"int"}]}"#;
        let schema = avro::Schema::parse(text).unwrap();
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(2)])]));
        for name in ["f", "g"] {
            let rows = RecordBatch::try_from_iter_with_nullable([(name, Arc::clone(&lists), true)]).unwrap();
            assert_eq!(ImageFormat::Row.images_of_batch(&schema, &rows).unwrap_err().kind(), ErrorKind::InvalidTable);
        }
    }
}
