//! Ordering values of delete records: a class, followed by a value of it. All except the wrappers of Java's primitives
//! are objects, with a reference before them.
//!
//! | class | value |
//! |---|---|
//! | int, long | zig-zag |
//! | short; byte, boolean | 2; 1 bytes |
//! | float, double | 4, 8 bytes, big-endian |
//! | `String` | a string |
//! | `java.sql.Date`, `Timestamp`, `java.util.Date` | milliseconds, as a positive long |
//! | `BigInteger` | length + 1, big-endian two's complement |
//! | `BigDecimal` | the same, scale in zig-zag |
//! | `LocalDate` | year, month 1, day 1 |
//! | `Instant` | seconds, nanoseconds |
//! | `LocalDateTime` | date; hour, minute, second, of which the last that is not 0 is inverted and ends it; else nanoseconds |
//! | Avro's `Utf8` | length + 1, UTF-8; if it is not registered, its fields in the order of their names |
//!
//! The id with which `Utf8` is registered differs between releases; no other class is registered at this position.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::super::deleted::{DeletedKey, StoredOrdering, twos_complement};
use super::input::{Class, Input, Object, Reference};
use mortice_base::error::{Error, Result};

const DAY_MILLIS: i64 = 86_400_000;
/// A `java.sql.Date` is midnight in the time zone of its writer. From -10:00 (Hawaii) to +13:00 (New Zealand in summer)
/// adding this offset gives the same day in UTC; no offset covers -11:00 and +14:00 too.
const EASTERNMOST_MILLIS: i64 = 13 * 3_600_000;

/// Smaller ids are Java's own classes; Hudi's registrations follow.
const FIRST_REGISTRATION: u32 = 10;

/// The fields of a `Utf8` that its writer had not registered: `bytes`, `hash` (Avro 1.10 and later), `length`,
/// `string`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utf8Fields {
    /// Whether `hash` is one of them.
    pub(super) hashed: bool,
    /// Whether such a string was read.
    pub(super) found: bool,
}

/// Reads the class and the value, which may be a reference to that of an earlier delete.
pub(super) fn read(input: &mut Input<'_>, past: &[DeletedKey], utf8: &mut Utf8Fields) -> Result<StoredOrdering> {
    let class = match input.class()? {
        Class::Null => return Ok(StoredOrdering::None),
        Class::Registered(id) if id < FIRST_REGISTRATION => return java_object(input, id),
        other => other,
    };
    match input.reference()? {
        Reference::Null => Ok(StoredOrdering::None),
        // The constants of BigDecimal, for example, are always the same object.
        Reference::Earlier(ordinal) => match *input.earlier(ordinal) {
            Object::Value(same, of) if same == class => match past.get(of) {
                Some(deleted) => Ok(deleted.ordering.clone()),
                None => Err(no_such(input, class, ordinal)),
            },
            _ => Err(no_such(input, class, ordinal)),
        },
        Reference::New(ordinal) => {
            let value = match class {
                Class::Named(_) => named(input, class, utf8)?,
                _ => registered_utf8(input)?,
            };
            input.keep(ordinal, Object::Value(class, past.len()));
            Ok(value)
        }
    }
}

fn no_such(input: &Input<'_>, class: Class, ordinal: usize) -> Error {
    input.fault(format!("invalid reference to object {ordinal}: it is not a {}", input.name(class)))
}

fn java_object(input: &mut Input<'_>, id: u32) -> Result<StoredOrdering> {
    Ok(match id {
        0 => StoredOrdering::Int(input.int()?),
        1 => input.shared_text()?.map_or(StoredOrdering::None, StoredOrdering::Text),
        2 => StoredOrdering::Float(f32::from_be_bytes(input.array()?)),
        3 => StoredOrdering::Boolean(input.byte()? == 1),
        4 => StoredOrdering::Int(i32::from(input.byte()?.cast_signed())),
        6 => StoredOrdering::Int(i32::from(i16::from_be_bytes(input.array()?))),
        7 => StoredOrdering::Long(input.long()?),
        8 => StoredOrdering::Double(f64::from_be_bytes(input.array()?)),
        other => return Err(unknown(input, Class::Registered(other))),
    })
}

fn unknown(input: &Input<'_>, class: Class) -> Error {
    input.unsupported(format!("unsupported Java class {} of an ordering value", input.name(class)))
}

fn named(input: &mut Input<'_>, class: Class, utf8: &mut Utf8Fields) -> Result<StoredOrdering> {
    let read: fn(&mut Input<'_>) -> Result<StoredOrdering> = match input.name(class) {
        "java.sql.Date" => sql_date,
        "java.sql.Timestamp" | "java.util.Date" => timestamp,
        "java.math.BigInteger" => |input| Ok(StoredOrdering::Decimal { unscaled: big_integer(input)?, scale: 0 }),
        "java.math.BigDecimal" => {
            |input| Ok(StoredOrdering::Decimal { unscaled: big_integer(input)?, scale: input.int()? })
        }
        "java.time.LocalDate" => |input| {
            let date = date(input)?;
            days(i64::from(date.to_epoch_days()), input)
        },
        "java.time.Instant" => instant,
        "java.time.LocalDateTime" => |input| {
            let (date, time) = (date(input)?, time(input)?);
            Ok(StoredOrdering::TimestampMicros(NaiveDateTime::new(date, time).and_utc().timestamp_micros()))
        },
        // Shaded bundles relocate the class.
        other if other.ends_with("avro.util.Utf8") => {
            utf8.found = true;
            return unregistered_utf8(input, utf8.hashed);
        }
        _ => return Err(unknown(input, class)),
    };
    read(input)
}

