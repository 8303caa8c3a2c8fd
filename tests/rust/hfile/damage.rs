//! Damage is reported with its offset; unsupported features are refused by name.

use mortice::hfile::HFile;
use mortice::{ErrorKind, Result};

use super::builder::{Entries, HFileForm, hfile};
use super::source::{Memory, collect, open};
use crate::allocations::peak_of;

fn forty() -> Entries {
    (0..40_u8).map(|key| (format!("key{key:02}").into_bytes(), vec![key; 9])).collect()
}

fn written(form: &HFileForm) -> Vec<u8> {
    hfile(&forty(), form)
}

fn scanned(bytes: Vec<u8>) -> Result<Entries> {
    collect(open(bytes)?.scan())
}

/// `bytes` with others at a place.
fn with(mut bytes: Vec<u8>, at: usize, others: &[u8]) -> Vec<u8> {
    bytes[at..at + others.len()].copy_from_slice(others);
    bytes
}

#[test]
fn rows_are_never_silently_missing() {
    for more_entries in [-40, -1, 1] {
        let bytes = written(&HFileForm { more_entries, ..HFileForm::default() });
        let error = scanned(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptLog, "{error}");
        assert!(error.to_string().contains(&(40 + more_entries).to_string()), "{error}");
    }
}

/// An index that has lost its last block would hide rows from seeks, which cannot count.
#[test]
fn an_index_that_lost_a_block_is_found_out_before_a_seek() {
    let bytes = written(&HFileForm::default());
    let at = bytes.len() - 4096;
    let count = at + bytes[at..].windows(2).position(|pair| pair == [5 << 3, 10]).unwrap() + 1;
    let error = open(with(bytes, count, &[9])).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::CorruptLog, "{error}");
}

#[test]
fn every_byte_that_is_changed_is_an_error_or_changes_no_key() {
    let keys: Vec<Vec<u8>> = forty().into_iter().map(|(key, _)| key).collect();
    for index_entries in [usize::MAX, 3] {
        let bytes = written(&HFileForm { index_entries, ..HFileForm::default() });
        // Up to the trailer's zeros.
        for at in 0..bytes.len() - 4000 {
            let mut changed = bytes.clone();
            changed[at] = !changed[at];
            let Ok(read) = scanned(changed) else { continue };
            assert_eq!(read.len(), keys.len(), "byte {at}");
            let differ = read.iter().zip(&keys).filter(|((read, _), key)| read != *key).count();
            assert!(differ <= 1, "byte {at}: {differ} keys differ");
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    for gz in [false, true] {
        let bytes = written(&HFileForm { gz, ..HFileForm::default() });
        for cut in (0..bytes.len()).step_by(7) {
            assert!(scanned(bytes[..cut].to_vec()).is_err(), "cut to {cut}");
        }
    }
}

#[test]
fn damage_in_a_block_has_its_place_in_the_file() {
    for gz in [false, true] {
        let form = HFileForm { gz, ..HFileForm::default() };
        let place = open(written(&form)).unwrap().blocks().unwrap()[3].clone();
        let bytes = with(written(&form), usize::try_from(place.offset).unwrap() + 40, &[0xff; 8]);
        let error = scanned(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptLog);
        let offset = error.location().offset.unwrap();
        assert!(offset >= place.offset && offset < place.end(), "{error}, in {place:?}");
    }
}

/// After an error there is nothing more: no caller goes on by mistake.
#[test]
fn a_scan_ends_at_its_first_error() {
    let bytes = written(&HFileForm::default());
    let place = open(bytes.clone()).unwrap().blocks().unwrap()[3].clone();
    let file = open(with(bytes, usize::try_from(place.offset).unwrap(), b"x")).unwrap();
    assert_eq!(file.scan().map(|cells| cells.is_ok()).collect::<Vec<_>>(), [true, true, true, false]);
    let seek = file.seek_prefixes(&["key1"]).unwrap();
    assert_eq!(seek.map(|cells| cells.is_ok()).collect::<Vec<_>>(), [true, false]);
}

/// A length that does not exist, or that gzip cannot have produced, is not allocated for.
#[test]
fn a_bomb_is_refused_before_it_is_decompressed() {
    for gz in [false, true] {
        let file = open(with(written(&HFileForm { gz, ..HFileForm::default() }), 12, &i32::MAX.to_be_bytes())).unwrap();
        let (read, peak) = peak_of(|| collect(file.scan()));
        let error = read.unwrap_err();
        assert_eq!((error.kind() == ErrorKind::Io, error.location().offset), (false, Some(0)), "{error}");
        assert!(peak < 1 << 20, "{peak}");
    }
}

/// Were two entries to lead to one block, and so on each level below, a small file could take forever.
#[test]
fn an_index_that_leads_to_a_block_twice_is_refused() {
    let bytes = written(&HFileForm { index_entries: 3, ..HFileForm::default() });
    let leaf = bytes.windows(8).position(|magic| magic == b"IDXLEAF2").unwrap();
    let middle = bytes.windows(8).position(|magic| magic == b"IDXINTE2").unwrap();
    assert_eq!(bytes[middle + 33..][..4], 3_u32.to_be_bytes());
    // Header, count, four places; then entries of offset, length, and a key of 2 + 5 bytes.
    let second = middle + 33 + 4 + 16 + 8 + 4 + 7;
    let file = open(with(bytes, second, &(leaf as u64).to_be_bytes())).unwrap();
    let error = file.blocks().unwrap_err();
    assert_eq!((error.kind(), error.location().offset), (ErrorKind::CorruptLog, Some((second) as u64)), "{error}");
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let bytes = written(&HFileForm::default());
    let trailer = bytes.len() - 4096;
    let codec = trailer + bytes[trailer..].windows(2).position(|pair| pair == [12 << 3, 2]).unwrap() + 1;
    for (at, byte, name) in
        [(codec, 6, "ZSTD"), (codec, 0, "LZO"), (bytes.len() - 1, 2, "version 2"), (7, b'E', "encoded")]
    {
        let error = scanned(with(bytes.clone(), at, &[byte])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn what_is_no_hfile_is_said_to_be_none() {
    for bytes in [vec![], vec![0; 100], vec![0; 5000]] {
        let error = HFile::open(Memory::new(bytes, 0)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::CorruptLog, "{error}");
    }
}
