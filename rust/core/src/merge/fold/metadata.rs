//! Records of the metadata table merged (`HoodieMetadataPayload`), by the kind that their field `type` tells:
//!
//! | type | what of two records |
//! |---|---|
//! | 1 all partitions, 2 files of a partition | the entries of both, by file name: a deletion takes the older entry away, or stays where there is none; else the larger size counts |
//! | 3 column stats, 6 partition stats | the newer record if its bounds are tight or either is a tombstone; else the outer bounds of both, and their counts added |
//! | 4 Bloom filter, 5 record index, 7 secondary index | the newer record |
//!
//! Deletions stay because logs are merged among themselves first: the entry that goes may be the base file's.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;

use super::custom::RowMerger;
use super::metadata_bounds::{Bounds, misshapen};
use crate::error::{Error, Result};

/// The field that tells the kind of a record.
pub const TYPE: &str = "type";
const FILES: &str = "filesystemMetadata";
const COLUMN_STATS: &str = "ColumnStatsMetadata";

/// Merges records of the metadata table. Needs the field `type`; of the others those that are wanted.
pub struct MetadataMerger;

/// What is made of an older and a newer record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The entries of both.
    Files,
    /// The bounds and counts of both.
    Stats,
    /// The newer one.
    Newer,
}

impl RowMerger for MetadataMerger {
    fn merge(&self, older: &RecordBatch, newer: &RecordBatch) -> Result<(RecordBatch, BooleanArray)> {
        let kinds = kinds(older, newer)?;
        let schema = newer.schema();
        let columns = schema.fields().iter().enumerate().map(|(at, field)| {
            let (Some(old), Some(new)) = (older.columns().get(at), newer.columns().get(at)) else {
                return Err(Error::invalid_argument("records of the metadata table with other columns"));
            };
            match field.name().as_str() {
                FILES if kinds.contains(&Kind::Files) => files(old, new, &kinds),
                COLUMN_STATS if kinds.contains(&Kind::Stats) => stats(old, new, &kinds),
                _ => Ok(Arc::clone(new)),
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(newer.num_rows()));
        let rows = RecordBatch::try_new_with_options(newer.schema(), columns.collect::<Result<_>>()?, &options);
        let keep = BooleanArray::from(vec![true; newer.num_rows()]);
        Ok((rows.map_err(misshapen)?, keep))
    }
}

/// What is made of each pair of rows.
fn kinds(older: &RecordBatch, newer: &RecordBatch) -> Result<Vec<Kind>> {
    let types =
        |batch: &RecordBatch| batch.column_by_name(TYPE).and_then(|c| c.as_primitive_opt::<Int32Type>().cloned());
    let (Some(old), Some(new)) = (types(older), types(newer)) else {
        return Err(Error::invalid_table("records of a metadata table have a whole number in their field \"type\""));
    };
    old.iter()
        .zip(&new)
        .map(|(old, new)| match (old, new) {
            (Some(1 | 2), Some(1 | 2)) if old == new => Ok(Kind::Files),
            (Some(3 | 6), Some(3 | 6)) if old == new => Ok(Kind::Stats),
            (Some(4 | 5 | 7), Some(4 | 5 | 7)) if old == new => Ok(Kind::Newer),
            (Some(old), Some(new)) if old == new => {
                Err(Error::unsupported(format!("records of type {new} in a metadata table")))
            }
            (old, new) => Err(Error::invalid_table(format!(
                "records of one key of a metadata table are of the types {old:?} and {new:?}"
            ))),
        })
        .collect()
}

/// The maps of file names to sizes, put together in rows of files; elsewhere the newer ones.
fn files(older: &ArrayRef, newer: &ArrayRef, kinds: &[Kind]) -> Result<ArrayRef> {
    let (Some(old), Some(new)) = (older.as_map_opt(), newer.as_map_opt()) else {
        return Err(Error::invalid_table("the file list of a metadata table's record is no map"));
    };
    let (old_entries, new_entries) = (Entries::of(old)?, Entries::of(new)?);
    let (mut picks, mut lengths, mut there) = (Vec::new(), Vec::with_capacity(kinds.len()), Vec::new());
    for (row, kind) in kinds.iter().enumerate() {
        let before = picks.len();
        match kind {
            Kind::Files => union(&old_entries, &new_entries, row, &mut picks),
            Kind::Stats | Kind::Newer => picks.extend(new_entries.of_row(row).map(|entry| (1, entry))),
        }
        lengths.push(picks.len() - before);
        there.push(*kind == Kind::Files || new.is_valid(row));
    }
    let entries = interleave(&[old.entries() as &dyn Array, new.entries()], &picks).map_err(misshapen)?;
    let DataType::Map(field, sorted) = new.data_type() else { return Ok(Arc::clone(newer)) };
    let nulls = Some(NullBuffer::from(there)).filter(|nulls| nulls.null_count() > 0);
    let offsets = OffsetBuffer::from_lengths(lengths);
    let merged = MapArray::try_new(Arc::clone(field), offsets, entries.as_struct().clone(), nulls, *sorted);
    Ok(Arc::new(merged.map_err(misshapen)?))
}

/// A map of file names, its parts at hand.
struct Entries<'a> {
    map: &'a MapArray,
    names: &'a arrow_array::StringArray,
    sizes: &'a Int64Array,
    deleted: &'a BooleanArray,
}

impl<'a> Entries<'a> {
    fn of(map: &'a MapArray) -> Result<Self> {
        let infos = map.values().as_struct_opt();
        let child = |name| infos.and_then(|infos| infos.column_by_name(name));
        let names = map.keys().as_string_opt::<i32>();
        let sizes = child("size").and_then(|column| column.as_primitive_opt::<Int64Type>());
        let deleted = child("isDeleted").and_then(|column| column.as_boolean_opt());
        match (names, sizes, deleted) {
            (Some(names), Some(sizes), Some(deleted)) => Ok(Self { map, names, sizes, deleted }),
            _ => Err(Error::invalid_table("the file list of a metadata table's record has no size and isDeleted")),
        }
    }

