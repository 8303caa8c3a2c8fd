//! Global indexes and rows whose keys are in the table: rows that move to another partition, and rows that are merged
//! while they are tagged (`HoodieIndexUtils.tagGlobalLocationBackToRecords`,
//! `mergeForPartitionUpdatesAndDeletionsIfNeeded`).
//!
//! | the stored row and the row, merged | what is written |
//! |---|---|
//! | no stored row: its file group has deleted it | the row, as new |
//! | a delete | the delete, where the stored row is |
//! | of the stored row's partition | the merged row, where the stored row is; it may be the stored row, as it was |
//! | of another partition | the merged row, as new; and a delete where the stored row is |
//! | the same, if rows stay in their partitions | the merged row, where the stored row is |
//!
//! A key that is in several file groups is merged with the row of each. If one of the merged rows stays where it is,
//! those that would move are deleted; otherwise the first moves: a key is in one partition only.
//!
//! Not all rows are merged: without moves rows of copy-on-write tables and of commit-time ordering go to their keys'
//! file groups as they are, as do rows whose partition is their key's if the index has each key once.
//!
//! A row that is to be new (`RowMark::Insert`) is never merged: a stored row of its key is an error, under each index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::index::Index;
use super::indexed_rows::IndexedRows;
use super::merged_rows::MergedRows;
use super::new_rows::{located_inserts, refuse_present_inserts, refuse_stored_inserts, stored_key};
use super::stored_rows::{StoredRow, StoredRows};
use super::tagged::{FurtherLocation, Tagged};
use crate::row_set::{RowMark, WriteRows};
use crate::write::several_rows;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_merge::config::{MergeMode, TableType};
use mortice_merge::keys::{KeyOptions, RowKeys};
use mortice_merge::spill::RowBatches;
use mortice_table::plan::OpenTable;

/// What becomes of one row: the row of one of the sources, its key, and where it goes.
#[derive(Clone, Copy)]
struct Outcome<'a> {
    source: (usize, usize),
    /// The row that is merged, if it is.
    incoming: Option<u32>,
    key: &'a str,
    partition: &'a str,
    location: Option<u32>,
    position: Option<u64>,
    mark: RowMark,
}

/// The sources of rows that are written: from [`MERGED`] on, those of each round of stored rows.
const INCOMING: usize = 0;
const STORED: usize = 1;
const MERGED: usize = 2;

/// Merges rows with the stored rows of their keys, where Hudi does so while it tags them. Rows of other indexes stay as
/// they are. Rows that are to be new are refused if their keys are stored.
///
/// Args:
///     table: The table.
///     index: The index.
///     rows: The rows, combined: each key once, with all columns that are written; with their keys, deletes and
///         locations.
///     options: How keys are made.
///
/// # Errors
/// `Unsupported` for ways of merging that are not supported; `InvalidArgument` for a row that is to be new and is not;
/// what reading stored rows may fail with.
pub fn merge_moved_rows(
    table: &Arc<OpenTable>,
    index: &dyn Index,
    rows: IndexedRows,
    options: &KeyOptions,
) -> Result<IndexedRows> {
    if !index.is_global() {
        refuse_present_inserts(table, index, &rows).map_err(|error| error.in_file(&table.uri))?;
        return Ok(rows);
    }
    let looked_up = rows_to_merge(table, index, &rows)?;
    if !looked_up.contains(&true) {
        return Ok(rows);
    }
    let stored = StoredRows::read(table, &rows, &looked_up)?;
    merged_with(table, index, rows, &looked_up, &stored, options)
}

/// The same, of rows of which [`rows_to_merge`] has named these, with the stored rows that [`super::read_stored_rows`]
/// returned for their keys, in the order of the file slices.
///
/// # Errors
/// As for [`merge_moved_rows`].
pub fn merge_with_stored_rows(
    table: &OpenTable,
    index: &dyn Index,
    rows: IndexedRows,
    looked_up: &[bool],
    stored: impl Iterator<Item = Result<RecordBatch>>,
    options: &KeyOptions,
) -> Result<IndexedRows> {
    if !index.is_global() {
        refuse_stored_inserts(&rows, stored).map_err(|error| error.in_file(&table.uri))?;
        return Ok(rows);
    }
    let stored = StoredRows::of_batches(&rows, looked_up, stored)?;
    if !looked_up.contains(&true) {
        return Ok(rows);
    }
    merged_with(table, index, rows, looked_up, &stored, options)
}

