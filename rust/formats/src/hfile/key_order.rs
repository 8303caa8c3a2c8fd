//! The order of keys: that of their unsigned bytes.

use std::cmp::Ordering;

/// Compares two keys, as slices are compared. A search compares every key of a block twice, and keys mostly have one
/// length: those are compared eight bytes at a time, without the call of a function for each pair.
#[inline]
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    if one.len() != other.len() {
        return one.cmp(other);
    }
    let (Some(end), Some(other_end)) = (one.last_chunk::<8>(), other.last_chunk::<8>()) else {
        return one.cmp(other);
    };
    for (chunk, other_chunk) in one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0) {
        if chunk != other_chunk {
            return u64::from_be_bytes(*chunk).cmp(&u64::from_be_bytes(*other_chunk));
        }
    }
    // Of the last eight bytes, those that were compared already are equal.
    u64::from_be_bytes(*end).cmp(&u64::from_be_bytes(*other_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_slices() {
        for len in 0..27 {
            let key: Vec<u8> = (0..len).map(|at| (at * 37 + 100) as u8).collect();
            for at in 0..len {
                for byte in [0, key[at].wrapping_sub(1), key[at], key[at].wrapping_add(1), 0x7f, 0x80, 0xff] {
                    let mut other = key.clone();
                    other[at] = byte;
                    for other in [&other[..], &other[..at], &other[at..]] {
                        assert_eq!(compare(&key, other), key.as_slice().cmp(other), "{key:?} {other:?}");
                        assert_eq!(compare(other, &key), other.cmp(key.as_slice()), "{key:?} {other:?}");
                    }
                }
            }
            assert_eq!(compare(&key, &key), Ordering::Equal);
        }
    }
}
