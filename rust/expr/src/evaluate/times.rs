//! Parts of dates and times.

use arrow_arith::temporal::{DatePart, date_part};
use arrow_schema::DataType;
use mortice_base::{Error, Result};

use super::cast::exact_cast;
use super::value::{Value, failed};
use crate::kinds::{is_date, is_timestamp, timestamp_type, type_name};

/// Returns the year, month, day, hour, minute or second, in UTC.
pub(crate) fn part(name: &str, value: &Value) -> Result<Value> {
    let kind = value.kind();
    let part = match name {
        "year" => DatePart::Year,
        "month" => DatePart::Month,
        "day" => DatePart::Day,
        "hour" => DatePart::Hour,
        "minute" => DatePart::Minute,
        _ => DatePart::Second,
    };
    let is_of_day = matches!(part, DatePart::Hour | DatePart::Minute | DatePart::Second);
    if !is_timestamp(kind) && (is_of_day || !is_date(kind)) {
        let taken = if is_of_day { "timestamps" } else { "dates and timestamps" };
        return Err(Error::invalid_argument(format!("{name} takes {taken}, got {}; cast the value", type_name(kind))));
    }
    // What the clock shows in UTC, which all zones of columns are.
    let local = if is_timestamp(kind) { exact_cast(value, &timestamp_type(false))? } else { value.clone() };
    let found = local.map(|array| date_part(array, part).map_err(|error| failed(&error)))?;
    exact_cast(&found, &DataType::Int64)
}