fn merged_with(
    table: &OpenTable,
    index: &dyn Index,
    rows: IndexedRows,
    looked_up: &[bool],
    stored: &StoredRows,
    options: &KeyOptions,
) -> Result<IndexedRows> {
    refuse_found_inserts(&rows, looked_up, stored).map_err(|error| error.in_file(&table.uri))?;
    // Without stored rows the columns of the sources are still those of a merge.
    let merge = |round| MergedRows::merge(table, &rows, looked_up, stored, round, options);
    let merged = (0..stored.rounds().max(1)).map(merge).collect::<Result<Vec<_>>>()?;
    let mut outcomes = Vec::with_capacity(rows.rows.len());
    let mut new_row_of = Vec::with_capacity(looked_up.len());
    let positions = Positions::new(&rows.tagged);
    let merge =
        StoredMerge { rows: &rows, stored, merged: &merged, positions: &positions, moves: index.updates_partition() };
    for (row, (is_looked_up, mark)) in looked_up.iter().zip(rows.rows.marks.iter()).enumerate() {
        new_row_of.push(numbered(outcomes.len())?);
        if *is_looked_up {
            merge.add_outcomes(row, mark, &mut outcomes)?;
        } else {
            outcomes.push(plain_outcome(&rows, row, mark)?);
        }
    }
    let mut further = further_of(&rows.tagged.further, looked_up, &new_row_of)?;
    positions.add_to(&mut outcomes, &mut further)?;
    let sources = [&rows.rows.batches, stored.rows()].into_iter().chain(merged.iter().map(MergedRows::rows));
    collect(&rows, &outcomes, &sources.collect::<Vec<_>>(), further)
}

/// Refuses rows that are to be new and have a stored row, of rows with a global index.
fn refuse_found_inserts(rows: &IndexedRows, looked_up: &[bool], stored: &StoredRows) -> Result<()> {
    for (row, (is_looked_up, mark)) in looked_up.iter().zip(rows.rows.marks.iter()).enumerate() {
        if !is_looked_up || mark != RowMark::Insert {
            continue;
        }
        if let Some(found) = stored.row_of(0, rows.rows.keys.record_keys.value(row)) {
            return Err(stored_key(rows, row, Some(&rows.tagged.group(found.group)?.partition)));
        }
    }
    Ok(())
}

fn numbered(row: usize) -> Result<u32> {
    u32::try_from(row).map_err(|_| Error::unsupported("4,294,967,296 rows in one write"))
}

/// The rows of base files that have a key several times in one file group: a merged row changes each of them.
struct Positions {
    /// By row and file group, if there are several.
    several: BTreeMap<(u32, u32), BTreeSet<u64>>,
}

impl Positions {
    fn new(tagged: &Tagged) -> Self {
        let mut several: BTreeMap<(u32, u32), BTreeSet<u64>> = BTreeMap::new();
        for further in &tagged.further {
            several.entry((further.row, further.group)).or_default().extend(further.position);
        }
        for ((row, group), positions) in &mut several {
            if tagged.locations.get(at(*row)) == Some(&Some(*group)) {
                positions.extend(tagged.positions.get(at(*row)).copied().flatten());
            }
        }
        several.retain(|_, positions| positions.len() > 1);
        Self { several }
    }

    fn are_several(&self, outcome: &Outcome<'_>, group: u32) -> bool {
        outcome.incoming.is_some_and(|row| self.several.contains_key(&(row, group)))
    }

