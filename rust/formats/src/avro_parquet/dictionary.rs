//! Which columns get a dictionary, by a sample of their first values.
//!
//! The values of a column that hardly repeats fill a dictionary in vain: each is looked up, and once the dictionary has
//! its size, all that follow are stored as they are beside it. Keys, sequence numbers and measurements are such
//! columns.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// Which columns have dictionaries (`hoodie.parquet.dictionary.enabled`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dictionaries {
    /// All of them.
    All,
    /// None.
    None,
    /// Those whose values seem to repeat, and all nested ones. The dictionary of a column has at most so many bytes.
    WhereTheyPay(usize),
}

/// Values of a column that are looked at.
const SAMPLE: usize = 2048;
/// Fewer values say nothing about the others.
const LEAST: usize = 256;

impl Dictionaries {
    /// The columns without a dictionary in a file that begins with these rows.
    pub(super) fn columns_without(self, rows: &RecordBatch) -> Vec<&str> {
        let Self::WhereTheyPay(limit) = self else { return Vec::new() };
        let schema = rows.schema_ref();
        let columns = schema.fields().iter().zip(rows.columns());
        columns.filter(|(_, column)| !pays(column.as_ref(), limit)).map(|(field, _)| field.name().as_str()).collect()
    }
}

/// Whether a dictionary of all values of a column, which begins with these, may have `limit` bytes at most.
fn pays(column: &dyn Array, limit: usize) -> bool {
    let rows = column.len().min(SAMPLE);
    let sample = (0..rows).map(|at| at * column.len() / rows).filter(|row| column.is_valid(*row));
    match counted(column, sample) {
        Some(sample) if sample.values >= LEAST => sample.expected() * sample.mean_bytes() <= limit as f64,
        _ => true,
    }
}

/// The values of these rows; none of nested columns and booleans.
fn counted(column: &dyn Array, rows: impl Iterator<Item = usize>) -> Option<Sample> {
    /// Bytes of the length of a value.
    const LENGTH: usize = 4;
    match column.data_type() {
        DataType::Utf8 => {
            let column = column.as_string::<i32>();
            Some(count(rows.map(|row| column.value(row).as_bytes()), LENGTH))
        }
        DataType::Binary => {
            let column = column.as_binary::<i32>();
            Some(count(rows.map(|row| column.value(row)), LENGTH))
        }
        DataType::FixedSizeBinary(_) => {
            let column = column.as_fixed_size_binary();
            Some(count(rows.map(|row| column.value(row)), 0))
        }
        other => {
            let width = other.primitive_width()?;
            let data = column.to_data();
            let values = data.buffers().first()?.as_slice().get(data.offset().checked_mul(width)?..)?;
            Some(count(rows.filter_map(|row| values.get(row * width..(row + 1) * width)), 0))
        }
    }
}

fn count<'v>(values: impl Iterator<Item = &'v [u8]>, more: usize) -> Sample {
    let (mut sample, mut times) = (Sample::default(), HashMap::<&[u8], u32>::new());
    for value in values {
        sample.values += 1;
        sample.bytes += value.len() + more;
        *times.entry(value).or_default() += 1;
    }
    sample.different = times.len();
    let seen = |count: u32| times.values().filter(|times| **times == count).count();
    (sample.once, sample.twice) = (seen(1), seen(2));
    sample
}

/// Values that were looked at.
#[derive(Debug, Default)]
struct Sample {
    values: usize,
    bytes: usize,
    different: usize,
    /// Those that were seen once, and twice.
    once: usize,
    twice: usize,
}

impl Sample {
    /// How many different values there are in all, by Chao's estimate: the more of those that were seen were seen
    /// once only, the more were not seen.
    fn expected(&self) -> f64 {
        let once = self.once as f64;
        self.different as f64 + once * (once - 1.0).max(0.0) / (2.0 * (self.twice as f64 + 1.0))
    }

    fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.values as f64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, StructArray};

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn strings(of: impl Fn(u64) -> u64) -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..8192).map(|row| format!("value {:012}", of(row)))))
    }

    /// Numbers without an order.
    fn mixed(row: u64) -> u64 {
        let number = (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    }

    #[test]
    fn columns_that_repeat_have_a_dictionary() {
        assert!(pays(&strings(|_| 7), LIMIT));
        assert!(pays(&strings(|row| mixed(row) % 100), LIMIT));
        assert!(pays(&strings(|row| mixed(row) % 20_000), LIMIT), "20,000 values of 22 bytes are less than 1 MiB");
        assert!(!pays(&strings(|row| mixed(row) % 20_000), LIMIT / 8));
        assert!(!pays(&strings(mixed), LIMIT));
        assert!(!pays(&strings(|row| row), LIMIT));
    }

    #[test]
    fn numbers_are_looked_at_where_they_are() {
        let numbers: Int64Array = (0..9000).map(|row| if row < 800 { 1 } else { row }).collect();
        assert!(!pays(&numbers, LIMIT));
        assert!(!pays(&numbers.slice(800, 8000), LIMIT));
        assert!(pays(&numbers.slice(0, 800), LIMIT));
        let measured: Float64Array = (0..4000).map(|row| f64::from(row).sqrt()).collect();
        assert!(!pays(&measured, LIMIT));
    }

    #[test]
    fn where_too_little_is_seen_there_is_a_dictionary() {
        assert!(pays(&Int64Array::from_iter_values(0..200), LIMIT));
        let nulls: Int64Array = (0..8192).map(|row| (row % 100 == 0).then_some(row)).collect();
        assert!(pays(&nulls, LIMIT));
        assert!(pays(&Int64Array::from_iter_values(0..0), LIMIT));
        let nested: ArrayRef = Arc::new(Int64Array::from_iter_values(0..8192));
        assert!(pays(&StructArray::try_from(vec![("a", nested)]).unwrap(), LIMIT));
        assert!(pays(&BooleanArray::from(vec![true; 8192]), LIMIT));
    }

    #[test]
    fn options_decide_for_all_columns() {
        let rows = RecordBatch::try_from_iter([("few", strings(|_| 1)), ("key", strings(|row| row))]).unwrap();
        assert_eq!(Dictionaries::WhereTheyPay(LIMIT).columns_without(&rows), ["key"]);
        assert!(Dictionaries::All.columns_without(&rows).is_empty());
        assert!(Dictionaries::None.columns_without(&rows).is_empty());
    }
}
