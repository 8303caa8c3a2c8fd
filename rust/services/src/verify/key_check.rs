//! Compares the places of record keys: keys of several rows, and what the record index says of rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::file_group_numbers::FileGroupNumbers;
use super::findings::{Finding, FindingKind};
use super::sorted_keys::{KeyPlace, Origin};
use super::stored_files::joined;
use mortice_base::error::{Error, Result};

/// Findings of a kind, at most; those beyond are counted.
const MOST_FINDINGS: usize = 100;

/// What a record index has one location of a key for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexScope {
    /// The table.
    Table,
    /// Each partition.
    Partition,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyComparison {
    /// Whether a key is to be unique in the table, not in its partition.
    pub is_global: bool,
    /// The record index; none if there is none, or it is not compared.
    pub index: Option<IndexScope>,
    /// Whether writers leave keys in the index that no row has.
    pub leaves_stale_keys: bool,
}

/// What was found of keys: the findings of each kind of the first keys, and how many there are besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFindings {
    /// Findings with their keys, in the order of the keys.
    found: BTreeMap<FindingKind, Vec<(String, Finding)>>,
    further: BTreeMap<FindingKind, u64>,
}

impl KeyFindings {
    /// Adds a finding of a key that is not less than those before.
    fn add(&mut self, key: &str, finding: Finding) -> Result<()> {
        let of_kind = self.found.entry(finding.kind).or_default();
        if of_kind.len() < MOST_FINDINGS {
            of_kind.push((key.to_owned(), finding));
            return Ok(());
        }
        self.count_further(finding.kind, 1)
    }

    fn count_further(&mut self, kind: FindingKind, count: u64) -> Result<()> {
        let further = self.further.entry(kind).or_default();
        *further = further.checked_add(count).ok_or_else(|| Error::internal("too many findings to count"))?;
        Ok(())
    }

    /// Adds the findings of other keys.
    ///
    /// # Errors
    /// `Internal` if there are too many to count.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        for (kind, found) in other.found {
            let of_kind = self.found.entry(kind).or_default();
            of_kind.extend(found);
            of_kind.sort_by(|(one, _), (other, _)| one.cmp(other));
            let further = of_kind.len().saturating_sub(MOST_FINDINGS) as u64;
            of_kind.truncate(MOST_FINDINGS);
            if further > 0 {
                self.count_further(kind, further)?;
            }
        }
        other.further.into_iter().try_for_each(|(kind, count)| self.count_further(kind, count))
    }

    /// Those that do not depend on the record index.
    pub fn without_index(mut self) -> Self {
        self.found.retain(|kind, _| *kind == FindingKind::DuplicateKey);
        self.further.retain(|kind, _| *kind == FindingKind::DuplicateKey);
        self
    }

    /// The findings, and one for each kind of which there are more.
    pub fn into_findings(self) -> impl Iterator<Item = Finding> {
        let further = self.further.into_iter().map(|(kind, count)| {
            let message = format!("{count} more findings of this kind, which are not listed");
            Finding::new(kind, "", message)
        });
        self.found.into_values().flatten().map(|(_, finding)| finding).chain(further)
    }
}

/// Compares the places of each key.
pub struct KeyCheck<'a> {
    numbers: &'a FileGroupNumbers,
    compared: KeyComparison,
    findings: KeyFindings,
}

impl<'a> KeyCheck<'a> {
    /// No keys. `numbers` are those of the places.
    pub fn new(numbers: &'a FileGroupNumbers, compared: KeyComparison) -> Self {
        Self { numbers, compared, findings: KeyFindings::default() }
    }

    /// Adds a key that is greater than those before, with its places: rows first, by file group.
    ///
    /// # Errors
    /// `Internal` for a file group without a number.
    pub fn add(&mut self, key: &str, places: &[KeyPlace]) -> Result<()> {
        let (rows, indexed) = places.split_at(places.partition_point(|place| place.origin == Origin::Row));
        self.check_duplicates(key, rows)?;
        match self.compared.index {
            None => Ok(()),
            Some(IndexScope::Table) => self.check_index(key, rows, indexed),
            Some(IndexScope::Partition) => self.check_index_by_partition(key, rows, indexed),
        }
    }

