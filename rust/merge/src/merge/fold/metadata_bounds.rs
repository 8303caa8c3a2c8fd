//! The bounds that column statistics keep: a union of wrappers, one for each type of value, of which one member is there.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, SortOptions};

use mortice_base::error::{Error, Result};

/// Older and newer bounds, row by row.
pub(super) struct BoundsPairs<'a> {
    older: &'a StructArray,
    newer: &'a StructArray,
    /// By member, made when it is first needed.
    comparators: Vec<Option<DynComparator>>,
}

impl<'a> BoundsPairs<'a> {
    pub(super) fn new(older: &'a ArrayRef, newer: &'a ArrayRef) -> Result<Self> {
        let (Some(older), Some(newer)) = (older.as_struct_opt(), newer.as_struct_opt()) else {
            return Err(Error::invalid_table("invalid record of the metadata table: a bound is not a union"));
        };
        let comparators = (0..newer.num_columns()).map(|_| None).collect();
        Ok(Self { older, newer, comparators })
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
        let compare = match slot {
            Some(compare) => compare,
            None => slot.insert(make_comparator(left, right, SortOptions::default()).map_err(misshapen)?),
        };
        Ok(Some(compare(row, row)))
    }
}

/// The member that is there.
fn member(of: &StructArray, row: usize) -> Option<usize> {
    if of.is_null(row) { None } else { of.columns().iter().position(|member| member.is_valid(row)) }
}

pub(super) fn misshapen(error: ArrowError) -> Error {
    Error::invalid_table("a record of the metadata table cannot be assembled").caused_by(error)
}
