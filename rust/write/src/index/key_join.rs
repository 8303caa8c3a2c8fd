//! Keys of rows joined with the keys of base files.
//!
//! Writers with indexes that look there put new keys into base files. So keys of logs are not read, but of those that
//! were begun while a compaction was pending ([`WriteView::base_files`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, StringArray};

use super::incoming_keys::IncomingKeys;
use super::stored_keys::StoredKeys;
use super::tagged::{FurtherLocation, Location, Tagged};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_formats::base_file::BaseFile;
use mortice_merge::keys::RowKeys;
use mortice_storage::parallel;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, WriteView};

/// A row of a file group whose key is one of the rows'.
pub(super) struct Match {
    pub(super) row: u32,
    /// Its number in the base file; none of a row of a log.
    pub(super) position: Option<u64>,
}

/// Finds the file groups of keys.
///
/// Args:
///     table: The table.
///     view: The file slices that the keys may be in.
///     keys: The keys.
///     is_global: Whether a key is in one partition only.
///     may_hold: Whether a base file may hold one of the keys of a partition, which has this number; others are not
///         read.
pub(super) fn join(
    table: &OpenTable,
    view: Arc<WriteView>,
    keys: &RowKeys,
    is_global: bool,
    may_hold: impl Fn(&dyn BaseFile, &IncomingKeys<'_>, u32) -> Result<bool> + Sync,
) -> Result<Tagged> {
    let incoming = IncomingKeys::new(keys, is_global)?;
    let stored = StoredKeys::new(table)?;
    let threads = parallel::cores().max(table.storage.requests_at_once());
    let found = parallel::map(&view.base_files, threads, |slice| {
        let in_file = |error: Error| match &slice.base_file {
            Some(base) => error.in_file(table.storage.full_path(&base.path)),
            None => error,
        };
        matches_of(&incoming, &stored, slice, &may_hold).map_err(in_file)
    })?;
    let rows = incoming.rows_len();
    let mut tagged = Tagged { positions: vec![None; rows], ..Tagged::untagged(rows, Arc::clone(&view)) };
    for (slice, matches) in view.base_files.iter().zip(found) {
        add(&mut tagged, location_of(slice), matches)?;
    }
    if tagged.groups.is_empty() {
        tagged.positions.clear();
    }
    Ok(tagged)
}

fn matches_of(
    incoming: &IncomingKeys<'_>,
    stored: &StoredKeys<'_>,
    slice: &FileSlice,
    may_hold: impl Fn(&dyn BaseFile, &IncomingKeys<'_>, u32) -> Result<bool>,
) -> Result<Vec<Match>> {
    let mut found = Vec::new();
    let Some(partition) = incoming.partition(&slice.partition) else { return Ok(found) };
    let mut take = |keys: &StringArray, first: Option<u64>| {
        let strings = (0..keys.len()).map(|row| keys.value(row));
        incoming.probe(partition, strings, |number, row| {
            found.push(Match { row, position: first.map(|first| first.saturating_add(number as u64)) });
        });
        Ok(())
    };
    if let Some(file) = stored.open(slice)?
        && may_hold(file.as_ref(), incoming, partition)?
    {
        stored.read(file, &mut take)?;
    }
    stored.read_logs(slice, &mut take)?;
    Ok(found)
}

/// The file group of a slice.
pub(super) fn location_of(slice: &FileSlice) -> Location {
    let base_instant = slice.base_file.as_ref().map_or(&slice.base_instant, |base| &base.instant).clone();
    Location { partition: slice.partition.clone(), file_id: slice.file_id.clone(), base_instant }
}

/// Tags rows whose keys are in a file group. Of several places of a key the first is its location. `matches`: those of
/// the base file first.
pub(super) fn add(tagged: &mut Tagged, location: Location, matches: Vec<Match>) -> Result<()> {
    if matches.is_empty() {
        return Ok(());
    }
    let group = u32::try_from(tagged.groups.len()).map_err(|_| Error::unsupported("4,294,967,296 file groups"))?;
    tagged.groups.push(location);
    let has_logs = matches.iter().any(|found| found.position.is_none());
    let mut found = BTreeSet::new();
    for Match { row, position } in matches {
        // A key of a log is one more place of it only if it is not in the base file, or a log before.
        if has_logs && !found.insert(row) && position.is_none() {
            continue;
        }
        let at = at(row);
        let (Some(location), Some(known)) = (tagged.locations.get_mut(at), tagged.positions.get_mut(at)) else {
            return Err(Error::internal(format_args!("row {row} was tagged and is not there")));
        };
        if location.is_none() {
            (*location, *known) = (Some(group), position);
        } else {
            tagged.further.push(FurtherLocation { row, group, position });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn location(file_id: &str) -> Location {
        let base_instant = "20260101000000000".parse().unwrap();
        Location { partition: "p".to_owned(), file_id: file_id.to_owned(), base_instant }
    }

    fn tagged(rows: usize) -> Tagged {
        Tagged { positions: vec![None; rows], ..Tagged::untagged(rows, Arc::default()) }
    }

    fn matches(found: &[(u32, Option<u64>)]) -> Vec<Match> {
        found.iter().map(|(row, position)| Match { row: *row, position: *position }).collect()
    }

    #[test]
    fn the_first_place_of_a_key_is_its_location_and_others_are_further_ones() {
        let mut tagged = tagged(3);
        add(&mut tagged, location("none"), Vec::new()).unwrap();
        add(&mut tagged, location("one"), matches(&[(0, Some(7)), (2, Some(8))])).unwrap();
        add(&mut tagged, location("two"), matches(&[(2, Some(1)), (2, Some(2))])).unwrap();
        assert_eq!(tagged.groups.len(), 2, "a file group without matches is left out");
        assert_eq!(tagged.locations, [Some(0), None, Some(0)]);
        assert_eq!(tagged.positions, [Some(7), None, Some(8)]);
        let further: Vec<_> = tagged.further.iter().map(|one| (one.row, one.group, one.position)).collect();
        assert_eq!(further, [(2, 1, Some(1)), (2, 1, Some(2))]);
    }

    #[test]
    fn a_key_of_a_log_is_a_place_once_and_only_beside_no_base_row() {
        let mut tagged = tagged(2);
        add(&mut tagged, location("one"), matches(&[(0, Some(7)), (0, None), (1, None), (1, None)])).unwrap();
        assert_eq!((tagged.locations, tagged.positions), (vec![Some(0); 2], vec![Some(7), None]));
        assert!(tagged.further.is_empty());
    }

    #[test]
    fn a_match_of_a_row_that_is_not_there_is_an_internal_error() {
        let error = add(&mut tagged(2), location("one"), matches(&[(2, None)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
}
