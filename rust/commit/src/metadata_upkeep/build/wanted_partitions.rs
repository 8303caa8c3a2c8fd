//! Which partitions a metadata table gets: a new one those of Hudi 1.2 on Spark, or what options say; one that is there
//! those that options ask for, and without those that they switch off.
//!
//! | partition | option | default |
//! |---|---|---|
//! | all | `hoodie.metadata.enable` | true |
//! | `column_stats` | `hoodie.metadata.index.column.stats.enable` | true from table version 8 on |
//! | `partition_stats` | `hoodie.metadata.index.partition.stats.enable` | as `column_stats`, of partitioned tables from version 8 on |
//! | `record_index` | `hoodie.metadata.global.record.level.index.enable`, `hoodie.metadata.record.index.enable` | false |
//! | `bloom_filters` | `hoodie.metadata.index.bloom.filter.enable` | false |
//!
//! Tables of version 6 get `files` alone, as from Hudi 0.15: it drops partitions that its own options do not enable. So
//! do tables whose base files are not parquet, and those that were bootstrapped: their files have no statistics.

use crate::metadata_upkeep::options::MetadataOptions;
use crate::metadata_upkeep::partition_kind::{ListedPartitions, PartitionKind};
use mortice_base::error::{Error, Result};
use mortice_merge::config::{TableConfig, TimelineLayout};

/// The partitions of a new metadata table, in the order in which they are initialised.
pub(in crate::metadata_upkeep) fn wanted_partitions(
    table: &TableConfig,
    options: &MetadataOptions,
) -> Result<Vec<PartitionKind>> {
    let is_1x = table.layout() == TimelineLayout::V2;
    let has_statistics = table.base_file_format == "PARQUET" && !table.is_bootstrapped();
    let column_stats = options.asked(&PartitionKind::ColumnStats).unwrap_or(is_1x) && has_statistics;
    let is_partitioned = !table.partition_fields.is_empty();
    let partition_stats = options.asked(&PartitionKind::PartitionStats).unwrap_or(column_stats)
        && column_stats
        && is_1x
        && is_partitioned;
    let mut secondary = options.secondary_indexes().peekable();
    let has_secondary = secondary.peek().is_some() && is_1x;
    // Queries find the rows of a secondary index through the record index.
    let record_index = options.asked(&PartitionKind::RecordIndex).unwrap_or(has_secondary);
    if has_secondary && !record_index {
        return Err(Error::invalid_argument(
            "a secondary index needs the record index: drop the secondary indexes before it",
        ));
    }
    let bloom_filters = options.asked(&PartitionKind::BloomFilters).unwrap_or(false);
    if (record_index || bloom_filters) && !table.populate_meta_fields {
        return Err(Error::unsupported(
            "a record index or Bloom filters in the metadata table of a table without meta columns (hoodie.populate.meta.fields=false)",
        ));
    }
    let is_wanted = |kind: &PartitionKind| match kind {
        PartitionKind::Files => true,
        PartitionKind::ColumnStats => column_stats,
        PartitionKind::BloomFilters => bloom_filters,
        PartitionKind::RecordIndex => record_index,
        PartitionKind::SecondaryIndex(_) => has_secondary,
        PartitionKind::PartitionStats => partition_stats,
    };
    let mut wanted: Vec<PartitionKind> = PartitionKind::SINGLE.into_iter().chain(secondary).filter(is_wanted).collect();
    wanted.sort_unstable();
    Ok(wanted)
}

/// What options say of the partitions of a metadata table that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct PartitionChanges {
    /// Those to add, in the order in which they are initialised.
    pub(in crate::metadata_upkeep) added: Vec<PartitionKind>,
    /// Those to drop.
    pub(in crate::metadata_upkeep) dropped: Vec<PartitionKind>,
}

