//! Files of both of Hudi's writers (`tests/data/hfile`). A value's bytes follow from its key, so that each can be
//! checked.

use std::path::Path;

use mortice::hfile::HFile;

use super::builder::Entries;
use super::source::{Memory, collect, open};
use crate::zip_archive::ZipArchive;

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

/// Key and value of each entry as text; the entries are as many as the file says, in the order of their keys, and
/// sought by key.
fn strings(file: &HFile) -> Vec<(String, String)> {
    let all = collect(file.scan()).unwrap();
    assert_eq!(all.len() as u64, file.entry_count());
    assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    let mut keys: Vec<&[u8]> = all.iter().map(|(key, _)| key.as_slice()).collect();
    keys.dedup();
    for key in keys.iter().step_by(keys.len() / 50 + 1) {
        let of_key: Entries = all.iter().filter(|(one, _)| one == key).cloned().collect();
        assert_eq!(file.seek(&[key]).and_then(collect).unwrap(), of_key);
    }
    let text = |bytes: Vec<u8>| bytes.escape_ascii().to_string();
    all.into_iter().map(|(key, value)| (text(key), text(value))).collect()
}

fn of_hudi_io(name: &str) -> Vec<(String, String)> {
    strings(&open(bytes_of(&format!("hudi_io/{name}.hfile"))).unwrap())
}

/// Avro records, of a string key first, whose field `number` is the number in the key.
#[test]
fn files_of_hbase_1_and_2_from_hudis_tests() {
    for name in ["hudi_0_9_hbase_1_2_3_simple", "hudi_0_11_hbase_2_4_9_complex"] {
        let all = of_hudi_io(name);
        assert_eq!(all.len(), 50, "{name}");
        for (number, (key, value)) in all.iter().enumerate() {
            assert_eq!(*key, format!("key{number:02}"));
            // The key and the number as text, each with its length before it.
            let length = if number < 10 { "\\x02" } else { "\\x04" };
            assert!(value.starts_with(&format!("\\nkey{number:02}{length}{number}")), "{name}: {value}");
        }
    }
    let partitions = of_hudi_io("hudi_0_9_hbase_1_2_3_bootstrap_index_partitions");
    let days: Vec<&str> = partitions.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(days, ["part=2020/03/18", "part=2020/03/19", "part=2020/03/20", "part=2020/03/21"]);
    // Avro containers.
    assert!(partitions.iter().all(|(_, value)| value.starts_with("Obj\\x01")));
}

#[test]
fn files_without_entries_and_with_keys_that_recur() {
    assert!(of_hudi_io("hudi_1_0_hbase_2_4_9_no_entry").is_empty());
    let mut expected = Vec::new();
    for number in 0..200 {
        let of = |end: String| (format!("hudi-key-{number:09}"), format!("hudi-value-{number:09}{end}"));
        expected.push(of(String::new()));
        expected.extend((0..20).map(|at| of(format!("_{at}"))));
    }
    assert_eq!(of_hudi_io("hudi_1_0_hbase_2_4_9_16KB_GZ_200_20_non_unique"), expected);
}

#[test]
fn hudi_and_hbase_write_the_same_entries() {
    let rows: Vec<_> = (1..=5).map(|row| (format!("row{row}"), format!("value{row}"))).collect();
    assert_eq!(of_hudi_io("hudi-generated"), rows);
    assert_eq!(of_hudi_io("hbase-generated"), rows);
}

/// The larger files, of HBase 2.4.9 and 2.4.13, whose names say how many entries they have: in blocks of 1 to 512 KB,
/// with and without compression, long keys, deep indexes, and made-up first keys of blocks.
#[test]
fn large_files_from_hudis_tests() {
    // `make hudi-jar` fetches it.
    let jar = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.hudi/hudi-io-1.2.0-tests.jar");
    if !jar.is_file() {
        return;
    }
    let jar = ZipArchive::open(&jar);
    let files = jar.files(|name| name.contains("hudi_1_0_hbase") && name.contains("000"));
    assert_eq!(files.len(), 8);
    for (name, bytes) in files {
        let all = strings(&open(bytes).unwrap());
        assert!(name.contains(&format!("_{}", all.len())), "{name}: {}", all.len());
        let before = if name.contains("large_keys") { format!("{}-", "a".repeat(100)) } else { String::new() };
        let after = if name.contains("fake_first_key") { "-abcdefghij" } else { "" };
        for (number, entry) in all.into_iter().enumerate() {
            let key = format!("hudi-key-{before}{number:09}{after}");
            assert_eq!(entry, (key, format!("hudi-value-{number:09}")), "{name}");
        }
    }
}
