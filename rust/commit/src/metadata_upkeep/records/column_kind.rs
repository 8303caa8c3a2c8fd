//! How bounds of a column are stored, by its Avro type (`ValueType`, `HoodieTableMetadataUtil.isColumnTypeSupported`).
//!
//! | type | index version 2 (table version 9): wrapper, value type | version 1: wrapper |
//! |---|---|---|
//! | boolean, int, long, float, double, string | the same, 2 to 7 | the same |
//! | bytes, fixed | bytes, 8 and 9 | bytes |
//! | decimal | bytes, the unscaled value, 10 with `precision,scale` | decimal of 15 digits after the point, if these and those before it are at most 30 |
//! | uuid | string, 11 | string |
//! | date | int, 12 | date |
//! | times and timestamps | int or long, 13 to 19 | int or long |
//! | record, array, map, enum | none | none |

use super::record_bytes::{WrappedValue, Wrapper};
use mortice_avro::{Type, float_to_double};
use mortice_write::write::ColumnValue;

/// Digits after the point of the wrapper of decimals, and its digits in all.
const WRAPPED_SCALE: u32 = 15;
const WRAPPED_PRECISION: u32 = 30;

/// The ordinal of the value type null.
const NULL: i32 = 1;

/// A character that is greater than all others, in UTF-8 and UTF-16 order; many of them are greater than any string in
/// use.
const GREATEST_CHARS: &str = "\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}";

/// The version of the index of column statistics (`HoodieIndexVersion`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::metadata_upkeep) enum IndexVersion {
    V1,
    V2,
}

/// The type of an indexed column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct ColumnKind {
    shape: Shape,
    value_type: i32,
    /// `precision,scale` of decimals.
    more: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Date,
    Decimal { precision: u32, scale: u32 },
}

impl ColumnKind {
    /// The kind of a column; none if columns of the type have no statistics in this version of the index.
    pub(in crate::metadata_upkeep) fn of_type(ty: &Type, version: IndexVersion) -> Option<Self> {
        let mut more = None;
        let (shape, value_type) = match ty.non_null() {
            Type::Boolean => (Shape::Boolean, 2),
            Type::Int => (Shape::Int, 3),
            Type::Long => (Shape::Long, 4),
            Type::Float => (Shape::Float, 5),
            Type::Double => (Shape::Double, 6),
            Type::String => (Shape::String, 7),
            Type::Bytes => (Shape::Bytes, 8),
            Type::Fixed(_) => (Shape::Bytes, 9),
            Type::Decimal(decimal) => {
                let (precision, scale) = (decimal.precision, decimal.scale);
                // Version 1 has no statistics of decimals that its wrapper cannot hold.
                if version == IndexVersion::V1
                    && WRAPPED_SCALE.checked_sub(scale)?.checked_add(precision)? > WRAPPED_PRECISION
                {
                    return None;
                }
                more = Some(format!("{precision},{scale}"));
                (Shape::Decimal { precision, scale }, 10)
            }
            Type::Uuid => (Shape::String, 11),
            Type::Date => (Shape::Date, 12),
            Type::TimeMillis => (Shape::Int, 13),
            Type::TimeMicros => (Shape::Long, 14),
            Type::TimestampMillis => (Shape::Long, 15),
            Type::TimestampMicros => (Shape::Long, 16),
            Type::LocalTimestampMillis => (Shape::Long, 18),
            Type::LocalTimestampMicros => (Shape::Long, 19),
            Type::Null
            | Type::Vector(_)
            | Type::Enum(_)
            | Type::Array(_)
            | Type::Map(_)
            | Type::Record(_)
            | Type::Union(_) => return None,
        };
        Some(Self { shape, value_type, more })
    }

    /// The kind of the meta columns.
    pub(in crate::metadata_upkeep) fn string() -> Self {
        Self { shape: Shape::String, value_type: 7, more: None }
    }

