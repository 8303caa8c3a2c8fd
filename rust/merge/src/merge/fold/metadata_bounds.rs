//! The bounds that column statistics keep: a union of wrappers, one for each type of value, of which one member is
//! there.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, StructArray};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, SortOptions};

use super::metadata_rules::{DECIMAL, StoredBound};
use mortice_base::error::{Error, Result};

/// Older and newer bounds, row by row.
pub(super) struct BoundsPairs<'a> {
    older: &'a StructArray,
    newer: &'a StructArray,
    /// The type of the values of each newer record, where the records say it.
    value_types: Option<&'a Int32Array>,
    /// By member, made when it is first needed.
    comparators: Vec<Option<DynComparator>>,
}

impl<'a> BoundsPairs<'a> {
    /// Pairs the bounds. `statistics` are the newer records that the newer bounds are in.
    pub(super) fn new(older: &'a ArrayRef, newer: &'a ArrayRef, statistics: &'a StructArray) -> Result<Self> {
        let (Some(older), Some(newer)) = (older.as_struct_opt(), newer.as_struct_opt()) else {
            return Err(Error::invalid_table("invalid record of the metadata table: a bound is not a union"));
        };
        let comparators = (0..newer.num_columns()).map(|_| None).collect();
        let value_types = statistics.column_by_name("valueType").and_then(|types| types.as_struct_opt());
        let value_types = value_types.and_then(|types| types.column_by_name("typeOrdinal")?.as_primitive_opt());
        Ok(Self { older, newer, value_types, comparators })
    }

    /// Whether the older record has a bound.
    pub(super) fn has_older(&self, row: usize) -> bool {
        member(self.older, row).is_some()
    }

    /// How the older bound compares with the newer one; none where either is missing.
    pub(super) fn compare(&mut self, row: usize) -> Result<Option<Ordering>> {
        let (Some(old), Some(new)) = (member(self.older, row), member(self.newer, row)) else { return Ok(None) };
        let (Some(left), Some(right), Some(slot)) =
            (self.older.columns().get(old), self.newer.columns().get(new), self.comparators.get_mut(new))
        else {
            return Ok(None);
        };
        if old != new {
            let (left, right) = (left.data_type(), right.data_type());
            return Err(Error::invalid_table(format!(
                "invalid records of the metadata table: bounds of one column have the types {left} and {right}"
            )));
        }
        let is_decimal =
            self.value_types.is_some_and(|types| types.is_valid(row) && i64::from(types.value(row)) == DECIMAL);
        if let (Some(left), Some(right)) = (stored(left, row, is_decimal), stored(right, row, is_decimal)) {
            return Ok(left.compare(right));
        }
        let compare = match slot {
            Some(compare) => compare,
            None => slot.insert(make_comparator(left, right, SortOptions::default()).map_err(misshapen)?),
        };
        Ok(Some(compare(row, row)))
    }
}

/// A bound whose order in Java is not that of Arrow.
fn stored(wrapped: &ArrayRef, row: usize, is_decimal: bool) -> Option<StoredBound<'_>> {
    let value = wrapped.as_struct_opt()?.columns().first().filter(|value| value.is_valid(row))?;
    if let Some(strings) = value.as_string_opt::<i32>() {
        return Some(StoredBound::Text(strings.value(row)));
    }
    let bytes = value.as_binary_opt::<i32>()?.value(row);
    Some(if is_decimal { StoredBound::Decimal(bytes) } else { StoredBound::Bytes(bytes) })
}

/// The member that is there.
fn member(of: &StructArray, row: usize) -> Option<usize> {
    if of.is_null(row) { None } else { of.columns().iter().position(|member| member.is_valid(row)) }
}

pub(super) fn misshapen(error: ArrowError) -> Error {
    Error::invalid_table("a record of the metadata table cannot be assembled").caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BinaryArray, Int64Array, StringArray};
    use arrow_schema::{Field, Fields};

    use super::*;

    fn record(columns: Vec<(&str, ArrayRef)>) -> StructArray {
        let fields: Fields =
            columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None)
    }

    /// How two bounds compare, in statistics of values of this type.
    fn compare(older: ArrayRef, newer: ArrayRef, value_type: i32) -> Option<Ordering> {
        let union = |values: ArrayRef| -> ArrayRef {
            let wrapper: ArrayRef = Arc::new(record(vec![("value", values)]));
            Arc::new(record(vec![("member0", wrapper)]))
        };
        let ordinal: ArrayRef = Arc::new(Int32Array::from(vec![value_type]));
        let value_type: ArrayRef = Arc::new(record(vec![("typeOrdinal", ordinal)]));
        let statistics = record(vec![("valueType", value_type)]);
        let (older, newer) = (union(older), union(newer));
        BoundsPairs::new(&older, &newer, &statistics).unwrap().compare(0).unwrap()
    }

    /// As Java compares them, which is what Hudi's writers do and the compaction of the metadata table.
    #[test]
    fn bounds_are_compared_as_the_values_that_they_are() {
        let text = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
        let bytes = |value: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from(vec![value])) };
        let number = |value| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) };
        assert_eq!(compare(text("\u{1f600}"), text("\u{fffd}"), 8), Some(Ordering::Less));
        assert_eq!(compare(bytes(&[0xff]), bytes(&[2]), 9), Some(Ordering::Less));
        // As decimals 5 and 300.
        assert_eq!(compare(bytes(&[5]), bytes(&[1, 44]), 10), Some(Ordering::Less));
        assert_eq!(compare(bytes(&[5]), bytes(&[1, 44]), 9), Some(Ordering::Greater));
        assert_eq!(compare(number(5), number(300), 4), Some(Ordering::Less));
    }
}
