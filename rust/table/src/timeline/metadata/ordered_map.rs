//! A map that keeps the order of its entries.
//!
//! Java writes the entries of a `HashMap` in the order of its buckets. The order has no meaning, but a file that is
//! read and written again should have the same bytes.

/// A map from strings that keeps the order in which entries were read or inserted. JSON files may hold null for a
/// value; such an entry is kept for writing and otherwise treated as absent.
///
/// Lookups compare key by key: these maps have one entry per partition, or fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedMap<V>(Vec<(String, Option<V>)>);

impl<V> Default for OrderedMap<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> OrderedMap<V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.0.iter().find(|(one, _)| one == key).and_then(|(_, value)| value.as_ref())
    }

    /// The value of a key, for changes.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.0.iter_mut().find(|(one, _)| one == key).and_then(|(_, value)| value.as_mut())
    }

    /// Sets the value of a key. A new key comes last.
    pub fn insert(&mut self, key: impl Into<String>, value: V) {
        let key = key.into();
        match self.0.iter_mut().find(|(one, _)| *one == key) {
            Some((_, old)) => *old = Some(value),
            None => self.0.push((key, Some(value))),
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let at = self.0.iter().position(|(one, _)| one == key)?;
        self.0.remove(at).1
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_ref()?)))
    }

    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(super) fn raw(&self) -> &[(String, Option<V>)] {
        &self.0
    }

    pub(super) fn from_raw(entries: Vec<(String, Option<V>)>) -> Self {
        Self(entries)
    }
}

impl<K: Into<String>, V> FromIterator<(K, V)> for OrderedMap<V> {
    /// Collects entries with distinct keys.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(key, value)| (key.into(), Some(value))).collect())
    }
}

impl<V> IntoIterator for OrderedMap<V> {
    type Item = (String, V);
    type IntoIter =
        std::iter::FilterMap<std::vec::IntoIter<(String, Option<V>)>, fn((String, Option<V>)) -> Option<(String, V)>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order() {
        let mut map: OrderedMap<i64> = [("z", 1), ("a", 2)].into_iter().collect();
        map.insert("m", 3);
        map.insert("z", 4);
        assert_eq!(map.iter().collect::<Vec<_>>(), [("z", &4), ("a", &2), ("m", &3)]);
        assert_eq!((map.remove("a"), map.get("a"), map.len()), (Some(2), None, 2));
    }
}
