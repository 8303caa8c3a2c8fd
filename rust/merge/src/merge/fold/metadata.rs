//! Merges records of the metadata table as Arrow columns, by the rules of `metadata_rules`.
//!
//! A key that is deleted in the log has no base record. Hudi merges a newer record over the base record nevertheless,
//! and lists files again that are gone: its clean deletes the key of a partition that it removes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;

use super::custom::RowMerger;
use super::metadata_bounds::{BoundsPairs, misshapen};
use super::metadata_rules::{
    BOUNDS, COUNTS, FILES, FileEntry, KeptEntry, MergeKind, STATISTICS, StatisticsFlags, TYPE, add_counts,
    merge_entries, newer_statistics_decide,
};
use mortice_base::error::{Error, Result};

/// Merges records of the metadata table. Needs the field `type` beside the projected ones.
pub struct MetadataMerger;

impl RowMerger for MetadataMerger {
    fn merge(&self, older: &RecordBatch, newer: &RecordBatch) -> Result<(RecordBatch, BooleanArray)> {
        let kinds = kinds(older, newer)?;
        let schema = newer.schema();
        let columns = schema.fields().iter().enumerate().map(|(at, field)| {
            let (Some(old), Some(new)) = (older.columns().get(at), newer.columns().get(at)) else {
                return Err(Error::internal("records of the metadata table with other columns"));
            };
            match field.name().as_str() {
                FILES if kinds.contains(&MergeKind::Files) => files(old, new, &kinds),
                STATISTICS if kinds.contains(&MergeKind::Statistics) => stats(old, new, &kinds),
                _ => Ok(Arc::clone(new)),
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(newer.num_rows()));
        let rows = RecordBatch::try_new_with_options(newer.schema(), columns.collect::<Result<_>>()?, &options);
        let keep = BooleanArray::from(vec![true; newer.num_rows()]);
        Ok((rows.map_err(misshapen)?, keep))
    }

    fn deletes_base(&self) -> bool {
        true
    }
}

/// How each pair of rows is merged.
fn kinds(older: &RecordBatch, newer: &RecordBatch) -> Result<Vec<MergeKind>> {
    let types =
        |batch: &RecordBatch| batch.column_by_name(TYPE).and_then(|c| c.as_primitive_opt::<Int32Type>().cloned());
    let (Some(old), Some(new)) = (types(older), types(newer)) else {
        return Err(Error::invalid_table("invalid record of the metadata table: its field \"type\" is not an int"));
    };
    old.iter().zip(&new).map(|(old, new)| MergeKind::of_types(old.map(i64::from), new.map(i64::from))).collect()
}

/// The maps from file names to sizes: merged in rows that list files, the newer ones elsewhere.
fn files(older: &ArrayRef, newer: &ArrayRef, kinds: &[MergeKind]) -> Result<ArrayRef> {
    let (Some(old), Some(new)) = (older.as_map_opt(), newer.as_map_opt()) else {
        return Err(Error::invalid_table("invalid record of the metadata table: its file list is not a map"));
    };
    let (old_entries, new_entries) = (Entries::from_map(old)?, Entries::from_map(new)?);
    let (mut picks, mut lengths, mut there) = (Vec::new(), Vec::with_capacity(kinds.len()), Vec::new());
    for (row, kind) in kinds.iter().enumerate() {
        let before = picks.len();
        match kind {
            MergeKind::Files => union(&old_entries, &new_entries, row, &mut picks),
            MergeKind::Statistics | MergeKind::Newer => {
                picks.extend(new_entries.entries_of_row(row).map(|entry| (1, entry)))
            }
        }
        lengths.push(picks.len() - before);
        there.push(*kind == MergeKind::Files || new.is_valid(row));
    }
    let entries = interleave(&[old.entries() as &dyn Array, new.entries()], &picks).map_err(misshapen)?;
    let DataType::Map(field, sorted) = new.data_type() else { return Ok(Arc::clone(newer)) };
    let nulls = Some(NullBuffer::from(there)).filter(|nulls| nulls.null_count() > 0);
    let offsets = OffsetBuffer::from_lengths(lengths);
    let merged = MapArray::try_new(Arc::clone(field), offsets, entries.as_struct().clone(), nulls, *sorted);
    Ok(Arc::new(merged.map_err(misshapen)?))
}

/// A map of file names, as its arrays.
struct Entries<'a> {
    map: &'a MapArray,
    names: &'a arrow_array::StringArray,
    sizes: &'a Int64Array,
    deleted: &'a BooleanArray,
}

impl<'a> Entries<'a> {
    fn from_map(map: &'a MapArray) -> Result<Self> {
        let infos = map.values().as_struct_opt();
        let child = |name| infos.and_then(|infos| infos.column_by_name(name));
        let names = map.keys().as_string_opt::<i32>();
        let sizes = child("size").and_then(|column| column.as_primitive_opt::<Int64Type>());
        let deleted = child("isDeleted").and_then(|column| column.as_boolean_opt());
        match (names, sizes, deleted) {
            (Some(names), Some(sizes), Some(deleted)) => Ok(Self { map, names, sizes, deleted }),
            _ => Err(Error::invalid_table(
                "invalid record of the metadata table: its file list has no size or isDeleted",
            )),
        }
    }

