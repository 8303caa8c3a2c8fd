//! Ordering values of delete records: a class, and a value by it. All but the wrappers of Java's primitives are objects, with a
//! reference before them.
//!
//! | class | value |
//! |---|---|
//! | int, long | zig-zag |
//! | short; byte, boolean | 2; 1 bytes |
//! | float, double | 4, 8 bytes, big-endian |
//! | `String` | text |
//! | `java.sql.Date`, `Timestamp`, `java.util.Date` | milliseconds, as a positive long |
//! | `BigInteger` | length + 1, big-endian two's complement |
//! | `BigDecimal` | the same, scale in zig-zag |
//! | `LocalDate` | year, month 1, day 1 |
//! | `Instant` | seconds, nanoseconds |
//! | `LocalDateTime` | date; hour, minute, second, of which the last that is not 0 is inverted and ends it; else nanoseconds |
//! | Avro's `Utf8` | length + 1, UTF-8; not registered: then its hash (of later releases), length and text |
//!
//! The id under which `Utf8` is registered differs from release to release; no other class is registered at this place.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::super::deleted::{Deleted, Ordering};
use super::input::{Class, Input, Reference};
use crate::error::Result;

const DAY_MILLIS: i64 = 86_400_000;

/// The class and the value.
pub(super) fn read(input: &mut Input<'_, Deleted>) -> Result<Ordering> {
    match input.class()? {
        Class::Null => Ok(Ordering::None),
        Class::Registered(id) => registered(input, id),
        Class::Named(name) => match input.reference()? {
            Reference::Null => Ok(Ordering::None),
            Reference::New(_) => named(input, &name),
            Reference::Earlier(ordinal) => {
                Err(input.unsupported(format!("an ordering value of class {name} that refers to object {ordinal}")))
            }
        },
    }
}

fn registered(input: &mut Input<'_, Deleted>, id: u32) -> Result<Ordering> {
    Ok(match id {
        0 => Ordering::Int(input.int()?),
        1 => match input.shared_text()? {
            Some(place) => Ordering::Text(place),
            None => Ordering::None,
        },
        2 => Ordering::Float(f32::from_be_bytes(input.array()?)),
        3 => Ordering::Boolean(input.byte()? != 0),
        4 => Ordering::Int(i32::from(input.byte()?.cast_signed())),
        6 => Ordering::Int(i32::from(i16::from_be_bytes(input.array()?))),
        7 => Ordering::Long(input.long()?),
        8 => Ordering::Double(f64::from_be_bytes(input.array()?)),
        5 | 9 => return Err(input.unsupported(format!("an ordering value of the registered class {id}"))),
        _ => match input.reference()? {
            Reference::New(_) => {
                let text = counted(input)?;
                Ordering::Text(input.put_text(text)?)
            }
            Reference::Null => Ordering::None,
            Reference::Earlier(ordinal) => {
                return Err(input.unsupported(format!("an ordering value that refers to object {ordinal}")));
            }
        },
    })
}

fn named(input: &mut Input<'_, Deleted>, class: &str) -> Result<Ordering> {
    Ok(match class {
        // A date is midnight somewhere; the nearest one of UTC is its day.
        "java.sql.Date" => days((millis(input)?.saturating_add(DAY_MILLIS / 2)).div_euclid(DAY_MILLIS), input)?,
        "java.sql.Timestamp" | "java.util.Date" => {
            let micros = millis(input)?.checked_mul(1000);
            Ordering::TimestampMicros(micros.ok_or_else(|| input.fault("a timestamp out of range"))?)
        }
        "java.math.BigInteger" => Ordering::Decimal { unscaled: big_integer(input)?, scale: 0 },
        "java.math.BigDecimal" => {
            let unscaled = big_integer(input)?;
            Ordering::Decimal { unscaled, scale: input.int()? }
        }
        "java.time.LocalDate" => {
            let date = date(input)?;
            days(i64::from(date.to_epoch_days()), input)?
        }
        "java.time.Instant" => {
            let (seconds, nanos) = (input.ulong()?.cast_signed(), input.uint()?);
            let micros = seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(i64::from(nanos / 1000)));
            Ordering::TimestampMicros(micros.ok_or_else(|| input.fault("an instant out of range"))?)
        }
        "java.time.LocalDateTime" => {
            let (date, time) = (date(input)?, time(input)?);
            Ordering::TimestampMicros(NaiveDateTime::new(date, time).and_utc().timestamp_micros())
        }
        other if other.ends_with("avro.util.Utf8") => unregistered_utf8(input)?,
        other => return Err(input.unsupported(format!("an ordering value of the Java class {other}"))),
    })
}

fn millis(input: &mut Input<'_, Deleted>) -> Result<i64> {
    input.ulong().map(u64::cast_signed)
}

fn days(days: i64, input: &Input<'_, Deleted>) -> Result<Ordering> {
    i32::try_from(days).map(Ordering::Date).map_err(|_| input.fault(format!("a date of day {days}")))
}

/// A length, one more than it is, and that many bytes.
fn counted<'a>(input: &mut Input<'a, Deleted>) -> Result<&'a [u8]> {
    match input.uint()? {
        0 => Ok(&[]),
        len => input.take(len as usize - 1),
    }
}

fn big_integer(input: &mut Input<'_, Deleted>) -> Result<i128> {
    let digits = counted(input)?;
    if digits.len() > 16 {
        return Err(input.unsupported(format!("an ordering value of {} bytes; at most 16 are read", digits.len())));
    }
    let negative = digits.first().is_some_and(|byte| byte & 0x80 != 0);
    Ok(digits.iter().fold(if negative { -1 } else { 0 }, |value, byte| (value << 8) | i128::from(*byte)))
}

fn date(input: &mut Input<'_, Deleted>) -> Result<NaiveDate> {
    let year = input.uint()?.cast_signed();
    let [month, day] = input.array()?;
    NaiveDate::from_ymd_opt(year, u32::from(month), u32::from(day))
        .ok_or_else(|| input.fault(format!("a date of year {year}, month {month}, day {day}")))
}

fn time(input: &mut Input<'_, Deleted>) -> Result<NaiveTime> {
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
    NaiveTime::from_hms_nano_opt(hour, minute, second, nanos).ok_or_else(|| input.fault("a time that is none"))
}

/// By its fields, in the order of their names: `bytes`, `hash` (of later releases), `length`, `string`.
fn unregistered_utf8(input: &mut Input<'_, Deleted>) -> Result<Ordering> {
    let bytes = match input.reference()? {
        Reference::New(_) => counted(input)?,
        Reference::Null => &[],
        Reference::Earlier(ordinal) => {
            return Err(input.unsupported(format!("bytes of a text that refer to object {ordinal}")));
        }
    };
    let first = input.int()?;
    let length = if usize::try_from(first) == Ok(bytes.len()) { first } else { input.int()? };
    let Some(text) = usize::try_from(length).ok().and_then(|length| bytes.get(..length)) else {
        return Err(input.fault(format!("a text of length {length} in {} bytes", bytes.len())));
    };
    input.shared_text()?;
    Ok(Ordering::Text(input.put_text(text)?))
}
