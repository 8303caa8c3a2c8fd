//! Keys that two writes have inserted, neither of which has seen the other: the keys of the files of one are looked up
//! among those of the other.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use arrow_array::StringArray;
use foldhash::fast::FixedState;

use super::stored_keys::{StoredKeys, WrittenRows};
use mortice_base::error::{Error, Result};
use mortice_table::plan::OpenTable;

/// Keys that are in memory at a time. Of more, those of one range of hashes after the other are compared.
const MOST_KEYS: usize = 1 << 21;

/// A key that two writes have inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonKey {
    /// The key.
    pub key: String,
    /// The partition of one of its rows.
    pub partition: String,
    /// The number of the other write's file that has it.
    pub other: usize,
}

/// Finds a key that is in files of two writes: in the same partition, or anywhere if keys are unique in the table.
///
/// # Errors
/// Those of reading the key columns of the files.
pub fn common_key(
    table: &OpenTable,
    own: &[WrittenRows],
    others: &[WrittenRows],
    is_global: bool,
) -> Result<Option<CommonKey>> {
    first_common_key(table, own, others, is_global, MOST_KEYS)
}

/// The same, with at most so many keys in memory.
pub fn first_common_key(
    table: &OpenTable,
    own: &[WrittenRows],
    others: &[WrittenRows],
    is_global: bool,
    most: usize,
) -> Result<Option<CommonKey>> {
    let scope = |file: &WrittenRows| if is_global { String::new() } else { file.partition.clone() };
    let scopes_of = |files: &[WrittenRows]| files.iter().map(scope).collect::<BTreeSet<String>>();
    let common: BTreeSet<String> = scopes_of(own).intersection(&scopes_of(others)).cloned().collect();
    let in_common = |files: &[WrittenRows]| -> Vec<(usize, String, WrittenRows)> {
        let files = files.iter().enumerate().map(|(number, file)| (number, scope(file), file.clone()));
        files.filter(|(_, scope, _)| common.contains(scope)).collect()
    };
    let (own, others) = (in_common(own), in_common(others));
    let stored = StoredKeys::new(table)?;
    let bytes = |files: &[(usize, String, WrittenRows)]| {
        files.iter().fold(0, |sum: u64, (.., one)| sum.saturating_add(one.bytes.unwrap_or(0)))
    };
    let join = if bytes(&own) <= bytes(&others) {
        KeyJoin { stored, built: &own, probed: &others, is_own_built: true, most }
    } else {
        KeyJoin { stored, built: &others, probed: &own, is_own_built: false, most }
    };
    join.first()
}

/// Files with their numbers and the scopes of their keys.
type ScopedFiles = [(usize, String, WrittenRows)];
/// The file of each key, by scope.
type KeySet<'a> = HashMap<&'a str, HashMap<Box<str>, usize, foldhash::fast::RandomState>>;

/// What came of so many passes.
enum Passed {
    /// One of them has more keys than fit in memory.
    TooManyKeys,
    /// A common key, if there is one.
    All(Option<CommonKey>),
}

/// A join of the keys of two sets of files.
struct KeyJoin<'a> {
    stored: StoredKeys<'a>,
    built: &'a ScopedFiles,
    probed: &'a ScopedFiles,
    is_own_built: bool,
    most: usize,
}

impl KeyJoin<'_> {
    fn first(&self) -> Result<Option<CommonKey>> {
        let mut passes = 1_u64;
        loop {
            match self.first_in(passes)? {
                Passed::TooManyKeys => passes = passes.saturating_mul(2),
                Passed::All(found) => return Ok(found),
            }
        }
    }

    fn first_in(&self, passes: u64) -> Result<Passed> {
        for pass in 0..passes {
            let Some(built) = self.build(pass, passes)? else { return Ok(Passed::TooManyKeys) };
            if let Some(found) = self.probe(&built, pass, passes)? {
                return Ok(Passed::All(Some(found)));
            }
        }
        Ok(Passed::All(None))
    }

    /// The keys of a range of hashes; none if there are too many.
    fn build(&self, pass: u64, passes: u64) -> Result<Option<KeySet<'_>>> {
        let (mut set, mut count) = (KeySet::default(), 0_usize);
        for (number, scope, file) in self.built {
            let keys_of_scope = set.entry(scope.as_str()).or_default();
            self.stored.read_written(file, &mut |keys: &StringArray, _| {
                for key in keys.iter().flatten().filter(|key| is_in(key, pass, passes)) {
                    if count <= self.most && keys_of_scope.insert(key.into(), *number).is_none() {
                        count = count.saturating_add(1);
                    }
                }
                Ok(())
            })?;
            if count > self.most {
                return Ok(None);
            }
        }
        Ok(Some(set))
    }

    fn probe(&self, built: &KeySet<'_>, pass: u64, passes: u64) -> Result<Option<CommonKey>> {
        for (number, scope, file) in self.probed {
            let lost = || Error::internal(format_args!("no keys of the partition {scope:?} are looked up"));
            let keys_of_scope = built.get(scope.as_str()).ok_or_else(lost)?;
            let mut found = None;
            self.stored.read_written(file, &mut |keys: &StringArray, _| {
                let keys = keys.iter().flatten().filter(|key| is_in(key, pass, passes));
                let mut hits = keys.filter_map(|key| Some((key, *keys_of_scope.get(key)?)));
                if found.is_none() {
                    found = hits.next().map(|(key, built)| (key.to_owned(), built));
                }
                Ok(())
            })?;
            if let Some((key, built)) = found {
                let other = if self.is_own_built { *number } else { built };
                return Ok(Some(CommonKey { key, partition: file.partition.clone(), other }));
            }
        }
        Ok(None)
    }
}

fn is_in(key: &str, pass: u64, passes: u64) -> bool {
    passes == 1 || FixedState::default().hash_one(key.as_bytes()) % passes == pass
}
