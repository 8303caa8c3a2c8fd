//! Casts that keep every value: a value that the table's type does not hold is refused, with its row.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use super::value_place::ValuePlace;
use mortice_base::error::{Error, Result};

/// Letters of a value that a message has.
const SHOWN: usize = 100;

/// Whether a type of the table holds every value of another one, apart from units and offsets that are out of range.
pub(crate) fn holds(table: &DataType, other: &DataType) -> bool {
    use DataType as T;
    match (table, other) {
        (T::Int32, T::Int8 | T::Int16 | T::UInt8 | T::UInt16)
        | (T::Int64, T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64)
        | (T::Float32, T::Float16)
        | (T::Float64, T::Float16 | T::Float32 | T::Int8 | T::Int16 | T::Int32)
        | (T::Utf8, T::LargeUtf8 | T::Utf8View)
        | (T::Binary, T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_))
        | (T::Date32, T::Date64) => true,
        (T::Timestamp(_, zone), T::Timestamp(_, other_zone)) => zone.is_some() == other_zone.is_some(),
        (
            T::Decimal128(digits, scale),
            T::Decimal32(own_digits, own_scale)
            | T::Decimal64(own_digits, own_scale)
            | T::Decimal128(own_digits, own_scale),
        ) => {
            own_scale <= scale
                && i16::from(*own_digits) - i16::from(*own_scale) <= i16::from(*digits) - i16::from(*scale)
        }
        (T::Int32, T::Time32(TimeUnit::Millisecond)) | (T::Int64, T::Time64(TimeUnit::Microsecond)) => true,
        (one, other) => one.equals_datatype(other),
    }
}

/// Whether a type of the table holds some values of another one exactly: the others are refused one by one.
pub(super) fn may_hold(table: &DataType, other: &DataType) -> bool {
    let is_count = |kind: &DataType| kind.is_integer() || is_decimal(kind);
    let is_binary = |kind: &DataType| {
        matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
    };
    holds(table, other)
        || (is_number(table) && is_number(other))
        || (is_count(table) && is_count(other))
        || (is_binary(table) && is_binary(other))
}

fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating()
}

fn is_decimal(kind: &DataType) -> bool {
    use DataType as T;
    matches!(kind, T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..))
}

/// Casts values to a type that may hold them.
pub(super) fn exact(column: &ArrayRef, to: &DataType, place: ValuePlace<'_>) -> Result<ArrayRef> {
    let from = column.data_type();
    let converted = cast(column, to, place.path())?;
    let is_whole = converted.null_count() == column.null_count();
    if is_whole && !may_round(from, to) {
        return Ok(converted);
    }
    let back = cast(&converted, from, place.path())?;
    if back.to_data() == column.to_data() {
        return Ok(converted);
    }
    let differs = |at: &usize| back.slice(*at, 1).to_data() != column.slice(*at, 1).to_data();
    let Some((at, row)) = (0..column.len()).filter(differs).find_map(|at| Some((at, place.row(at)?))) else {
        // Only values that no row shows: below nulls, or outside of a slice.
        return Ok(converted);
    };
    let what = match to {
        DataType::Timestamp(..) | DataType::Date32 => "has a finer unit than, or is out of range of,",
        _ => "is not exactly one of",
    };
    Err(Error::invalid_argument(format!(
        "row {}, column {:?}: the value {} ({from}) {what} the table's {to}; change the value, or the type of the rows, before the write",
        place.number(row),
        place.path(),
        shown(column, at)
    )))
}

/// Values of a type of which the table's type holds none: nulls, or an error.
pub(super) fn nulls_only(column: &ArrayRef, to: &DataType, place: ValuePlace<'_>, hint: &str) -> Result<ArrayRef> {
    let (from, path) = (column.data_type(), place.path());
    let remedy = format!("cast it before the write{hint}");
    if column.is_empty() {
        return Err(Error::invalid_argument(format!("column {path:?} is {from}, but the table's is {to}; {remedy}")));
    }
    let mut values = (0..column.len()).filter(|at| column.is_valid(*at));
    let Some((at, row)) = values.find_map(|at| Some((at, place.row(at)?))) else {
        return Ok(new_null_array(to, column.len()));
    };
    Err(Error::invalid_argument(format!(
        "row {}, column {path:?} is {from}, but the table's is {to}, which does not hold the value {}; {remedy}",
        place.number(row),
        shown(column, at)
    )))
}

/// Whether a cast may give another value without giving null.
fn may_round(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => from > to,
        (DataType::Date64, _) => true,
        (from, to) => (is_number(from) || is_decimal(from)) && !holds(to, from),
    }
}

/// A value as a message shows it.
fn shown(column: &ArrayRef, at: usize) -> String {
    let options = FormatOptions::default().with_display_error(true);
    let value = match column.data_type() {
        // Names of time zones are not known here.
        DataType::Timestamp(unit, Some(_)) => {
            let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
            cast_with_options(&column.slice(at, 1), &utc, &CastOptions::default())
        }
        _ => Ok(column.slice(at, 1)),
    };
    let plain = value.and_then(|value| Ok(ArrayFormatter::try_new(value.as_ref(), &options)?.value(0).to_string()));
    let text = plain.unwrap_or_else(|_| "of this type".to_owned());
    let is_text = matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let short = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    };
    if is_text { format!("{short:?}") } else { short }
}