    /// A key of several rows, of the table or of a partition.
    fn check_duplicates(&mut self, key: &str, rows: &[KeyPlace]) -> Result<()> {
        if let [KeyPlace { count: 1, .. }] | [] = rows {
            return Ok(());
        }
        let mut first: BTreeMap<String, u32> = BTreeMap::new();
        for row in rows {
            let (partition, _) = self.numbers.group(row.group)?;
            let scope = if self.compared.is_global { String::new() } else { partition.to_owned() };
            let other = *first.entry(scope).or_insert(row.group);
            let (other_partition, other_id) = self.numbers.group(other)?;
            let message = match (other == row.group, row.count) {
                (true, 1) => continue,
                (true, count) => format!("{count} rows of the file group have the record key {key:?}"),
                (false, _) => {
                    format!("the record key {key:?} is also in file group {other_id} of {other_partition:?}")
                }
            };
            self.report(FindingKind::DuplicateKey, key, row.group, message)?;
        }
        Ok(())
    }

    /// Compares the rows of a key with what the index says, which has one location of it.
    fn check_index(&mut self, key: &str, rows: &[KeyPlace], indexed: &[KeyPlace]) -> Result<()> {
        let Some(row) = rows.first() else {
            return indexed.iter().try_for_each(|place| self.report_stale(key, place));
        };
        if indexed.is_empty() {
            let message = format!("the record index does not have the record key {key:?}");
            return self.report(FindingKind::IndexMissingKey, key, row.group, message);
        }
        for place in indexed.iter().filter(|place| rows.iter().all(|row| row.group != place.group)) {
            let (partition, file_id) = self.numbers.group(row.group)?;
            let message = format!(
                "the record index has the record key {key:?} here, and it is in file group {file_id} of {partition:?}"
            );
            self.report(FindingKind::IndexWrongLocation, key, place.group, message)?;
        }
        Ok(())
    }

    fn check_index_by_partition(&mut self, key: &str, rows: &[KeyPlace], indexed: &[KeyPlace]) -> Result<()> {
        let mut partitions: BTreeMap<String, [Vec<KeyPlace>; 2]> = BTreeMap::new();
        for place in rows.iter().chain(indexed) {
            let (partition, _) = self.numbers.group(place.group)?;
            let [rows, indexed] = partitions.entry(partition.to_owned()).or_default();
            if place.origin == Origin::Row { rows.push(*place) } else { indexed.push(*place) }
        }
        partitions.values().try_for_each(|[rows, indexed]| self.check_index(key, rows, indexed))
    }

    fn report_stale(&mut self, key: &str, place: &KeyPlace) -> Result<()> {
        if self.compared.leaves_stale_keys {
            return Ok(());
        }
        let group = if self.numbers.is_live(place.group) { "" } else { ", which is not a live file group" };
        let message = format!("the record index has the record key {key:?} here{group}, and no row has it");
        self.report(FindingKind::IndexStaleKey, key, place.group, message)
    }

    fn report(&mut self, kind: FindingKind, key: &str, group: u32, message: String) -> Result<()> {
        let (partition, file_id) = self.numbers.group(group)?;
        self.findings.add(key, Finding::new(kind, joined(partition, file_id), message))
    }

