//! Partition values of the timestamp-based key generator (`TimestampBasedAvroKeyGenerator`): a time, formatted by
//! `hoodie.keygen.timebased.*` of the table's properties or of the options.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use chrono::{Local, Offset, TimeZone as _};

use super::key_options::KeyOptions;
use super::row_text;
use super::time_pattern::TimePattern;
use super::time_zone::TimeZone;
use crate::config::TableConfig;
use mortice_base::error::{Error, Result};

const PREFIXES: [&str; 2] = ["hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."];
const DATE_FORMAT: &str = "hoodie.keygen.timebased.input.dateformat";
/// The value that Hudi takes in place of null.
const NULL_VALUE: i64 = 1;

/// How the values of one column become times in paths.
#[derive(Debug, Clone)]
pub(super) struct RowTimes {
    unit: TimeUnit,
    /// Patterns of strings; none if the values are numbers.
    inputs: Vec<TimePattern>,
    input_zone: Option<TimeZone>,
    output: TimePattern,
    output_zone: Option<TimeZone>,
    /// `hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled`.
    consistent: bool,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
    /// The values are strings.
    None,
}

impl TimeUnit {
    /// `TimeUnit.MILLISECONDS.convert`: towards zero, and no further than a long holds.
    fn to_millis(self, number: i64) -> Option<i64> {
        Some(match self {
            Self::Nanoseconds => number / 1_000_000,
            Self::Microseconds => number / 1000,
            Self::Milliseconds => number,
            Self::Seconds => number.saturating_mul(1000),
            Self::Minutes => number.saturating_mul(60_000),
            Self::Hours => number.saturating_mul(3_600_000),
            Self::Days => number.saturating_mul(86_400_000),
            Self::None => return None,
        })
    }

    fn from_properties(property: &impl Fn(&str) -> Option<String>) -> Result<Self> {
        let kind = property("timestamp.type").ok_or_else(|| {
            Error::invalid_argument(
                "the timestamp-based key generator needs hoodie.keygen.timebased.timestamp.type, which neither the table's properties nor the options have",
            )
        })?;
        let scalar = || property("timestamp.scalar.time.unit").unwrap_or_else(|| "SECONDS".to_owned());
        let unit = match kind.as_str() {
            "UNIX_TIMESTAMP" => "SECONDS".to_owned(),
            "EPOCHMILLISECONDS" => "MILLISECONDS".to_owned(),
            "EPOCHMICROSECONDS" => "MICROSECONDS".to_owned(),
            "SCALAR" => scalar().to_ascii_uppercase(),
            "DATE_STRING" | "MIXED" => return Ok(Self::None),
            other => {
                return Err(Error::invalid_argument(format!(
                    "hoodie.keygen.timebased.timestamp.type is {other:?} (known: UNIX_TIMESTAMP, EPOCHMILLISECONDS, EPOCHMICROSECONDS, SCALAR, DATE_STRING, MIXED)"
                )));
            }
        };
        match unit.as_str() {
            "NANOSECONDS" => Ok(Self::Nanoseconds),
            "MICROSECONDS" => Ok(Self::Microseconds),
            "MILLISECONDS" => Ok(Self::Milliseconds),
            "SECONDS" => Ok(Self::Seconds),
            "MINUTES" => Ok(Self::Minutes),
            "HOURS" => Ok(Self::Hours),
            "DAYS" => Ok(Self::Days),
            other => Err(Error::invalid_argument(format!(
                "hoodie.keygen.timebased.timestamp.scalar.time.unit must be a java.util.concurrent.TimeUnit such as SECONDS, got {other:?}"
            ))),
        }
    }
}

