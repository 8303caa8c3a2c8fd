//! HFiles that are written: the same as Hudi's, and read again.

use std::collections::BTreeSet;
use std::io::Read as _;

use flate2::read::GzDecoder;
use mortice::ErrorKind;
use mortice::hfile::{HFile, HFileWriter};

use super::source::{collect, open};

const INFO_OF_WRITER: [&str; 5] =
    ["hfile.LASTKEY", "hfile.AVG_KEY_LEN", "hfile.AVG_VALUE_LEN", "KEY_VALUE_VERSION", "MAX_MEMSTORE_TS_KEY"];

/// The blocks of an HFile, without their sizes, decompressed; and its trailer.
fn blocks(file: &[u8]) -> (Vec<(String, Vec<u8>)>, Vec<u8>) {
    let (mut found, mut at) = (Vec::new(), 0);
    while &file[at..at + 8] != b"TRABLK\"$" {
        let int = |at: usize| i32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let on_disk = int(at + 8);
        // Hudi appends four zeros in place of checksums, though the kind of its checksums is none.
        assert!([on_disk + 29, on_disk + 33].contains(&int(at + 29)));
        let mut payload = Vec::new();
        GzDecoder::new(&file[at + 33..at + 33 + on_disk]).read_to_end(&mut payload).unwrap();
        assert_eq!(payload.len(), int(at + 12));
        let head = format!("{} {:?}", file[at..at + 8].escape_ascii(), &file[at + 16..at + 29]);
        found.push((head, payload));
        at += 33 + on_disk;
    }
    (found, file[at..].to_vec())
}