/// Casts; null where a value does not fit.
pub(super) fn cast(column: &ArrayRef, to: &DataType, path: &str) -> Result<ArrayRef> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    cast_with_options(column, to, &options).map_err(|error| unfit(path, error))
}

/// The same, of layouts: no value changes.
pub(super) fn cast_layout(column: &ArrayRef, to: &DataType, path: &str) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &options).map_err(|error| unfit(path, error))
}

pub(super) fn unfit(path: &str, error: arrow_schema::ArrowError) -> Error {
    Error::invalid_argument(format!("column {path:?} does not fit in the table's type")).caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Decimal128Array, Float64Array, Int64Array, TimestampMicrosecondArray, TimestampSecondArray};

    use super::*;

    fn casted(column: ArrayRef, to: &DataType) -> Result<ArrayRef> {
        assert!(may_hold(to, column.data_type()), "{to} {}", column.data_type());
        exact(&column, to, ValuePlace::column("c", 10))
    }

    #[test]
    fn values_are_cast_if_all_of_them_hold() {
        let whole: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(-3.0)]));
        assert_eq!(*casted(whole, &DataType::Int64).unwrap(), Int64Array::from(vec![Some(1), None, Some(-3)]));
        for (column, to, message) in [
            (Arc::new(Float64Array::from(vec![1.0, 1.5])) as ArrayRef, DataType::Int64, "value 1.5 "),
            (Arc::new(Float64Array::from(vec![1.0, f64::NAN])), DataType::Int64, "value NaN "),
            (Arc::new(Float64Array::from(vec![1.0, 9.3e18])), DataType::Int64, "value 9.3e18 "),
            (Arc::new(Int64Array::from(vec![1, 1 << 31])), DataType::Int32, "value 2147483648 "),
            (Arc::new(Int64Array::from(vec![1, (1 << 53) + 1])), DataType::Float64, "value 9007199254740993 "),
            (Arc::new(Int64Array::from(vec![1, 1000])), DataType::Decimal128(5, 2), "value 1000 "),
            (decimals(vec![100, 125], 5, 2), DataType::Decimal128(4, 1), "value 1.25 "),
            (decimals(vec![100, 125], 5, 2), DataType::Int32, "value 1.25 "),
            (
                Arc::new(TimestampSecondArray::from(vec![1, i64::MAX])),
                DataType::Timestamp(TimeUnit::Microsecond, None),
                "out of range",
            ),
            (
                Arc::new(TimestampMicrosecondArray::from(vec![1000, 1001])),
                DataType::Timestamp(TimeUnit::Millisecond, None),
                "1970-01-01T00:00:00.001001",
            ),
        ] {
            let error = casted(column, &to).unwrap_err().to_string();
            assert!(error.contains(r#"row 11, column "c""#) && error.contains(message), "{error}");
        }
    }

    fn decimals(values: Vec<i128>, digits: u8, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(digits, scale).unwrap())
    }

    #[test]
    fn decimals_and_integers_are_cast_by_value() {
        let ones = decimals(vec![100, 250], 5, 2);
        assert_eq!(
            casted(Arc::clone(&ones), &DataType::Decimal128(4, 1)).unwrap().to_data(),
            decimals(vec![10, 25], 4, 1).to_data()
        );
        assert_eq!(*casted(ones.slice(0, 1), &DataType::Int64).unwrap(), Int64Array::from(vec![1]));
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![7]));
        assert_eq!(casted(longs, &DataType::Decimal128(4, 1)).unwrap().to_data(), decimals(vec![70], 4, 1).to_data());
    }

    #[test]
    fn values_that_no_row_shows_are_not_looked_at() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.0]));
        let only_second = |at: usize| (at == 1).then_some(0);
        let place = ValuePlace::column("c", 0).nested("c.x", &only_second);
        assert!(exact(&values, &DataType::Int64, place).is_ok());
        let only_first = |at: usize| (at == 0).then_some(4);
        let error = exact(&values, &DataType::Int64, place.nested("c.x", &only_first)).unwrap_err().to_string();
        assert!(error.contains(r#"row 4, column "c.x""#), "{error}");
    }

    #[test]
    fn a_column_of_another_kind_is_cast_if_it_is_null() {
        let strings: ArrayRef = Arc::new(arrow_array::StringArray::from(vec![None, Some("oops")]));
        let place = ValuePlace::column("c", 0);
        assert_eq!(nulls_only(&strings.slice(0, 1), &DataType::Int64, place, "").unwrap().null_count(), 1);
        let error = nulls_only(&strings, &DataType::Int64, place, "").unwrap_err().to_string();
        assert!(error.contains(r#"row 1, column "c" is Utf8"#) && error.contains(r#"value "oops""#), "{error}");
        assert!(nulls_only(&strings.slice(0, 0), &DataType::Int64, place, "").is_err());
    }
}