impl RowTimes {
    /// Reads the formats. Properties of the table go before options.
    pub(super) fn new(config: &TableConfig, options: &KeyOptions) -> Result<Self> {
        let property = |name: &str| {
            let mut names = PREFIXES.iter().map(|prefix| format!("{prefix}{name}"));
            names.find_map(|name| config.properties.get(&name).or(options.time_format(&name)).map(str::to_owned))
        };
        let unit = TimeUnit::from_properties(&property)?;
        let format = "hoodie.keygen.timebased.output.dateformat";
        let output = property("output.dateformat")
            .filter(|pattern| !pattern.is_empty())
            .ok_or_else(|| Error::invalid_argument(format!("the timestamp-based key generator needs {format}")))?;
        let zone = |name: &str| {
            let zone = property("timezone").or_else(|| property(name)).unwrap_or_default();
            let zone = Some(zone.trim()).filter(|zone| !zone.is_empty()).map(str::to_owned);
            let known = |zone: String| {
                TimeZone::named(&zone).ok_or_else(|| {
                    Error::unsupported(format!(
                        "time zone {zone:?} of hoodie.keygen.timebased.{name} (supported: UTC, offsets such as GMT+08:00, and names of the tz database such as Europe/Oslo)"
                    ))
                })
            };
            zone.map(known).transpose()
        };
        let times = Self {
            unit,
            inputs: if unit == TimeUnit::None { input_patterns(&property)? } else { Vec::new() },
            input_zone: zone("input.timezone")?,
            output: TimePattern::new(format, &output)?,
            output_zone: zone("output.timezone")?,
            consistent: options.consistent,
        };
        let is_named = |zone: &TimeZone| matches!(zone, TimeZone::Rules(_));
        let mut zones = times.output_zone.iter().chain(times.input_zone.iter().filter(|_| times.output_zone.is_none()));
        let from_input = || times.output_zone.is_none() && times.inputs.iter().any(TimePattern::has_zone_input);
        if times.output.has_zone_name() && (zones.any(is_named) || from_input()) {
            return Err(Error::unsupported(format!(
                "{format} {output:?} has the name of a time zone (z), which depends on the release of Java; use its \
                 offset (ZZ) or its identifier (ZZZ)"
            )));
        }
        Ok(times)
    }

    /// The formatted time of each value; an error names the row, counted from `first_row`.
    pub(super) fn strings(&self, name: &str, column: &ArrayRef, first_row: u64) -> Result<Vec<String>> {
        let millis = self.millis(name, column, first_row)?;
        let rows = millis.into_iter().zip(first_row..);
        rows.map(|((millis, zone), row)| {
            let mut text = String::new();
            let zone = match zone {
                Some(zone) => zone,
                None => TimeZone::Fixed(process_offset(name, "output.timezone", millis)?),
            };
            if self.output.write(millis, zone.offset_at(millis), &zone.id(), &mut text) {
                return Ok(text);
            }
            Err(Error::invalid_argument(format!("row {row}, column {name:?}: the time {millis} ms is out of range")))
        })
        .collect()
    }

    /// Milliseconds from 1970 in UTC, and the time zone of the path.
    fn millis(&self, name: &str, column: &ArrayRef, first_row: u64) -> Result<Vec<(i64, Option<TimeZone>)>> {
        if matches!(
            column.data_type(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..)
        ) {
            let strings = row_text::strings(column, false)?;
            return strings.iter().zip(first_row..).map(|(text, row)| self.parse(name, text, row)).collect();
        }
        let is_moment = self.consistent && matches!(column.data_type(), DataType::Timestamp(..));
        let unit = match column.data_type() {
            DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, _) if is_moment => TimeUnit::Milliseconds,
            DataType::Timestamp(..) if is_moment => TimeUnit::Microseconds,
            _ => self.unit,
        };
        let numbers = whole_numbers(column)?;
        let row = |(number, row): (Option<i64>, u64)| {
            let millis = unit.to_millis(number.unwrap_or(NULL_VALUE)).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "row {row}, column {name:?}: a number, but hoodie.keygen.timebased.timestamp.type is for strings; set it to SCALAR"
                ))
            })?;
            Ok((millis, self.output_zone.clone()))
        };
        numbers.into_iter().zip(first_row..).map(row).collect()
    }

    /// Hudi formats the first millisecond of 1970 by the first input pattern and parses that.
    fn parse_null(&self, name: &str, row: u64) -> Result<(i64, Option<TimeZone>)> {
        let zone = self.input_zone.as_ref().or(self.output_zone.as_ref()).cloned().unwrap_or(TimeZone::Fixed(0));
        let mut text = String::new();
        if let Some(first) = self.inputs.first() {
            first.write(NULL_VALUE, zone.offset_at(NULL_VALUE), &zone.id(), &mut text);
        }
        self.parse(name, Some(&text), row)
    }

    fn parse(&self, name: &str, text: Option<&str>, row: u64) -> Result<(i64, Option<TimeZone>)> {
        if self.inputs.is_empty() {
            return Err(Error::invalid_argument(format!(
                "row {row}, column {name:?}: a string, but hoodie.keygen.timebased.timestamp.type is for numbers; set it to DATE_STRING, and {DATE_FORMAT}"
            )));
        }
        let configured = || self.output_zone.as_ref().or(self.input_zone.as_ref()).cloned();
        let Some(text) = text else {
            return self.parse_null(name, row);
        };
        let parsed = self.inputs.iter().find_map(|pattern| pattern.parse(text)).ok_or_else(|| {
            Error::invalid_argument(format!("row {row}, column {name:?}: {text:?} does not match {DATE_FORMAT}"))
        })?;
        let zone = match parsed.zone.as_ref().or(self.input_zone.as_ref()) {
            Some(zone) => zone.clone(),
            None => TimeZone::Fixed(process_offset(name, "input.timezone", parsed.clock_millis)?),
        };
        let offset = zone.offset_of_clock(parsed.clock_millis).ok_or_else(|| {
            Error::invalid_argument(format!("row {row}, column {name:?}: clocks of the input time zone skip {text:?}"))
        })?;
        let millis = parsed.clock_millis.saturating_sub(i64::from(offset) * 1000);
        Ok((millis, configured().or(Some(zone))))
    }
}

