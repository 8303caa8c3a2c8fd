//! What options say of the metadata table.

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
        let asked = |kind| options.given_boolean(option_of(kind));
        let list = options.given_text(option_names::METADATA_INDEX_COLUMN_STATS_COLUMN_LIST).unwrap_or_default();
        let most = option_names::METADATA_INDEX_COLUMN_STATS_MAX_COLUMNS_TO_INDEX;
        let most = options.is_given(most).then(|| options.integer(most)).transpose()?;
        Ok(Self {
            files: asked(PartitionKind::Files)?,
            column_stats: asked(PartitionKind::ColumnStats)?,
            partition_stats: asked(PartitionKind::PartitionStats)?,
            record_index: asked(PartitionKind::RecordIndex)?,
            bloom_filters: asked(PartitionKind::BloomFilters)?,
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
    pub(super) fn asked(&self, kind: PartitionKind) -> Option<bool> {
        match kind {
            PartitionKind::Files => self.files,
            PartitionKind::ColumnStats => self.column_stats,
            PartitionKind::PartitionStats => self.partition_stats,
            PartitionKind::RecordIndex => self.record_index,
            PartitionKind::BloomFilters => self.bloom_filters,
        }
    }

    fn asked_mut(&mut self, kind: PartitionKind) -> &mut Option<bool> {
        match kind {
            PartitionKind::Files => &mut self.files,
            PartitionKind::ColumnStats => &mut self.column_stats,
            PartitionKind::PartitionStats => &mut self.partition_stats,
            PartitionKind::RecordIndex => &mut self.record_index,
            PartitionKind::BloomFilters => &mut self.bloom_filters,
        }
    }

    /// The same, with what is said of partitions of which nothing was.
    pub(super) fn or(mut self, kinds: impl IntoIterator<Item = PartitionKind>, value: bool) -> Self {
        for kind in kinds {
            self.asked_mut(kind).get_or_insert(value);
        }
        self
    }

    /// Options that add indexes and drop others, by the names of their partitions.
    ///
    /// # Errors
    /// `InvalidArgument`, by name, for what is no index that can be maintained, and for `files`, which is no index.
    pub fn with_indexes(mut self, added: &[String], dropped: &[String]) -> Result<Self> {
        for (names, value) in [(added, true), (dropped, false)] {
            for name in names {
                let kind =
                    PartitionKind::named(name).filter(|kind| *kind != PartitionKind::Files).ok_or_else(|| {
                        let known: Vec<&str> = PartitionKind::ALL.iter().skip(1).map(|kind| kind.folder()).collect();
                        Error::invalid_argument(format!(
                            "{name:?} is not an index that can be added or dropped; supported: {}",
                            known.join(", ")
                        ))
                    })?;
                if self.asked_mut(kind).replace(value).is_some_and(|known| known != value) {
                    return Err(Error::invalid_argument(format!(
                        "the index {name} is to be added and dropped; leave one out, and option {}",
                        option_of(kind)
                    )));
                }
            }
        }
        Ok(self)
    }
}

/// The option that switches a partition on or off.
fn option_of(kind: PartitionKind) -> WriteOption<option_names::OptionalBoolean> {
    match kind {
        PartitionKind::Files => option_names::METADATA_ENABLE,
        PartitionKind::ColumnStats => option_names::METADATA_INDEX_COLUMN_STATS_ENABLE,
        PartitionKind::PartitionStats => option_names::METADATA_INDEX_PARTITION_STATS_ENABLE,
        PartitionKind::RecordIndex => option_names::METADATA_GLOBAL_RECORD_LEVEL_INDEX_ENABLE,
        PartitionKind::BloomFilters => option_names::METADATA_INDEX_BLOOM_FILTER_ENABLE,
    }
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
        let [record_index, bloom_filters] = [PartitionKind::RecordIndex, PartitionKind::BloomFilters].map(option_of);
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
