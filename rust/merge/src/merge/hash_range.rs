//! Hash partitions of the keys: where the keys of all logs take too much memory, each pass merges those of one hash
//! range.

/// The keys whose hashes are in a range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashRange {
    first: u32,
    last: u32,
}

impl HashRange {
    /// Every key.
    pub const ALL: Self = Self { first: 0, last: u32::MAX };

    /// One of `of` ranges of about the same size.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn share(index: u32, of: u32) -> Self {
        let of = if of == 0 { 1 } else { of as u64 };
        let index = if index as u64 >= of { of - 1 } else { index as u64 };
        // Both quotients are below 2^32.
        Self { first: ((index << 32) / of) as u32, last: ((((index + 1) << 32) / of) - 1) as u32 }
    }

    pub(super) const fn holds(self, hash: u32) -> bool {
        self.first <= hash && hash <= self.last
    }

    /// The lower half; `None` for a single hash.
    pub(super) const fn half(self) -> Option<Self> {
        if self.first == self.last {
            return None;
        }
        Some(Self { first: self.first, last: self.first + (self.last - self.first) / 2 })
    }

    /// The next range, of the same size; `None` after the last. Hashes are spread evenly, so what did not fit in memory
    /// with a larger range would not fit with the next one either.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        let Some(first) = self.last.checked_add(1) else { return None };
        Some(Self { first, last: first.saturating_add(self.last - self.first) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_every_hash_once() {
        assert_eq!(HashRange::share(0, 1), HashRange::ALL);
        for of in [2, 3, 7, 1000] {
            let shares: Vec<_> = (0..of).map(|index| HashRange::share(index, of)).collect();
            assert_eq!((shares[0].first, shares[shares.len() - 1].last), (0, u32::MAX));
            assert!(shares.windows(2).all(|pair| pair[0].last + 1 == pair[1].first && pair[0].first <= pair[0].last));
        }
    }

    #[test]
    fn ranges_follow_each_other_to_the_end() {
        let mut range = HashRange::ALL;
        for _ in 0..3 {
            range = range.half().unwrap();
        }
        let mut ranges = vec![range];
        while let Some(next) = ranges.last().unwrap().next() {
            assert!(!ranges.last().unwrap().holds(next.first) && next.holds(next.first));
            ranges.push(next);
        }
        assert_eq!((ranges.len(), ranges[0].first, ranges[7].last), (8, 0, u32::MAX));
        assert!(ranges.iter().all(|range| range.holds(range.first) && range.holds(range.last)));
        assert_eq!(HashRange { first: 7, last: 7 }.half(), None);
        assert_eq!(HashRange { first: u32::MAX - 1, last: u32::MAX - 1 }.next().unwrap().first, u32::MAX);
    }
}