fn sql_date(input: &mut Input<'_>) -> Result<StoredOrdering> {
    let millis = millis(input)?;
    days(millis.saturating_add(EASTERNMOST_MILLIS).div_euclid(DAY_MILLIS), input)
}

fn timestamp(input: &mut Input<'_>) -> Result<StoredOrdering> {
    let micros = millis(input)?.checked_mul(1000);
    Ok(StoredOrdering::TimestampMicros(
        micros.ok_or_else(|| input.fault("invalid ordering value: the timestamp is out of range"))?,
    ))
}

fn instant(input: &mut Input<'_>) -> Result<StoredOrdering> {
    let (seconds, nanos) = (input.ulong()?.cast_signed(), input.uint()?);
    let micros = seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(i64::from(nanos / 1000)));
    Ok(StoredOrdering::TimestampMicros(
        micros.ok_or_else(|| input.fault("invalid ordering value: the instant is out of range"))?,
    ))
}

fn millis(input: &mut Input<'_>) -> Result<i64> {
    input.ulong().map(u64::cast_signed)
}

fn days(days: i64, input: &Input<'_>) -> Result<StoredOrdering> {
    i32::try_from(days)
        .map(StoredOrdering::Date)
        .map_err(|_| input.fault(format!("invalid ordering value: the date is out of range (day {days})")))
}

/// Reads a length plus one, and that many bytes.
fn counted<'a>(input: &mut Input<'a>) -> Result<&'a [u8]> {
    match input.uint()? {
        0 => Err(input.fault("invalid ordering value: it contains null")),
        len => input.take(len as usize - 1),
    }
}

/// Java rejects numbers without bytes.
fn big_integer(input: &mut Input<'_>) -> Result<i128> {
    let digits = counted(input)?;
    match twos_complement(digits) {
        Some(value) => Ok(value),
        None if digits.is_empty() => Err(input.fault("invalid ordering value: a number without bytes")),
        None => Err(input.unsupported(format!("unsupported ordering value of {} bytes (at most 16)", digits.len()))),
    }
}

fn date(input: &mut Input<'_>) -> Result<NaiveDate> {
    let year = input.uint()?.cast_signed();
    let [month, day] = input.array()?;
    NaiveDate::from_ymd_opt(year, u32::from(month), u32::from(day)).ok_or_else(|| {
        input.fault(format!("invalid ordering value: no date has year {year}, month {month}, day {day}"))
    })
}

fn time(input: &mut Input<'_>) -> Result<NaiveTime> {
    let mut parts = [0_u32; 3];
    let mut nanos = None;
    for part in &mut parts {
        let byte = input.byte()?.cast_signed();
        if byte < 0 {
            *part = u32::from((!byte).unsigned_abs());
            nanos = Some(0);
            break;
        }
        *part = u32::from(byte.unsigned_abs());
    }
    let nanos = match nanos {
        Some(nanos) => nanos,
        None => input.uint()?,
    };
    let [hour, minute, second] = parts;
    NaiveTime::from_hms_nano_opt(hour, minute, second, nanos)
        .ok_or_else(|| input.fault("invalid ordering value: the time of day is out of range"))
}

/// Reads a length plus one, and that many bytes.
fn registered_utf8(input: &mut Input<'_>) -> Result<StoredOrdering> {
    let text = counted(input)?;
    Ok(StoredOrdering::Text(input.put_text(text)?))
}

/// The string has `length` bytes of `bytes`, whose end may be left from a longer string. `string` is the same string if
/// it was computed.
fn unregistered_utf8(input: &mut Input<'_>, hashed: bool) -> Result<StoredOrdering> {
    let bytes = match input.reference()? {
        Reference::New(_) => counted(input)?,
        Reference::Null => &[],
        Reference::Earlier(ordinal) => {
            return Err(input.unsupported(format!("bytes of a string that refer to object {ordinal}")));
        }
    };
    if hashed {
        input.int()?;
    }
    let length = input.int()?;
    let Some(text) = usize::try_from(length).ok().and_then(|length| bytes.get(..length)) else {
        return Err(input.fault(format!("invalid string: length {length} in {} bytes", bytes.len())));
    };
    match input.shared_text()? {
        None => Ok(StoredOrdering::Text(input.put_text(text)?)),
        Some(string) if input.text(&string) == String::from_utf8_lossy(text).as_bytes() => {
            Ok(StoredOrdering::Text(string))
        }
        Some(_) => Err(input.fault("invalid string: it differs from its UTF-8 bytes")),
    }
}
