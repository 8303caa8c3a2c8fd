//! The hash functions of Bloom filters (`MurmurHash`, `JenkinsHash`), and the bits that a key sets (`HashFunction`).
//!
//! A key's hashes are chained: each is computed with the one before as its seed, the first with 0.

use mortice_base::error::{Error, Result};

/// Hash functions by their code in the filter's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HashKind {
    /// Code 0: lookup3 by Bob Jenkins. Read only; Hudi's writers do not use it.
    Jenkins,
    /// Code 1: MurmurHash 2 of 32 bits.
    Murmur,
}

impl HashKind {
    pub(super) fn from_code(code: u8) -> Result<Self> {
        match code {
            0 => Ok(Self::Jenkins),
            1 => Ok(Self::Murmur),
            _ => Err(Error::invalid_table(format!("invalid Bloom filter: unknown hash function {code}"))),
        }
    }

    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Jenkins => 0,
            Self::Murmur => 1,
        }
    }
}

/// Which bits a key sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hashing {
    pub(super) kind: HashKind,
    /// Hashes per key.
    pub(super) count: u32,
    /// Bits of a row.
    pub(super) bits: u32,
}

impl Hashing {
    /// Calls `bit` for each bit of a key, until it returns false. Returns whether it never did.
    pub(super) fn all(&self, key: &[u8], scratch: &mut Vec<u32>, mut bit: impl FnMut(u32) -> bool) -> bool {
        let mut seed = 0_u32;
        match self.kind {
            HashKind::Jenkins => (0..self.count).all(|_| {
                seed = jenkins(key, seed);
                bit(self.bit_of(seed))
            }),
            HashKind::Murmur => {
                let words = MurmurWords::new(key, scratch);
                (0..self.count).all(|_| {
                    seed = words.hash(seed);
                    bit(self.bit_of(seed))
                })
            }
        }
    }

    /// Calls `bit` with the number of a key and a bit of it, for all bits of some keys. A hash waits for the one before
    /// of its own key alone, so that those of several keys are computed at the same time.
    pub(super) fn murmur_of<const KEYS: usize>(
        &self,
        keys: [&[u8]; KEYS],
        scratch: &mut [Vec<u32>; KEYS],
        mut bit: impl FnMut(usize, u32),
    ) {
        let mut numbered = keys.iter().zip(scratch);
        let words: [Option<MurmurWords<'_>>; KEYS] =
            std::array::from_fn(|_| numbered.next().map(|(key, scratch)| MurmurWords::new(key, scratch)));
        let divisor = Divisor::new(self.bits);
        let mut seeds = [0_u32; KEYS];
        for _ in 0..self.count {
            for (number, (words, seed)) in words.iter().zip(&mut seeds).enumerate() {
                if let Some(words) = words {
                    *seed = words.hash(*seed);
                    bit(number, divisor.remainder(seed.cast_signed().unsigned_abs()));
                }
            }
        }
    }

    /// Java's `Math.abs(hash % bits)`.
    const fn bit_of(&self, hash: u32) -> u32 {
        hash.cast_signed().unsigned_abs() % self.bits
    }
}

/// Remainders by two multiplications instead of a division (D. Lemire et al., "Faster remainder by direct
/// computation").
#[derive(Clone, Copy)]
struct Divisor {
    divisor: u64,
    inverse: u64,
}

impl Divisor {
    /// `divisor` is at least 1.
    const fn new(divisor: u32) -> Self {
        // Of 1 the inverse is 0, as is every remainder.
        Self { divisor: divisor as u64, inverse: (u64::MAX / divisor as u64).wrapping_add(1) }
    }

    const fn remainder(self, number: u32) -> u32 {
        let fraction = self.inverse.wrapping_mul(number as u64);
        ((fraction as u128 * self.divisor as u128) >> 64) as u32
    }
}

const M: u32 = 0x5bd1_e995;

/// A key's words, mixed as far as that does not depend on the seed: this is done once for all hashes of the key.
struct MurmurWords<'a> {
    words: &'a [u32],
    /// The last 1 to 3 bytes.
    tail: Option<u32>,
    len: u32,
}

impl<'a> MurmurWords<'a> {
    fn new(key: &[u8], scratch: &'a mut Vec<u32>) -> Self {
        scratch.clear();
        let (words, tail) = key.as_chunks::<4>();
        scratch.extend(words.iter().map(|word| {
            let mixed = u32::from_le_bytes(*word).wrapping_mul(M);
            (mixed ^ (mixed >> 24)).wrapping_mul(M)
        }));
        // Java's bytes are signed: one of 0x80 or more sets all bits above it.
        let signed = |byte: u8| i32::from(byte.cast_signed()).cast_unsigned();
        // The last byte is the lowest, unlike in the words.
        let join = |tail: u32, (at, byte): (u32, &u8)| tail ^ (signed(*byte) << (8 * at));
        let tail = (!tail.is_empty()).then(|| (0..).zip(tail.iter().rev()).fold(0, join));
        // Hudi counts a key's bytes in an int.
        Self { words: scratch, tail, len: u32::try_from(key.len()).unwrap_or(u32::MAX) }
    }

    fn hash(&self, seed: u32) -> u32 {
        let mut hash = self.words.iter().fold(seed ^ self.len, |hash, word| hash.wrapping_mul(M) ^ word);
        if let Some(tail) = self.tail {
            hash = (hash ^ tail).wrapping_mul(M);
        }
        hash = (hash ^ (hash >> 13)).wrapping_mul(M);
        hash ^ (hash >> 15)
    }
}

/// lookup3's `hashlittle`, with the bytes of a word in little-endian order.
fn jenkins(key: &[u8], seed: u32) -> u32 {
    let len = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let start = 0xdead_beef_u32.wrapping_add(len).wrapping_add(seed);
    let mut state = [start; 3];
    let mut rest = key;
    // The last block, whole or not, is mixed otherwise.
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        add_block(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    if rest.is_empty() {
        let [_, _, c] = state;
        return c;
    }
    add_block(&mut state, rest);
    finish(state)
}

/// Adds up to 12 bytes; missing ones count as 0.
fn add_block(state: &mut [u32; 3], block: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(block.chunks(4)) {
        let value = (0..).zip(bytes).fold(0_u32, |value, (at, byte): (u32, &u8)| value | u32::from(*byte) << (8 * at));
        *word = word.wrapping_add(value);
    }
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    *state = [a, b, c];
}

fn finish([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_a_division() {
        for divisor in [1, 2, 3, 7, 432, 2_587_966, i32::MAX.unsigned_abs()] {
            for number in [0, 1, 2, 6, 7, 431, 432, 12_345_678, 0x7fff_ffff, 0x8000_0000] {
                assert_eq!(Divisor::new(divisor).remainder(number), number % divisor, "{number} % {divisor}");
            }
        }
    }

    #[test]
    fn several_keys_at_once_have_the_bits_of_each() {
        let hashing = Hashing { kind: HashKind::Murmur, count: 30, bits: 2_587_966 };
        let keys: [&[u8]; 3] = [b"a", "k\u{fc}\u{20ac}".as_bytes(), b"00000000-1111-2222"];
        let mut together = vec![Vec::new(); 3];
        hashing.murmur_of(keys, &mut Default::default(), |number, bit| together[number].push(bit));
        for (key, together) in keys.iter().zip(together) {
            let mut alone = Vec::new();
            hashing.all(key, &mut Vec::new(), |bit| {
                alone.push(bit);
                true
            });
            assert_eq!(alone, together);
        }
    }
}