/// The input patterns, separated by the delimiter: a regular expression for Hudi, plain text here.
fn input_patterns(property: &impl Fn(&str) -> Option<String>) -> Result<Vec<TimePattern>> {
    let option = "hoodie.keygen.timebased.input.dateformat.list.delimiter.regex";
    let delimiter = property("input.dateformat.list.delimiter.regex").filter(|text| !text.trim().is_empty());
    let delimiter = delimiter.unwrap_or_else(|| ",".to_owned());
    let delimiter = delimiter.trim().replace("\\|", "|");
    if delimiter.contains(|letter: char| ".*+?()[]{}\\^$".contains(letter)) {
        return Err(Error::unsupported(format!("{option} {delimiter:?} (supported: plain text, such as a comma)")));
    }
    let patterns = property("input.dateformat").unwrap_or_default();
    let patterns = patterns.split(&delimiter).map(str::trim).filter(|pattern| !pattern.is_empty());
    let patterns = patterns.map(|pattern| TimePattern::new(DATE_FORMAT, pattern)).collect::<Result<Vec<_>>>()?;
    if patterns.is_empty() {
        return Err(Error::invalid_argument(format!("partition values that are strings need {DATE_FORMAT}")));
    }
    if let Some(field) = patterns.iter().find_map(TimePattern::unparsable) {
        return Err(Error::unsupported(format!(
            "{DATE_FORMAT} has the field {field}, which cannot be parsed; use y for years and Z for zones"
        )));
    }
    Ok(patterns)
}

/// The numbers as Java's `longValue` makes them; dates as days.
fn whole_numbers(column: &ArrayRef) -> Result<Vec<Option<i64>>> {
    Ok(match column.data_type() {
        DataType::Float32 => column.as_primitive::<Float32Type>().iter().map(|x| x.map(|x| x as i64)).collect(),
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().map(|x| x.map(|x| x as i64)).collect(),
        DataType::Date32 => column.as_primitive::<Date32Type>().iter().map(|x| x.map(i64::from)).collect(),
        DataType::Decimal128(_, scale) => {
            let unit = 10_i128.checked_pow(u32::from(scale.unsigned_abs())).filter(|_| *scale >= 0);
            let unit = unit
                .ok_or_else(|| Error::unsupported(format!("unsupported partition times: decimals of scale {scale}")))?;
            // BigDecimal.longValue: the lowest 64 bits of the whole part.
            column.as_primitive::<Decimal128Type>().iter().map(|x| x.map(|x| (x / unit) as i64)).collect()
        }
        DataType::Boolean | DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            return Err(Error::unsupported(format!(
                "unsupported partition times: column of type {}",
                column.data_type()
            )));
        }
        _ => {
            let numbers = arrow_cast::cast(column, &DataType::Int64)
                .map_err(|error| Error::unsupported("partition times").caused_by(error))?;
            numbers.as_primitive::<Int64Type>().iter().collect()
        }
    })
}

/// Without a configured zone Java uses the process's. Its name is not stored, so another writer's may differ: only UTC
/// is taken.
fn process_offset(column: &str, option: &str, millis: i64) -> Result<i32> {
    let local = chrono::DateTime::from_timestamp_millis(millis)
        .map(|moment| Local.offset_from_utc_datetime(&moment.naive_utc()));
    match local.map(|offset| offset.fix().local_minus_utc()) {
        Some(0) => Ok(0),
        _ => Err(Error::invalid_argument(format!(
            "partition column {column:?}: no hoodie.keygen.timebased.{option} is set and this process's time zone is not UTC; set the option to the zone that the table is written in"
        ))),
    }
}
