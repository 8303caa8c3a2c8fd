//! What column statistics (`HoodieColumnRangeMetadata`) say of one column of one file.

use serde::{Deserialize, Serialize};

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnRange {
    /// The column, or the path of a field of a struct, joined by dots.
    pub column: String,
    /// The least and the greatest value. None if there are no values, or if they are not known: of lists and maps. If
    /// there is a NaN, it is the greatest: Spark orders it so, and Hudi skips files by these bounds.
    pub bounds: Option<(ColumnValue, ColumnValue)>,
    /// Rows, those with null among them.
    pub values: u64,
    /// Rows with null.
    pub nulls: u64,
    /// Bytes, compressed.
    pub total_size: u64,
    /// Bytes, not compressed.
    pub total_uncompressed_size: u64,
}

/// A bound: what the Avro type stores, for any logical type; but decimals are numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ColumnValue {
    /// A boolean.
    Boolean(bool),
    /// An int: also dates and times in milliseconds.
    Int(i32),
    /// A long: also times, timestamps.
    Long(i64),
    /// A float, as its bits: JSON has no infinity.
    Float(u32),
    /// A double, as its bits.
    Double(u64),
    /// A string; ordered by its bytes.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A decimal without its point. A string in JSON, whose numbers are not as large.
    Decimal(#[serde(with = "decimal_string")] i128),
}

mod decimal_string {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &i128, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl ColumnValue {
    /// Of a float.
    #[must_use]
    pub const fn from_f32(value: f32) -> Self {
        Self::Float(value.to_bits())
    }

    /// Of a double.
    #[must_use]
    pub const fn from_f64(value: f64) -> Self {
        Self::Double(value.to_bits())
    }

    /// Infinity of the type of this one, if it has one.
    #[must_use]
    pub const fn infinity(&self) -> Option<Self> {
        match self {
            Self::Float(_) => Some(Self::from_f32(f32::INFINITY)),
            Self::Double(_) => Some(Self::from_f64(f64::INFINITY)),
            _ => None,
        }
    }

    /// Whether this is less than another bound of the same column. NaN is greater than all other numbers, as in Spark.
    pub(super) fn is_less(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Boolean(one), Self::Boolean(other)) => one < other,
            (Self::Int(one), Self::Int(other)) => one < other,
            (Self::Long(one), Self::Long(other)) => one < other,
            (Self::Float(one), Self::Float(other)) => {
                is_less(f32::from_bits(*one).into(), f32::from_bits(*other).into())
            }
            (Self::Double(one), Self::Double(other)) => is_less(f64::from_bits(*one), f64::from_bits(*other)),
            (Self::String(one), Self::String(other)) => one < other,
            (Self::Bytes(one), Self::Bytes(other)) => one < other,
            (Self::Decimal(one), Self::Decimal(other)) => one < other,
            _ => false,
        }
    }
}

fn is_less(one: f64, other: f64) -> bool {
    one < other || !one.is_nan() && other.is_nan()
}

impl ColumnRange {
    /// Of no rows.
    #[must_use]
    pub fn new(column: &str) -> Self {
        let column = column.to_owned();
        Self { column, bounds: None, values: 0, nulls: 0, total_size: 0, total_uncompressed_size: 0 }
    }

    /// Adds the rows of another range of the same column.
    pub fn add(&mut self, other: Self) {
        let is_known = |range: &Self| range.bounds.is_some() || range.nulls == range.values;
        let known = is_known(self) && is_known(&other);
        self.values = self.values.saturating_add(other.values);
        self.nulls = self.nulls.saturating_add(other.nulls);
        self.total_size = self.total_size.saturating_add(other.total_size);
        self.total_uncompressed_size = self.total_uncompressed_size.saturating_add(other.total_uncompressed_size);
        match other.bounds {
            Some((least, greatest)) if known => self.widen(least, greatest),
            _ if !known => self.bounds = None,
            _ => {}
        }
    }

    /// Widens the bounds.
    pub(super) fn widen(&mut self, least: ColumnValue, greatest: ColumnValue) {
        self.bounds = Some(match self.bounds.take() {
            None => (least, greatest),
            Some((low, high)) => {
                let low = if least.is_less(&low) { least } else { low };
                let high = if high.is_less(&greatest) { greatest } else { high };
                (low, high)
            }
        });
    }
}
