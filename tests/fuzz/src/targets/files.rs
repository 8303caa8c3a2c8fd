//! Files of other formats, and their names.

use mortice::BatchLimit;
use mortice::bloom::{BloomFilter, BloomType};
use mortice::hfile::{Cells, HFile};
use mortice::orc::OrcFile;

use super::memory::{MOST_ROWS, memory};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs(cells: mortice::Result<impl Iterator<Item = mortice::Result<Cells>>>) -> mortice::Result<Pairs> {
    let cells = cells?.collect::<mortice::Result<Vec<_>>>()?;
    Ok(cells.iter().flat_map(|cells| cells.iter().map(|(key, value)| (key.to_vec(), value.to_vec()))).collect())
}

/// An HFile: scans are the same in windows, and seeks agree with them.
pub fn hfile(data: &[u8]) {
    let scanned = |window| HFile::open(memory(data, window)).and_then(|file| pairs(Ok(file.scan()))).ok();
    let all = scanned(0);
    assert!(all == scanned(5000), "other cells by windows");
    let Ok(file) = HFile::open(memory(data, 0)) else { return };
    let _ = (file.schema(), file.info("hfile.LASTKEY"), file.entry_count(), file.blocks());
    let _ = (pairs(file.seek(&[&b"k"[..], b"a"])), pairs(file.seek_prefixes(&[b"k"])));
    let Some(all) = all else { return };
    assert!(all.is_sorted_by(|(one, _), (other, _)| one <= other));
    let some: Vec<&[u8]> = all.iter().step_by(7).take(64).map(|(key, _)| key.as_slice()).collect();
    let hits = |hit: &dyn Fn(&[u8]) -> bool| all.iter().filter(|(key, _)| hit(key)).cloned().collect::<Pairs>();
    let sought = pairs(file.seek(&some)).expect("a file that can be scanned");
    assert!(sought == hits(&|key| some.contains(&key)), "other cells by key");
    let begins: Vec<&[u8]> = some.iter().map(|key| &key[..key.len().min(2)]).collect();
    let begun = pairs(file.seek_prefixes(&begins)).expect("a file that can be scanned");
    assert!(begun == hits(&|key| begins.iter().any(|begin| key.starts_with(begin))), "other cells by prefix");
}

/// An ORC file: its row count is that of its rows, and they are the same in windows and stripe by stripe.
pub fn orc(data: &[u8]) {
    let Ok(file) = OrcFile::open(memory(data, 0)) else { return };
    let stripes = file.stripe_rows();
    let schema = file.schema();
    let statistics: Vec<_> = schema.fields().iter().map(|field| file.statistics(field.name())).collect();
    assert!(statistics.iter().flatten().all(|one| one.len() == stripes.len()), "statistics of other stripes");
    if file.row_count() > MOST_ROWS || stripes.iter().any(|rows| *rows > MOST_ROWS) || stripes.len() > 64 {
        return;
    }
    let all: Vec<usize> = (0..stripes.len()).collect();
    let rows = |file: &OrcFile, stripes| {
        file.rows(&|_| true, stripes, BatchLimit::with_rows(1000)).collect::<mortice::Result<Vec<_>>>()
    };
    let Ok(batches) = rows(&file, all.clone()) else { return };
    let count: usize = batches.iter().map(|(batch, _)| batch.num_rows()).sum();
    assert!(count as u64 == stripes.iter().sum::<u64>(), "other rows than the stripes are said to have");
    let by_windows = OrcFile::open(memory(data, 5000)).and_then(|file| rows(&file, all));
    assert!(by_windows.is_ok_and(|others| others == batches), "other rows by windows");
}

/// A byte that selects the type, then the text of a Bloom filter. A filter that can be read is written as the same
/// text.
pub fn bloom(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let kind = if kind % 2 == 0 { BloomType::Simple } else { BloomType::DynamicV0 };
    let Some(filter) = std::str::from_utf8(text).ok().and_then(|text| BloomFilter::parse(text, kind).ok()) else {
        return;
    };
    let _ = filter.may_contain("key ü 1");
    assert!(BloomFilter::parse(&filter.to_text(), kind).is_ok_and(|again| again == filter), "another filter");
}

/// File names.
pub fn names(data: &[u8]) {
    let Ok(name) = std::str::from_utf8(data) else { return };
    if let Some(log) = mortice::names::LogFileName::parse(name) {
        assert!(log.name == name && name.contains(&log.file_id) && name.contains(log.instant.as_str()));
        assert!(log.slice_order(&log) == std::cmp::Ordering::Equal);
    }
    let _ = mortice::names::BaseFileName::parse(name);
}
