//! Reliable bounds of a column in files, from records of column statistics (`HoodieMetadataColumnStats`).
//!
//! | column | reliable bounds |
//! |---|---|
//! | boolean, integer, date | bounds with the wrapper of the type; for `long` also those of `int` |
//! | dates before 1582, times before 1900 | bounds that hold in both calendars (`early_bounds`) |
//! | time, decimal | bounds with the unit or scale of the column (stored from table version 9) |
//! | string | bounds whose characters have the same order in UTF-16 and in bytes |
//! | floating point | none: if the first value is NaN, Hudi starts with bounds 0 and 0 |
//! | bytes | none: their order depends on the writer |
//!
//! The null count of a record comes from a Parquet footer, which omits the statistics of a column chunk with long
//! values (and of old timestamps). Hudi then counts all values of the chunk as null, and takes the bounds from the
//! other chunks. So, except for the types in the first row of the table, bounds are reliable only with a null count of
//! 0, and a null count never proves that all values are null. A value count of 0 is that of a log with deletes only.
//!
//! Hudi compares strings by their UTF-16 units to combine bounds of several chunks, and by their bytes within a chunk.
//! The two orders differ between characters from U+E000 to U+FFFF and those above.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray, StructArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};

use super::early_bounds::{greatest_date, greatest_micros, least_date, least_micros};
use mortice_avro::{self as avro, Type};
use mortice_formats::filter::ColumnBounds;

/// The statistics of one column of one file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileStats {
    least: Option<Wrapped>,
    greatest: Option<Wrapped>,
    /// The number of values, including nulls.
    values: Option<u64>,
    nulls: Option<u64>,
}

/// A bound, by the type of its wrapper.
#[derive(Debug, Clone, PartialEq)]
enum Wrapped {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Text(String),
    Date(i32),
    /// Microseconds, of an instant (`utc`) or of local time.
    Micros {
        value: i64,
        utc: bool,
    },
    /// Digits, and the number of decimal places.
    Decimal(i128, i8),
}

/// The type of a bound within its wrapper (`ValueType`, by ordinal): from table version 9.
mod value_type {
    pub(super) const DECIMAL: i32 = 10;
    pub(super) const DATE: i32 = 12;
    pub(super) const TIMESTAMP_MICROS: i32 = 16;
    pub(super) const LOCAL_TIMESTAMP_MICROS: i32 = 19;
}

/// Returns true for column types whose bounds are used.
pub(super) fn is_reliable(kind: &DataType) -> bool {
    use DataType::{Boolean, Date32, Decimal128, Int32, Int64, Timestamp, Utf8};
    matches!(kind, Boolean | Int32 | Int64 | Date32 | Utf8 | Decimal128(..) | Timestamp(TimeUnit::Microsecond, _))
}

/// The wrappers of bounds: the names of the union's branches without null, in order.
#[derive(Debug)]
pub(super) struct Wrappers(Vec<String>);