/// The partitions that options switch on or off by name. Others stay as they are.
pub(in crate::metadata_upkeep) fn partition_changes(
    table: &TableConfig,
    options: &MetadataOptions,
    listed: &ListedPartitions,
) -> Result<PartitionChanges> {
    let wanted = wanted_partitions(table, options)?;
    let has_column_stats =
        options.asked(&PartitionKind::ColumnStats).unwrap_or(listed.known.contains(&PartitionKind::ColumnStats));
    let is_added = |kind: &PartitionKind| {
        let is_asked = match kind {
            PartitionKind::Files => false,
            // The statistics of partitions come with those of files, and not without them.
            PartitionKind::PartitionStats => {
                has_column_stats && options.asked(kind).or(options.asked(&PartitionKind::ColumnStats)) == Some(true)
            }
            PartitionKind::RecordIndex => {
                options.asked(kind) == Some(true) || options.secondary_indexes().next().is_some()
            }
            _ => options.asked(kind) == Some(true),
        };
        is_asked && wanted.contains(kind) && !listed.known.contains(kind)
    };
    let is_dropped = |kind: &PartitionKind| {
        let is_asked = match kind {
            PartitionKind::Files => false,
            PartitionKind::PartitionStats => !has_column_stats || options.asked(kind) == Some(false),
            _ => options.asked(kind) == Some(false),
        };
        is_asked && listed.known.contains(kind)
    };
    let added = wanted.iter().filter(|kind| is_added(kind)).cloned().collect();
    let dropped: Vec<PartitionKind> = listed.known.iter().filter(|kind| is_dropped(kind)).cloned().collect();
    let is_left = |name: &&str| !dropped.iter().any(|kind| kind.folder() == *name);
    if let Some(name) =
        listed.secondary_indexes().find(is_left).filter(|_| dropped.contains(&PartitionKind::RecordIndex))
    {
        return Err(Error::invalid_argument(format!(
            "the index {name} needs the record index, which is to be dropped; drop {name} first"
        )));
    }
    Ok(PartitionChanges { added, dropped })
}

/// Options by which a new metadata table gets the partitions that a table has, unless `options` say otherwise: none if
/// the table has no metadata table.
pub(in crate::metadata_upkeep) fn options_for(options: &MetadataOptions, listed: &ListedPartitions) -> MetadataOptions {
    let others = PartitionKind::SINGLE.into_iter().filter(|kind| !listed.known.contains(kind));
    options_with(options, listed).or(others, false)
}