    /// The wrapper of its bounds.
    pub(in crate::metadata_upkeep) fn wrapper(&self, version: IndexVersion) -> Wrapper {
        match (self.shape, version) {
            (Shape::Boolean, _) => Wrapper::Boolean,
            (Shape::Int, _) | (Shape::Date, IndexVersion::V2) => Wrapper::Int,
            (Shape::Long, _) => Wrapper::Long,
            (Shape::Float, _) => Wrapper::Float,
            (Shape::Double, _) => Wrapper::Double,
            (Shape::Bytes, _) | (Shape::Decimal { .. }, IndexVersion::V2) => Wrapper::Bytes,
            (Shape::String, _) => Wrapper::String,
            (Shape::Date, IndexVersion::V1) => Wrapper::Date,
            (Shape::Decimal { .. }, IndexVersion::V1) => Wrapper::Decimal,
        }
    }

    /// What records of index version 2 say of the type. If there are no values, as in a log of nothing but deletes, it
    /// is null.
    pub(in crate::metadata_upkeep) fn value_type(
        &self,
        version: IndexVersion,
        has_values: bool,
    ) -> Option<(i32, Option<&str>)> {
        let value_type = if has_values { (self.value_type, self.more.as_deref()) } else { (NULL, None) };
        (version == IndexVersion::V2).then_some(value_type)
    }

    /// Bounds of this kind from those of a file, whose column may have had a narrower type; none if they cannot be
    /// converted.
    pub(in crate::metadata_upkeep) fn converted(&self, value: &ColumnValue) -> Option<ColumnValue> {
        Some(match (self.shape, value) {
            (Shape::Boolean, ColumnValue::Boolean(_))
            | (Shape::Int | Shape::Date, ColumnValue::Int(_))
            | (Shape::Long, ColumnValue::Long(_))
            | (Shape::Float, ColumnValue::Float(_))
            | (Shape::Double, ColumnValue::Double(_))
            | (Shape::Bytes, ColumnValue::Bytes(_))
            | (Shape::String, ColumnValue::String(_))
            | (Shape::Decimal { .. }, ColumnValue::Decimal(_)) => value.clone(),
            (Shape::Long, ColumnValue::Int(value)) => ColumnValue::Long((*value).into()),
            // As rows are read: the bound 0.1 would be greater than the value 0.1 otherwise.
            (Shape::Double, ColumnValue::Float(value)) => {
                ColumnValue::from_f64(float_to_double(f32::from_bits(*value)))
            }
            (Shape::Double, ColumnValue::Int(value)) => ColumnValue::from_f64((*value).into()),
            _ => return None,
        })
    }

    /// Bounds that hold for all values of the type: what is written if the bounds are not known. Hudi takes a file
    /// whose bounds are missing for one without values, and does not read it.
    pub(in crate::metadata_upkeep) fn widest(&self) -> (ColumnValue, ColumnValue) {
        match self.shape {
            Shape::Boolean => (ColumnValue::Boolean(false), ColumnValue::Boolean(true)),
            Shape::Int | Shape::Date => (ColumnValue::Int(i32::MIN), ColumnValue::Int(i32::MAX)),
            Shape::Long => (ColumnValue::Long(i64::MIN), ColumnValue::Long(i64::MAX)),
            // Not NaN, which is greater, but than which Hudi's data skipping takes no number for less.
            Shape::Float => (ColumnValue::from_f32(f32::NEG_INFINITY), ColumnValue::from_f32(f32::INFINITY)),
            Shape::Double => (ColumnValue::from_f64(f64::NEG_INFINITY), ColumnValue::from_f64(f64::INFINITY)),
            Shape::Bytes => (ColumnValue::Bytes(Vec::new()), ColumnValue::Bytes(vec![0xff; GREATEST_CHARS.len()])),
            Shape::String => (ColumnValue::String(String::new()), ColumnValue::String(GREATEST_CHARS.to_owned())),
            Shape::Decimal { precision, .. } => {
                let greatest = 10_i128.checked_pow(precision).map_or(i128::MAX, |power| power - 1);
                (ColumnValue::Decimal(-greatest), ColumnValue::Decimal(greatest))
            }
        }
    }

