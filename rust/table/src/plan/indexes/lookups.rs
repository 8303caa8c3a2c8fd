//! Leaves out file slices without the rows that a filter names by their keys or values.
//!
//! | filter | index | reads |
//! |---|---|---|
//! | `=` or `in` on the record key | record index | the file groups of the keys |
//! | the same, for keys that it does not have, or without it | Bloom filters | slices whose base file may have a key, and those with logs |
//! | `=` or `in` on a column with a secondary index | that, then the record index | the file groups of the record keys |
//!
//! A key that the record index does not have may be in the table: a delete in a log takes it out of the index, also if
//! the merge keeps the row, which has a greater ordering value.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::Schema;

use super::exact_values::ExactValues;
use super::uses::IndexUses;
use crate::file_group::FileSlice;
use crate::metadata_table::{
    BLOOM_FILTERS, IndexDefinitions, MetadataTable, RECORD_INDEX, SECONDARY_INDEX_PREFIX, StoredGroups,
};
use crate::plan::open_table::OpenTable;
use crate::plan::query_options::QueryOptions;
use crate::plan::slices::partition_filter::PartitionFilter;
use mortice_base::error::Result;
use mortice_merge::config::MergeSemantics;

/// The most rows that are looked up by a secondary index: more of them are in most file groups.
const MOST_ROWS: usize = 10_000;
/// Bloom filters that are read at most: one of 0.4 MB, decompressed, is more than the footer of a file.
const MOST_FILTERS: usize = 1_000;

/// A query whose rows are looked up.
pub(in crate::plan) struct KeyLookup<'a> {
    /// The columns of the table.
    pub(in crate::plan) types: &'a Schema,
    /// The options of the query.
    pub(in crate::plan) options: &'a QueryOptions,
    /// The filter on partitions.
    pub(in crate::plan) wanted: Option<&'a PartitionFilter>,
    /// Columns of which a row may have other values than its file.
    pub(in crate::plan) not_of_files: &'a [String],
    /// Whether the query is of the merged rows of the latest commit.
    pub(in crate::plan) is_latest: bool,
}

impl OpenTable {
    /// Leaves out slices by indexes of keys and values. Returns true if one of them was used.
    pub(in crate::plan) fn by_lookups(
        &self,
        slices: &mut Vec<Arc<FileSlice>>,
        lookup: &KeyLookup<'_>,
        uses: &mut IndexUses,
    ) -> Result<bool> {
        let names = &self.config.metadata_partitions;
        let is_index =
            |name: &String| name == RECORD_INDEX || name == BLOOM_FILTERS || name.starts_with(SECONDARY_INDEX_PREFIX);
        let is_asked = self.options.record_index && self.options.prune && self.options.metadata;
        if !is_asked || slices.len() < 2 || !names.iter().any(is_index) {
            return Ok(false);
        }
        let Some(values) = ExactValues::new(lookup.types, &lookup.options.filter)? else { return Ok(false) };
        let lister = self.lister();
        if let Some(keys) = values.record_keys(self) {
            if lookup.is_latest && lister.has(RECORD_INDEX) {
                return Ok(self.by_record_index(slices, &keys, lookup, uses));
            }
            return Ok(lister.has(BLOOM_FILTERS) && self.by_bloom_filters(slices, &BTreeSet::new(), &keys, uses));
        }
        let is_kept = lookup.options.merger.is_none() && self.options.semantics == MergeSemantics::V1x;
        if !lookup.is_latest || !is_kept || !lister.has(RECORD_INDEX) {
            return Ok(false);
        }
        Ok(self.by_secondary_indexes(slices, &values, lookup, uses))
    }

    fn by_record_index(
        &self,
        slices: &mut Vec<Arc<FileSlice>>,
        keys: &BTreeSet<String>,
        lookup: &KeyLookup<'_>,
        uses: &mut IndexUses,
    ) -> bool {
        let Some(found) = self.located("record index", keys, slices, lookup, uses) else { return false };
        if found.missing.is_empty() {
            uses.note("record index", format_args!("{} keys in {} file groups", keys.len(), found.groups.len()));
            slices.retain(|slice| found.groups.contains_key(&slice.file_id));
            return true;
        }
        let missing = format!("{} of {} keys are not in the index", found.missing.len(), keys.len());
        uses.not_used("record index", missing);
        let known = found.groups.into_keys().collect();
        self.lister().has(BLOOM_FILTERS) && self.by_bloom_filters(slices, &known, &found.missing, uses)
    }

