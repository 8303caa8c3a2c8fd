//! Which terms of a filter may leave out base rows before they are merged.
//!
//! A filter is about merged rows. A base row that is left out early is not there when the log record of its key comes: the record
//! is then delivered as if it were an insert, or a row is folded without its oldest part. So that the answer stays the same, a
//! term may leave out a base row only if
//!
//! | the base row | terms | since |
//! |---|---|---|
//! | meets no log record: there is none, or base and log rows stand side by side (skip merge) | all | it is delivered as it is, or not at all |
//! | may meet one | those of columns that all records of a key agree in | what is made of the key's records fails the same term, whoever wins |
//!
//! The second holds for each way of merging. Where one record is chosen, the row is a record of the key. Where records are folded,
//! each column is taken from a record of the key. Where a base file has a key twice, only the first of its rows takes the log
//! record; once one of them is left out, all of them fail the filter, so that it does not matter which is the first. A merge that
//! makes up values of its own may not come here.
//!
//! Rows that are merged by position may be left out as well if the others bring their row numbers (see `row_numbers`): the record
//! with a row's position has its key.
//!
//! `is null` is another matter: a partial record need not have the columns that all agree in. Folded without its base row, it has
//! null there.

use super::slice_merge::SliceMerge;
use crate::filter::{BoundFilter, Operator};
use crate::names::meta_columns;
use crate::read::columns::projection::Projection;

/// The part of the filter that may be asked of base rows. `merge` is none where no log counts; `key_field` is the column that
/// record keys are made of, where they are stored. What rows hold in `path_columns` is not what is delivered.
pub(in crate::read) fn base_filter(
    projection: &Projection,
    merge: Option<&SliceMerge>,
    key_field: Option<&str>,
    path_columns: &[String],
) -> BoundFilter {
    let name_of = |column: usize| projection.base.fields().get(column).map(|field| field.name());
    let filter =
        projection.filter().weakened(|column, _| name_of(column).is_none_or(|name| !path_columns.contains(name)));
    let Some(merge) = merge.filter(|merge| merge.meets_base()) else { return filter };
    if !merge.may_leave_out_base_rows() {
        return filter.weakened(|_, _| false);
    }
    let agreed = |name: &str| {
        // Of a stored key; a virtual one has no meta columns beside it.
        Some(name) == merge.key_column() || name == meta_columns::PARTITION_PATH || Some(name) == key_field
    };
    filter.weakened(|column, operator| operator != Operator::IsNull && name_of(column).is_some_and(|name| agreed(name)))
}
