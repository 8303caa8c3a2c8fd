//! Which writer a column has for an Avro type.
//!
//! | Avro | Arrow |
//! |---|---|
//! | boolean | boolean |
//! | int | int8 to int32, uint8, uint16 |
//! | long | the same, int64, uint32, uint64 where it fits |
//! | float | float16, float32, int8, int16, uint8, uint16 |
//! | double | floats, int8 to int32, uint8 to uint32 |
//! | bytes | binary of any kind |
//! | fixed | fixed-size binary, binary of that length |
//! | vector | lists of that many floats, doubles or int8; or as fixed |
//! | string, uuid | text of any kind |
//! | enum | text that is one of its symbols |
//! | decimal | decimals whose digits fit |
//! | date | date32, date64 of whole days |
//! | time-millis | time32, int32 |
//! | time-micros | time32, time64, int64 |
//! | timestamp-… | timestamps with a time zone |
//! | local-timestamp-… | timestamps without |
//! | array, map, record | lists, maps, structs |
//! | union with null | null, or the other branch |
//! | other unions | a struct `member0`, `member1`, …; or the first branch that takes the column |
//!
//! Dictionaries are written as what they stand for.

use arrow_array::cast::AsArray;
use arrow_array::types::DecimalType;
use arrow_array::types::{Date32Type, Decimal256Type, Float32Type, Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Fields, TimeUnit};

use super::column_writer::{BoxedWriter, BranchWriter, ConstantWriter, RequiredWriter};
use super::decimals::DecimalWriter;
use super::nested::{ItemOffsets, ListWriter, MapWriter, RecordWriter, UnionMember, UnionWriter};
use super::numbers::{
    BooleanWriter, DoubleWriter, FloatWriter, IntWriter, LongWriter, ScaledWriter, UnitScale, UnsignedLongs,
};
use super::strings::{BytesWriter, EnumWriter, FixedBinaries, FixedWriter, StringWriter, VectorWriter};
use crate::arrow_types::under;
use crate::binary::write_long;
use crate::defaults;
use crate::types::{Field, Fixed, Record, Type, Vector};
use mortice_base::error::{Error, Result};

/// The writer of a record's fields from the columns of the same names; `path` is the record's, empty at the top.
pub(super) fn record(record: &Record, fields: &Fields, columns: &[ArrayRef], path: &str) -> Result<BoxedWriter> {
    for (index, column) in fields.iter().enumerate() {
        let name = column.name();
        if record.field(name).is_none() {
            let known: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
            let message = format!(
                "column {}: record {} has no such field; it has: {}",
                under(path, name),
                record.name,
                known.join(", ")
            );
            return Err(Error::invalid_argument(message));
        }
        if fields.iter().take(index).any(|other| other.name() == name) {
            return Err(Error::invalid_argument(format!("column {} is there more than once", under(path, name))));
        }
    }
    let writer = |field: &Field| {
        let column = fields.iter().position(|column| *column.name() == field.name).and_then(|index| columns.get(index));
        let path = under(path, &field.name);
        column.map_or_else(|| absent(field, &path), |column| bind(&field.ty, column, &path))
    };
    Ok(Box::new(RecordWriter(record.fields.iter().map(writer).collect::<Result<_>>()?)))
}

/// A field without a column: its default, or null.
fn absent(field: &Field, path: &str) -> Result<BoxedWriter> {
    let mut bytes = Vec::new();
    match (&field.default, null_index(&field.ty)) {
        (Some(default), _) => defaults::write(default, &field.ty, &mut bytes, path)?,
        (None, Some(index)) => bytes = index_bytes(&field.ty, index),
        (None, None) => {
            let message = format!("field {path} ({}) has no column, no default and no null", field.ty.describe());
            return Err(Error::invalid_argument(message));
        }
    }
    Ok(Box::new(ConstantWriter(bytes)))
}

/// The writer of a column, nulls and all.
fn bind(ty: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    let column = &plain(column, path)?;
    if *column.data_type() == DataType::Null {
        return match null_index(ty) {
            Some(index) => Ok(Box::new(ConstantWriter(index_bytes(ty, index)))),
            None => Err(mismatch(ty, column, path)),
        };
    }
    if let Type::Union(branches) = ty {
        return union(ty, branches, column, path);
    }
    let inner = value(ty, column, path)?;
    Ok(Box::new(RequiredWriter { nulls: column.logical_nulls(), inner, path: path.to_owned() }))
}