    /// A bound of this kind as it is stored; none for one of another kind.
    pub(in crate::metadata_upkeep) fn wrapped(
        &self,
        value: &ColumnValue,
        version: IndexVersion,
    ) -> Option<WrappedValue> {
        Some(match (self.converted(value)?, self.shape) {
            (ColumnValue::Boolean(value), _) => WrappedValue::Boolean(value),
            (ColumnValue::Int(value), _) => WrappedValue::Integer(value.into()),
            (ColumnValue::Long(value), _) => WrappedValue::Integer(value),
            (ColumnValue::Float(value), _) => WrappedValue::Float(f32::from_bits(value)),
            (ColumnValue::Double(value), _) => WrappedValue::Double(f64::from_bits(value)),
            (ColumnValue::Bytes(value), _) => WrappedValue::Bytes(value),
            (ColumnValue::String(value), _) => WrappedValue::String(value),
            (ColumnValue::Decimal(value), Shape::Decimal { scale, .. }) => {
                let unscaled = match version {
                    IndexVersion::V1 => value.checked_mul(10_i128.checked_pow(WRAPPED_SCALE.checked_sub(scale)?)?)?,
                    IndexVersion::V2 => value,
                };
                WrappedValue::Bytes(twos_complement(unscaled))
            }
            (ColumnValue::Decimal(_), _) => return None,
        })
    }

    /// A stored bound as a value of the column; none for one of another kind.
    pub(in crate::metadata_upkeep) fn unwrapped(&self, stored: &WrappedValue, wrapper: Wrapper) -> Option<ColumnValue> {
        let value = match (stored, wrapper) {
            (WrappedValue::Boolean(value), _) => ColumnValue::Boolean(*value),
            (WrappedValue::Integer(value), Wrapper::Long) => ColumnValue::Long(*value),
            (WrappedValue::Integer(value), _) => ColumnValue::Int(i32::try_from(*value).ok()?),
            (WrappedValue::Float(value), _) => ColumnValue::from_f32(*value),
            (WrappedValue::Double(value), _) => ColumnValue::from_f64(*value),
            (WrappedValue::String(value), _) => ColumnValue::String(value.clone()),
            (WrappedValue::Bytes(bytes), _) => match self.shape {
                Shape::Decimal { scale, .. } => {
                    let number = number(bytes)?;
                    let divisor = match wrapper {
                        Wrapper::Decimal => 10_i128.checked_pow(WRAPPED_SCALE.checked_sub(scale)?)?,
                        _ => 1,
                    };
                    if number.checked_rem(divisor)? != 0 {
                        return None;
                    }
                    ColumnValue::Decimal(number.checked_div(divisor)?)
                }
                _ => ColumnValue::Bytes(bytes.clone()),
            },
        };
        self.converted(&value)
    }
}

/// The fewest bytes of a number, the highest first (`BigInteger.toByteArray`).
pub(in crate::metadata_upkeep) fn twos_complement(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let mut from = 0_usize;
    while let [first, second] = bytes.get(from..from.saturating_add(2)).unwrap_or_default() {
        if *first != sign || (*second ^ sign) & 0x80 != 0 {
            break;
        }
        from += 1;
    }
    bytes.get(from..).unwrap_or_default().to_vec()
}

