//! The record keys of rows with given values, from a partition `secondary_index_…` of the metadata table
//! (`SecondaryIndexSupport`).
//!
//! A key of the index begins with a value; the rest is a record key (`secondary_key`). So the rows of a value are those
//! with a prefix.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;

use super::open::{KEY, KeyPrefixes, MetadataTable, SelectedRows};
use super::secondary_key::{SecondaryIndexVersion, split_secondary_key, value_prefix};
use mortice_base::error::{Error, Result};

/// What the names of partitions with secondary indexes begin with.
pub const SECONDARY_INDEX_PREFIX: &str = "secondary_index_";

impl MetadataTable {
    /// Returns the record keys of the rows that have one of these values, none of which is null; `None` if there are
    /// more than `most`. The index must have been checked ([`MetadataTable::check_index`]).
    ///
    /// # Errors
    /// `InvalidTable` if a key of the index has no value; errors of reading the metadata table.
    pub fn keys_of_values(
        &self,
        index: &str,
        version: SecondaryIndexVersion,
        values: &BTreeSet<String>,
        most: usize,
    ) -> Result<Option<BTreeSet<String>>> {
        let prefixes: BTreeSet<String> = values.iter().map(|value| value_prefix(Some(value))).collect();
        let are_hashed = version == SecondaryIndexVersion::V2;
        let rows = SelectedRows::Prefixes(KeyPrefixes { prefixes: &prefixes, are_hashed });
        let (found, is_over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
        let read = self.for_each_batch(index, rows, &[KEY], &|batch| {
            let misfit = || Error::invalid_table(format!("invalid index {index}: a record has no key"));
            let keys = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            for key in keys {
                let Some((Some(value), record_key)) = key.and_then(split_secondary_key) else { return Err(misfit()) };
                if values.contains(&*value) {
                    found.insert(record_key.into_owned());
                }
            }
            if found.len() > most {
                is_over.store(true, Ordering::Relaxed);
                return Err(Error::internal("too many keys"));
            }
            Ok(())
        });
        if is_over.into_inner() {
            return Ok(None);
        }
        read.map(|()| Some(found.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }
}
