//! Partitions of a catalog. Values of a partition path are as Hudi's extractors make them
//! (`org.apache.hudi.sync.common.model.PartitionValueExtractor`).

use std::collections::{BTreeMap, BTreeSet};

use mortice_base::error::{Error, Result};
use mortice_base::names::decode_percent_codes;

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The values of its columns.
    pub values: Vec<String>,
    /// Its location.
    pub location: String,
}

/// One of Hudi's classes that make partition values of a partition path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extractor {
    MultiPartKeys,
    SinglePart,
    HiveStyle,
    NonPartitioned,
    SlashEncodedDay,
    SlashEncodedHour,
}

const EXTRACTORS: [(&str, Extractor); 6] = [
    ("MultiPartKeysValueExtractor", Extractor::MultiPartKeys),
    ("SinglePartPartitionValueExtractor", Extractor::SinglePart),
    ("HiveStylePartitionValueExtractor", Extractor::HiveStyle),
    ("NonPartitionedExtractor", Extractor::NonPartitioned),
    ("SlashEncodedDayPartitionValueExtractor", Extractor::SlashEncodedDay),
    ("SlashEncodedHourPartitionValueExtractor", Extractor::SlashEncodedHour),
];

impl Extractor {
    /// Returns the extractor of a class, by its full or simple name.
    ///
    /// # Errors
    /// `Unsupported` for another class, of the option `option`.
    pub(crate) fn parse(option: &str, class: &str) -> Result<Self> {
        let simple = class.rsplit('.').next().unwrap_or(class);
        EXTRACTORS.iter().find(|(name, _)| *name == simple).map(|(_, one)| *one).ok_or_else(|| {
            let known = EXTRACTORS.map(|(name, _)| name).join(", ");
            Error::unsupported(format!("{option}={class} is not supported; use one of {known}"))
        })
    }

    /// The extractor that Hudi infers for a number of partition fields.
    pub(crate) fn inferred(fields: usize, hive_style: bool) -> Self {
        match fields {
            0 => Self::NonPartitioned,
            1 if hive_style => Self::HiveStyle,
            1 => Self::SinglePart,
            _ => Self::MultiPartKeys,
        }
    }

    fn name(self) -> &'static str {
        EXTRACTORS.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// Returns the values of the partition columns of a partition.
    ///
    /// # Errors
    /// `InvalidArgument` if the path has another form than the extractor expects, or other than `fields` values.
    pub(crate) fn values(self, path: &str, fields: usize, decodes: bool) -> Result<Vec<String>> {
        let shown = if decodes { decode_percent_codes(path) } else { path.to_owned() };
        let parts: Vec<&str> = shown.split('/').collect();
        let days = |wanted: usize| {
            if parts.len() != wanted {
                let message = format!("{} expects {wanted} parts, the partition is '{path}'", self.name());
                return Err(Error::invalid_argument(message));
            }
            let plain = |part: &&str| match part.split_once('=') {
                Some((_, value)) if !value.is_empty() => value.to_owned(),
                _ => (*part).to_owned(),
            };
            Ok(vec![parts.iter().map(plain).collect::<Vec<_>>().join("-")])
        };
        match self {
            Self::NonPartitioned => return Ok(Vec::new()),
            Self::SinglePart => return Ok(vec![shown]),
            Self::SlashEncodedDay => return days(3),
            Self::SlashEncodedHour => return days(4),
            Self::HiveStyle if parts.len() != 1 || !shown.contains('=') => {
                let message = format!("{} expects COLUMN=VALUE, the partition is '{path}'", self.name());
                return Err(Error::invalid_argument(message));
            }
            Self::HiveStyle | Self::MultiPartKeys => {}
        }
        if parts.len() != fields {
            return Err(Error::invalid_argument(format!(
                "the partition '{path}' has {} parts, and there are {fields} partition columns; \
                 hoodie.datasource.hive_sync.partition_extractor_class names another way to read it",
                parts.len()
            )));
        }
        Ok(parts.iter().map(|part| part.split_once('=').map_or(*part, |(_, value)| value).to_owned()).collect())
    }
}