fn null_index(ty: &Type) -> Option<i64> {
    match ty {
        Type::Null => Some(0),
        Type::Union(branches) => index_of(branches, &Type::Null),
        _ => None,
    }
}

fn index_of(branches: &[Type], wanted: &Type) -> Option<i64> {
    (0..).zip(branches).find(|(_, branch)| *branch == wanted).map(|(index, _)| index)
}

/// The bytes of null; `null` by itself has none.
fn index_bytes(ty: &Type, index: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if *ty != Type::Null {
        write_long(index, &mut bytes);
    }
    bytes
}

fn union(ty: &Type, branches: &[Type], column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    let others: Vec<(i64, &Type)> = (0..).zip(branches).filter(|(_, branch)| **branch != Type::Null).collect();
    if others.len() > 1
        && let Some(members) = column.as_struct_opt().filter(|members| are_members(members, others.len()))
    {
        return self::members(&others, members, null_index(ty), path);
    }
    let mut refusal = mismatch(ty, column, path);
    for (index, branch) in &others {
        match value(branch, column, path) {
            Ok(inner) => {
                let nulls = column.logical_nulls();
                let branch =
                    BranchWriter { nulls, null_index: null_index(ty), index: *index, inner, path: path.to_owned() };
                return Ok(Box::new(branch));
            }
            // Of a single branch the inner reason says more.
            Err(error) if others.len() == 1 => refusal = error,
            Err(_) => {}
        }
    }
    Err(refusal)
}

fn are_members(members: &StructArray, count: usize) -> bool {
    members.num_columns() == count
        && (0..).zip(members.fields()).all(|(index, field): (usize, _)| *field.name() == format!("member{index}"))
}

fn members(others: &[(i64, &Type)], column: &StructArray, null_index: Option<i64>, path: &str) -> Result<BoxedWriter> {
    let member = |((index, branch), (name, column)): (&(i64, &Type), (&str, &ArrayRef))| {
        let path = under(path, name);
        let column = plain(column, &path)?;
        // A member that is never set may be of Arrow's type null.
        let inner: BoxedWriter = if *column.data_type() == DataType::Null {
            Box::new(ConstantWriter(Vec::new()))
        } else {
            value(branch, &column, &path)?
        };
        Ok(UnionMember { index: *index, nulls: column.logical_nulls(), inner })
    };
    let named = column.column_names().into_iter().zip(column.columns());
    let members = others.iter().zip(named).map(member).collect::<Result<_>>()?;
    Ok(Box::new(UnionWriter { nulls: column.nulls().cloned(), null_index, members, path: path.to_owned() }))
}

/// The writer of a column's values, which are not null.
fn value(ty: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    match ty {
        Type::Record(of) => match column.as_struct_opt() {
            Some(rows) => record(of, rows.fields(), rows.columns(), path),
            None => Err(mismatch(ty, column, path)),
        },
        Type::Array(items) => list(ty, items, column, path),
        Type::Map(values) => match column.as_map_opt() {
            Some(map) => Ok(Box::new(MapWriter {
                offsets: ItemOffsets::Small(map.offsets().clone()),
                keys: bind(&Type::String, map.keys(), &under(path, "key"))?,
                values: bind(values, map.values(), &under(path, "value"))?,
            })),
            None => Err(mismatch(ty, column, path)),
        },
        Type::String | Type::Uuid => text(ty, column, path),
        Type::Bytes => binary(ty, column, path),
        Type::Vector(vector) => self::vector(ty, vector, column, path),
        Type::Fixed(fixed) => self::fixed(ty, fixed, column, path),
        Type::Enum(of) if is_text(column) => {
            let strings = cast(column, &DataType::LargeUtf8, path)?.as_string::<i64>().clone();
            Ok(Box::new(EnumWriter::new(strings, &of.symbols, path)))
        }
        Type::Decimal(decimal) => match column.data_type() {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => {
                let wide = cast(column, &DataType::Decimal256(Decimal256Type::MAX_PRECISION, *scale), path)?;
                Ok(Box::new(DecimalWriter::new(wide.as_primitive::<Decimal256Type>().clone(), decimal, path)))
            }
            _ => Err(mismatch(ty, column, path)),
        },
        _ => number(ty, column, path),
    }
}