/// Options by which a metadata table gets these partitions, unless `options` say otherwise.
pub(in crate::metadata_upkeep) fn options_with(
    options: &MetadataOptions,
    listed: &ListedPartitions,
) -> MetadataOptions {
    options.clone().or(listed.known.iter().cloned(), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;
    use mortice_merge::config::{Properties, WriteOptions};

    const COLUMN_STATS: &str = "hoodie.metadata.index.column.stats.enable";
    const PARTITION_STATS: &str = "hoodie.metadata.index.partition.stats.enable";
    const RECORD_INDEX: &str = "hoodie.metadata.global.record.level.index.enable";
    const BLOOM_FILTERS: &str = "hoodie.metadata.index.bloom.filter.enable";

    fn wanted(version: &str, partition: &str, options: &[(&str, &str)]) -> Result<Vec<String>> {
        let entries = [
            ("hoodie.table.name", "t"),
            ("hoodie.table.version", version),
            ("hoodie.table.partition.fields", partition),
        ];
        let table = TableConfig::from_properties(entries.into_iter().collect::<Properties>())?;
        let options = MetadataOptions::resolve(&WriteOptions::resolve(options.iter().copied())?)?;
        Ok(wanted_partitions(&table, &options)?.into_iter().map(|kind| kind.folder().to_owned()).collect())
    }

    #[test]
    fn defaults_are_those_of_hudi_on_spark() {
        assert_eq!(wanted("9", "p", &[]).unwrap(), ["files", "column_stats", "partition_stats"]);
        assert_eq!(wanted("8", "", &[]).unwrap(), ["files", "column_stats"]);
        assert_eq!(wanted("6", "p", &[]).unwrap(), ["files"]);
    }

    #[test]
    fn options_choose() {
        let all = [("hoodie.metadata.record.index.enable", "true"), (BLOOM_FILTERS, "TRUE")];
        let expected = ["files", "column_stats", "bloom_filters", "record_index", "partition_stats"];
        assert_eq!(wanted("9", "p", &all).unwrap(), expected);
        assert_eq!(wanted("9", "p", &[(COLUMN_STATS, "false")]).unwrap(), ["files"]);
        assert_eq!(wanted("9", "p", &[(PARTITION_STATS, "false")]).unwrap(), ["files", "column_stats"]);
        assert_eq!(wanted("6", "p", &[(COLUMN_STATS, "true")]).unwrap(), ["files", "column_stats"]);
        assert_eq!(wanted("9", "p", &[(COLUMN_STATS, "yes")]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    fn table(version: &str, more: &[(&str, &str)]) -> TableConfig {
        let entries =
            [("hoodie.table.name", "t"), ("hoodie.table.version", version), ("hoodie.table.partition.fields", "p")];
        let entries = entries.into_iter().chain(more.iter().copied());
        TableConfig::from_properties(entries.collect::<Properties>()).unwrap()
    }

    fn listed(names: &str) -> ListedPartitions {
        let entries = [("hoodie.table.metadata.partitions", names)];
        ListedPartitions::of_properties(&entries.into_iter().collect::<Properties>())
    }

    fn given(options: &[(&str, &str)]) -> MetadataOptions {
        MetadataOptions::resolve(&WriteOptions::resolve(options.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn only_what_options_name_is_added_or_dropped() {
        let changes = |options: &[(&str, &str)], names: &str| {
            let found = partition_changes(&table("9", &[]), &given(options), &listed(names)).unwrap();
            [found.added, found.dropped]
                .map(|kinds| kinds.into_iter().map(|kind| kind.folder().to_owned()).collect::<Vec<_>>())
        };
        let none: Vec<String> = Vec::new();
        assert_eq!(changes(&[], "files"), [none.clone(), none.clone()]);
        assert_eq!(changes(&[], "files,column_stats,partition_stats,record_index"), [none.clone(), none.clone()]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let both = names(&["column_stats", "partition_stats"]);
        assert_eq!(changes(&[(COLUMN_STATS, "true")], "files"), [both.clone(), none.clone()]);
        let all = "files,column_stats,partition_stats";
        assert_eq!(changes(&[(COLUMN_STATS, "false")], all), [none.clone(), both]);
        assert_eq!(changes(&[(PARTITION_STATS, "false")], all), [none.clone(), names(&["partition_stats"])]);
        // Without statistics of files they would be dropped by the next write, and added by the one after it.
        assert_eq!(changes(&[(PARTITION_STATS, "true")], "files"), [none.clone(), none.clone()]);
        for name in [RECORD_INDEX, "hoodie.metadata.record.index.enable"] {
            assert_eq!(changes(&[(name, "true")], "files"), [names(&["record_index"]), none.clone()], "{name}");
            assert_eq!(changes(&[(name, "false")], "files,record_index"), [none.clone(), names(&["record_index"])]);
            assert_eq!(changes(&[(name, "true")], "files,record_index"), [none.clone(), none.clone()], "{name}");
        }
    }

    #[test]
    fn a_table_that_cannot_have_an_index_is_not_given_one() {
        let wanted = |more: &[(&str, &str)], options: &[(&str, &str)]| {
            let found = wanted_partitions(&table("9", more), &given(options))?;
            Ok::<_, Error>(found.into_iter().map(|kind| kind.folder().to_owned()).collect::<Vec<_>>())
        };
        let asked = [(COLUMN_STATS, "true"), (PARTITION_STATS, "true")];
        assert_eq!(wanted(&[("hoodie.table.base.file.format", "ORC")], &asked).unwrap(), ["files"]);
        let without_meta = [("hoodie.populate.meta.fields", "false")];
        for option in [RECORD_INDEX, BLOOM_FILTERS] {
            let error = wanted(&without_meta, &[(option, "true")]).unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("meta columns"), "{error}");
        }
        assert!(wanted(&without_meta, &[]).is_ok());
    }

    /// A metadata table that was deleted is built again with the partitions that it had.
    #[test]
    fn a_new_metadata_table_has_the_partitions_of_the_old_one() {
        let again = |options: &[(&str, &str)], names: &str| {
            let options = options_for(&given(options), &listed(names));
            let found = wanted_partitions(&table("9", &[]), &options).unwrap();
            found.into_iter().map(|kind| kind.folder().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(again(&[], "files"), ["files"]);
        assert_eq!(again(&[], "files,record_index"), ["files", "record_index"]);
        assert_eq!(again(&[(COLUMN_STATS, "true")], "files,record_index"), ["files", "column_stats", "record_index"]);
        assert_eq!(again(&[("hoodie.metadata.record.index.enable", "false")], "files,record_index"), ["files"]);
    }
}
