//! Several ordering fields as one value (`ArrayComparable`): compared from left to right, the first difference decides.
//!
//! A row's values are written into bytes that compare as the tuple does, so that code for one value handles them:
//!
//! | field | bytes |
//! |---|---|
//! | null | 00 |
//! | number | 01, then big-endian with the sign bit flipped |
//! | string | 01, then the bytes with each 00 as 00 ff, then 00 00 |
//!
//! Null is Java's `Integer` 0 here too: the number 0 on an int or a date field (which its column already says),
//! smallest elsewhere.

use arrow_array::builder::BinaryBuilder;

use super::ordering::{OrderingColumn, OrderingValue};

impl OrderingColumn {
    /// The tuples of `rows` rows. A row without any value is a tuple of nulls, no default.
    #[must_use]
    pub fn tuple(fields: &[Self], rows: usize) -> Self {
        let mut tuples = BinaryBuilder::with_capacity(rows, rows.saturating_mul(9 * fields.len()));
        let mut bytes = Vec::new();
        for row in 0..rows {
            bytes.clear();
            fields.iter().for_each(|field| put(&mut bytes, field.value(row)));
            tuples.append_value(&bytes);
        }
        Self::Bytes(tuples.finish())
    }

    /// The same tuples, those of other rows than `ordered` no value at all.
    #[must_use]
    pub fn only_where(self, ordered: &[bool]) -> Self {
        match self {
            Self::Bytes(tuples) => {
                let values = tuples.iter().zip(ordered).map(|(tuple, ordered)| tuple.filter(|_| *ordered));
                Self::Bytes(values.collect())
            }
            other => other,
        }
    }
}

fn put(bytes: &mut Vec<u8>, value: OrderingValue<'_>) {
    // A foreign value among a tuple's cannot be compared in Hudi; here it is as none.
    bytes.push(u8::from(!matches!(value, OrderingValue::Default | OrderingValue::Foreign)));
    match value {
        OrderingValue::Default | OrderingValue::Foreign => {}
        OrderingValue::Fixed(value) => bytes.extend((value ^ i64::MIN).to_be_bytes()),
        OrderingValue::Wide(value) => bytes.extend((value ^ i128::MIN).to_be_bytes()),
        OrderingValue::Bytes(text) => {
            for byte in text {
                bytes.push(*byte);
                if *byte == 0 {
                    bytes.push(0xff);
                }
            }
            bytes.extend([0, 0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, BinaryArray};
    use proptest::prelude::*;

    use super::*;

    type Row = (Option<i64>, Option<Vec<u8>>, Option<i128>);

    fn tuples(rows: &[Row]) -> OrderingColumn {
        let numbers = rows.iter().map(|row| row.0).collect::<arrow_array::Int64Array>();
        let strings = rows.iter().map(|row| row.1.as_deref()).collect::<BinaryArray>();
        let wide = rows.iter().map(|row| row.2.unwrap_or_default()).collect();
        let there = rows.iter().map(|row| row.2.is_some()).collect::<Vec<_>>();
        let fields = [
            OrderingColumn::Fixed(numbers.values().to_vec(), numbers.nulls().cloned()),
            OrderingColumn::Bytes(strings),
            OrderingColumn::Wide(wide, Some(there.into())),
        ];
        OrderingColumn::tuple(&fields, rows.len())
    }

    fn row() -> impl Strategy<Value = Row> {
        let text = prop::collection::vec(prop::sample::select(vec![0_u8, 1, 0xff]), 0..4);
        (prop::option::of(-2_i64..2), prop::option::of(text), prop::option::of(-1_i128..2))
    }

    proptest! {
        /// Options order as the rule has it: none first, then the values.
        #[test]
        fn bytes_compare_as_tuples_do(rows in prop::collection::vec(row(), 1..20)) {
            let column = tuples(&rows);
            for (one, left) in rows.iter().enumerate() {
                for (two, right) in rows.iter().enumerate() {
                    prop_assert_eq!(column.value(one).compare(&column.value(two)), left.cmp(right));
                }
            }
        }
    }
}