fn list(ty: &Type, items: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    let at = under(path, "element");
    if let Some(list) = column.as_list_opt::<i32>() {
        let offsets = ItemOffsets::Small(list.offsets().clone());
        return Ok(Box::new(ListWriter { offsets, items: bind(items, list.values(), &at)? }));
    }
    let Some(list) = column.as_list_opt::<i64>() else { return Err(mismatch(ty, column, path)) };
    let offsets = ItemOffsets::Large(list.offsets().clone());
    Ok(Box::new(ListWriter { offsets, items: bind(items, list.values(), &at)? }))
}

fn fixed(ty: &Type, fixed: &Fixed, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    match column.data_type() {
        DataType::FixedSizeBinary(size) if usize::try_from(*size) == Ok(fixed.size) => {
            Ok(Box::new(FixedWriter(column.as_fixed_size_binary().clone())))
        }
        DataType::Binary | DataType::LargeBinary => {
            let values = cast(column, &DataType::LargeBinary, path)?.as_binary::<i64>().clone();
            Ok(Box::new(FixedBinaries { values, size: fixed.size, path: path.to_owned() }))
        }
        _ => Err(mismatch(ty, column, path)),
    }
}

/// A vector from a list of its elements' type, or from its stored bytes.
fn vector(ty: &Type, vector: &Vector, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    let (DataType::List(item) | DataType::LargeList(item)) = column.data_type() else {
        return fixed(ty, &vector.fixed, column, path);
    };
    if *item.data_type() != vector.shape.element_type() {
        return Err(mismatch(ty, column, path));
    }
    let large = DataType::LargeList(item.clone());
    let values = cast(column, &large, path)?.as_list::<i64>().clone();
    Ok(Box::new(VectorWriter { values, shape: vector.shape, path: path.to_owned() }))
}

fn text(ty: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    match column.data_type() {
        DataType::Utf8 => Ok(Box::new(StringWriter(column.as_string::<i32>().clone()))),
        DataType::LargeUtf8 => Ok(Box::new(StringWriter(column.as_string::<i64>().clone()))),
        _ => Err(mismatch(ty, column, path)),
    }
}

fn binary(ty: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    match column.data_type() {
        DataType::Binary => Ok(Box::new(BytesWriter(column.as_binary::<i32>().clone()))),
        DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            let values = cast(column, &DataType::LargeBinary, path)?;
            Ok(Box::new(BytesWriter(values.as_binary::<i64>().clone())))
        }
        _ => Err(mismatch(ty, column, path)),
    }
}

fn is_text(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8)
}

fn number(ty: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    use DataType as Ty;
    let small = matches!(column.data_type(), Ty::Int8 | Ty::Int16 | Ty::UInt8 | Ty::UInt16);
    let to = |to: &DataType| cast(column, to, path);
    Ok(match (ty, column.data_type()) {
        (Type::Boolean, Ty::Boolean) => Box::new(BooleanWriter(column.as_boolean().clone())),
        (Type::Int, from) if small || *from == Ty::Int32 => ints(&to(&Ty::Int32)?),
        (Type::Long, from) if small || matches!(from, Ty::Int32 | Ty::Int64 | Ty::UInt32) => longs(&to(&Ty::Int64)?),
        (Type::Long, Ty::UInt64) => {
            let values = column.as_primitive::<UInt64Type>().clone();
            Box::new(UnsignedLongs { values, path: path.to_owned() })
        }
        (Type::Float, from) if small || matches!(from, Ty::Float16 | Ty::Float32) => {
            Box::new(FloatWriter(to(&Ty::Float32)?.as_primitive::<Float32Type>().clone()))
        }
        (Type::Double, from)
            if small || matches!(from, Ty::Int32 | Ty::UInt32 | Ty::Float16 | Ty::Float32 | Ty::Float64) =>
        {
            Box::new(DoubleWriter(to(&Ty::Float64)?.as_primitive::<Float64Type>().clone()))
        }
        (Type::Date, Ty::Date32) => Box::new(IntWriter(column.as_primitive::<Date32Type>().reinterpret_cast())),
        (Type::TimeMillis, Ty::Int32) => ints(column),
        (Type::TimeMicros, Ty::Int64) => longs(column),
        _ => in_unit(ty, column, path)?,
    })
}

