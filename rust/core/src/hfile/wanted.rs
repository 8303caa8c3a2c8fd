//! What is looked for: all cells, those of some keys, or those whose keys begin with a prefix. Keys are compared as unsigned bytes.

use super::cell::Verdict;

/// Keys or prefixes, sorted, each once.
#[derive(Debug, Clone)]
pub(super) enum Wanted<'a> {
    All,
    Keys(Vec<&'a [u8]>),
    /// None begins with another: that one would add nothing.
    Prefixes(Vec<&'a [u8]>),
}

impl<'a> Wanted<'a> {
    /// Keys in any order.
    pub(super) fn keys(keys: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut keys: Vec<_> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        Self::Keys(keys)
    }

    /// Prefixes in any order.
    pub(super) fn prefixes(prefixes: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut prefixes: Vec<_> = prefixes.collect();
        prefixes.sort_unstable();
        prefixes.dedup_by(|later, kept| later.starts_with(kept));
        Self::Prefixes(prefixes)
    }

    /// Whether a block can hold a wanted key, all of whose keys are at least `from` and below `to`, if there is such a bound.
    pub(super) fn may_lie_in(&self, from: &[u8], to: Option<&[u8]>) -> bool {
        let below = |key: &&[u8]| to.is_none_or(|to| *key < to);
        match self {
            Self::All => true,
            Self::Keys(keys) => keys.get(keys.partition_point(|key| *key < from)).is_some_and(below),
            Self::Prefixes(prefixes) => {
                let at = prefixes.partition_point(|prefix| *prefix < from);
                let begun_before = at.checked_sub(1).and_then(|at| prefixes.get(at));
                begun_before.is_some_and(|prefix| from.starts_with(prefix)) || prefixes.get(at).is_some_and(below)
            }
        }
    }
}

/// Goes through wanted keys beside ascending keys of a file.
#[derive(Debug)]
pub(super) struct Matcher<'a> {
    wanted: Wanted<'a>,
    next: usize,
}

impl<'a> Matcher<'a> {
    pub(super) const fn new(wanted: Wanted<'a>) -> Self {
        Self { wanted, next: 0 }
    }

    /// Whether the key is wanted; keys come in ascending order.
    pub(super) fn judge(&mut self, key: &[u8]) -> Verdict {
        let (list, by_prefix) = match &self.wanted {
            Wanted::All => return Verdict::Take,
            Wanted::Keys(list) => (list, false),
            Wanted::Prefixes(list) => (list, true),
        };
        while let Some(wanted) = list.get(self.next) {
            if if by_prefix { key.starts_with(wanted) } else { key == *wanted } {
                return Verdict::Take;
            }
            if *wanted > key {
                return Verdict::Skip;
            }
            self.next += 1;
        }
        Verdict::Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys<'a>(keys: &[&'a [u8]]) -> Wanted<'a> {
        Wanted::keys(keys.iter().copied())
    }

    fn prefixes<'a>(prefixes: &[&'a [u8]]) -> Wanted<'a> {
        Wanted::prefixes(prefixes.iter().copied())
    }

    fn judged(wanted: Wanted<'_>, keys: &[&[u8]]) -> Vec<Verdict> {
        let mut matcher = Matcher::new(wanted);
        keys.iter().map(|key| matcher.judge(key)).collect()
    }

    #[test]
    fn keys_are_taken_where_equal_and_the_walk_ends_after_the_last() {
        use Verdict::{Skip, Stop, Take};
        let wanted = keys(&[b"d", b"b", b"b"]);
        assert_eq!(judged(wanted, &[b"a", b"b", b"bb", b"d", b"e"]), [Skip, Take, Skip, Take, Stop]);
        assert_eq!(judged(keys(&[]), &[b"a"]), [Stop]);
    }

    #[test]
    fn prefixes_take_all_that_begin_with_them() {
        use Verdict::{Skip, Stop, Take};
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
        assert!(asked.may_lie_in(b"b", Some(b"c")));
        assert!(asked.may_lie_in(b"a", Some(b"c")));
        assert!(!asked.may_lie_in(b"a", Some(b"b")));
        assert!(!asked.may_lie_in(b"c", Some(b"f")));
        assert!(asked.may_lie_in(b"c", None));
        assert!(!asked.may_lie_in(b"g", None));
        let begun = prefixes(&[b"b", b"bb", b"f"]);
        assert!(begun.may_lie_in(b"bz", Some(b"c")), "begun in the block before");
        assert!(begun.may_lie_in(b"a", Some(b"ba")));
        assert!(!begun.may_lie_in(b"a", Some(b"b")));
        assert!(!begun.may_lie_in(b"c", Some(b"f")));
        assert!(!begun.may_lie_in(b"g", None));
    }
}
