//! What options say of the metadata table.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::partition_kind::PartitionKind;
use super::records::indexed_columns::ColumnChoice;
use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

/// Options of the metadata table. What is not given depends on the table, and on the partitions that it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataOptions {
    files: Option<bool>,
    column_stats: Option<bool>,
    partition_stats: Option<bool>,
    record_index: Option<bool>,
    bloom_filters: Option<bool>,
    /// Secondary indexes that are asked for, or switched off, by the names of their partitions.
    secondary: BTreeMap<Arc<str>, bool>,
    /// The columns of secondary indexes that are created, by the names of their partitions.
    created: BTreeMap<String, String>,
    /// Whether partitions that cannot be maintained are dropped.
    pub(super) drops_unsupported: bool,
    /// Whether a metadata table that cannot be maintained is left as it is, and writes refuse it. Otherwise it is built
    /// again.
    keeps_unusable: bool,
    /// The columns with statistics.
    pub(super) columns: ColumnChoice,
}

impl MetadataOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Those of [`WriteOptions`].
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let asked = |kind: PartitionKind| option_of(&kind).map_or(Ok(None), |option| options.given_boolean(option));
        let list = options.given_text(option_names::METADATA_INDEX_COLUMN_STATS_COLUMN_LIST).unwrap_or_default();
        let most = option_names::METADATA_INDEX_COLUMN_STATS_MAX_COLUMNS_TO_INDEX;
        let most = options.is_given(most).then(|| options.integer(most)).transpose()?;
        Ok(Self {
            files: asked(PartitionKind::Files)?,
            column_stats: asked(PartitionKind::ColumnStats)?,
            partition_stats: asked(PartitionKind::PartitionStats)?,
            record_index: asked(PartitionKind::RecordIndex)?,
            bloom_filters: asked(PartitionKind::BloomFilters)?,
            secondary: BTreeMap::new(),
            created: BTreeMap::new(),
            drops_unsupported: options.boolean(option_names::METADATA_DROP_UNSUPPORTED)?,
            keeps_unusable: !options.boolean(option_names::METADATA_REBUILD_UNUSABLE)?,
            columns: ColumnChoice::new(list, most),
        })
    }

    /// Whether the table is to have a metadata table.
    pub(super) fn is_enabled(&self) -> bool {
        self.files.unwrap_or(true)
    }

    /// Whether a metadata table that cannot be maintained is built again; otherwise writes refuse it.
    pub(super) fn rebuilds_unusable(&self) -> bool {
        !self.keeps_unusable
    }

    /// Whether a partition is asked for, or switched off; none if nothing is said of it. `files` stands for all.
    pub(super) fn asked(&self, kind: &PartitionKind) -> Option<bool> {
        match kind {
            PartitionKind::Files => self.files,
            PartitionKind::ColumnStats => self.column_stats,
            PartitionKind::PartitionStats => self.partition_stats,
            PartitionKind::RecordIndex => self.record_index,
            PartitionKind::BloomFilters => self.bloom_filters,
            PartitionKind::SecondaryIndex(name) => self.secondary.get(name).copied(),
        }
    }

    /// Secondary indexes that are asked for.
    pub(super) fn secondary_indexes(&self) -> impl Iterator<Item = PartitionKind> {
        let asked = self.secondary.iter().filter(|(_, is_asked)| **is_asked);
        asked.map(|(name, _)| PartitionKind::SecondaryIndex(Arc::clone(name)))
    }

    /// The column of a secondary index that is created.
    pub(super) fn created_column(&self, name: &str) -> Option<&str> {
        self.created.get(name).map(String::as_str)
    }

    /// Asks for a partition, or switches it off. Returns what was said of it before.
    fn ask(&mut self, kind: &PartitionKind, value: bool) -> Option<bool> {
        match kind {
            PartitionKind::Files => self.files.replace(value),
            PartitionKind::ColumnStats => self.column_stats.replace(value),
            PartitionKind::PartitionStats => self.partition_stats.replace(value),
            PartitionKind::RecordIndex => self.record_index.replace(value),
            PartitionKind::BloomFilters => self.bloom_filters.replace(value),
            PartitionKind::SecondaryIndex(name) => self.secondary.insert(Arc::clone(name), value),
        }
    }

    /// The same, with what is said of partitions of which nothing was.
    pub(super) fn or(mut self, kinds: impl IntoIterator<Item = PartitionKind>, value: bool) -> Self {
        for kind in kinds {
            if self.asked(&kind).is_none() {
                self.ask(&kind, value);
            }
        }
        self
    }

    /// Options that add indexes and drop others, by the names of their partitions. A new secondary index is added with
    /// its column: `secondary_index_by_city(city)`.
    ///
    /// # Errors
    /// `InvalidArgument`, by name, for what is no index that can be maintained, and for `files`, which is no index.
    pub fn with_indexes(mut self, added: &[String], dropped: &[String]) -> Result<Self> {
        for (names, value) in [(added, true), (dropped, false)] {
            for name in names {
                let (name, column) = split_column(name);
                let kind =
                    PartitionKind::named(name).filter(|kind| *kind != PartitionKind::Files).ok_or_else(|| {
                        let known: Vec<&str> = PartitionKind::SINGLE.iter().skip(1).map(PartitionKind::folder).collect();
                        Error::invalid_argument(format!(
                            "{name:?} is not an index that can be added or dropped; supported: {}, secondary_index_… of a secondary index",
                            known.join(", ")
                        ))
                    })?;
                match (column, &kind) {
                    (None, _) => {}
                    (Some(column), PartitionKind::SecondaryIndex(_)) if value && !column.is_empty() => {
                        self.created.insert(name.to_owned(), column.to_owned());
                    }
                    (Some(column), _) => {
                        return Err(Error::invalid_argument(format!(
                            "the index {name} cannot be {} with the column {column:?}; only a new secondary index has one",
                            if value { "added" } else { "dropped" },
                        )));
                    }
                }
                if self.ask(&kind, value).is_some_and(|known| known != value) {
                    return Err(Error::invalid_argument(format!(
                        "the index {name} is to be added and dropped; leave one out{}",
                        option_of(&kind).map_or_else(String::new, |option| format!(", and option {option}"))
                    )));
                }
            }
        }
        Ok(self)
    }
}

