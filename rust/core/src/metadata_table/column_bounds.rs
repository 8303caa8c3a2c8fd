//! The bounds of a column in files, from records of column statistics (`HoodieMetadataColumnStats`), as far as they hold for sure.
//!
//! | column | relied on |
//! |---|---|
//! | truth value, whole number, date | bounds that are wrapped as such; those of an `int` in a column of `long`, too |
//! | time, decimal | bounds that say their unit or scale (table version 9), where it is the column's own |
//! | text | bounds in whose characters UTF-16 and bytes have one order |
//! | floating point | nothing: of values that begin with NaN, Hudi notes 0 and 0, and goes on from there |
//! | bytes | nothing: their order differs by writer |
//!
//! What a record says of nulls is taken from a parquet footer, which leaves out the statistics of a column chunk with long values (and
//! of old times). Hudi then notes that all of the chunk is null, and takes the bounds from the other chunks. So, but for the types in
//! the table's first line, bounds are certain only beside a count of 0 nulls; and it is not concluded from any count that nothing but
//! nulls is there. A count of 0 values is of a log of nothing but deletes.
//!
//! Texts are compared by their UTF-16 units where Hudi puts bounds of several chunks together, and by their bytes in each. The two
//! differ between characters from U+E000 to U+FFFF and those above.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray, StructArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};

use crate::avro::{self, Type};
use crate::filter::Bounds;

/// What a record says of one column of one file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    least: Option<Wrapped>,
    greatest: Option<Wrapped>,
    /// How many values there are, nulls among them.
    values: Option<u64>,
    nulls: Option<u64>,
}

/// A bound, by what it is wrapped as.
#[derive(Debug, Clone, PartialEq)]
enum Wrapped {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Text(String),
    Date(i32),
    /// Microseconds, of an instant (`utc`) or of a wall clock.
    Micros {
        value: i64,
        utc: bool,
    },
    /// Digits, and how many of them stand behind the point.
    Decimal(i128, i8),
}

/// What a bound means beyond its wrapper (`ValueType`, by ordinal): from table version 9.
mod value_type {
    pub(super) const DECIMAL: i32 = 10;
    pub(super) const DATE: i32 = 12;
    pub(super) const TIMESTAMP_MICROS: i32 = 16;
    pub(super) const LOCAL_TIMESTAMP_MICROS: i32 = 19;
}

/// The types of whose columns bounds are relied on.
pub(super) fn is_reliable(kind: &DataType) -> bool {
    use DataType::{Boolean, Date32, Decimal128, Int32, Int64, Timestamp, Utf8};
    matches!(kind, Boolean | Int32 | Int64 | Date32 | Utf8 | Decimal128(..) | Timestamp(TimeUnit::Microsecond, _))
}

/// How bounds are wrapped: the names of a union's branches, nulls aside, in their order.
#[derive(Debug)]
pub(super) struct Wrappers(Vec<String>);

