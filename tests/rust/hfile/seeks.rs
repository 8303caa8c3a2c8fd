//! Which parts of a file are read, and when.

use std::ops::Range;

use mortice::hfile::HFile;

use super::builder::{Entries, HFileForm, hfile};
use super::source::{Memory, collect};

/// 1000 keys in 250 blocks of data under 3 levels of index, 8 entries each.
fn deep(form: HFileForm) -> Vec<u8> {
    let entries: Entries = (0..1000).map(|key| (format!("key{key:04}").into_bytes(), vec![b'v'; 20])).collect();
    hfile(&entries, &HFileForm { index_entries: 8, ..form })
}

fn keys(entries: &Entries) -> Vec<&str> {
    entries.iter().map(|(key, _)| std::str::from_utf8(key).unwrap()).collect()
}

#[test]
fn opening_touches_no_data_block() {
    let source = Memory::new(deep(HFileForm::default()), 0);
    let file = HFile::open(source.clone()).unwrap();
    let reads = source.reads();
    let blocks = file.blocks().unwrap();
    let end = blocks.last().unwrap().end();
    assert_eq!(blocks.len(), 250);
    assert!(reads.iter().all(|read| read.start >= end), "{reads:?} with data up to {end}");
}

#[test]
fn a_key_costs_one_block_of_each_level() {
    for hbase in [false, true] {
        let source = Memory::new(deep(HFileForm { hbase, ..HFileForm::default() }), 0);
        let file = HFile::open(source.clone()).unwrap();
        source.reads();
        let found = file.seek(&["key0517"]).and_then(collect).unwrap();
        assert_eq!(keys(&found), ["key0517"]);
        // Intermediate index, leaf index, data.
        assert_eq!(source.reads().len(), 3, "hbase {hbase}");
        assert!(collect(file.seek(&["a"]).unwrap()).unwrap().is_empty());
        assert_eq!(source.reads(), Vec::<Range<u64>>::new(), "no key of the file is that small");
    }
}

#[test]
fn blocks_are_read_when_they_are_asked_for() {
    let source = Memory::new(deep(HFileForm::default()), 0);
    let file = HFile::open(source.clone()).unwrap();
    let mut seek = file.seek_prefixes(&["key05"]).unwrap();
    source.reads();
    assert_eq!(seek.next().unwrap().unwrap().cells.len(), 4);
    // The block before could have held the key "key05", but for the cells that it has.
    assert_eq!(source.reads().len(), 2);
    assert_eq!(seek.map(|cells| cells.unwrap().cells.len()).sum::<usize>(), 96);
    assert_eq!(source.reads().len(), 24);
}

#[test]
fn keys_may_come_in_any_order_and_twice() {
    let file = HFile::open(Memory::new(deep(HFileForm::default()), 0)).unwrap();
    let found = file.seek(&["key0999", "key0000", "none", "key0999"]).and_then(collect).unwrap();
    assert_eq!(keys(&found), ["key0000", "key0999"]);
    assert!(file.seek(&[""; 0]).and_then(collect).unwrap().is_empty());
}

#[test]
fn a_small_file_that_is_not_mapped_is_one_read() {
    let bytes = deep(HFileForm { gz: true, ..HFileForm::default() });
    let source = Memory::new(bytes.clone(), 1 << 18);
    let file = HFile::open(source.clone()).unwrap();
    assert_eq!(collect(file.scan()).unwrap().len(), 1000);
    assert_eq!(source.reads(), vec![Range { start: 0, end: bytes.len() as u64 }]);
}
