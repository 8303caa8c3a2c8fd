//! HFiles of every shape that the two writers give them (compressed or not, checksums, one or more levels of index, full or
//! made-up keys in it) against a sorted map. Real ones lie in the log files of tests/data.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use mortice::hfile::HFile;
use mortice::storage::MemoryFile;
use mortice::{Kind, Result};
use proptest::prelude::*;
use proptest::sample::Index;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
struct Shape {
    gzip: bool,
    /// As HBase writes: checksums, whole keys in the index, made-up ones between blocks.
    hbase: bool,
    levels: u32,
    block_cells: usize,
    index_entries: usize,
}

/// A writer of HFiles, as small as can be.
struct Writer {
    shape: Shape,
    file: Vec<u8>,
}

impl Writer {
    fn write(shape: &Shape, pairs: &Pairs) -> Vec<u8> {
        Self::write_counted(shape, pairs, pairs.len())
    }

    /// A trailer that counts so many keys.
    fn write_counted(shape: &Shape, pairs: &Pairs, count: usize) -> Vec<u8> {
        let mut writer = Self { shape: shape.clone(), file: Vec::new() };
        let all: Vec<_> = pairs.iter().collect();
        let mut entries: Vec<(u64, u32, Vec<u8>)> = Vec::new();
        let mut last: &[u8] = b"";
        for cells in all.chunks(shape.block_cells) {
            let payload: Vec<u8> = cells.iter().flat_map(|(key, value)| cell(key, value)).collect();
            let first = if entries.is_empty() { cells[0].0.clone() } else { writer.between(last, cells[0].0) };
            entries.push(writer.block(b"DATABLK*", &payload, first));
            last = cells[cells.len() - 1].0;
        }
        for level in 1..shape.levels {
            let magic = if level == 1 { b"IDXLEAF2" } else { b"IDXINTE2" };
            let chunks: Vec<Vec<_>> = entries.chunks(shape.index_entries).map(<[_]>::to_vec).collect();
            entries = chunks.iter().map(|chunk| writer.inner_index(magic, chunk)).collect();
        }
        writer.finish(&entries, count)
    }

    /// HBase shortens the key between two blocks to what tells them apart.
    fn between(&self, last: &[u8], first: &[u8]) -> Vec<u8> {
        if !self.shape.hbase {
            return first.to_vec();
        }
        (1..=first.len()).map(|len| &first[..len]).find(|key| *key > last).unwrap_or(first).to_vec()
    }

