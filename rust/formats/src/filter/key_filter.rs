//! Which record keys are wanted of a log (`KeySpec`: full keys, or prefixes), and what a filter says of keys.
//!
//! A scan that knows the keys reads less: HFile blocks are sought in, records of other blocks are passed over once
//! their key is known. Rows of a key never depend on another key's, so nothing but the unwanted rows changes.

use super::expr::{Filter, Literal, Operator, Term};
use super::like::Pattern;
use mortice_base::error::Result;

/// The record keys that are wanted, as UTF-8 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyFilter {
    /// Every key.
    #[default]
    All,
    /// These; sorted, each once.
    Keys(Vec<Vec<u8>>),
    /// Those that begin with any of these; sorted, none of them a prefix of another.
    Prefixes(Vec<Vec<u8>>),
}

impl KeyFilter {
    /// Exactly these keys.
    pub fn keys(keys: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let mut keys: Vec<Vec<u8>> = keys.into_iter().map(Into::into).collect();
        keys.sort_unstable();
        keys.dedup();
        Self::Keys(keys)
    }

    /// All keys that begin with one of these.
    pub fn prefixes(prefixes: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let mut prefixes: Vec<Vec<u8>> = prefixes.into_iter().map(Into::into).collect();
        prefixes.sort_unstable();
        // A prefix sorts right before the longer ones that it covers.
        prefixes.dedup_by(|longer, shorter| longer.starts_with(shorter));
        Self::Prefixes(prefixes)
    }

    /// The keys that rows of a filter can have, by what it says of the column `key`: exact values in every list, or
    /// prefixes in every list, or all.
    #[must_use]
    pub fn from_filter(filter: &Filter, key: &str) -> Self {
        Self::exact(filter, key).or_else(|| Self::beginnings(filter, key)).unwrap_or_default()
    }

    fn exact(filter: &Filter, key: &str) -> Option<Self> {
        let mut keys = Vec::new();
        for list in filter.lists() {
            let is_exact = |term: &&Term| is_of(term, key) && matches!(term.operator(), Operator::Eq | Operator::In);
            for literal in list.iter().find(is_exact)?.literals() {
                let Literal::Text(text) = literal else { return None };
                keys.push(text.as_str());
            }
        }
        (!filter.is_empty()).then(|| Self::keys(keys))
    }

    fn beginnings(filter: &Filter, key: &str) -> Option<Self> {
        let prefix = |term: &Term| match term.literals() {
            [Literal::Text(pattern)] if is_of(term, key) && term.operator() == Operator::Like => {
                Pattern::new(pattern).into_prefix()
            }
            _ => None,
        };
        let prefixes: Option<Vec<String>> = filter.lists().iter().map(|list| list.iter().find_map(&prefix)).collect();
        prefixes.filter(|prefixes| !prefixes.is_empty()).map(Self::prefixes)
    }

    /// The filter of rows whose column `key` begins with one of these strings.
    ///
    /// # Errors
    /// None: patterns have one literal each.
    pub fn filter_of_prefixes<'p>(key: &str, prefixes: impl IntoIterator<Item = &'p str>) -> Result<Filter> {
        let of_prefix =
            |prefix: &str| Ok(vec![Term::new(key, Operator::Like, vec![Literal::Text(Pattern::of_prefix(prefix))])?]);
        Ok(Filter::any_of(prefixes.into_iter().map(of_prefix).collect::<Result<_>>()?))
    }

    /// Whether the key is wanted.
    #[inline]
    #[must_use]
    pub fn passes(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Keys(keys) => keys.binary_search_by(|one| one.as_slice().cmp(key)).is_ok(),
            Self::Prefixes(prefixes) => {
                let after = prefixes.partition_point(|prefix| prefix.as_slice() <= key);
                after.checked_sub(1).and_then(|at| prefixes.get(at)).is_some_and(|prefix| key.starts_with(prefix))
            }
        }
    }
}

fn is_of(term: &Term, key: &str) -> bool {
    term.column() == key && term.fields().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_prefixes() {
        let keys = KeyFilter::keys(["b", "a", "b", ""]);
        assert_eq!(keys, KeyFilter::Keys(vec![b"".to_vec(), b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(["", "a", "aa", "b", "c"].map(|key| keys.passes(key.as_bytes())), [true, true, false, true, false]);
        let prefixes = KeyFilter::prefixes(["ab", "b", "a/", "abc", "b"]);
        let passing = ["a", "a/", "a/x", "aa", "ab", "abz", "ac", "b", "b\u{0}", "c", ""];
        assert_eq!(
            passing.map(|key| prefixes.passes(key.as_bytes())),
            [false, true, true, false, true, true, false, true, true, false, false]
        );
        assert!(KeyFilter::prefixes([""]).passes(b"anything") && KeyFilter::All.passes(b""));
        assert!(!KeyFilter::keys([""; 0]).passes(b"") && !KeyFilter::prefixes([""; 0]).passes(b""));
    }

    #[test]
    fn what_a_filter_says_of_keys() {
        let term = |column: &str, operator, strings: &[&str]| {
            Term::new(column, operator, strings.iter().map(|text| Literal::Text((*text).into())).collect()).unwrap()
        };
        let one = || term("k", Operator::Eq, &["b"]);
        let some = || term("k", Operator::In, &["a", "c"]);
        let other = || term("x", Operator::Eq, &["b"]);
        let of = |lists| KeyFilter::from_filter(&Filter::any_of(lists), "k");
        assert_eq!(of(vec![vec![other(), one()], vec![some()]]), KeyFilter::keys(["a", "b", "c"]));
        assert_eq!(of(vec![vec![one()], vec![other()]]), KeyFilter::All);
        assert_eq!(of(vec![vec![term("k", Operator::GtEq, &["b"])]]), KeyFilter::All);
        assert_eq!(of(vec![vec![term("k", Operator::In, &[])]]), KeyFilter::keys([""; 0]));
        assert_eq!(of(Vec::new()), KeyFilter::All);
        let like = |pattern: &str| term("k", Operator::Like, &[pattern]);
        assert_eq!(of(vec![vec![like("a%"), other()], vec![like("b\\%%")]]), KeyFilter::prefixes(["a", "b%"]));
        assert_eq!(of(vec![vec![like("a%")], vec![like("a%b")]]), KeyFilter::All);
        assert_eq!(of(vec![vec![like("a%")], vec![one()]]), KeyFilter::All);
    }

    #[test]
    fn a_filter_of_prefixes_says_them() {
        let prefixes = ["", "a%", "b_", r"c\\$", r"d\"];
        for prefix in prefixes {
            let filter = KeyFilter::filter_of_prefixes("k", [prefix]).unwrap();
            assert_eq!(KeyFilter::from_filter(&filter, "k"), KeyFilter::prefixes([prefix]), "{filter}");
        }
    }
}