    /// Gives merged rows the positions of their file group, the first as their own.
    fn add_to(&self, outcomes: &mut [Outcome<'_>], further: &mut Vec<FurtherLocation>) -> Result<()> {
        if self.several.is_empty() {
            return Ok(());
        }
        for (number, outcome) in outcomes.iter_mut().enumerate().filter(|(_, outcome)| outcome.position.is_none()) {
            let Some((incoming, group)) = outcome.incoming.zip(outcome.location) else { continue };
            let mut positions = self.several.get(&(incoming, group)).into_iter().flatten().copied();
            outcome.position = positions.next();
            let row = numbered(number)?;
            further.extend(positions.map(|position| FurtherLocation { row, group, position: Some(position) }));
        }
        Ok(())
    }
}

/// The further locations of rows that are not merged, by their new numbers: a merged row goes to its own places only.
fn further_of(further: &[FurtherLocation], looked_up: &[bool], new_row_of: &[u32]) -> Result<Vec<FurtherLocation>> {
    let mut kept = Vec::new();
    for one in further {
        let unknown = || Error::internal(format_args!("row {} has a further location and is not there", one.row));
        let is_merged = looked_up.get(at(one.row)).ok_or_else(unknown)?;
        let row = *new_row_of.get(at(one.row)).ok_or_else(unknown)?;
        if !is_merged {
            kept.push(FurtherLocation { row, ..*one });
        }
    }
    Ok(kept)
}

/// Which rows of an upsert are looked up among the stored ones while they are tagged: those that are merged with them,
/// of which there are none if the index is not global, and those that are to be new and may be stored.
///
/// # Errors
/// As for [`Index::may_be_stale`].
pub fn rows_to_merge(table: &OpenTable, index: &dyn Index, rows: &IndexedRows) -> Result<Vec<bool>> {
    if !index.is_global() {
        return Ok(located_inserts(rows));
    }
    let is_merge_on_read = table.config.table_type == TableType::MergeOnRead;
    let by_commit_time = table.merge.mode == MergeMode::CommitTime;
    let merges = index.updates_partition() || (!by_commit_time && is_merge_on_read);
    let (may_be_stale, may_be_stale_alone) = (index.may_be_stale(table)?, index.may_be_stale_alone(table)?);
    // Of several places of such a key one is current. Hudi writes to all of them if it does not merge, and the key is
    // there twice. A key of several partitions is to be in one.
    let is_doubtful = may_be_stale || index.updates_partition();
    let further = rows.tagged.further.iter().filter(|_| is_doubtful).map(|further| further.row);
    let in_doubt: BTreeSet<u32> = further.collect();
    let is_merged = |(row, mark): (u32, RowMark)| {
        let Some(location) = rows.tagged.location(at(row)) else { return false };
        in_doubt.contains(&row)
            || mark == RowMark::Insert
            || merges
                && (may_be_stale_alone
                    || (index.updates_partition() && location.partition != rows.rows.keys.partitions.value(at(row)))
                    || (!by_commit_time && mark.is_delete()))
    };
    Ok((0..).zip(rows.rows.marks.iter()).map(is_merged).collect())
}

/// A row that is not merged: it goes to its key's partition, not to its own.
fn plain_outcome(rows: &IndexedRows, row: usize, mark: RowMark) -> Result<Outcome<'_>> {
    let untagged = || Error::internal(format_args!("row {row} is not tagged"));
    let location = *rows.tagged.locations.get(row).ok_or_else(untagged)?;
    let group = location.map(|group| rows.tagged.group(group)).transpose()?;
    let partition = group.map(|group| group.partition.as_str());
    Ok(Outcome {
        source: (INCOMING, row),
        incoming: None,
        key: rows.rows.keys.record_keys.value(row),
        partition: partition.unwrap_or_else(|| rows.rows.keys.partitions.value(row)),
        location,
        position: rows.tagged.position(row)?,
        mark,
    })
}

/// Rows that are merged with the stored rows of their keys.
struct StoredMerge<'a> {
    rows: &'a IndexedRows,
    stored: &'a StoredRows,
    /// The merged rows of each round of stored ones.
    merged: &'a [MergedRows],
    positions: &'a Positions,
    /// Whether rows move to other partitions.
    moves: bool,
}

impl<'a> StoredMerge<'a> {
    fn add_outcomes(&self, row: usize, mark: RowMark, outcomes: &mut Vec<Outcome<'a>>) -> Result<()> {
        let key = self.rows.rows.keys.record_keys.value(row);
        let incoming = Outcome {
            source: (INCOMING, row),
            incoming: Some(numbered(row)?),
            key,
            partition: self.rows.rows.keys.partitions.value(row),
            location: None,
            position: None,
            mark: if mark.is_delete() || mark == RowMark::Insert { mark } else { RowMark::Upsert },
        };
        let rounds = 0..self.stored.rounds();
        let found: Vec<StoredRow> = rounds.map_while(|round| self.stored.row_of(round, key)).collect();
        if mark == RowMark::Update && self.stored.are_several(key) {
            return Err(several_rows(key));
        }
        if found.is_empty() {
            outcomes.push(incoming);
            return Ok(());
        }
        let (mut moved, mut stays) = (Vec::new(), false);
        for (round, found) in found.into_iter().enumerate() {
            let written = self.written(round, found, &incoming, mark)?;
            let group = self.rows.tagged.group(found.group)?;
            stays |= written.location.is_some() && !written.mark.is_delete();
            if written.location.is_none() {
                let source = (STORED, found.row);
                let (partition, location) = (group.partition.as_str(), Some(found.group));
                let mark = RowMark::UnconditionalDelete;
                outcomes.push(Outcome { source, partition, location, mark, ..incoming });
                moved.push(written);
            } else {
                outcomes.push(written);
            }
        }
        outcomes.extend(moved.into_iter().next().filter(|_| !stays));
        Ok(())
    }

