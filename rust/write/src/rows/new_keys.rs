//! Rows of new keys, one for each key, where a changelog keeps all rows of a key
//! (`hoodie.combine.before.upsert=false`).
//!
//! Logs keep all of them, in order. The first base file of a file group cannot: of an insert and a delete of a new key
//! it would have the insert.

use super::prepare::Preparation;
use crate::index::Tagged;
use crate::row_set::WriteRows;
use mortice_base::error::Result;

/// The rows of keys that the table has, and behind them those of new keys, combined.
///
/// # Errors
/// As for [`Preparation::combined_if_wanted`].
pub fn combine_new_keys(preparation: &Preparation<'_>, rows: WriteRows, tagged: Tagged) -> Result<(WriteRows, Tagged)> {
    let numbered = || (0_u32..).zip(&tagged.locations);
    let new: Vec<u32> = numbered().filter(|(_, location)| location.is_none()).map(|(row, _)| row).collect();
    let combined = preparation.combined(rows.select(&new)?)?;
    let count = combined.len();
    if count == new.len() {
        return Ok((rows, tagged));
    }
    let known: Vec<u32> = numbered().filter(|(_, location)| location.is_some()).map(|(row, _)| row).collect();
    let mut locations = tagged.of_rows(&known)?;
    locations.locations.extend(std::iter::repeat_n(None, count));
    if !locations.positions.is_empty() {
        locations.positions.extend(std::iter::repeat_n(None, count));
    }
    Ok((preparation.chained(&rows.select(&known)?, &combined)?, locations))
}