    fn entry(&self, at: usize) -> FileEntry {
        FileEntry { size: self.sizes.value(at), is_deleted: self.deleted.value(at) }
    }

    /// The ordinals of the entries of a row. Arrow has checked the offsets: each row has two, which are not negative.
    fn entries_of_row(&self, row: usize) -> std::ops::Range<usize> {
        let ends = self.map.value_offsets();
        let end = |at: usize| ends.get(at).and_then(|end| usize::try_from(*end).ok()).unwrap_or_default();
        if self.map.is_valid(row) { end(row)..end(row + 1) } else { 0..0 }
    }
}

/// The entries of two file lists: those of the older list in its order, then the new ones.
fn union(old: &Entries<'_>, new: &Entries<'_>, row: usize, picks: &mut Vec<(usize, usize)>) {
    let mut newer: HashMap<&str, usize> =
        new.entries_of_row(row).map(|entry| (new.names.value(entry), entry)).collect();
    for entry in old.entries_of_row(row) {
        let Some(other) = newer.remove(old.names.value(entry)) else {
            picks.push((0, entry));
            continue;
        };
        match merge_entries(old.entry(entry), new.entry(other)) {
            KeptEntry::Older => picks.push((0, entry)),
            KeptEntry::Newer => picks.push((1, other)),
            KeptEntry::Neither => {}
        }
    }
    let added = new.entries_of_row(row).filter(|entry| newer.get(new.names.value(*entry)) == Some(entry));
    picks.extend(added.map(|entry| (1, entry)));
}

/// The statistics of rows of stats, put together where they are; elsewhere the newer ones.
fn stats(older: &ArrayRef, newer: &ArrayRef, kinds: &[MergeKind]) -> Result<ArrayRef> {
    let (Some(old), Some(new)) = (older.as_struct_opt(), newer.as_struct_opt()) else {
        return Err(Error::invalid_table("invalid record of the metadata table: its statistics are not a record"));
    };
    let is = |of: &StructArray, name: &str, row: usize| {
        let flag = of.column_by_name(name).and_then(|column| column.as_boolean_opt());
        flag.is_some_and(|flag| flag.is_valid(row) && flag.value(row))
    };
    let flags = |of: &StructArray, row: usize| StatisticsFlags {
        is_tight: is(of, "isTightBound", row),
        is_deleted: is(of, "isDeleted", row),
    };
    let merged: Vec<bool> = kinds
        .iter()
        .enumerate()
        .map(|(row, kind)| {
            let decided = newer_statistics_decide(flags(old, row), flags(new, row));
            *kind == MergeKind::Statistics && old.is_valid(row) && new.is_valid(row) && !decided
        })
        .collect();
    let columns = new.fields().iter().zip(new.columns()).map(|(field, column)| {
        let Some(before) = old.column_by_name(field.name()) else { return Ok(Arc::clone(column)) };
        let name = field.name().as_str();
        match BOUNDS.iter().find(|(bound, _)| *bound == name) {
            Some((_, kept)) => outer((before, column), new, &merged, *kept),
            None if COUNTS.contains(&name) => sum(before, column, &merged),
            None => Ok(Arc::clone(column)),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let stats = StructArray::try_new_with_length(new.fields().clone(), columns, new.nulls().cloned(), new.len());
    Ok(Arc::new(stats.map_err(misshapen)?))
}

/// The bound that lies further out, of rows that are merged: the older one where it compares as `kept` with the newer
/// one.
fn outer(
    (older, newer): (&ArrayRef, &ArrayRef),
    statistics: &StructArray,
    merged: &[bool],
    kept: std::cmp::Ordering,
) -> Result<ArrayRef> {
    let mut bounds = BoundsPairs::new(older, newer, statistics)?;
    let picks = merged.iter().enumerate().map(|(row, is_merged)| {
        let takes_older = *is_merged
            && match bounds.compare(row)? {
                Some(order) => order == kept,
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
        return Err(Error::invalid_table("invalid record of the metadata table: a count is not a long"));
    };
    let sums = old.iter().zip(new).zip(merged).map(|((old, new), is_merged)| match is_merged {
        true => add_counts(old, new),
        false => new,
    });
    Ok(Arc::new(sums.collect::<Int64Array>()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::builder::{BooleanBuilder, Int64Builder, MapBuilder, StringBuilder, StructBuilder};
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{Field, Fields, Schema};

    use super::*;
    use mortice_base::error::ErrorKind;

    type Files<'a> = &'a [(&'a str, i64, bool)];

    /// A record of files for each list.
    fn file_lists(lists: &[Option<Files<'_>>]) -> RecordBatch {
        let info = Fields::from(vec![
            Field::new("size", DataType::Int64, true),
            Field::new("isDeleted", DataType::Boolean, true),
        ]);
        let infos = StructBuilder::new(info, vec![Box::new(Int64Builder::new()), Box::new(BooleanBuilder::new())]);
        let mut map = MapBuilder::new(None, StringBuilder::new(), infos);
        for list in lists {
            for (name, size, deleted) in list.unwrap_or_default() {
                map.keys().append_value(name);
                map.values().field_builder::<Int64Builder>(0).unwrap().append_value(*size);
                map.values().field_builder::<BooleanBuilder>(1).unwrap().append_value(*deleted);
                map.values().append(true);
            }
            map.append(list.is_some()).unwrap();
        }
        let types: ArrayRef = Arc::new(Int32Array::from(vec![2; lists.len()]));
        RecordBatch::try_from_iter_with_nullable([(TYPE, types, true), (FILES, Arc::new(map.finish()), true)]).unwrap()
    }

    fn lists_of(batch: &RecordBatch) -> Vec<Vec<(String, i64, bool)>> {
        let map = batch.column_by_name(FILES).unwrap().as_map();
        let entries = Entries::from_map(map).unwrap();
        let entry = |at| (entries.names.value(at).to_owned(), entries.sizes.value(at), entries.deleted.value(at));
        (0..map.len()).map(|row| entries.entries_of_row(row).map(entry).collect()).collect()
    }

    fn merged(older: &RecordBatch, newer: &RecordBatch) -> RecordBatch {
        let (rows, keep) = MetadataMerger.merge(older, newer).unwrap();
        assert_eq!(keep.true_count(), newer.num_rows());
        rows
    }

    #[test]
    fn file_lists_are_put_together_by_name() {
        let older = file_lists(&[
            Some(&[("a", 1, false), ("b", 2, false), ("c", 9, false), ("d", 0, true), ("e", 0, true)]),
            None,
            Some(&[("x", 1, false)]),
        ]);
        let newer = file_lists(&[
            Some(&[("e", 0, true), ("f", 6, false), ("c", 3, false), ("d", 4, false), ("b", 0, true), ("g", 0, true)]),
            Some(&[("y", 1, false)]),
            None,
        ]);
        let lists = lists_of(&merged(&older, &newer));
        let expected =
            [("a", 1, false), ("c", 9, false), ("d", 4, false), ("e", 0, true), ("f", 6, false), ("g", 0, true)];
        assert_eq!(lists[0], expected.map(|(name, size, deleted)| (name.to_owned(), size, deleted)));
        assert_eq!(lists[1], [("y".to_owned(), 1, false)]);
        assert_eq!(lists[2], [("x".to_owned(), 1, false)]);
    }

    /// The order in which logs are merged among themselves first makes no difference.
    #[test]
    fn merging_files_is_associative() {
        let states: [&[(&str, i64, bool)]; 4] = [
            &[("a", 1, false), ("b", 1, false), ("c", 1, false)],
            &[("a", 0, true), ("d", 5, false)],
            &[("b", 7, false), ("d", 6, false), ("a", 0, true)],
            &[("c", 0, true), ("e", 1, false)],
        ];
        let [one, two, three, four] = states.map(|state| file_lists(&[Some(state)]));
        let left = merged(&merged(&merged(&one, &two), &three), &four);
        let right = merged(&one, &merged(&two, &merged(&three, &four)));
        let live = |batch: &RecordBatch| -> BTreeMap<String, i64> {
            let list = lists_of(batch).remove(0);
            list.into_iter().filter(|(_, _, deleted)| !deleted).map(|(name, size, _)| (name, size)).collect()
        };
        assert_eq!(live(&right), BTreeMap::from([("b".into(), 7), ("d".into(), 6), ("e".into(), 1)]));
        // Two deletions of one file, one of which the base entry has used up, leave a tombstone behind.
        assert_eq!(live(&left), live(&right));
    }

    /// Statistics of one column: bounds as text or numbers, value count, tight bounds, tombstone.
    struct Stats(Option<(i64, i64)>, Option<(&'static str, &'static str)>, i64, bool, bool);

    fn stats_of(rows: &[Stats]) -> RecordBatch {
        let bound =
            |number: fn(&(i64, i64)) -> i64, text: fn(&(&'static str, &'static str)) -> &'static str| -> ArrayRef {
                let wrap = |values: ArrayRef| -> ArrayRef {
                    let nulls = values.nulls().cloned();
                    let fields = Fields::from(vec![Field::new("value", values.data_type().clone(), true)]);
                    Arc::new(StructArray::new(fields, vec![values], nulls))
                };
                let numbers = wrap(Arc::new(rows.iter().map(|row| row.0.as_ref().map(number)).collect::<Int64Array>()));
                let strings = wrap(Arc::new(rows.iter().map(|row| row.1.as_ref().map(text)).collect::<StringArray>()));
                let nulls = NullBuffer::from_iter(rows.iter().map(|row| row.0.is_some() || row.1.is_some()));
                let field = |name, of: &ArrayRef| Field::new(name, of.data_type().clone(), true);
                let fields = Fields::from(vec![field("member0", &numbers), field("member1", &strings)]);
                Arc::new(StructArray::new(fields, vec![numbers, strings], Some(nulls)))
            };
        let flag = |of: fn(&Stats) -> bool| -> ArrayRef {
            Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(of(row)))))
        };
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("minValue", bound(|pair| pair.0, |pair| pair.0)),
            ("maxValue", bound(|pair| pair.1, |pair| pair.1)),
            ("valueCount", Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.2)))),
            ("isTightBound", flag(|row| row.3)),
            ("isDeleted", flag(|row| row.4)),
        ];
        let fields: Fields =
            columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        let stats = StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None);
        let types: ArrayRef = Arc::new(Int32Array::from(vec![3; rows.len()]));
        RecordBatch::try_from_iter_with_nullable([(TYPE, types, true), (STATISTICS, Arc::new(stats), true)]).unwrap()
    }

    #[test]
    fn bounds_widen_and_counts_add_up_unless_the_newer_says_it_all() {
        let number = |min, max, count| Stats(Some((min, max)), None, count, false, false);
        let text = |min, max| Stats(None, Some((min, max)), 1, false, false);
        let none = || Stats(None, None, 1, false, false);
        let older = [number(3, 9, 2), text("b", "c"), number(1, 2, 1), none(), number(1, 9, 5), number(1, 9, 5)];
        let newer = [
            number(1, 4, 3),
            text("bb", "d"),
            none(),
            number(4, 5, 1),
            Stats(Some((2, 3)), None, 1, true, false),
            Stats(None, None, 0, false, true),
        ];
        let expected = [
            number(1, 9, 5),
            Stats(None, Some(("b", "d")), 2, false, false),
            number(1, 2, 2),
            number(4, 5, 2),
            Stats(Some((2, 3)), None, 1, true, false),
            Stats(None, None, 0, false, true),
        ];
        assert_eq!(merged(&stats_of(&older), &stats_of(&newer)), stats_of(&expected));
        let after_deleted = merged(&stats_of(&newer[5..]), &stats_of(&older[5..]));
        assert_eq!(after_deleted, stats_of(&older[5..]));
    }

    #[test]
    fn records_that_do_not_belong_together_are_refused() {
        let of = |kind: Option<i32>| {
            let types: ArrayRef = Arc::new(Int32Array::from(vec![kind]));
            let value: ArrayRef = Arc::new(StringArray::from(vec![format!("of {kind:?}")]));
            RecordBatch::try_from_iter_with_nullable([(TYPE, types, true), ("value", value, true)]).unwrap()
        };
        for kind in [4, 5, 7] {
            assert_eq!(merged(&of(Some(kind)), &of(Some(kind))), of(Some(kind)));
        }
        for (older, newer, kind) in [
            (Some(1), Some(2), ErrorKind::InvalidTable),
            (None, None, ErrorKind::InvalidTable),
            (Some(8), Some(8), ErrorKind::Unsupported),
        ] {
            assert_eq!(MetadataMerger.merge(&of(older), &of(newer)).unwrap_err().kind(), kind);
        }
        let untyped = RecordBatch::new_empty(Arc::new(Schema::empty()));
        assert_eq!(MetadataMerger.merge(&untyped, &untyped).unwrap_err().kind(), ErrorKind::InvalidTable);
    }

    #[test]
    fn bounds_of_two_types_are_no_bounds() {
        let number = stats_of(&[Stats(Some((1, 2)), None, 1, false, false)]);
        let text = stats_of(&[Stats(None, Some(("1", "2")), 1, false, false)]);
        assert_eq!(MetadataMerger.merge(&number, &text).unwrap_err().kind(), ErrorKind::InvalidTable);
    }
}
