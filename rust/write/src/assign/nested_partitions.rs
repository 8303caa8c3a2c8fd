//! Refuses a partition within another one: readers that list the storage look for no partitions in a partition.

use std::collections::BTreeSet;

use mortice_base::error::{Error, Result};

/// Refuses a new partition within another one, or around it. Partitions that are there already are written to. `known`
/// are the partitions of the table, as far as they are known, `inserts` those that new rows go to.
pub(super) fn refuse_nested<'a>(known: &BTreeSet<String>, inserts: impl Iterator<Item = &'a str>) -> Result<()> {
    let inserts: BTreeSet<&str> = inserts.collect();
    let new = inserts.iter().copied().filter(|partition| !partition.is_empty() && !known.contains(*partition));
    for partition in new {
        let around = partition.match_indices('/').filter_map(|(at, _)| partition.get(..at));
        let is_there = |path: &str| !path.is_empty() && (known.contains(path) || inserts.contains(path));
        let outer = around.into_iter().find(|path| is_there(path)).map(|outer| (partition, outer));
        let below = format!("{partition}/");
        let within = known.range(below.clone()..).next().map(String::as_str).filter(|path| path.starts_with(&below));
        if let Some((inner, outer)) = outer.or(within.map(|inner| (inner, partition))) {
            return Err(Error::invalid_argument(format!(
                "partition {inner:?} would be within partition {outer:?}, so that readers that list the storage would not \
                 find its rows; choose values without slashes, or create the table with \
                 hoodie.datasource.write.partitionpath.urlencode=true"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(known: &[&str], inserts: &[&str]) -> Option<String> {
        let known = known.iter().map(|&path| path.to_owned()).collect();
        refuse_nested(&known, inserts.iter().copied()).err().map(|error| error.to_string())
    }

    #[test]
    fn new_partitions_within_or_around_others_are_refused() {
        let cases: [(&[&str], &[&str]); 5] = [
            (&["a"], &["a/b"]),
            (&["a/b"], &["a"]),
            (&[], &["a", "a/b"]),
            (&["x", "a"], &["a/b/c"]),
            (&["a!", "a-b", "a/b/c"], &["a"]),
        ];
        for (known, inserts) in cases {
            let message = refused(known, inserts).unwrap();
            assert!(message.contains("within partition \"a\""), "{known:?} {inserts:?}: {message}");
        }
    }

    #[test]
    fn others_are_not() {
        for (known, inserts) in [
            (&["a", "ab"][..], &["abc", "a", "b/a", "aa/b"][..]),
            (&["a/b"], &["a/c", "ab", "a/bc"]),
            (&["a", "a/b"], &["a", "a/b"]),
            (&[""], &["a/b", ""]),
            (&["a"], &[""]),
        ] {
            assert_eq!(refused(known, inserts), None, "{known:?} {inserts:?}");
        }
    }
}
