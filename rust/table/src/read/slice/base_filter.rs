//! Selects the terms of a filter that may exclude base rows before they are merged.
//!
//! A filter applies to merged rows. If a base row is excluded earlier, the log record of its key is returned like an
//! insert, or a row is folded without its oldest record. To keep the result the same, a term may exclude a base row
//! only under these conditions:
//!
//! | base row | terms | reason |
//! |---|---|---|
//! | matches no log record: there is none, or base and log rows are not merged (skip merge) | all | it is returned unchanged, or not at all |
//! | may match one | those of columns that are equal in all records of a key | the merged row fails the same term, for any winning record |
//!
//! The second holds for each merge mode. If one record is selected, the row is a record of the key. If records are
//! folded, each column is taken from a record of the key. If a base file has a key twice, only the first of its rows
//! matches the log record; if one of them is excluded, all of them fail the filter, so it does not matter which is the
//! first. It does not hold for a merger that creates new values.
//!
//! Rows that are merged by position may be excluded as well if the others have their row numbers (see `row_numbers`):
//! the record with the position of a row has its key.
//!
//! `is null` is different: a partial record need not have the columns that are equal in all others. Folded without its
//! base row, it has null there.

use super::slice_merge::SliceMerge;
use crate::read::columns::projection::Projection;
use mortice_base::names::meta_columns;
use mortice_formats::filter::{BoundFilter, Operator};

/// Returns the part of the filter that may be applied to base rows. `merge` is `None` if there are no valid log blocks.
/// `key_field` is the column that stored record keys are equal to. Values of `path_columns` come from the path, not
/// from rows.
pub(super) fn base_filter(
    projection: &Projection,
    merge: Option<&SliceMerge>,
    key_field: Option<&str>,
    path_columns: &[String],
) -> BoundFilter {
    let name_of = |column: usize| projection.base.fields().get(column).map(|field| field.name());
    let filter =
        projection.filter().weakened(|column, _| name_of(column).is_none_or(|name| !path_columns.contains(name)));
    let Some(merge) = merge.filter(|merge| merge.may_match()) else { return filter };
    if !merge.may_filter_base_rows() {
        return filter.weakened(|_, _| false);
    }
    let agreed = |name: &str| {
        // The key column is a meta column, or the only key field where there are no meta columns.
        Some(name) == merge.key_column() || name == meta_columns::PARTITION_PATH || Some(name) == key_field
    };
    filter.weakened(|column, operator| operator != Operator::IsNull && name_of(column).is_some_and(|name| agreed(name)))
}