/// The name of an index that is to be added, and its column, if one is given: `secondary_index_by_city(city)`.
#[must_use]
pub fn split_column(added: &str) -> (&str, Option<&str>) {
    match added.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((name, column)) => (name.trim(), Some(column.trim())),
        None => (added, None),
    }
}

/// The option that switches a partition on or off; none for those that are created by name.
fn option_of(kind: &PartitionKind) -> Option<WriteOption<option_names::OptionalBoolean>> {
    Some(match kind {
        PartitionKind::Files => option_names::METADATA_ENABLE,
        PartitionKind::ColumnStats => option_names::METADATA_INDEX_COLUMN_STATS_ENABLE,
        PartitionKind::PartitionStats => option_names::METADATA_INDEX_PARTITION_STATS_ENABLE,
        PartitionKind::RecordIndex => option_names::METADATA_GLOBAL_RECORD_LEVEL_INDEX_ENABLE,
        PartitionKind::BloomFilters => option_names::METADATA_INDEX_BLOOM_FILTER_ENABLE,
        PartitionKind::SecondaryIndex(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn given(options: &[(&str, &str)]) -> MetadataOptions {
        MetadataOptions::resolve(&WriteOptions::resolve(options.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn a_metadata_table_is_wanted_and_built_again_unless_options_say_otherwise() {
        assert_eq!(given(&[]), MetadataOptions::default());
        assert!(given(&[]).is_enabled() && given(&[]).rebuilds_unusable() && !given(&[]).drops_unsupported);
        assert!(!given(&[("hoodie.metadata.enable", "false")]).is_enabled());
        assert!(!given(&[(option_names::METADATA_REBUILD_UNUSABLE.name(), "false")]).rebuilds_unusable());
        assert!(given(&[(option_names::METADATA_DROP_UNSUPPORTED.name(), "true")]).drops_unsupported);
    }

    #[test]
    fn indexes_are_added_and_dropped_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let options = given(&[]).with_indexes(&names(&["record_index"]), &names(&["bloom_filters"])).unwrap();
        let [record_index, bloom_filters] =
            [PartitionKind::RecordIndex, PartitionKind::BloomFilters].map(|kind| option_of(&kind).unwrap());
        assert_eq!(options, given(&[(record_index.name(), "true"), (bloom_filters.name(), "false")]));
        for (added, dropped, word) in [
            (&["files"][..], &[][..], "files"),
            (&["none"], &[], "none"),
            (&["column_stats"], &["column_stats"], "added and dropped"),
        ] {
            let error = given(&[]).with_indexes(&names(added), &names(dropped)).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(word), "{error}");
        }
        let contradiction = given(&[(bloom_filters.name(), "false")]).with_indexes(&names(&["bloom_filters"]), &[]);
        assert!(contradiction.unwrap_err().to_string().contains(bloom_filters.name()));
    }
}
