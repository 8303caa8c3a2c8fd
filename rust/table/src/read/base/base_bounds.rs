//! Decides whether the ordering values of base rows must be read.
//!
//! In nearly every table updates are later than the rows that they update, and the earliest update is later than the
//! latest row of the base file. If the statistics of the file show this, every log record wins over every base row that
//! it matches, and the ordering column of the base file is not read. The statistics are validated as for pruning, and
//! used only for integer columns: their bounds are values, not prefixes, and all values are ordered, unlike those of
//! floats.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;

use super::merge_base::MergeBase;
use crate::read::columns::projection::Projection;
use mortice_base::error::{Error, Result};
use mortice_merge::keys::KeyColumns;
use mortice_merge::merge::WinningRecords;

/// Returns true if log records win over all base rows, so that the ordering column need not be read unless it is
/// projected. Ordering values of the records are then ignored.
pub(in crate::read) fn beats_base(
    records: &mut WinningRecords,
    projection: &Projection,
    keys: &KeyColumns,
    base: &dyn MergeBase,
) -> Result<bool> {
    let Some(column) = keys.whole_numbers() else { return Ok(false) };
    if projection.projected.fields().find(column).is_some() {
        return Ok(false);
    }
    let Some((_, field)) = projection.base.fields().find(column) else { return Ok(false) };
    let Some(greatest) = base.greatest(field)? else { return Ok(false) };
    let count = greatest.len();
    let bounds = RecordBatch::try_new(Arc::new(Schema::new(vec![Arc::clone(field)])), vec![greatest])
        .map_err(|error| Error::invalid_table("statistics that do not fit their column").caused_by(error))?;
    Ok(records.win_over_all(&keys.base_ordering(&bounds)?, count))
}