    fn index_key(&self, key: &[u8]) -> Vec<u8> {
        let mut bytes = u16::try_from(key.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(key);
        if self.shape.hbase {
            bytes.push(0);
            bytes.extend(i64::MAX.to_be_bytes());
            bytes.push(0xff);
        }
        bytes
    }

    fn block(&mut self, magic: &[u8; 8], payload: &[u8], key: Vec<u8>) -> (u64, u32, Vec<u8>) {
        let at = self.file.len() as u64;
        let packed = if self.shape.gzip {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(payload).unwrap();
            encoder.finish().unwrap()
        } else {
            payload.to_vec()
        };
        let with_header = packed.len() + 33;
        let checksums = if self.shape.hbase { 4 * with_header.div_ceil(16384) } else { 0 };
        let number = |number: usize| i32::try_from(number).unwrap().to_be_bytes();
        self.file.extend(magic);
        self.file.extend(number(packed.len() + checksums));
        self.file.extend(number(payload.len()));
        self.file.extend((-1_i64).to_be_bytes());
        self.file.push(if self.shape.hbase { 2 } else { 0 });
        self.file.extend(number(16384));
        self.file.extend(number(with_header));
        self.file.extend(&packed);
        self.file.extend(vec![0xcc; checksums]);
        (at, u32::try_from(with_header + checksums).unwrap(), key)
    }

    fn inner_index(&mut self, magic: &[u8; 8], entries: &[(u64, u32, Vec<u8>)]) -> (u64, u32, Vec<u8>) {
        let mut bodies = Vec::new();
        let mut places = vec![0_i32];
        for (at, size, key) in entries {
            bodies.extend(at.to_be_bytes());
            bodies.extend(size.to_be_bytes());
            bodies.extend(self.index_key(key));
            places.push(i32::try_from(bodies.len()).unwrap());
        }
        let mut payload = i32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        payload.extend(places.iter().flat_map(|place| place.to_be_bytes()));
        payload.extend(bodies);
        self.block(magic, &payload, entries[0].2.clone())
    }

    fn finish(mut self, entries: &[(u64, u32, Vec<u8>)], count: usize) -> Vec<u8> {
        let mut root = Vec::new();
        for (at, size, key) in entries {
            root.extend(at.to_be_bytes());
            root.extend(size.to_be_bytes());
            let key = self.index_key(key);
            // A vint of Hadoop: one byte up to 127, else how many bytes, and they.
            match u8::try_from(key.len()) {
                Ok(len) if len < 128 => root.push(len),
                Ok(len) => root.extend([0x8f, len]),
                Err(_) => root.extend([&[0x8e][..], &u16::try_from(key.len()).unwrap().to_be_bytes()].concat()),
            }
            root.extend(key);
        }
        let load_on_open = self.block(b"IDXROOT2", &root, Vec::new()).0;
        let pair = [field(1, b"schema"), field(2, b"\"string\"")].concat();
        let info = [b"PBUF".to_vec(), delimited(&field(1, &pair))].concat();
        let file_info = self.block(b"FILEINF2", &info, Vec::new()).0;
        let message: Vec<u8> = [
            (1, file_info),
            (2, load_on_open),
            (5, entries.len() as u64),
            (7, count as u64),
            (8, u64::from(self.shape.levels)),
            (12, if self.shape.gzip { 1 } else { 2 }),
        ]
        .iter()
        .flat_map(|(number, value)| [varint(number << 3), varint(*value)].concat())
        .collect();
        let mut trailer = b"TRABLK\"$".to_vec();
        trailer.extend(delimited(&message));
        trailer.resize(4092, 0);
        trailer.extend([if self.shape.hbase { 3 } else { 0 }, 0, 0, 3]);
        self.file.extend(trailer);
        self.file
    }
}

fn cell(key: &[u8], value: &[u8]) -> Vec<u8> {
    let number = |number: usize| i32::try_from(number).unwrap().to_be_bytes();
    let mut bytes = [number(key.len() + 12), number(value.len())].concat();
    bytes.extend(u16::try_from(key.len()).unwrap().to_be_bytes());
    bytes.extend(key);
    bytes.push(0);
    bytes.extend(i64::MAX.to_be_bytes());
    bytes.push(4);
    bytes.extend(value);
    bytes.push(0);
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn delimited(message: &[u8]) -> Vec<u8> {
    [varint(message.len() as u64), message.to_vec()].concat()
}

fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), delimited(bytes)].concat()
}

fn open(file: &[u8]) -> Result<HFile> {
    HFile::open(Arc::new(MemoryFile::new("memory.hfile", file.to_vec())))
}

fn pairs_of(cells: &[mortice::hfile::Cells]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pair = |cells: &mortice::hfile::Cells, cell| (cells.key(cell).to_vec(), cells.value(cell).to_vec());
    cells.iter().flat_map(|cells| cells.cells.iter().map(|cell| pair(cells, cell)).collect::<Vec<_>>()).collect()
}

fn shape() -> impl Strategy<Value = Shape> {
    (any::<bool>(), any::<bool>(), 1..4_u32, 1..8_usize, 1..5_usize).prop_map(
        |(gzip, hbase, levels, block_cells, index_entries)| Shape { gzip, hbase, levels, block_cells, index_entries },
    )
}