    /// What was found.
    pub fn into_findings(self) -> KeyFindings {
        self.findings
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const GROUPS: [(&str, &str); 3] = [("p", "f-0"), ("p", "g-0"), ("q", "h-0")];

    fn findings(is_global: bool, index: Option<IndexScope>, keys: &[(&str, &[u32], &[u32])]) -> KeyFindings {
        let slice = |(partition, file_id): (&str, &str)| mortice_table::file_group::FileSlice {
            partition: partition.to_owned(),
            file_id: file_id.to_owned(),
            base_instant: "1".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        let mut numbers = FileGroupNumbers::of_slices(&GROUPS.map(slice)).unwrap();
        numbers.number_of("p", "gone-0").unwrap();
        let mut check = KeyCheck::new(&numbers, KeyComparison { is_global, index, leaves_stale_keys: false });
        for (key, rows, indexed) in keys {
            let place = |origin| move |group: &u32| KeyPlace { origin, group: *group, count: 1 };
            let rows = rows.iter().map(place(Origin::Row));
            let places: Vec<KeyPlace> = rows.chain(indexed.iter().map(place(Origin::Index))).collect();
            check.add(key, &places).unwrap();
        }
        check.into_findings()
    }

    fn check(is_global: bool, index: Option<IndexScope>, keys: &[(&str, &[u32], &[u32])]) -> Vec<Finding> {
        findings(is_global, index, keys).into_findings().collect()
    }

    fn kinds(found: &[Finding]) -> Vec<(FindingKind, &str)> {
        found.iter().map(|one| (one.kind, one.path.as_str())).collect()
    }

    #[test]
    fn duplicates_are_those_of_a_partition_or_of_the_table() {
        let keys: [(&str, &[u32], &[u32]); 3] = [("a", &[0, 1], &[]), ("b", &[0, 2], &[]), ("c", &[2], &[])];
        assert_eq!(kinds(&check(false, None, &keys)), [(FindingKind::DuplicateKey, "p/g-0")]);
        let global = check(true, None, &keys);
        assert_eq!(kinds(&global), [(FindingKind::DuplicateKey, "p/g-0"), (FindingKind::DuplicateKey, "q/h-0")]);
        assert!(global.last().unwrap().message.contains("f-0"), "{global:?}");
    }

    #[test]
    fn an_index_is_compared_with_rows() {
        use FindingKind::{IndexMissingKey, IndexStaleKey, IndexWrongLocation};
        for (rows, indexed, expected) in [
            (&[0][..], &[0][..], vec![]),
            (&[0], &[], vec![(IndexMissingKey, "p/f-0")]),
            (&[0], &[1], vec![(IndexWrongLocation, "p/g-0")]),
            (&[0], &[3], vec![(IndexWrongLocation, "p/gone-0")]),
            (&[], &[1], vec![(IndexStaleKey, "p/g-0")]),
            (&[], &[3], vec![(IndexStaleKey, "p/gone-0")]),
            // A key of two partitions has one location.
            (&[0, 2], &[2], vec![]),
        ] {
            let found = check(false, Some(IndexScope::Table), &[("a", rows, indexed)]);
            assert_eq!(kinds(&found), expected, "{rows:?} {indexed:?}");
        }
    }

    #[test]
    fn an_index_of_partitions_has_a_location_in_each() {
        use FindingKind::{IndexMissingKey, IndexStaleKey};
        for (rows, indexed, expected) in [
            (&[0, 2][..], &[0, 2][..], vec![]),
            (&[0, 2], &[2], vec![(IndexMissingKey, "p/f-0")]),
            (&[0], &[0, 2], vec![(IndexStaleKey, "q/h-0")]),
        ] {
            let found = check(false, Some(IndexScope::Partition), &[("a", rows, indexed)]);
            assert_eq!(kinds(&found), expected, "{rows:?} {indexed:?}");
        }
    }

    #[test]
    fn findings_beyond_the_most_are_counted() {
        let names: Vec<String> = (0..MOST_FINDINGS + 7).map(|number| number.to_string()).collect();
        let keys: Vec<(&str, &[u32], &[u32])> = names.iter().map(|name| (name.as_str(), &[][..], &[1][..])).collect();
        let found = check(false, Some(IndexScope::Table), &keys);
        assert_eq!(found.len(), MOST_FINDINGS + 1);
        assert!(found.last().unwrap().message.starts_with("7 more"), "{:?}", found.last());
    }

    /// Findings do not depend on how keys are divided among those that compare them.
    #[test]
    fn findings_of_parts_of_the_keys_are_those_of_all() {
        let names: Vec<String> = (0..2 * MOST_FINDINGS).map(|number| format!("{number:03}")).collect();
        let keys: Vec<(&str, &[u32], &[u32])> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), &[0, 1][..at % 3], if at % 2 == 0 { &[2][..] } else { &[] }))
            .collect();
        let all = findings(false, Some(IndexScope::Table), &keys);
        for parts in [2, 7] {
            let mut merged = KeyFindings::default();
            for part in (0..parts).rev() {
                let keys: Vec<_> = keys.iter().copied().skip(part).step_by(parts).collect();
                merged.merge(findings(false, Some(IndexScope::Table), &keys)).unwrap();
            }
            assert_eq!(merged, all, "{parts}");
        }
        let kinds = |found: KeyFindings| found.into_findings().map(|one| one.kind).collect::<BTreeSet<_>>();
        assert_eq!(kinds(all.clone()).len(), 4);
        assert_eq!(kinds(all.without_index()), BTreeSet::from([FindingKind::DuplicateKey]));
    }
}
