//! Keys that several stored rows have, as inserts leave them: a write changes all of them.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::index::Index;
use super::indexed_rows::IndexedRows;
use super::stored_keys::StoredKeys;
use super::stored_rows::filter_of;
use super::tagged::Location;
use crate::row_set::RowMark;
use crate::write::{DISTINCT_KEYS, several_rows};
use mortice_base::error::Result;
use mortice_base::row_number::at;
use mortice_formats::base_file::BaseFile;
use mortice_formats::filter::Filter;
use mortice_merge::keys::RecordKey;
use mortice_storage::check_cancelled;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};

/// Whether the base file of a slice has one of some keys several times. A log changes the first of these rows only,
/// where records are merged by key.
///
/// # Errors
/// What reading the keys of the file may fail with.
pub fn has_repeated_key(table: &OpenTable, slice: &FileSlice, keys: &HashSet<&str>) -> Result<bool> {
    let stored = StoredKeys::new(table)?;
    let Some(file) = stored.open(slice)?.filter(|file| !has_distinct_keys(file.as_ref())) else { return Ok(false) };
    let (mut seen, mut is_repeated) = (HashSet::new(), false);
    stored.read(file, &mut |batch, _| {
        check_cancelled()?;
        let mut found = batch.iter().flatten().filter_map(|key| keys.get(key));
        is_repeated |= found.any(|key| !seen.insert(*key));
        Ok(())
    })?;
    Ok(is_repeated)
}

/// Whether a file says that no two of its rows have the same key.
fn has_distinct_keys(file: &dyn BaseFile) -> bool {
    file.footer_value(DISTINCT_KEYS).is_some_and(|rows| rows.parse() == Ok(file.row_count()))
}

/// Refuses updates of some columns ([`RowMark::Update`]) of keys of which the index finds several rows: they would
/// become copies of one row. Of several places of a key in a merge-on-read table some may be stale, and rows are read.
///
/// # Errors
/// `InvalidArgument`, naming a key, if one has several rows; what reading file slices may fail with.
pub fn check_updates(table: &OpenTable, index: &dyn Index, rows: &IndexedRows) -> Result<()> {
    let tagged = &rows.tagged;
    let mut in_doubt = BTreeSet::new();
    for further in &tagged.further {
        if rows.rows.marks.of_row(further.row)? == RowMark::Update {
            in_doubt.insert(further.row);
        }
    }
    let Some(first) = in_doubt.first() else { return Ok(()) };
    let key_of = |row: u32| rows.rows.keys.record_keys.value(at(row));
    if !index.may_be_stale(table)? {
        return Err(several_rows(key_of(*first)));
    }
    let further = tagged.further.iter().filter(|further| in_doubt.contains(&further.row));
    let places = further.map(|further| Ok((further.row, tagged.group(further.group)?)));
    let first_places = in_doubt.iter().filter_map(|row| Some(Ok((*row, tagged.location(at(*row))?))));
    let places = places.chain(first_places).collect::<Result<Vec<_>>>()?;
    let counts = row_counts(table, index, &places, &in_doubt.iter().map(|row| key_of(*row)).collect())?;
    let is_several = |(row, location): &&(u32, &Location)| {
        let partition = if index.is_global() { "" } else { location.partition.as_str() };
        counts.get(&(partition.to_owned(), key_of(*row).to_owned())).is_some_and(|count| *count > 1)
    };
    match places.iter().find(is_several) {
        None => Ok(()),
        Some((row, _)) => Err(several_rows(key_of(*row))),
    }
}

/// How many rows the file groups have of each key; by partition, too, unless a key is unique in the table.
fn row_counts(
    table: &OpenTable,
    index: &dyn Index,
    places: &[(u32, &Location)],
    keys: &BTreeSet<&str>,
) -> Result<HashMap<(String, String), u64>> {
    let groups: HashSet<(&str, &str)> =
        places.iter().map(|(_, place)| (place.partition.as_str(), place.file_id.as_str())).collect();
    let partitions = groups.iter().map(|(partition, _)| (*partition).to_owned()).collect();
    let view = table.write_view(Some(&partitions))?;
    let config = &table.config;
    let virtual_key = (!config.populate_meta_fields).then_some(config.record_key_fields.as_slice());
    let key = RecordKey::new(virtual_key)?;
    let filter = if config.populate_meta_fields { filter_of(keys)? } else { Filter::default() };
    let options = QueryOptions { columns: Some(key.columns()), filter, merger: None };
    let mut counts: HashMap<(String, String), u64> = HashMap::new();
    for slice in view.slices.iter().filter(|slice| groups.contains(&(slice.partition.as_str(), slice.file_id.as_str())))
    {
        let partition = if index.is_global() { "" } else { slice.partition.as_str() };
        for batch in table.stored_rows(std::slice::from_ref(slice), &options)?.stream() {
            let found = key.keys_of(&batch?)?;
            for key in found.iter().flatten().filter(|key| keys.contains(key)) {
                *counts.entry((partition.to_owned(), key.to_owned())).or_default() += 1;
            }
        }
    }
    Ok(counts)
}
