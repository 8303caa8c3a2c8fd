//! Space-filling curves: rows that are near to each other in all of several columns are near to each other in the
//! order. Reference of the Hilbert curve: J. Skilling, "Programming the Hilbert curve", 2004.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::planning::Curve;
use mortice_base::error::{Error, Result};

impl Curve {
    /// The positions on the curve of points, given by their coordinates in each column.
    pub(super) fn positions(self, coordinates: &[Vec<u64>], rows: usize) -> Result<BinaryArray> {
        if coordinates.iter().any(|column| column.len() != rows) {
            return Err(Error::internal(format_args!("coordinates that are not those of {rows} rows")));
        }
        let mut point: Vec<u64> = Vec::with_capacity(coordinates.len());
        Ok(BinaryArray::from_iter_values((0..rows).map(|row| {
            point.clear();
            point.extend(coordinates.iter().filter_map(|column| column.get(row)));
            if self == Self::Hilbert {
                hilbert_transpose(&mut point);
            }
            interleaved(&point)
        })))
    }
}

/// The bits of numbers, the highest of all first.
fn interleaved(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * 8);
    let (mut byte, mut filled) = (0_u8, 0);
    for bit in (0..u64::BITS).rev() {
        for number in numbers {
            byte = (byte << 1) | u8::from((number >> bit) & 1 == 1);
            filled += 1;
            if filled == 8 {
                bytes.push(byte);
                (byte, filled) = (0, 0);
            }
        }
    }
    bytes
}

/// From coordinates to the transposed position on the Hilbert curve, whose bits are those of the numbers, interleaved.
fn hilbert_transpose(point: &mut [u64]) {
    const HIGHEST: u64 = 1 << 63;
    let mut bit = HIGHEST;
    while bit > 1 {
        let lower = bit - 1;
        let Some((first, others)) = point.split_first_mut() else { return };
        if *first & bit != 0 {
            *first ^= lower;
        }
        for other in others {
            if *other & bit != 0 {
                *first ^= lower;
            } else {
                let exchanged = (*first ^ *other) & lower;
                *first ^= exchanged;
                *other ^= exchanged;
            }
        }
        bit >>= 1;
    }
    let mut before = 0;
    for number in point.iter_mut() {
        *number ^= before;
        before = *number;
    }
    let last = before;
    let mut turned = 0;
    let mut bit = HIGHEST;
    while bit > 1 {
        if last & bit != 0 {
            turned ^= bit - 1;
        }
        bit >>= 1;
    }
    point.iter_mut().for_each(|number| *number ^= turned);
}

/// The values of a column as numbers of the same order, nulls last (`SpaceCurveSortingHelper.mapColumnValueTo8Bytes`):
/// of strings the first eight bytes.
pub(super) fn coordinates_of_values(column: &ArrayRef) -> Result<Vec<u64>> {
    let as_type = |data_type: &DataType| {
        cast(column, data_type)
            .map_err(|error| Error::internal("values of a column that is sorted by").caused_by(error))
    };
    match column.data_type() {
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => {
            let numbers = as_type(&DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            Ok(numbers.iter().map(|value| value.map_or(u64::MAX, of_signed)).collect())
        }
        DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => {
            let numbers = as_type(&DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            Ok(numbers.iter().map(|value| value.map_or(u64::MAX, of_float)).collect())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            let texts = as_type(&DataType::Utf8)?;
            Ok(texts
                .as_string::<i32>()
                .iter()
                .map(|text| text.map_or(u64::MAX, |text| of_bytes(text.as_bytes())))
                .collect())
        }
        other => Err(Error::invalid_argument(format!("a space-filling curve has no columns of type {other}"))),
    }
}

fn of_signed(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

fn of_float(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) }
}

fn of_bytes(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(text).for_each(|(byte, given)| *byte = *given);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int32Array, StringArray};

    use super::*;

    /// The points of a square in the order of a curve.
    fn ordered(curve: Curve, side: u64) -> Vec<(u64, u64)> {
        let points: Vec<(u64, u64)> = (0..side).flat_map(|x| (0..side).map(move |y| (x, y))).collect();
        let coordinates = [points.iter().map(|point| point.0).collect(), points.iter().map(|point| point.1).collect()];
        let positions = curve.positions(&coordinates, points.len()).unwrap();
        let mut found: Vec<(Vec<u8>, (u64, u64))> =
            positions.iter().map(|key| key.unwrap().to_vec()).zip(points).collect();
        found.sort();
        found.into_iter().map(|(_, point)| point).collect()
    }

    #[test]
    fn z_order_interleaves_bits() {
        assert_eq!(ordered(Curve::ZOrder, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(ordered(Curve::ZOrder, 4)[..5], [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)]);
    }

    #[test]
    fn neighbours_on_the_hilbert_curve_are_neighbours_in_the_plane() {
        let points = ordered(Curve::Hilbert, 16);
        assert_eq!(points.len(), 256);
        for pair in points.windows(2) {
            let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
            assert_eq!(x.abs_diff(next_x) + y.abs_diff(next_y), 1, "{pair:?}");
        }
    }

    #[test]
    fn coordinates_have_the_order_of_values_with_nulls_last() {
        let columns: [ArrayRef; 3] = [
            Arc::new(Int32Array::from(vec![Some(-5), Some(0), Some(7), None])),
            Arc::new(Float64Array::from(vec![Some(-1.5), Some(-0.5), Some(2.0), None])),
            Arc::new(StringArray::from(vec![Some(""), Some("a"), Some("ab"), None])),
        ];
        for column in &columns {
            let coordinates = coordinates_of_values(column).unwrap();
            assert!(coordinates.is_sorted(), "{coordinates:?}");
            assert_eq!(coordinates.len(), 4);
        }
    }
}
