//! Which given row matches which stored row: a hash join of their keys.

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};

use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::RowBatches;
use mortice_write::index::IncomingKeys;

/// Pairs that are compared at a time.
pub(super) const CHUNK_ROWS: usize = 1 << 16;

/// Numbers of given and of stored rows that have the same key, pair by pair.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    pub(super) given: Vec<u32>,
    pub(super) stored: Vec<u32>,
}

impl Matches {
    /// Joins given rows, by their keys, with stored rows, by their meta columns; by partition path, too, if wanted.
    pub(super) fn find(keys: &RowKeys, stored: &RowBatches, by_path: bool) -> Result<Self> {
        let incoming = IncomingKeys::new(keys, !by_path)?;
        let (mut matches, mut place) = (Self::default(), 0_u32);
        let too_many = || Error::unsupported("a merge with more than 4,294,967,295 stored rows; merge in parts");
        for batch in stored.batches() {
            let paths = strings(batch, meta_columns::PARTITION_PATH)?;
            for (key, path) in strings(batch, meta_columns::RECORD_KEY)?.iter().zip(paths) {
                let (Some(key), Some(path)) = (key, path) else {
                    return Err(Error::internal("a stored row of a merge without record key or partition path"));
                };
                if let Some(partition) = incoming.partition(path) {
                    for row in incoming.rows(partition, key) {
                        matches.given.push(row);
                        matches.stored.push(place);
                    }
                }
                place = place.checked_add(1).ok_or_else(too_many)?;
            }
        }
        Ok(matches)
    }

    /// The pairs in parts, as stretches of both lists.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.given.chunks(CHUNK_ROWS).zip(self.stored.chunks(CHUNK_ROWS))
    }
}

/// A column of strings.
pub(super) fn strings<'a>(rows: &'a RecordBatch, name: &str) -> Result<&'a StringArray> {
    let column = rows.column_by_name(name).and_then(|column| column.as_string_opt());
    column.ok_or_else(|| Error::internal(format!("rows of a merge without strings in {name:?}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;
    use mortice_merge::spill::RowMemory;

    fn matches(keys: &[(&str, &str)], stored: &[(&str, &str)], by_path: bool) -> Matches {
        let keys_of = |rows: &[(&str, &str)]| StringArray::from_iter_values(rows.iter().map(|row| row.0));
        let paths_of = |rows: &[(&str, &str)]| StringArray::from_iter_values(rows.iter().map(|row| row.1));
        let keys = RowKeys { record_keys: keys_of(keys), partitions: paths_of(keys) };
        let batch = RecordBatch::try_from_iter([
            (meta_columns::RECORD_KEY, Arc::new(keys_of(stored)) as ArrayRef),
            (meta_columns::PARTITION_PATH, Arc::new(paths_of(stored))),
        ]);
        let batch = batch.unwrap();
        let stored = RowBatches::new(batch.schema(), vec![batch.clone(), batch], RowMemory::unlimited());
        Matches::find(&keys, &stored, by_path).unwrap()
    }

    #[test]
    fn each_stored_row_matches_the_given_rows_of_its_key() {
        let stored = [("a", "x"), ("b", "x"), ("a", "y")];
        let found = matches(&[("c", "x"), ("a", "x")], &stored, true);
        assert_eq!(found, Matches { given: vec![1, 1], stored: vec![0, 3] });
        let found = matches(&[("a", ""), ("b", ""), ("a", "")], &stored, false);
        assert_eq!(found.given, [0, 2, 1, 0, 2, 0, 2, 1, 0, 2]);
        assert_eq!(found.stored, [0, 0, 1, 2, 2, 3, 3, 4, 5, 5]);
        assert_eq!(matches(&[("a", "z")], &stored, true), Matches::default());
    }
}
