//! The hash of consistent hashing: XXH32 (`HashID.getXXHash32`). Keys are short, and a crate's feature for it would be
//! one more variant of the crate that hashes blocks of parquet files.

const PRIMES: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];

/// XXH32 with seed 0.
pub(super) fn xx_hash_32(bytes: &[u8]) -> u32 {
    let [prime1, prime2, prime3, prime4, prime5] = PRIMES;
    let (stripes, rest) = bytes.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        prime5
    } else {
        let mut lanes = [prime1.wrapping_add(prime2), prime2, 0, 0_u32.wrapping_sub(prime1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
                let added = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(prime2));
                *lane = added.rotate_left(13).wrapping_mul(prime1);
            }
        }
        let rotated = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
        rotated.fold(0_u32, u32::wrapping_add)
    };
    let [len0, len1, len2, len3, ..] = (bytes.len() as u64).to_le_bytes();
    hash = hash.wrapping_add(u32::from_le_bytes([len0, len1, len2, len3]));
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        let added = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(prime3));
        hash = added.rotate_left(17).wrapping_mul(prime4);
    }
    for byte in rest {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(prime5)).rotate_left(11).wrapping_mul(prime1);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(prime2);
    hash = (hash ^ (hash >> 13)).wrapping_mul(prime3);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of the reference implementation.
    #[test]
    fn hashes_are_those_of_the_specification() {
        for (text, expected) in [
            ("", 0x02CC_5D05),
            ("a", 0x550D_7456),
            ("abc", 0x32D1_53FF),
            ("abcdefghijklmnopqrstuvwxyz", 0x63A1_4D5F),
            ("Nobody inspects the spammish repetition", 0xE229_3B2F),
        ] {
            assert_eq!(xx_hash_32(text.as_bytes()), expected, "{text:?}");
        }
    }
}