fn pairs() -> impl Strategy<Value = Pairs> {
    let key = prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 1..6),
        "key[0-9]{1,3}".prop_map(String::into_bytes),
        prop::collection::vec(Just(b'k'), 120..140),
    ];
    prop::collection::btree_map(key, prop::collection::vec(any::<u8>(), 0..20), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(shape in shape(), pairs in pairs()) {
        let file = open(&Writer::write(&shape, &pairs)).unwrap();
        prop_assert_eq!(file.entry_count(), pairs.len() as u64);
        prop_assert_eq!(file.schema(), Some("\"string\""));
        let all = file.scan().collect::<Result<Vec<_>>>().unwrap();
        prop_assert_eq!(pairs_of(&all), pairs.clone().into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn seeks_find_what_a_map_has(shape in shape(), pairs in pairs(), some in prop::collection::vec(any::<Index>(), 0..6), other in pairs()) {
        let file = open(&Writer::write(&shape, &pairs)).unwrap();
        let known: Vec<&Vec<u8>> = pairs.keys().collect();
        let mut keys: Vec<Vec<u8>> = some.iter().map(|at| known[at.index(known.len())].clone()).collect();
        keys.extend(other.into_keys().take(5));
        keys.sort();
        keys.dedup();
        let expected: Vec<_> = pairs.iter().filter(|(key, _)| keys.contains(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        prop_assert_eq!(pairs_of(&file.seek(&keys).unwrap()), expected);
        let prefixes: Vec<Vec<u8>> = keys.iter().map(|key| key[..1.max(key.len() / 2)].to_vec()).collect();
        let expected: Vec<_> = pairs
            .iter()
            .filter(|(key, _)| prefixes.iter().any(|prefix| key.starts_with(prefix)))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        prop_assert_eq!(pairs_of(&file.seek_prefixes(&prefixes).unwrap()), expected);
    }

    /// An error or an answer: never a panic, and never fewer pairs in silence where the change is in the lengths of cells.
    #[test]
    fn damage_is_survived(shape in shape(), pairs in pairs(), changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4), cut in prop::option::of(any::<Index>())) {
        let mut file = Writer::write(&shape, &pairs);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok(file) = open(&file) && let Ok(cells) = file.scan().collect::<Result<Vec<_>>>() {
            prop_assert_eq!(pairs_of(&cells).len() as u64, file.entry_count());
            let _ = (file.seek(&[b"a"]), file.seek_prefixes(&[b"k"]));
        }
    }
}

fn some_file(shape: &Shape) -> Vec<u8> {
    let pairs = (0..40_u8).map(|number| (format!("key{number:02}").into_bytes(), vec![number; 9])).collect();
    Writer::write(shape, &pairs)
}

const SHAPE: Shape = Shape { gzip: false, hbase: true, levels: 2, block_cells: 7, index_entries: 3 };

#[test]
fn a_lost_block_is_an_error_not_fewer_rows() {
    let mut file = some_file(&Shape { levels: 1, ..SHAPE });
    // The trailer counts one more key than there is.
    let trailer = file.len() - 4096;
    let at = trailer + file[trailer..].windows(2).position(|pair| pair == [7 << 3, 40]).unwrap();
    file[at + 1] = 41;
    let error = open(&file).unwrap().scan().last().unwrap().unwrap_err();
    assert_eq!(error.kind(), Kind::CorruptLog);
    assert!(error.to_string().contains("41 keys"), "{error}");
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let file = some_file(&SHAPE);
    let trailer = file.len() - 4096;
    let codec = trailer + file[trailer..].windows(2).position(|pair| pair == [12 << 3, 2]).unwrap() + 1;
    for (at, byte, says) in [(codec, 6, "zstd"), (file.len() - 1, 2, "version 2")] {
        let mut file = file.clone();
        file[at] = byte;
        let error = open(&file).err().unwrap();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(open(b"no HFile").err().unwrap().kind(), Kind::CorruptLog);
}

/// A block that claims to unpack to gigabytes is not believed.
/// Else a small file could have one large block read again and again.
#[test]
fn an_index_that_names_a_block_twice_is_refused() {
    for levels in [1, 2] {
        let file = some_file(&Shape { levels, ..SHAPE });
        let blocks: Vec<u64> = open(&file).unwrap().blocks().iter().map(|place| place.offset).collect();
        let second = blocks[1].to_be_bytes();
        let at = (0..file.len() - 8).rfind(|at| file[*at..].starts_with(&second)).unwrap();
        for again in [blocks[0], blocks[2]] {
            let mut file = file.clone();
            file[at..at + 8].copy_from_slice(&again.to_be_bytes());
            let error = open(&file).err().unwrap();
            assert_eq!(error.kind(), Kind::CorruptLog);
            assert!(error.to_string().contains("HFile index"), "{error}");
        }
    }
}

/// A block ends where the next begins.
#[test]
fn blocks_that_overlap_are_refused() {
    let mut file = some_file(&Shape { hbase: false, levels: 1, ..SHAPE });
    let block = open(&file).unwrap().blocks()[0].clone();
    let longer = i32::try_from(block.end - block.offset - 33 + 1).unwrap();
    file[8..12].copy_from_slice(&longer.to_be_bytes());
    let error = open(&file).unwrap().scan().find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.place().offset), (Kind::CorruptLog, Some(0)));
}

#[test]
fn a_count_of_keys_that_cannot_fit_is_refused() {
    let file = Writer::write_counted(&SHAPE, &BTreeMap::from([(b"key".to_vec(), Vec::new())]), 1 << 40);
    let error = open(&file).err().unwrap();
    assert_eq!(error.kind(), Kind::CorruptLog);
    assert!(error.to_string().contains("1099511627776 keys"), "{error}");
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let mut file = some_file(&Shape { gzip: true, ..SHAPE });
    file[12..16].copy_from_slice(&i32::MAX.to_be_bytes());
    let error = open(&file).unwrap().scan().find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.place().offset), (Kind::CorruptLog, Some(0)));
}

