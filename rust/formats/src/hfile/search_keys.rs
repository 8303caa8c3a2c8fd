//! What is looked for: all cells, those of some keys, or those whose keys begin with a prefix. Keys are compared as
//! unsigned bytes.

use std::cmp::Ordering;

use super::cell::CellMatch;
use super::key_order::compare;

/// Keys or prefixes, sorted, each once.
#[derive(Debug, Clone)]
pub(super) enum SearchKeys {
    All,
    Keys(Vec<Vec<u8>>),
    /// None begins with another: that one would add nothing.
    Prefixes(Vec<Vec<u8>>),
}

impl SearchKeys {
    /// Keys in any order.
    pub(super) fn keys<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut keys: Vec<Vec<u8>> = keys.map(<[u8]>::to_vec).collect();
        keys.sort_unstable();
        keys.dedup();
        Self::Keys(keys)
    }

    /// Prefixes in any order.
    pub(super) fn prefixes<'a>(prefixes: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut prefixes: Vec<Vec<u8>> = prefixes.map(<[u8]>::to_vec).collect();
        prefixes.sort_unstable();
        prefixes.dedup_by(|later, kept| later.starts_with(kept.as_slice()));
        Self::Prefixes(prefixes)
    }

    /// Whether a block can hold a wanted key, all of whose keys are at least `from` and below `to`, if there is such a
    /// bound.
    pub(super) fn may_be_in(&self, from: &[u8], to: Option<&[u8]>) -> bool {
        let below = |key: &Vec<u8>| to.is_none_or(|to| key.as_slice() < to);
        match self {
            Self::All => true,
            Self::Keys(keys) => keys.get(keys.partition_point(|key| key.as_slice() < from)).is_some_and(below),
            Self::Prefixes(prefixes) => {
                let at = prefixes.partition_point(|prefix| prefix.as_slice() < from);
                let begun_before = at.checked_sub(1).and_then(|at| prefixes.get(at));
                begun_before.is_some_and(|prefix| from.starts_with(prefix.as_slice()))
                    || prefixes.get(at).is_some_and(below)
            }
        }
    }
}

/// Goes through wanted keys beside ascending keys of a file.
#[derive(Debug)]
pub(super) struct Matcher {
    wanted: SearchKeys,
    next: usize,
}

impl Matcher {
    pub(super) const fn new(wanted: SearchKeys) -> Self {
        Self { wanted, next: 0 }
    }

    /// Whether the key is wanted; keys come in ascending order.
    pub(super) fn judge(&mut self, key: &[u8]) -> CellMatch {
        let (list, by_prefix) = match &self.wanted {
            SearchKeys::All => return CellMatch::Take,
            SearchKeys::Keys(list) => (list, false),
            SearchKeys::Prefixes(list) => (list, true),
        };
        while let Some(wanted) = list.get(self.next) {
            match compare(key, wanted) {
                Ordering::Less => return CellMatch::Skip,
                Ordering::Equal => return CellMatch::Take,
                Ordering::Greater if by_prefix && key.starts_with(wanted.as_slice()) => return CellMatch::Take,
                Ordering::Greater => self.next += 1,
            }
        }
        CellMatch::Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(keys: &[&[u8]]) -> SearchKeys {
        SearchKeys::keys(keys.iter().copied())
    }

    fn prefixes(prefixes: &[&[u8]]) -> SearchKeys {
        SearchKeys::prefixes(prefixes.iter().copied())
    }

    fn judged(wanted: SearchKeys, keys: &[&[u8]]) -> Vec<CellMatch> {
        let mut matcher = Matcher::new(wanted);
        keys.iter().map(|key| matcher.judge(key)).collect()
    }

    #[test]
    fn keys_are_taken_where_equal_and_the_scan_ends_after_the_last() {
        use CellMatch::{Skip, Stop, Take};
        let wanted = keys(&[b"d", b"b", b"b"]);
        assert_eq!(judged(wanted, &[b"a", b"b", b"bb", b"d", b"e"]), [Skip, Take, Skip, Take, Stop]);
        assert_eq!(judged(keys(&[]), &[b"a"]), [Stop]);
    }

    #[test]
    fn prefixes_take_all_that_begin_with_them() {
        use CellMatch::{Skip, Stop, Take};
        let wanted = prefixes(&[b"b", b"ba", b"d"]);
        assert_eq!(
            judged(wanted, &[b"a", b"b", b"ba", b"bb", b"c", b"da", b"e"]),
            [Skip, Take, Take, Take, Skip, Take, Stop]
        );
        assert_eq!(judged(prefixes(&[b""]), &[b"", b"a", b"\xff\xff"]), [Take, Take, Take]);
    }

    #[test]
    fn a_block_is_asked_only_when_it_can_hold_a_wanted_key() {
        let asked = keys(&[b"b", b"f"]);
        assert!(asked.may_be_in(b"b", Some(b"c")));
        assert!(asked.may_be_in(b"a", Some(b"c")));
        assert!(!asked.may_be_in(b"a", Some(b"b")));
        assert!(!asked.may_be_in(b"c", Some(b"f")));
        assert!(asked.may_be_in(b"c", None));
        assert!(!asked.may_be_in(b"g", None));
        let begun = prefixes(&[b"b", b"bb", b"f"]);
        assert!(begun.may_be_in(b"bz", Some(b"c")), "begun in the block before");
        assert!(begun.may_be_in(b"a", Some(b"ba")));
        assert!(!begun.may_be_in(b"a", Some(b"b")));
        assert!(!begun.may_be_in(b"c", Some(b"f")));
        assert!(!begun.may_be_in(b"g", None));
    }
}