/// What a sync changes of the partitions of a table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PartitionChanges {
    /// The partitions to drop: those that are gone, and those that are elsewhere now.
    pub gone: Vec<Partition>,
    /// The partitions to add after it.
    pub new: Vec<Partition>,
}

/// Compares the partitions that a catalog has with those of the table.
#[must_use]
pub fn partition_changes(stored: Vec<Partition>, wanted: Vec<Partition>) -> PartitionChanges {
    let by_values = |all: &[Partition]| -> BTreeMap<Vec<String>, String> {
        all.iter().map(|one| (one.values.clone(), plain_location(&one.location))).collect()
    };
    let (there, asked) = (by_values(&stored), by_values(&wanted));
    let is_same = |one: &Partition| {
        there.get(&one.values).zip(asked.get(&one.values)).is_some_and(|(stored, wanted)| stored == wanted)
    };
    let gone = stored.into_iter().filter(|one| !is_same(one)).collect();
    // A catalog has one partition of the same values.
    let mut added = BTreeSet::new();
    let new = wanted.into_iter().filter(|one| !is_same(one) && added.insert(one.values.clone())).collect();
    PartitionChanges { gone, new }
}

/// A location as all catalogs would have it: a metastore puts `file:` before local paths, and Glue knows `s3` only.
fn plain_location(location: &str) -> String {
    if let Some(path) = location.strip_prefix("file:") {
        return format!("/{}", path.trim_matches('/'));
    }
    let of_hadoop = ["s3a://", "s3n://"].into_iter().find_map(|scheme| location.strip_prefix(scheme));
    let location = of_hadoop.map_or_else(|| location.to_owned(), |rest| format!("s3://{rest}"));
    location.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_hudis_extractors() {
        for (extractor, path, fields, decodes, values) in [
            (Extractor::SinglePart, "a%2Fb", 1, true, &["a/b"][..]),
            (Extractor::SinglePart, "a%2Fb", 1, false, &["a%2Fb"]),
            (Extractor::HiveStyle, "city=oslo", 1, false, &["oslo"]),
            (Extractor::MultiPartKeys, "city=oslo/2024", 2, false, &["oslo", "2024"]),
            (Extractor::SlashEncodedDay, "y=2024/01/02", 1, false, &["2024-01-02"]),
            (Extractor::SlashEncodedHour, "2024/01/02/03", 1, false, &["2024-01-02-03"]),
            (Extractor::NonPartitioned, "", 0, false, &[]),
        ] {
            assert_eq!(extractor.values(path, fields, decodes).unwrap(), values);
        }
        for (extractor, path, fields, message) in [
            (Extractor::SlashEncodedDay, "2024/01", 1, "expects 3 parts, the partition is '2024/01'"),
            (Extractor::HiveStyle, "oslo", 1, "expects COLUMN=VALUE"),
            (Extractor::MultiPartKeys, "a/b", 3, "has 2 parts, and there are 3 partition columns"),
        ] {
            let error = extractor.values(path, fields, false).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    #[test]
    fn partitions_that_moved_are_dropped_and_added() {
        let one = |value: &str, location: &str| Partition { values: vec![value.into()], location: location.into() };
        let stored = vec![one("a", "file:///t/a"), one("b", "s3://x/b"), one("c", "/t/c/"), one("d", "/old/d")];
        let wanted = vec![one("a", "/t/a"), one("b", "s3a://x/b"), one("d", "/t/d"), one("e", "/t/e")];
        let changes = partition_changes(stored, wanted);
        assert_eq!(changes.gone, [one("c", "/t/c/"), one("d", "/old/d")]);
        assert_eq!(changes.new, [one("d", "/t/d"), one("e", "/t/e")]);
    }
}
