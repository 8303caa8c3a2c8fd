//! What an ORC file says of the values of a column in one stripe.

use super::stream::zigzag;
use mortice_base::error::Result;
use mortice_base::protobuf::{FieldValue, fields};

/// A lower and an upper bound.
#[derive(Debug, Clone, PartialEq)]
pub enum StatisticsRange {
    /// Of whole numbers; days of dates.
    Ints(i64, i64),
    /// Of floats of any width. NaN is not among what they bound.
    Doubles(f64, f64),
    /// Of strings, by their bytes.
    Strings(String, String),
}

/// Of one column in one stripe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStatistics {
    /// The number of values that are not null; `None` if it is not stored.
    pub values: Option<u64>,
    /// The bounds of these values; `None` if they are not stored.
    pub range: Option<StatisticsRange>,
}

impl ColumnStatistics {
    /// Reads the message of a column.
    pub(super) fn parse(message: &[u8]) -> Result<Self> {
        let mut known = Self::default();
        fields(message, |number, value| {
            match (number, value) {
                (1, FieldValue::Number(values)) => known.values = Some(values),
                (2 | 7, FieldValue::Bytes(message)) => known.range = ints(message)?,
                (3, FieldValue::Bytes(message)) => known.range = doubles(message)?,
                (4, FieldValue::Bytes(message)) => known.range = strings(message)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(known)
    }
}

/// A message's fields 1 and 2.
fn pair<'a, T>(message: &'a [u8], mut known: impl FnMut(FieldValue<'a>) -> Option<T>) -> Result<Option<(T, T)>> {
    let (mut least, mut greatest) = (None, None);
    fields(message, |number, value| {
        match number {
            1 => least = known(value),
            2 => greatest = known(value),
            _ => {}
        }
        Ok(())
    })?;
    Ok(least.zip(greatest))
}

fn ints(message: &[u8]) -> Result<Option<StatisticsRange>> {
    let number =
        |value: FieldValue<'_>| if let FieldValue::Number(number) = value { Some(zigzag(number)) } else { None };
    Ok(pair(message, number)?.map(|(least, greatest)| StatisticsRange::Ints(least, greatest)))
}

fn doubles(message: &[u8]) -> Result<Option<StatisticsRange>> {
    let number = |value: FieldValue<'_>| {
        if let FieldValue::Fixed64(bytes) = value { Some(f64::from_le_bytes(bytes)) } else { None }
    };
    let found = pair(message, number)?.filter(|(least, greatest)| !least.is_nan() && !greatest.is_nan());
    Ok(found.map(|(least, greatest)| StatisticsRange::Doubles(least, greatest)))
}

fn strings(message: &[u8]) -> Result<Option<StatisticsRange>> {
    let text = |value: FieldValue<'_>| match value {
        FieldValue::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    };
    Ok(pair(message, text)?.map(|(least, greatest)| StatisticsRange::Strings(least, greatest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_each_type() {
        let ints = [8, 5, 0x12, 4, 8, 3, 0x10, 6];
        let known = ColumnStatistics::parse(&ints).unwrap();
        assert_eq!(known, ColumnStatistics { values: Some(5), range: Some(StatisticsRange::Ints(-2, 3)) });
        let strings = [0x22, 6, 0x0a, 1, b'a', 0x12, 1, b'c'];
        assert_eq!(
            ColumnStatistics::parse(&strings).unwrap().range,
            Some(StatisticsRange::Strings("a".into(), "c".into()))
        );
        let double = |bytes: [u8; 8]| [&[0x1a, 18, 9][..], &bytes, &[17], &bytes].concat();
        let known = ColumnStatistics::parse(&double(1.5_f64.to_le_bytes())).unwrap();
        assert_eq!(known.range, Some(StatisticsRange::Doubles(1.5, 1.5)));
        assert_eq!(ColumnStatistics::parse(&double(f64::NAN.to_le_bytes())).unwrap().range, None);
        assert_eq!(ColumnStatistics::parse(&[0x12, 2, 8, 3]).unwrap().range, None, "half a range");
        assert!(ColumnStatistics::parse(&[0x12, 9, 8, 3]).is_err());
    }
}
