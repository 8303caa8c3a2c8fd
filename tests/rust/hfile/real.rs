//! Files of both of Hudi's writers (`tests/data/hfile`). A value's bytes follow from its key, so that each can be checked.

use mortice::hfile::HFile;

use crate::builder::Entries;
use crate::source::{Memory, collect, open};

fn bytes_of(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hfile/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

/// Eight bytes that follow from Java's hash of the key.
fn value_of(key: &[u8]) -> Vec<u8> {
    let hash = key.iter().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte)));
    (0..8).map(|at| hash.wrapping_mul(31).wrapping_add(at * 7) as u8).collect()
}

fn checked(file: &HFile) -> Entries {
    assert_eq!(file.schema(), Some("{\"type\":\"string\"}"));
    let all = collect(file.scan()).unwrap();
    assert_eq!(all.len() as u64, file.entry_count());
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(file.info("hfile.LASTKEY").unwrap()[2..][..all.last().unwrap().0.len()], all.last().unwrap().0);
    for (key, value) in &all {
        assert_eq!(*value, value_of(key), "of {}", key.escape_ascii());
        let found = file.seek(&[key]).and_then(collect).unwrap();
        assert_eq!(found, [(key.clone(), value.clone())]);
        assert!(file.seek(&[[key, &b"\0"[..]].concat()]).and_then(collect).unwrap().is_empty());
    }
    all
}

/// HBase's keys between blocks are made up, so most blocks begin after the key that the index has for them.
#[test]
fn a_file_of_hbase_with_four_levels_and_no_compression() {
    let file = open(bytes_of("hbase_four_levels.hfile")).unwrap();
    assert_eq!(checked(&file).len(), 40);
    let blocks = file.blocks().unwrap();
    assert_eq!(blocks.len(), 20);
    let made_up = blocks.iter().filter(|place| {
        let cells = file.read_block(place).unwrap();
        cells.key(&cells.cells[0]) != place.first_key
    });
    assert!(made_up.count() > 10);
}

/// Hudi writes the low 16 bits of a key's length; its own reader cannot read such keys back.
#[test]
fn a_file_of_hudi_with_keys_of_up_to_70_000_bytes() {
    let source = Memory::new(bytes_of("native_long_keys.hfile"), 4096);
    let file = HFile::open(source).unwrap();
    let all = checked(&file);
    assert_eq!(all.iter().map(|(key, _)| key.len()).take(4).collect::<Vec<_>>(), [1, 40_001, 70_001, 3]);
    assert_eq!(all.len(), 43);
    assert!(file.blocks().unwrap().len() > 10);
    let begun = file.seek_prefixes(&["k1", "byy", "bxx"]).and_then(collect).unwrap();
    assert_eq!(begun.len(), 11);
}