    /// The entries of a row, by their places.
    fn of_row(&self, row: usize) -> std::ops::Range<usize> {
        let ends = self.map.value_offsets();
        let end = |at: usize| ends.get(at).and_then(|end| usize::try_from(*end).ok()).unwrap_or_default();
        if self.map.is_valid(row) { end(row)..end(row + 1) } else { 0..0 }
    }
}

/// Which entries two file lists come to: those of the older list in its order, then the new ones.
fn union(old: &Entries<'_>, new: &Entries<'_>, row: usize, picks: &mut Vec<(usize, usize)>) {
    let mut newer: HashMap<&str, usize> = new.of_row(row).map(|entry| (new.names.value(entry), entry)).collect();
    for entry in old.of_row(row) {
        match newer.remove(old.names.value(entry)) {
            None => picks.push((0, entry)),
            Some(other) if new.deleted.value(other) => {
                // Deleted twice is deleted still.
                picks.extend(old.deleted.value(entry).then_some((1, other)));
            }
            Some(other) if old.deleted.value(entry) || new.sizes.value(other) >= old.sizes.value(entry) => {
                picks.push((1, other));
            }
            Some(_) => picks.push((0, entry)),
        }
    }
    let added = new.of_row(row).filter(|entry| newer.get(new.names.value(*entry)) == Some(entry));
    picks.extend(added.map(|entry| (1, entry)));
}

/// The statistics of rows of stats, put together where they are; elsewhere the newer ones.
fn stats(older: &ArrayRef, newer: &ArrayRef, kinds: &[Kind]) -> Result<ArrayRef> {
    let (Some(old), Some(new)) = (older.as_struct_opt(), newer.as_struct_opt()) else {
        return Err(Error::invalid_table("the statistics of a metadata table's record are no record"));
    };
    let is = |of: &StructArray, name: &str, row: usize| {
        let flag = of.column_by_name(name).and_then(|column| column.as_boolean_opt());
        flag.is_some_and(|flag| flag.is_valid(row) && flag.value(row))
    };
    let merged: Vec<bool> = kinds
        .iter()
        .enumerate()
        .map(|(row, kind)| {
            let decided = is(new, "isTightBound", row) || is(new, "isDeleted", row) || is(old, "isDeleted", row);
            *kind == Kind::Stats && old.is_valid(row) && new.is_valid(row) && !decided
        })
        .collect();
    let columns = new.fields().iter().zip(new.columns()).map(|(field, column)| {
        let Some(before) = old.column_by_name(field.name()) else { return Ok(Arc::clone(column)) };
        match field.name().as_str() {
            "minValue" => outer(before, column, &merged, |older, newer| older < newer),
            "maxValue" => outer(before, column, &merged, |older, newer| older > newer),
            "valueCount" | "nullCount" | "totalSize" | "totalUncompressedSize" => sum(before, column, &merged),
            _ => Ok(Arc::clone(column)),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let stats = StructArray::try_new_with_length(new.fields().clone(), columns, new.nulls().cloned(), new.len());
    Ok(Arc::new(stats.map_err(misshapen)?))
}

/// The bound that lies further out, of rows that are merged.
fn outer(
    older: &ArrayRef,
    newer: &ArrayRef,
    merged: &[bool],
    is_outer: fn(std::cmp::Ordering, std::cmp::Ordering) -> bool,
) -> Result<ArrayRef> {
    let mut bounds = Bounds::new(older, newer)?;
    let picks = merged.iter().enumerate().map(|(row, is_merged)| {
        let takes_older = *is_merged
            && match bounds.compare(row)? {
                Some(order) => is_outer(order, std::cmp::Ordering::Equal),
                None => bounds.has_older(row),
            };
        Ok((usize::from(!takes_older), row))
    });
    let picks = picks.collect::<Result<Vec<_>>>()?;
    interleave(&[older.as_ref(), newer.as_ref()], &picks).map_err(misshapen)
}

/// The sum, of rows that are merged.
fn sum(older: &ArrayRef, newer: &ArrayRef, merged: &[bool]) -> Result<ArrayRef> {
    let (Some(old), Some(new)) = (older.as_primitive_opt::<Int64Type>(), newer.as_primitive_opt::<Int64Type>()) else {
        return Err(Error::invalid_table("a count of a metadata table's record is no long"));
    };
    let sums = old.iter().zip(new).zip(merged).map(|((old, new), is_merged)| match (old, new) {
        // Java's sum of longs.
        (Some(old), Some(new)) if *is_merged => Some(old.wrapping_add(new)),
        (old, None) if *is_merged => old,
        _ => new,
    });
    Ok(Arc::new(sums.collect::<Int64Array>()))
}