fn ints(column: &ArrayRef) -> BoxedWriter {
    Box::new(IntWriter(column.as_primitive::<Int32Type>().clone()))
}

fn longs(column: &ArrayRef) -> BoxedWriter {
    Box::new(LongWriter(column.as_primitive::<Int64Type>().clone()))
}

/// Dates and times: numbers of some unit, brought to that of the Avro type.
fn in_unit(ty: &Type, column: &ArrayRef, path: &str) -> Result<BoxedWriter> {
    use DataType as Ty;
    let days = 86_400_000_000_000;
    let (from, width) = match (ty, column.data_type()) {
        (Type::Date, Ty::Date64) => (1_000_000, &Ty::Int64),
        (Type::TimeMillis | Type::TimeMicros, Ty::Time32(unit)) => (nanos(*unit), &Ty::Int32),
        (Type::TimeMicros, Ty::Time64(unit)) => (nanos(*unit), &Ty::Int64),
        (Type::TimestampMillis | Type::TimestampMicros, Ty::Timestamp(unit, Some(_)))
        | (Type::LocalTimestampMillis | Type::LocalTimestampMicros, Ty::Timestamp(unit, None)) => {
            (nanos(*unit), &Ty::Int64)
        }
        (Type::TimestampMillis | Type::TimestampMicros, Ty::Timestamp(_, None)) => {
            let message = format!("field {path}: a timestamp without a time zone for {}, which is UTC", ty.describe());
            return Err(Error::invalid_argument(message));
        }
        (Type::LocalTimestampMillis | Type::LocalTimestampMicros, Ty::Timestamp(_, Some(_))) => {
            let message = format!("field {path}: a timestamp with a time zone for {}, which has none", ty.describe());
            return Err(Error::invalid_argument(message));
        }
        _ => return Err(mismatch(ty, column, path)),
    };
    let (to, most, unit) = match ty {
        Type::Date => (days, i64::from(i32::MAX), "days"),
        Type::TimeMillis => (1_000_000, i64::from(i32::MAX), "milliseconds"),
        Type::TimestampMillis | Type::LocalTimestampMillis => (1_000_000, i64::MAX, "milliseconds"),
        _ => (1000, i64::MAX, "microseconds"),
    };
    let numbers = cast(&cast(column, width, path)?, &Ty::Int64, path)?;
    let values = numbers.as_primitive::<Int64Type>().clone();
    let scale = if from >= to { UnitScale::Up(from / to) } else { UnitScale::Down(to / from) };
    Ok(Box::new(ScaledWriter { values, scale, most, unit, path: path.to_owned() }))
}

const fn nanos(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The column itself, or what a dictionary, views, or a list of fixed size stand for.
fn plain(column: &ArrayRef, path: &str) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Dictionary(_, values) => plain(&cast(column, values, path)?, path),
        DataType::RunEndEncoded(_, values) => plain(&cast(column, values.data_type(), path)?, path),
        DataType::Utf8View => cast(column, &DataType::LargeUtf8, path),
        DataType::BinaryView => cast(column, &DataType::LargeBinary, path),
        DataType::FixedSizeList(items, _) | DataType::ListView(items) | DataType::LargeListView(items) => {
            cast(column, &DataType::LargeList(items.clone()), path)
        }
        _ => Ok(column.clone()),
    }
}

fn cast(column: &ArrayRef, to: &DataType, path: &str) -> Result<ArrayRef> {
    let exact = CastOptions { safe: false, ..CastOptions::default() };
    let refused = |error| {
        Error::invalid_argument(format!("field {path}: {} cannot be written", column.data_type())).caused_by(error)
    };
    cast_with_options(column, to, &exact).map_err(refused)
}

fn mismatch(ty: &Type, column: &ArrayRef, path: &str) -> Error {
    let message = format!(
        "field {path}: a column of type {} cannot be written as {} without loss",
        column.data_type(),
        ty.describe()
    );
    Error::invalid_argument(message)
}
