//! The merge of one slice by key: 500,000 log records of 100,000 keys, then 100,000 base rows, in event-time ordering.
//! Ours against the plain way, a `HashMap` of owned keys.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::hint::black_box;

use arrow_array::Array;
use arrow_array::{StringArray, UInt64Array};
use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mortice::merge::{BaseRows, Fate, LogBatch, LogKind, LogSink, Merger, OrderingColumn, Rules};

const KEYS: u64 = 100_000;
const LOG_RECORDS: u64 = 500_000;

/// Log records as a block has them: keys in its bytes, their places, ordering values.
struct Log {
    bytes: Bytes,
    places: Vec<u64>,
    ordering: Vec<i64>,
}

fn log() -> Log {
    let (mut bytes, mut places, mut ordering) = (Vec::new(), Vec::new(), Vec::new());
    let mut state = 1_u64;
    for _ in 0..LOG_RECORDS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = format!("key-{:010}", (state >> 33) % KEYS);
        places.push((bytes.len() as u64) << 32 | key.len() as u64);
        bytes.extend_from_slice(key.as_bytes());
        ordering.push(i64::try_from(state >> 40).unwrap());
    }
    Log { bytes: bytes.into(), places, ordering }
}

fn base() -> (StringArray, Vec<i64>) {
    ((0..KEYS).map(|key| Some(format!("key-{key:010}"))).collect(), vec![5_000_000; usize::try_from(KEYS).unwrap()])
}

fn ours(
    log: &Log,
    keys: &UInt64Array,
    ordering: &OrderingColumn,
    places: &[u32],
    base: &(StringArray, OrderingColumn),
) -> usize {
    let mut merger = Merger::new(Rules::EventTime { int_ordering: false });
    let source = merger.add_source(log.bytes.clone()).unwrap();
    merger.add(source, &LogBatch { kind: LogKind::Data, keys, ordering, deleted: None, places }).unwrap();
    let fates = merger.merge_base(&BaseRows::Keys(base.0.clone()), base.0.len(), &base.1).unwrap_or_default();
    fates.iter().filter(|fate| matches!(fate, Fate::Replace(_))).count()
}

fn plain(log: &Log, base: &(StringArray, Vec<i64>)) -> usize {
    let mut latest: HashMap<String, (i64, usize)> = HashMap::new();
    for (row, place) in log.places.iter().enumerate() {
        let start = usize::try_from(place >> 32).unwrap();
        let key = &log.bytes[start..start + usize::try_from(place & 0xffff_ffff).unwrap()];
        let key = String::from_utf8(key.to_vec()).unwrap();
        let ordering = log.ordering[row];
        match latest.get(&key) {
            Some((stored, _)) if *stored > ordering => {}
            _ => {
                latest.insert(key, (ordering, row));
            }
        }
    }
    let wins = |(key, ordering): (Option<&str>, &i64)| latest.get(key.unwrap()).is_some_and(|(log, _)| log >= ordering);
    base.0.iter().zip(&base.1).filter(|row| wins(*row)).count()
}

fn merge_slice(criterion: &mut Criterion) {
    let (log, base) = (log(), base());
    let keys = UInt64Array::from(log.places.clone());
    let places: Vec<u32> = (0..u32::try_from(LOG_RECORDS).unwrap()).collect();
    let ordering = OrderingColumn::Fixed(log.ordering.clone(), None);
    let our_base = (base.0.clone(), OrderingColumn::Fixed(base.1.clone(), None));
    assert_eq!(ours(&log, &keys, &ordering, &places, &our_base), plain(&log, &base));
    let mut group = criterion.benchmark_group("merge_slice");
    group.sample_size(10).throughput(Throughput::Elements(LOG_RECORDS + KEYS));
    group.bench_function("mortice", |bencher| {
        bencher.iter(|| black_box(ours(&log, &keys, &ordering, &places, &our_base)));
    });
    group.bench_function("hash_map_of_owned_keys", |bencher| bencher.iter(|| black_box(plain(&log, &base))));
    group.finish();
}

criterion_group!(benches, merge_slice);
criterion_main!(benches);
