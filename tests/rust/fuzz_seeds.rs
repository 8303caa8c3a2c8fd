//! The fuzz targets on stable Rust: every committed seed, and random changes to seeds, go through the same functions.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn every_seed_is_survived() {
    for target in targets::TARGETS {
        let seeds = seeds(target.name);
        assert!(!seeds.is_empty(), "no seeds of {}", target.name);
        seeds.iter().for_each(|seed| target.check(seed));
    }
}

/// A change to some bytes: set one, cut the end, cut a stretch out, or put a number where a length may stand.
#[derive(Debug, Clone)]
enum Change {
    Set(Index, u8),
    Cut(Index),
    Remove(Index, u8),
    Number(Index, i32),
}

fn change() -> impl Strategy<Value = Change> {
    let number = prop_oneof![Just(0), Just(-1), Just(i32::MAX), Just(i32::MIN), any::<i32>(), -300_i32..300];
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), 1..40_u8).prop_map(|(at, len)| Change::Remove(at, len)),
        2 => (any::<Index>(), number).prop_map(|(at, number)| Change::Number(at, number)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        let len = bytes.len();
        match change {
            Change::Set(at, byte) => bytes[at.index(len)] = *byte,
            Change::Cut(at) => bytes.truncate(at.index(len)),
            Change::Remove(at, count) => {
                let start = at.index(len);
                bytes.drain(start..(start + usize::from(*count)).min(len));
            }
            Change::Number(at, number) => {
                let start = at.index(len);
                bytes.iter_mut().skip(start).zip(number.to_be_bytes()).for_each(|(byte, new)| *byte = new);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_seeds_are_survived(seed in any::<Index>(), changes in prop::collection::vec(change(), 1..5)) {
        for target in targets::TARGETS {
            let seeds = seeds(target.name);
            target.check(&changed(seeds[seed.index(seeds.len())].clone(), &changes));
        }
    }
}