    /// What is written in place of one stored row: with the row's location, unless it moves.
    fn written(&self, round: usize, found: StoredRow, incoming: &Outcome<'a>, mark: RowMark) -> Result<Outcome<'a>> {
        let there = self.rows.tagged.group(found.group)?;
        let partition = there.partition.as_str();
        let location = Some(found.group);
        let merged = self.merged.get(round).ok_or_else(|| Error::internal("stored rows that were not merged"))?;
        let result = merged.row_of(incoming.key).filter(|_| mark != RowMark::UnconditionalDelete);
        let Some(result) = result else {
            let mark = if mark == RowMark::UnconditionalDelete { mark } else { RowMark::Delete };
            return Ok(Outcome { partition, location, mark, ..*incoming });
        };
        let new_partition = if result.is_stored { partition } else { merged.partition(result.row) };
        let written = Outcome { source: (MERGED + round, result.row), mark: RowMark::Upsert, ..*incoming };
        if new_partition == partition || !self.moves {
            // The file group merges the row with each of its rows.
            let is_several = self.positions.are_several(incoming, found.group);
            return Ok(Outcome { partition, location, ..if is_several { *incoming } else { written } });
        }
        Ok(Outcome { partition: new_partition, ..written })
    }
}

/// Puts the rows together.
fn collect(
    rows: &IndexedRows,
    outcomes: &[Outcome<'_>],
    sources: &[&RowBatches],
    further: Vec<FurtherLocation>,
) -> Result<IndexedRows> {
    let incoming = &rows.rows.batches;
    let schema = incoming.schema();
    // A stored row may lack a value that the input's rows all have.
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let mut first = 0_usize;
    let firsts = sources.iter().map(|source| {
        let own = first;
        first = first.saturating_add(source.num_rows());
        own
    });
    let firsts: Vec<usize> = firsts.collect();
    let number = |outcome: &Outcome<'_>| {
        let (source, row) = outcome.source;
        u32::try_from(firsts.get(source)?.checked_add(row)?).ok()
    };
    let numbers: Option<Vec<u32>> = outcomes.iter().map(number).collect();
    let numbers = numbers.ok_or_else(|| Error::internal("more rows of a write than have numbers"))?;
    let all = RowBatches::chained(&schema, sources, incoming.memory().clone())?;
    let Tagged { groups, view, .. } = &rows.tagged;
    let keys = RowKeys {
        record_keys: outcomes.iter().map(|outcome| Some(outcome.key)).collect(),
        partitions: outcomes.iter().map(|outcome| Some(outcome.partition)).collect(),
    };
    let marks = outcomes.iter().map(|outcome| outcome.mark).collect();
    Ok(IndexedRows {
        rows: WriteRows::new(all.select(&numbers)?, keys, marks)?,
        tagged: Tagged {
            locations: outcomes.iter().map(|outcome| outcome.location).collect(),
            groups: groups.clone(),
            positions: outcomes.iter().map(|outcome| outcome.position).collect(),
            further,
            view: Arc::clone(view),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn further(row: u32) -> FurtherLocation {
        FurtherLocation { row, group: 4, position: Some(9) }
    }

    #[test]
    fn further_locations_follow_rows_that_are_not_merged() {
        let (looked_up, new_row_of) = ([false, true, false], [0, 1, 3]);
        let kept = further_of(&[further(2), further(1), further(0)], &looked_up, &new_row_of).unwrap();
        assert_eq!(kept, [further(3), further(0)]);
        assert!(further_of(&[], &[], &[]).unwrap().is_empty());
    }

    #[test]
    fn a_further_location_of_a_row_that_is_not_there_is_an_internal_error() {
        for (looked_up, new_row_of) in [(&[false][..], &[0, 1][..]), (&[false, false], &[0])] {
            let error = further_of(&[further(1)], looked_up, new_row_of).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
        }
    }
}