impl Wrappers {
    /// Those of the field `minValue` of the record in the field `stats`; `maxValue` has the same.
    pub(super) fn of(schema: &avro::Schema, stats: &str) -> Option<Self> {
        let Type::Record(stats) = schema.field(stats)?.ty.non_null() else { return None };
        let Type::Union(branches) = &stats.field("minValue")?.ty else { return None };
        let name = |branch: &Type| match branch {
            Type::Record(record) => record.name.rsplit('.').next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        Some(Self(branches.iter().filter(|branch| **branch != Type::Null).map(name).collect()))
    }

    /// What record `row` says.
    pub(super) fn told(&self, stats: &StructArray, row: usize) -> Told {
        let meaning = Meaning::of(stats, row);
        let bound = |name: &str| {
            let members = stats.column_by_name(name)?.as_struct_opt()?;
            members.is_valid(row).then(|| self.bound(members, row, &meaning)).flatten()
        };
        let count = |name: &str| {
            let counts = stats.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
            counts.is_valid(row).then(|| u64::try_from(counts.value(row)).ok()).flatten()
        };
        Told {
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

/// What the bounds of a record mean.
struct Meaning {
    /// Of a value type.
    ordinal: Option<i32>,
    /// Of a decimal: its `precision,scale` is told beside it.
    scale: Option<i8>,
}

impl Meaning {
    fn of(stats: &StructArray, row: usize) -> Self {
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

/// A whole number in two's complement, the highest byte first.
fn number(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = if first < 0x80 { [0; 16] } else { [0xff; 16] };
    let from = wide.len().checked_sub(bytes.len())?;
    wide.get_mut(from..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

/// Bounds of a column of that type in several files, null where there is no record; and of how many rows each is: none, or not known.
pub(super) fn bounds(told: &[Option<Told>], kind: &DataType) -> (Bounds, Vec<u64>) {
    let whole = |told: &Option<Told>| told.clone().filter(|told| is_whole(told, kind));
    let least = told.iter().map(|told| whole(told)?.least.filter(is_lower_in_bytes)).collect();
    let greatest = told.iter().map(|told| whole(told)?.greatest.filter(is_upper_in_bytes)).collect();
    let nulls = told.iter().map(|told| told.as_ref()?.nulls).collect::<UInt64Array>();
    let is_empty = |told: &Told| told.values == Some(0) && told.nulls == Some(0);
    let rows = told.iter().map(|told| if told.as_ref().is_some_and(is_empty) { 0 } else { u64::MAX }).collect();
    (Bounds { least: array(least, kind), greatest: array(greatest, kind), nulls }, rows)
}

/// Whether all chunks have taken part.
fn is_whole(told: &Told, kind: &DataType) -> bool {
    matches!(kind, DataType::Boolean | DataType::Int32 | DataType::Int64 | DataType::Date32) || told.nulls == Some(0)
}

/// Whether what is not below a text by UTF-16 units is not below it by bytes.
fn is_lower_in_bytes(bound: &Wrapped) -> bool {
    !matches!(bound, Wrapped::Text(text) if text.chars().any(|one| one > '\u{ffff}'))
}

/// Whether what is not above a text by UTF-16 units is not above it by bytes.
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
            // Of another type they are compared with nothing.
            Arc::new(digits.clone().with_precision_and_scale(*precision, *scale).unwrap_or(digits))
        }
        _ => Arc::new(some.map(|bound| bound?.text()).collect::<StringArray>()),
    }
}

impl Wrapped {
    fn boolean(self) -> Option<bool> {
        if let Self::Boolean(value) = self { Some(value) } else { None }
    }

    fn int(self) -> Option<i32> {
        if let Self::Int(value) = self { Some(value) } else { None }
    }

    /// An `int`, too: of files from before the column was widened.
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

    fn told(least: Wrapped, greatest: Wrapped, nulls: Option<u64>) -> Option<Told> {
        Some(Told { least: Some(least), greatest: Some(greatest), values: None, nulls })
    }

    #[test]
    fn bounds_of_the_columns_own_type() {
        use Wrapped::{Date, Int, Long};
        let told =
            [told(Int(1), Int(2), Some(3)), told(Long(-1), Long(1 << 40), None), told(Date(1), Date(2), Some(0)), None];
        let longs = bounds(&told, &DataType::Int64).0;
        assert_eq!(longs.least.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), Some(-1), None, None]));
        assert_eq!(longs.nulls, UInt64Array::from(vec![Some(3), None, Some(0), None]));
        let ints = bounds(&told, &DataType::Int32).0;
        assert_eq!(ints.greatest.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(2), None, None, None]));
        assert_eq!(bounds(&told, &DataType::Date32).0.least.null_count(), 3);
        assert!([DataType::Float64, DataType::Binary].iter().all(|kind| !is_reliable(kind)));
    }

    #[test]
    fn texts_only_where_all_chunks_were_looked_at_and_orders_agree() {
        let text = |text: &str| Wrapped::Text(text.to_owned());
        let known = |least: &str, greatest: &str, nulls| {
            let (found, _) = bounds(&[told(text(least), text(greatest), nulls)], &DataType::Utf8);
            (found.least.null_count() == 0, found.greatest.null_count() == 0)
        };
        assert_eq!(known("a", "é", Some(0)), (true, true));
        assert_eq!(known("a", "é", Some(1)), (false, false));
        assert_eq!(known("a", "é", None), (false, false));
        // U+10000 lies below U+E000 in UTF-16, and above it in bytes.
        assert_eq!(known("\u{10000}", "\u{e000}", Some(0)), (false, false));
        assert_eq!(known("a\u{e000}", "z\u{10000}", Some(0)), (true, true));
    }

    #[test]
    fn times_and_decimals_only_as_the_column_has_them() {
        let micros = |utc| told(Wrapped::Micros { value: 1, utc }, Wrapped::Micros { value: 2, utc }, Some(0));
        let of = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        let nulls = |told: Option<Told>, kind: &DataType| bounds(&[told], kind).0.least.null_count();
        assert_eq!([nulls(micros(true), &of(Some("UTC"))), nulls(micros(false), &of(None))], [0, 0]);
        assert_eq!([nulls(micros(false), &of(Some("UTC"))), nulls(micros(true), &of(None))], [1, 1]);
        assert_eq!(nulls(told(Wrapped::Long(1), Wrapped::Long(2), Some(0)), &of(None)), 1);
        let decimal = |nulls| told(Wrapped::Decimal(-525, 2), Wrapped::Decimal(375, 2), nulls);
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
        let none = Told { least: None, greatest: None, values: Some(0), nulls: Some(0) };
        let rows = |told: Told| bounds(&[Some(told)], &DataType::Int32).1;
        assert_eq!(rows(none.clone()), [0]);
        assert_eq!(rows(Told { nulls: None, ..none.clone() }), [u64::MAX]);
        assert_eq!(rows(Told { values: Some(3), nulls: Some(3), ..none }), [u64::MAX]);
    }
}
