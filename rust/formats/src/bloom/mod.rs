//! Hudi's Bloom filters: written into the footers of base files, and read from them and from the metadata table.
//!
//! The text of a filter is base64 of big-endian binary (`SimpleBloomFilter`, `HoodieDynamicBoundedBloomFilter`):
//!
//! | type code | layout |
//! |---|---|
//! | `SIMPLE` | version -1 (4), hashes per key (4), hash function (1), bits (4), the bits, lowest bit of a byte first |
//! | `DYNAMIC_V0` | as `SIMPLE` up to the bits; keys per row (4), keys in the last row (4), rows (4); each row as `SIMPLE` |
//!
//! | file | job |
//! |---|---|
//! | `hash` | the hash functions, and the bits that a key sets |
//! | `bits` | one row of bits |
//! | `filter` | a filter that is read: parsed, tested, written as text |
//! | `builder` | a filter that keys are added to |

mod bits;
mod builder;
mod filter;
mod hash;

pub use builder::{BloomBuilder, BloomOptions};
pub use filter::{BloomFilter, BloomType};
