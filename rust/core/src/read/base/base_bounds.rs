//! Whether base rows have to say what they are ordered by.
//!
//! Updates are later than the rows that they update in nearly every table, and so is the earliest of them later than the latest
//! row of the base file. Where the file's statistics tell that, every log record wins over whatever base row it meets, and the
//! ordering column of the base file need not be read. Statistics are taken as they are taken to prune, and only of columns of
//! whole numbers, whose bounds are values, not prefixes, and which have no values beside the order, as floats have.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;

use super::merge_base::MergeBase;
use crate::error::{Error, Result};
use crate::keys::KeyColumns;
use crate::merge::Merger;
use crate::read::columns::projection::Projection;

/// Whether log records win over all base rows, so that those need not bring a column that they are ordered by and that nobody
/// else wants. The merger knows it then.
pub(in crate::read) fn beats_base(
    merger: &mut WinningRecords,
    projection: &Projection,
    keys: &KeyColumns,
    base: &dyn MergeBase,
) -> Result<bool> {
    let Some(column) = keys.whole_numbers() else { return Ok(false) };
    if projection.carried.fields().find(column).is_some() {
        return Ok(false);
    }
    let Some((_, field)) = projection.base.fields().find(column) else { return Ok(false) };
    let Some(greatest) = base.greatest(field)? else { return Ok(false) };
    let count = greatest.len();
    let bounds = RecordBatch::try_new(Arc::new(Schema::new(vec![Arc::clone(field)])), vec![greatest])
        .map_err(|error| Error::invalid_table("statistics that do not fit their column").caused_by(error))?;
    Ok(merger.win_over_all(&keys.base_ordering(&bounds)?, count))
}
