//! Base files that cannot have given record keys, from the partition `bloom_filters` of the metadata table. A file
//! without a record, or with one of another file, may have any key.

use std::collections::{BTreeSet, HashMap};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StructArray};

use super::index_key::bloom_filter_key;
use super::open::{KEY, MetadataTable};
use mortice_base::error::{Error, Result};
use mortice_formats::bloom::{BloomFilter, BloomType};

/// The partition of the metadata table with the filters.
pub const BLOOM_FILTERS: &str = "bloom_filters";
const FILTER: &str = "BloomFilterMetadata";

impl MetadataTable {
    /// Returns, for each of some base files, whether it may have one of these record keys. Filters are read for a few
    /// files at a time: one may have 0.7 MB.
    ///
    /// Args:
    ///     files: The partitions and the names of base files.
    ///     keys: The record keys.
    ///
    /// # Errors
    /// `InvalidTable` for records without a filter; `CorruptLog` for filters that cannot be parsed; errors of reading
    /// the metadata table.
    pub fn may_have_keys(&self, files: &[(&str, &str)], keys: &BTreeSet<String>) -> Result<Vec<bool>> {
        let mut may_have = vec![true; files.len()];
        let places: HashMap<String, usize> =
            files.iter().zip(0..).map(|((partition, name), at)| (bloom_filter_key(partition, name), at)).collect();
        for batch in self.rows_of_keys(BLOOM_FILTERS, &[KEY, FILTER], &places.keys().cloned().collect())? {
            note(&batch, &places, keys, &mut may_have)?;
        }
        Ok(may_have)
    }
}

fn note(
    batch: &RecordBatch,
    places: &HashMap<String, usize>,
    keys: &BTreeSet<String>,
    may_have: &mut [bool],
) -> Result<()> {
    let misfit = || Error::invalid_table("records of the metadata table have no Bloom filter");
    let names = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
    let filters = batch.column_by_name(FILTER).and_then(|filters| filters.as_struct_opt()).ok_or_else(misfit)?;
    for (row, name) in names.iter().enumerate() {
        let place = name.and_then(|name| places.get(name)).and_then(|at| may_have.get_mut(*at));
        let Some(slot) = place.filter(|_| filters.is_valid(row)) else { continue };
        let Some(filter) = filter_in(filters, row)? else { continue };
        *slot = keys.iter().any(|key| filter.may_contain(key));
    }
    Ok(())
}

/// The filter of a record; none if it is marked as deleted.
fn filter_in(filters: &StructArray, row: usize) -> Result<Option<BloomFilter>> {
    let deleted = filters.column_by_name("isDeleted").and_then(|deleted| deleted.as_boolean_opt());
    if deleted.is_none_or(|deleted| deleted.is_null(row) || deleted.value(row)) {
        return Ok(None);
    }
    let kind = filters.column_by_name("type").and_then(|kind| kind.as_string_opt::<i32>());
    let bytes = filters.column_by_name("bloomFilter").and_then(|bytes| bytes.as_binary_opt::<i32>());
    let (Some(kind), Some(bytes)) = (kind, bytes) else { return Ok(None) };
    if kind.is_null(row) || bytes.is_null(row) {
        return Ok(None);
    }
    let text = std::str::from_utf8(bytes.value(row))
        .map_err(|error| Error::corrupt("invalid Bloom filter in the metadata table: not UTF-8").caused_by(error))?;
    BloomFilter::parse(text, BloomType::parse(kind.value(row))?).map(Some)
}