fn number(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first().filter(|_| bytes.len() <= 16)?;
    let sign = if first & 0x80 == 0 { 0 } else { -1_i128 };
    Some(bytes.iter().fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_avro::Schema;

    fn kind(ty: &str) -> Option<ColumnKind> {
        ColumnKind::of_type(Schema::parse(ty).unwrap().root(), IndexVersion::V1)
    }

    #[test]
    fn numbers_have_the_fewest_bytes() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0, 128]),
            (-1, &[255]),
            (-128, &[128]),
            (-129, &[255, 127]),
            (300, &[1, 44]),
            (i128::MIN, &[&[128][..], &[0; 15]].concat()),
        ] {
            assert_eq!(twos_complement(value), bytes, "{value}");
            assert_eq!(number(bytes), Some(value));
        }
    }

    #[test]
    fn stored_bounds_are_read_again_in_both_versions() {
        let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}"#;
        for (ty, value) in [
            ("\"boolean\"", ColumnValue::Boolean(true)),
            ("\"int\"", ColumnValue::Int(-5)),
            (r#"{"type":"int","logicalType":"date"}"#, ColumnValue::Int(19_000)),
            ("[\"null\",\"long\"]", ColumnValue::Long(1 << 40)),
            ("\"float\"", ColumnValue::from_f32(0.5)),
            ("\"double\"", ColumnValue::from_f64(f64::INFINITY)),
            ("\"string\"", ColumnValue::String("é".into())),
            ("\"bytes\"", ColumnValue::Bytes(vec![1, 255])),
            (decimal, ColumnValue::Decimal(-12345)),
        ] {
            let kind = kind(ty).unwrap();
            for version in [IndexVersion::V1, IndexVersion::V2] {
                let stored = kind.wrapped(&value, version).unwrap();
                assert_eq!(kind.unwrapped(&stored, kind.wrapper(version)).unwrap(), value, "{ty}");
            }
        }
        let stored = kind(decimal).unwrap().wrapped(&ColumnValue::Decimal(1), IndexVersion::V1).unwrap();
        assert_eq!(stored, WrappedValue::Bytes(twos_complement(10_000_000_000_000)));
    }

    #[test]
    fn bounds_of_narrower_types_are_widened() {
        let long = kind("\"long\"").unwrap();
        assert_eq!(long.converted(&ColumnValue::Int(3)), Some(ColumnValue::Long(3)));
        assert_eq!(long.unwrapped(&WrappedValue::Integer(3), Wrapper::Int), Some(ColumnValue::Long(3)));
        assert_eq!(long.converted(&ColumnValue::String("3".into())), None);
        assert_eq!(kind("\"int\"").unwrap().converted(&ColumnValue::Long(3)), None);
    }

    /// Rows of a float column that has become a double are read by their decimal text.
    #[test]
    fn bounds_of_floats_are_the_doubles_that_rows_have() {
        let double = kind("\"double\"").unwrap();
        for value in [0.1_f32, -0.1, 1.1, 16_777_216.0, f32::NEG_INFINITY, f32::MIN_POSITIVE] {
            let read = ColumnValue::from_f64(value.to_string().parse().unwrap());
            assert_eq!(double.converted(&ColumnValue::from_f32(value)), Some(read.clone()), "{value}");
            assert_eq!(double.unwrapped(&WrappedValue::Float(value), Wrapper::Float), Some(read), "{value}");
        }
        let Some(ColumnValue::Double(nan)) = double.converted(&ColumnValue::from_f32(f32::NAN)) else { panic!() };
        assert!(f64::from_bits(nan).is_nan());
    }

    #[test]
    fn columns_without_statistics() {
        for ty in [
            r#"{"type":"array","items":"int"}"#,
            r#"{"type":"map","values":"int"}"#,
            r#"{"type":"enum","name":"e","symbols":["A"]}"#,
            r#"{"type":"record","name":"r","fields":[]}"#,
            r#"{"type":"bytes","logicalType":"decimal","precision":30,"scale":2}"#,
            r#"{"type":"bytes","logicalType":"decimal","precision":20,"scale":16}"#,
        ] {
            assert_eq!(kind(ty), None, "{ty}");
        }
    }

    #[test]
    fn the_widest_bounds_are_of_the_kind() {
        for ty in ["boolean", "int", "long", "float", "double", "bytes", "string"] {
            let kind = kind(&format!("\"{ty}\"")).unwrap();
            let (least, greatest) = kind.widest();
            assert!(kind.wrapped(&least, IndexVersion::V1).is_some() && kind.converted(&greatest).is_some(), "{ty}");
        }
    }
}
