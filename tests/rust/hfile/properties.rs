//! Files of every form read back as they were written, seeks find what a map of the same entries has, and no damage
//! makes the reader panic, lose entries in silence, or take more memory than the file accounts for.

use std::collections::BTreeMap;

use mortice::Result;
use mortice::hfile::HFile;
use proptest::prelude::*;
use proptest::sample::Index;

use super::builder::{Entries, HFileForm, hfile};
use super::source::{Memory, collect, open};
use crate::allocations::peak_of;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn form() -> impl Strategy<Value = HFileForm> {
    (any::<bool>(), any::<bool>(), 1..9_usize, prop_oneof![Just(usize::MAX), 2..6_usize], any::<bool>()).prop_map(
        |(gz, hbase, cells, index_entries, sequence)| HFileForm {
            gz,
            hbase,
            cells,
            index_entries,
            // Hudi's own writer writes sequence numbers always; some of its builds wrote short keys.
            sequence: sequence || !hbase,
            short_keys: !sequence && !hbase,
            ..HFileForm::default()
        },
    )
}

/// Keys that share beginnings, that have the extreme bytes, and that need more than one byte for their length.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(vec![0, b'a', b'b', 0x7f, 0x80, 0xff]), 0..5),
        2 => "key[0-9]{1,3}".prop_map(String::into_bytes),
        1 => prop::collection::vec(Just(b'k'), 110..320),
    ]
}

fn map() -> impl Strategy<Value = Map> {
    prop::collection::btree_map(key(), prop::collection::vec(any::<u8>(), 0..30), 0..70)
}

fn entries(map: &Map) -> Entries {
    map.clone().into_iter().collect()
}

/// Everything that can be asked of a file.
fn all_of(bytes: Vec<u8>, keys: &[Vec<u8>]) -> Result<Entries> {
    let file = HFile::open(Memory::new(bytes, 512))?;
    let _ = (file.schema(), file.info("schema"), file.entry_count());
    let _ = file.seek(keys).and_then(collect);
    let _ = file.seek_prefixes(keys).and_then(collect);
    collect(file.scan())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(form in form(), map in map(), window in prop_oneof![Just(0), 1..20_000_u64]) {
        let bytes = hfile(&entries(&map), &form);
        let file = HFile::open(Memory::new(bytes, window)).unwrap();
        prop_assert_eq!(file.entry_count(), map.len() as u64);
        prop_assert_eq!(file.schema(), Some("\"bytes\""));
        prop_assert_eq!(collect(file.scan()).unwrap(), entries(&map));
        let blocks = file.blocks().unwrap();
        prop_assert_eq!(blocks.len(), map.len().div_ceil(form.cells));
        let by_block = collect(blocks.iter().map(|place| file.read_block(place))).unwrap();
        prop_assert_eq!(by_block, entries(&map));
    }

    #[test]
    fn seeks_find_what_a_map_has(
        form in form(), map in map(), known in prop::collection::vec(any::<Index>(), 0..8),
        others in prop::collection::vec(key(), 0..8),
    ) {
        let file = open(hfile(&entries(&map), &form)).unwrap();
        let all: Vec<&Vec<u8>> = map.keys().collect();
        let known = known.iter().filter(|_| !all.is_empty()).map(|at| all[at.index(all.len())].clone());
        let keys: Vec<Vec<u8>> = known.chain(others).collect();
        let of = |wanted: &dyn Fn(&Vec<u8>) -> bool| -> Entries {
            map.iter().filter(|(key, _)| wanted(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        prop_assert_eq!(file.seek(&keys).and_then(collect).unwrap(), of(&|key| keys.contains(key)));
        let prefixes: Vec<&[u8]> = keys.iter().map(|key| &key[..key.len().div_ceil(2)]).collect();
        let begun = of(&|key| prefixes.iter().any(|prefix| key.starts_with(prefix)));
        prop_assert_eq!(file.seek_prefixes(&prefixes).and_then(collect).unwrap(), begun);
    }

    /// The entries, an error, or values that differ: never fewer or more entries, never a panic, and no more memory
    /// than the blocks of a file of that size can account for.
    #[test]
    fn damage_is_survived(
        form in form(), map in map(), flips in prop::collection::vec((any::<Index>(), 1..=255_u8), 1..5),
        cut in prop::option::weighted(0.2, any::<Index>()),
    ) {
        let mut bytes = hfile(&entries(&map), &form);
        for (at, bits) in flips {
            // The zeros between the trailer's fields and its version mean nothing.
            let at = at.index(bytes.len() - 3900);
            bytes[at] ^= bits;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let keys: Vec<Vec<u8>> = map.keys().step_by(5).cloned().collect();
        let len = bytes.len();
        let (read, peak) = peak_of(|| all_of(bytes, &keys));
        // The input, the entries collected here, and a decompressed block at the maximum ratio.
        prop_assert!(peak <= 64 * len + (1 << 20), "{peak} bytes at most, of a file of {len}");
        if let Ok(read) = read {
            prop_assert_eq!(read.len(), map.len());
        }
    }
}