impl Wrappers {
    /// Returns the branches of `minValue` of the record in the field `stats`; those of `maxValue` are the same.
    pub(super) fn from_schema(schema: &avro::Schema, stats: &str) -> Option<Self> {
        let Type::Record(stats) = schema.field(stats)?.ty.non_null() else { return None };
        let Type::Union(branches) = &stats.field("minValue")?.ty else { return None };
        let name = |branch: &Type| match branch {
            Type::Record(record) => record.name.rsplit('.').next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        Some(Self(branches.iter().filter(|branch| **branch != Type::Null).map(name).collect()))
    }

    /// Returns the statistics in record `row`.
    pub(super) fn file_stats(&self, stats: &StructArray, row: usize) -> FileStats {
        let meaning = Meaning::from_stats(stats, row);
        let bound = |name: &str| {
            let members = stats.column_by_name(name)?.as_struct_opt()?;
            members.is_valid(row).then(|| self.bound(members, row, &meaning)).flatten()
        };
        let count = |name: &str| {
            let counts = stats.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
            counts.is_valid(row).then(|| u64::try_from(counts.value(row)).ok()).flatten()
        };
        FileStats {
            least: bound("minValue"),
            greatest: bound("maxValue"),
            values: count("valueCount"),
            nulls: count("nullCount"),
        }
    }

    fn bound(&self, members: &StructArray, row: usize, meaning: &Meaning) -> Option<Wrapped> {
        let (member, name) = members.columns().iter().zip(&self.0).find(|(member, _)| member.is_valid(row))?;
        let value = member.as_struct_opt()?.column_by_name("value").filter(|value| value.is_valid(row))?;
        let int = || value.as_primitive_opt::<Int32Type>().map(|value| value.value(row));
        let long = || value.as_primitive_opt::<Int64Type>().map(|value| value.value(row));
        match (name.as_str(), meaning.ordinal) {
            ("BooleanWrapper", _) => value.as_boolean_opt().map(|value| Wrapped::Boolean(value.value(row))),
            ("DateWrapper", None) | ("IntWrapper", Some(value_type::DATE)) => int().map(Wrapped::Date),
            ("IntWrapper", _) => int().map(Wrapped::Int),
            ("LongWrapper", Some(value_type::TIMESTAMP_MICROS)) => Some(Wrapped::Micros { value: long()?, utc: true }),
            ("LongWrapper", Some(value_type::LOCAL_TIMESTAMP_MICROS)) => {
                Some(Wrapped::Micros { value: long()?, utc: false })
            }
            ("LongWrapper", _) => long().map(Wrapped::Long),
            ("StringWrapper", _) => {
                value.as_string_opt::<i32>().map(|value| Wrapped::Text(value.value(row).to_owned()))
            }
            ("BytesWrapper", Some(value_type::DECIMAL)) => {
                Some(Wrapped::Decimal(number(value.as_binary_opt::<i32>()?.value(row))?, meaning.scale?))
            }
            _ => None,
        }
    }
}

/// The meaning of the bounds of a record.
struct Meaning {
    /// A value type.
    ordinal: Option<i32>,
    /// A decimal, with `precision,scale` stored next to the bound.
    scale: Option<i8>,
}

impl Meaning {
    fn from_stats(stats: &StructArray, row: usize) -> Self {
        let types = stats.column_by_name("valueType").and_then(|types| types.as_struct_opt());
        let types = types.filter(|types| types.is_valid(row));
        let ordinal = types.and_then(|types| types.column_by_name("typeOrdinal")?.as_primitive_opt::<Int32Type>());
        let more = types.and_then(|types| types.column_by_name("additionalInfo")?.as_string_opt::<i32>());
        let more = more.filter(|more| more.is_valid(row)).map(|more| more.value(row));
        Self {
            ordinal: ordinal.filter(|ordinal| ordinal.is_valid(row)).map(|ordinal| ordinal.value(row)),
            scale: more.and_then(|more| more.split_once(',')?.1.trim().parse().ok()),
        }
    }
}

/// Parses an integer in two's complement, big-endian.
fn number(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = if first < 0x80 { [0; 16] } else { [0xff; 16] };
    let from = wide.len().checked_sub(bytes.len())?;
    wide.get_mut(from..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

/// Returns the bounds of a column of that type in several files, null for files without a record, and the row count of
/// each file: 0, or unknown.
pub(super) fn bounds(stats: &[Option<FileStats>], kind: &DataType) -> (ColumnBounds, Vec<u64>) {
    let whole = |stats: &Option<FileStats>| stats.clone().filter(|stats| is_whole(stats, kind));
    let least = stats
        .iter()
        .map(|stats| whole(stats)?.least.filter(is_lower_in_bytes)?.of_any_calendar(least_date, least_micros))
        .collect();
    let greatest = stats
        .iter()
        .map(|stats| whole(stats)?.greatest.filter(is_upper_in_bytes)?.of_any_calendar(greatest_date, greatest_micros))
        .collect();
    let nulls = stats.iter().map(|stats| stats.as_ref()?.nulls).collect::<UInt64Array>();
    let is_empty = |stats: &FileStats| stats.values == Some(0) && stats.nulls == Some(0);
    let rows = stats.iter().map(|stats| if stats.as_ref().is_some_and(is_empty) { 0 } else { u64::MAX }).collect();
    (ColumnBounds { least: array(least, kind), greatest: array(greatest, kind), nulls }, rows)
}

/// Returns true if the bounds include all chunks.
fn is_whole(stats: &FileStats, kind: &DataType) -> bool {
    matches!(kind, DataType::Boolean | DataType::Int32 | DataType::Int64 | DataType::Date32) || stats.nulls == Some(0)
}

/// Returns true if strings that are not below the bound by UTF-16 units are not below it by bytes.
fn is_lower_in_bytes(bound: &Wrapped) -> bool {
    !matches!(bound, Wrapped::Text(text) if text.chars().any(|one| one > '\u{ffff}'))
}

/// Returns true if strings that are not above the bound by UTF-16 units are not above it by bytes.
fn is_upper_in_bytes(bound: &Wrapped) -> bool {
    !matches!(bound, Wrapped::Text(text) if text.chars().any(|one| ('\u{e000}'..='\u{ffff}').contains(&one)))
}

fn array(bounds: Vec<Option<Wrapped>>, kind: &DataType) -> ArrayRef {
    let some = bounds.into_iter();
    match kind {
        DataType::Boolean => Arc::new(some.map(|bound| bound?.boolean()).collect::<BooleanArray>()),
        DataType::Int32 => Arc::new(some.map(|bound| bound?.int()).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(some.map(|bound| bound?.long()).collect::<Int64Array>()),
        DataType::Date32 => Arc::new(some.map(|bound| bound?.date()).collect::<Date32Array>()),
        DataType::Timestamp(_, zone) => {
            let micros = some.map(|bound| bound?.micros(zone.is_some()));
            Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone_opt(zone.clone()))
        }
        DataType::Decimal128(precision, scale) => {
            let digits: Decimal128Array = some.map(|bound| bound?.digits(*scale)).collect();
            // Values of another type are not compared.
            Arc::new(digits.clone().with_precision_and_scale(*precision, *scale).unwrap_or(digits))
        }
        _ => Arc::new(some.map(|bound| bound?.text()).collect::<StringArray>()),
    }
}

impl Wrapped {
    /// Returns the bound so that it holds in both calendars. Local times are never hybrid.
    fn of_any_calendar(self, day: fn(i32) -> Option<i32>, micros: fn(i64) -> Option<i64>) -> Option<Self> {
        match self {
            Self::Date(bound) => day(bound).map(Self::Date),
            Self::Micros { value, utc: true } => micros(value).map(|value| Self::Micros { value, utc: true }),
            other => Some(other),
        }
    }

    fn boolean(self) -> Option<bool> {
        if let Self::Boolean(value) = self { Some(value) } else { None }
    }

    fn int(self) -> Option<i32> {
        if let Self::Int(value) = self { Some(value) } else { None }
    }

    /// Also accepts `int`, from files before the column was widened.
    fn long(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value.into()),
            Self::Long(value) => Some(value),
            _ => None,
        }
    }

    fn date(self) -> Option<i32> {
        if let Self::Date(days) = self { Some(days) } else { None }
    }

    fn micros(self, of_instant: bool) -> Option<i64> {
        if let Self::Micros { value, utc } = self { Some(value).filter(|_| utc == of_instant) } else { None }
    }

    fn digits(self, of_scale: i8) -> Option<i128> {
        if let Self::Decimal(digits, scale) = self { Some(digits).filter(|_| scale == of_scale) } else { None }
    }

    fn text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_bounds(least: Wrapped, greatest: Wrapped, nulls: Option<u64>) -> Option<FileStats> {
        Some(FileStats { least: Some(least), greatest: Some(greatest), values: None, nulls })
    }

    #[test]
    fn bounds_of_the_columns_own_type() {
        use Wrapped::{Date, Int, Long};
        let stats = [
            with_bounds(Int(1), Int(2), Some(3)),
            with_bounds(Long(-1), Long(1 << 40), None),
            with_bounds(Date(1), Date(2), Some(0)),
            None,
        ];
        let longs = bounds(&stats, &DataType::Int64).0;
        assert_eq!(longs.least.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), Some(-1), None, None]));
        assert_eq!(longs.nulls, UInt64Array::from(vec![Some(3), None, Some(0), None]));
        let ints = bounds(&stats, &DataType::Int32).0;
        assert_eq!(ints.greatest.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(2), None, None, None]));
        assert_eq!(bounds(&stats, &DataType::Date32).0.least.null_count(), 3);
        assert!([DataType::Float64, DataType::Binary].iter().all(|kind| !is_reliable(kind)));
    }

    #[test]
    fn strings_only_where_all_chunks_were_looked_at_and_orders_agree() {
        let text = |text: &str| Wrapped::Text(text.to_owned());
        let known = |least: &str, greatest: &str, nulls| {
            let (found, _) = bounds(&[with_bounds(text(least), text(greatest), nulls)], &DataType::Utf8);
            (found.least.null_count() == 0, found.greatest.null_count() == 0)
        };
        assert_eq!(known("a", "é", Some(0)), (true, true));
        assert_eq!(known("a", "é", Some(1)), (false, false));
        assert_eq!(known("a", "é", None), (false, false));
        // U+10000 is before U+E000 in UTF-16, and after it in bytes.
        assert_eq!(known("\u{10000}", "\u{e000}", Some(0)), (false, false));
        assert_eq!(known("a\u{e000}", "z\u{10000}", Some(0)), (true, true));
    }

    #[test]
    fn times_and_decimals_only_as_the_column_has_them() {
        let micros = |utc| with_bounds(Wrapped::Micros { value: 1, utc }, Wrapped::Micros { value: 2, utc }, Some(0));
        let of = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        let nulls = |stats: Option<FileStats>, kind: &DataType| bounds(&[stats], kind).0.least.null_count();
        assert_eq!([nulls(micros(true), &of(Some("UTC"))), nulls(micros(false), &of(None))], [0, 0]);
        assert_eq!([nulls(micros(false), &of(Some("UTC"))), nulls(micros(true), &of(None))], [1, 1]);
        assert_eq!(nulls(with_bounds(Wrapped::Long(1), Wrapped::Long(2), Some(0)), &of(None)), 1);
        let decimal = |nulls| with_bounds(Wrapped::Decimal(-525, 2), Wrapped::Decimal(375, 2), nulls);
        assert_eq!(nulls(decimal(Some(0)), &DataType::Decimal128(10, 2)), 0);
        assert_eq!(nulls(decimal(Some(1)), &DataType::Decimal128(10, 2)), 1);
        assert_eq!(nulls(decimal(Some(0)), &DataType::Decimal128(10, 3)), 1);
        assert_eq!(
            [number(&[0xfd, 0xf3]), number(&[1, 0x77]), number(&[]), number(&[0; 17])],
            [Some(-525), Some(375), None, None]
        );
    }

    #[test]
    fn a_log_of_nothing_but_deletes_has_no_rows() {
        let none = FileStats { least: None, greatest: None, values: Some(0), nulls: Some(0) };
        let rows = |stats: FileStats| bounds(&[Some(stats)], &DataType::Int32).1;
        assert_eq!(rows(none.clone()), [0]);
        assert_eq!(rows(FileStats { nulls: None, ..none.clone() }), [u64::MAX]);
        assert_eq!(rows(FileStats { values: Some(3), nulls: Some(3), ..none }), [u64::MAX]);
    }
}