    /// Returns the file groups of keys, if all of them can be believed.
    fn located(
        &self,
        index: &str,
        keys: &BTreeSet<String>,
        slices: &[Arc<FileSlice>],
        lookup: &KeyLookup<'_>,
        uses: &mut IndexUses,
    ) -> Option<StoredGroups> {
        let metadata = self.index_of(index, RECORD_INDEX, uses)?;
        let found = match metadata.groups_of_keys(keys) {
            Ok(found) => found,
            Err(error) => {
                uses.failed(index, &error);
                return None;
            }
        };
        let known: BTreeSet<&str> = slices.iter().map(|slice| slice.file_id.as_str()).collect();
        let is_pruned = |partition: &str| {
            lookup.wanted.is_some_and(|wanted| wanted.may_match(&[partition]).is_ok_and(|may| !may.contains(&true)))
        };
        let gone =
            found.groups.iter().find(|(group, partition)| !known.contains(group.as_str()) && !is_pruned(partition));
        if let Some((group, _)) = gone {
            uses.not_used(index, format_args!("a key is in file group {group}, which the query does not read"));
            return None;
        }
        Some(found)
    }

    /// Returns the metadata table, if one of its indexes can be used.
    pub(super) fn index_of(&self, index: &str, partition: &str, uses: &mut IndexUses) -> Option<&MetadataTable> {
        let metadata = match self.metadata_table() {
            Ok(metadata) => metadata,
            Err(error) => {
                uses.not_used(index, error);
                return None;
            }
        };
        match metadata.check_index(partition) {
            Ok(None) => return Some(metadata),
            Ok(Some(why)) => uses.not_used(index, why),
            Err(error) => uses.failed(index, &error),
        }
        None
    }

    fn by_secondary_indexes(
        &self,
        slices: &mut Vec<Arc<FileSlice>>,
        values: &ExactValues<'_>,
        lookup: &KeyLookup<'_>,
        uses: &mut IndexUses,
    ) -> bool {
        let names = self.config.metadata_partitions.iter().filter(|name| name.starts_with(SECONDARY_INDEX_PREFIX));
        let names: Vec<&String> = names.collect();
        if names.is_empty() {
            return false;
        }
        let definitions = match IndexDefinitions::load(self.storage.as_ref()) {
            Ok(definitions) => definitions,
            Err(error) => {
                uses.failed("secondary index", &error);
                return false;
            }
        };
        names.into_iter().any(|name| {
            let (column, version) = match definitions.secondary_index(name) {
                Ok(defined) => defined,
                Err(error) => {
                    uses.failed(name, &error);
                    return false;
                }
            };
            let first = column.split('.').next().unwrap_or(column);
            let is_of_files = !lookup.not_of_files.iter().any(|name| name == first);
            let Some(wanted) = values.of_path(column).filter(|_| is_of_files) else { return false };
            let Some(metadata) = self.index_of(name, name, uses) else { return false };
            let keys = match metadata.keys_of_values(name, version, &wanted, MOST_ROWS) {
                Ok(Some(keys)) => keys,
                Ok(None) => {
                    uses.not_used(name, format_args!("more than {MOST_ROWS} rows have the values"));
                    return false;
                }
                Err(error) => {
                    uses.failed(name, &error);
                    return false;
                }
            };
            let Some(found) = self.located(name, &keys, slices, lookup, uses) else { return false };
            if !found.missing.is_empty() {
                let missing = format!("{} of {} keys are not in the record index", found.missing.len(), keys.len());
                uses.not_used(name, missing);
                return false;
            }
            uses.note(name, format_args!("{} keys in {} file groups", keys.len(), found.groups.len()));
            slices.retain(|slice| found.groups.contains_key(&slice.file_id));
            true
        })
    }

    /// Leaves out slices whose base file cannot have one of these keys, except for those of `known` file groups and
    /// those with logs, which may have further keys.
    fn by_bloom_filters(
        &self,
        slices: &mut Vec<Arc<FileSlice>>,
        known: &BTreeSet<String>,
        keys: &BTreeSet<String>,
        uses: &mut IndexUses,
    ) -> bool {
        let is_judged = |slice: &FileSlice| slice.log_files.is_empty() && !known.contains(&slice.file_id);
        let judged = slices.iter().filter(|slice| is_judged(slice));
        let files: Vec<(&str, &str)> =
            judged.filter_map(|slice| Some((slice.partition.as_str(), slice.base_file.as_ref()?.name()))).collect();
        if files.len() > MOST_FILTERS {
            uses.not_used("bloom filters", format_args!("of {} files, which are too many to read", files.len()));
            return false;
        }
        let found = match self.metadata_table() {
            Ok(metadata) => metadata.may_have_keys(&files, keys),
            Err(error) => {
                uses.not_used("bloom filters", error);
                return false;
            }
        };
        match found {
            Ok(may_have) => {
                let mut may_have = may_have.into_iter();
                let all = slices.len();
                slices
                    .retain(|slice| !is_judged(slice) || slice.base_file.is_none() || may_have.next().unwrap_or(true));
                uses.note("bloom filters", format_args!("{} of {all} file slices left out", all - slices.len()));
                true
            }
            Err(error) => {
                uses.failed("bloom filters", &error);
                false
            }
        }
    }
}
