//! Parts of all keys, by their hashes: what is merged in one pass where the keys of all logs take too much memory.

/// Keys whose hashes lie in a range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    first: u32,
    last: u32,
}

impl KeyPart {
    /// Every key.
    pub const ALL: Self = Self { first: 0, last: u32::MAX };

    /// One of `of` parts of about the same size.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn share(index: u32, of: u32) -> Self {
        let of = if of == 0 { 1 } else { of as u64 };
        let index = if index as u64 >= of { of - 1 } else { index as u64 };
        // Both quotients lie below 2^32.
        Self { first: ((index << 32) / of) as u32, last: ((((index + 1) << 32) / of) - 1) as u32 }
    }

    pub(super) const fn holds(self, hash: u32) -> bool {
        self.first <= hash && hash <= self.last
    }

    /// The lower half; none of a part that is one hash alone.
    pub(super) const fn half(self) -> Option<Self> {
        if self.first == self.last {
            return None;
        }
        Some(Self { first: self.first, last: self.first + (self.last - self.first) / 2 })
    }

    /// The part that comes next, of the same size; none after the last. A size that was too large for one part is too large
    /// for the next, for hashes are spread evenly.
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
        assert_eq!(KeyPart::share(0, 1), KeyPart::ALL);
        for of in [2, 3, 7, 1000] {
            let shares: Vec<_> = (0..of).map(|index| KeyPart::share(index, of)).collect();
            assert_eq!((shares[0].first, shares[shares.len() - 1].last), (0, u32::MAX));
            assert!(shares.windows(2).all(|pair| pair[0].last + 1 == pair[1].first && pair[0].first <= pair[0].last));
        }
    }

    #[test]
    fn parts_follow_each_other_to_the_end() {
        let mut part = KeyPart::ALL;
        for _ in 0..3 {
            part = part.half().unwrap();
        }
        let mut parts = vec![part];
        while let Some(next) = parts.last().unwrap().next() {
            assert!(!parts.last().unwrap().holds(next.first) && next.holds(next.first));
            parts.push(next);
        }
        assert_eq!((parts.len(), parts[0].first, parts[7].last), (8, 0, u32::MAX));
        assert!(parts.iter().all(|part| part.holds(part.first) && part.holds(part.last)));
        assert_eq!(KeyPart { first: 7, last: 7 }.half(), None);
        assert_eq!(KeyPart { first: u32::MAX - 1, last: u32::MAX - 1 }.next().unwrap().first, u32::MAX);
    }
}