fn real(name: &str) -> HFile {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hfile/");
    open(&std::fs::read(format!("{folder}{name}")).unwrap()).unwrap()
}

/// Eight bytes that follow from Java's hash of the key: what stands under each key of the real files.
fn value_of(key: &[u8]) -> Vec<u8> {
    let hash = key.iter().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte)));
    (0..8).map(|at| hash.wrapping_mul(31).wrapping_add(at * 7) as u8).collect()
}

fn checked(file: &HFile) -> Vec<(Vec<u8>, Vec<u8>)> {
    assert_eq!(file.schema(), Some("{\"type\":\"string\"}"));
    let all = pairs_of(&file.scan().collect::<Result<Vec<_>>>().unwrap());
    assert!(all.is_sorted() && all.len() as u64 == file.entry_count());
    for (key, value) in &all {
        assert_eq!(*value, value_of(key));
        assert_eq!(pairs_of(&file.seek(&[key]).unwrap()), [(key.clone(), value.clone())]);
        assert!(pairs_of(&file.seek(&[[key, &b"\0"[..]].concat()]).unwrap()).is_empty());
    }
    all
}

/// HBase's keys between blocks are made up, so that most blocks begin after the key that the index has for them.
#[test]
fn a_file_of_hbase_with_four_levels_and_no_compression() {
    let file = real("hbase_four_levels.hfile");
    assert_eq!((checked(&file).len(), file.blocks().len()), (40, 20));
    let begins = |place: &mortice::hfile::BlockPlace| {
        let cells = file.read_block(place).unwrap();
        cells.key(&cells.cells[0]).to_vec()
    };
    assert!(file.blocks().iter().filter(|place| begins(place) != place.first_key).count() > 10);
}

/// Hudi writes the low 16 bits of a key's length; its own reader cannot read such keys back.
#[test]
fn a_file_of_hudi_with_keys_of_up_to_70_000_bytes() {
    let file = real("native_long_keys.hfile");
    let all = checked(&file);
    assert_eq!(all.iter().map(|(key, _)| key.len()).take(4).collect::<Vec<_>>(), [1, 40_001, 70_001, 3]);
    assert_eq!(all.len(), 43);
    assert_eq!(pairs_of(&file.seek_prefixes(&["bxx", "byy", "k1"]).unwrap()).len(), 11);
}