/// What the first HFile block of a log holds.
fn content_of_log(log: &[u8]) -> Vec<u8> {
    let int = |at: usize| i32::from_be_bytes(log[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 26;
    for _ in 0..int(22) {
        at += 8 + int(at + 4);
    }
    let len = i64::from_be_bytes(log[at..at + 8].try_into().unwrap()) as usize;
    log[at + 8..at + 8 + len].to_vec()
}

fn sample(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/metadata_table/");
    let bytes = std::fs::read(format!("{folder}{name}")).unwrap();
    if name.ends_with(".log") { content_of_log(&bytes) } else { bytes }
}

/// Lengths in the entries of an index block depend on how well blocks compress.
fn without_places(index: &[u8]) -> Vec<u8> {
    index.get(12..).unwrap_or_default().to_vec()
}

#[test]
fn the_structure_is_that_of_hudi() {
    for name in [
        "v9_files_upsert.log",
        "v9_column_stats_upsert.log",
        "v9_partition_stats_upsert.log",
        "v9_record_index_insert.log",
        "v9_files_compacted.hfile",
        "v9_record_index_compacted_empty.hfile",
    ] {
        let hudis = sample(name);
        let (theirs, _) = blocks(&hudis);
        let read = open(hudis.clone()).unwrap();
        let created = i64::from_be_bytes(read.info("hfile.CREATE_TIME_TS").unwrap().try_into().unwrap());
        let mut writer = HFileWriter::new(read.schema().unwrap(), created);
        for key in ["bloomFilterTypeCode", "minRecordKey", "maxRecordKey"] {
            read.info(key).iter().for_each(|value| writer.add_info(key, value));
        }
        if let Some((_, bloom)) = theirs.iter().find(|(head, _)| head.starts_with("METABLKc")) {
            writer.add_meta_block("bloomFilter", bloom);
        }
        collect(read.scan()).unwrap().iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        let written = writer.finish().unwrap();
        let (ours, trailer) = blocks(&written);
        let heads = |blocks: &[(String, Vec<u8>)]| blocks.iter().map(|(head, _)| head.clone()).collect::<Vec<_>>();
        assert_eq!(heads(&ours), heads(&theirs), "{name}");
        for ((head, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            match &head[..8] {
                "IDXROOT2" => assert_eq!(without_places(ours), without_places(theirs), "{name}"),
                "FILEINF2" => assert_eq!(ours.len(), theirs.len(), "{name}"),
                _ => assert_eq!(ours, theirs, "{name}: {head}"),
            }
        }
        let again = open(written.clone()).unwrap();
        for key in INFO_OF_WRITER.iter().chain(&["schema", "hfile.CREATE_TIME_TS", "minRecordKey", "maxRecordKey"]) {
            assert_eq!(again.info(key), read.info(key), "{name}: {key}");
        }
        assert_eq!((trailer.len(), &trailer[4092..]), (4096, &[0, 0, 0, 3][..]));
        let comparator = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator";
        assert!(trailer.windows(comparator.len()).any(|part| part == comparator));
    }
}

#[test]
fn a_file_without_cells_is_read_again() {
    let hudis = sample("v9_record_index_compacted_empty.hfile");
    let mut writer = HFileWriter::new("\"bytes\"", 1);
    assert!(writer.take_complete().is_empty());
    let ours = writer.finish().unwrap();
    // The last fields of both trailers are: no first data block, 0 for the last one.
    let fields = [&[0x48][..], &[0xff; 9], &[0x01, 0x50, 0x00]].concat();
    for file in [hudis, ours] {
        assert!(file.windows(fields.len()).any(|part| part == fields));
        let file = open(file).unwrap();
        assert_eq!((file.entry_count(), file.info("hfile.LASTKEY")), (0, Some(&b""[..])));
        assert!(collect(file.scan()).unwrap().is_empty() && file.blocks().unwrap().is_empty());
        assert!(file.seek(&[b"key"]).and_then(collect).unwrap().is_empty());
    }
}

#[test]
fn bytes_are_taken_as_they_are_complete() {
    let write = |take: bool| {
        let (mut writer, mut bytes) = (HFileWriter::new("\"bytes\"", 1), Vec::new());
        for at in 0..5000_u32 {
            writer.append(format!("{at:08}").as_bytes(), &[7; 100]).unwrap();
            if take && at % 700 == 0 {
                bytes.extend(writer.take_complete());
            }
        }
        assert_eq!(bytes.is_empty(), !take);
        bytes.extend(writer.finish().unwrap());
        bytes
    };
    assert!(write(true) == write(false));
}

#[test]
fn many_blocks_are_read_again() {
    let entries: Vec<(Vec<u8>, Vec<u8>)> = (0..5000_u32)
        .map(|at| (format!("{at:08}é").into_bytes(), vec![at as u8; if at == 77 { 300_000 } else { 100 }]))
        .collect();
    let mut writer = HFileWriter::new("\"bytes\"", 1);
    entries.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    let file = open(writer.finish().unwrap()).unwrap();
    assert_eq!((file.entry_count(), file.schema()), (5000, Some("\"bytes\"")));
    assert_eq!(collect(file.scan()).unwrap(), entries);
    let places = file.blocks().unwrap();
    assert!(places.len() > 8);
    for (key, value) in entries.iter().step_by(97) {
        assert_eq!(file.seek(&[key]).and_then(collect).unwrap(), [(key.clone(), value.clone())]);
    }
    keeps_last_cells_from_hudi_s_reader(&file);
}

/// Hudi's reader takes no cell that begins in the last bytes of a block, 4 for each 16 KiB on disk.
fn keeps_last_cells_from_hudi_s_reader(file: &HFile) {
    let mut lengths = BTreeSet::new();
    for place in file.blocks().unwrap() {
        let cells = file.read_block(&place).unwrap();
        let (key, value) = cells.iter().last().unwrap();
        let checksums = 4 * (place.len as usize).div_ceil(16 * 1024);
        lengths.insert(key.len() + value.len() + 21 > checksums);
    }
    assert_eq!(lengths, BTreeSet::from([true]));
}

#[test]
fn keys_out_of_order_and_too_long_are_refused() {
    for (keys, kind) in [
        (vec![b"b".to_vec(), b"a".to_vec()], ErrorKind::Internal),
        (vec![b"a".to_vec(), b"a".to_vec()], ErrorKind::Internal),
        (vec![vec![b'a'; 40_000]], ErrorKind::InvalidArgument),
    ] {
        let mut writer = HFileWriter::new("\"bytes\"", 1);
        let found = keys.iter().try_for_each(|key| writer.append(key, b""));
        assert_eq!(found.unwrap_err().kind(), kind);
    }
}
