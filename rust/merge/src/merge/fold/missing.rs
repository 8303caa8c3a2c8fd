//! Columns that blocks of partial records do not have.

use std::sync::Arc;

/// For each source of log records, the projected columns that its block does not have.
#[derive(Debug, Clone, Default)]
pub struct MissingColumns {
    /// By source; `None` for blocks of whole records.
    by_source: Vec<Option<Arc<[bool]>>>,
}

impl MissingColumns {
    /// Every one of `sources` sources lacks the columns that are true in `missing`.
    #[must_use]
    pub fn from_all(sources: usize, missing: &Arc<[bool]>) -> Self {
        Self { by_source: vec![Some(Arc::clone(missing)); sources] }
    }

    /// Adds a source of partial records; sources in between are of whole records.
    pub fn insert(&mut self, source: usize, missing: Arc<[bool]>) {
        let len = self.by_source.len().max(source.saturating_add(1));
        self.by_source.resize(len, None);
        if let Some(slot) = self.by_source.get_mut(source) {
            *slot = Some(missing);
        }
    }

    /// The columns that a source lacks; `None` if its records are whole.
    #[must_use]
    pub fn columns(&self, source: u32) -> Option<&[bool]> {
        self.by_source.get(source as usize)?.as_deref()
    }

    /// The first source of partial records.
    #[must_use]
    pub fn first_source(&self) -> Option<u32> {
        self.by_source.iter().position(Option::is_some).and_then(|source| u32::try_from(source).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_between_partial_ones_are_whole() {
        let mut missing = MissingColumns::default();
        assert_eq!((missing.first_source(), missing.columns(0)), (None, None));
        missing.insert(2, [true, false].into());
        missing.insert(4, [false, true].into());
        assert_eq!(missing.first_source(), Some(2));
        assert_eq!(
            [1, 2, 3, 4, 5].map(|source| missing.columns(source).map(<[bool]>::to_vec)),
            [None, Some(vec![true, false]), None, Some(vec![false, true]), None]
        );
        assert_eq!(MissingColumns::from_all(2, &[true].into()).columns(1), Some(&[true][..]));
    }
}
