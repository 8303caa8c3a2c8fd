//! The merge of one slice by key: 500,000 log records of 100,000 keys, then 100,000 base rows, in event-time ordering.
//! Compared with a `HashMap` of owned keys. Times are per log record.
//!
//! `cargo bench -p mortice-benches --bench parts -- merge_slice [--rows N] [--rounds N]`.

use std::collections::HashMap;
use std::hint::black_box;

use crate::rounds::{BenchArguments, Contender, race};
use arrow_array::{StringArray, UInt64Array};
use bytes::Bytes;
use mortice::merge::{
    BaseRows, LogBatch, LogKind, LogSink, MergeOutcome, OrderingColumn, RecordMergeRules, WinningRecords,
};

/// Log records per key.
const OF_EACH: usize = 5;

/// Log records as in a block: keys in its bytes, their positions, ordering values.
struct Log {
    bytes: Bytes,
    places: Vec<u64>,
    ordering: Vec<i64>,
}

fn log(rows: usize) -> Log {
    let (mut bytes, mut places, mut ordering) = (Vec::new(), Vec::new(), Vec::new());
    let mut state = 1_u64;
    let count = u64::try_from(rows / OF_EACH).unwrap();
    for _ in 0..rows {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = format!("key-{:010}", (state >> 33) % count);
        places.push((bytes.len() as u64) << 32 | key.len() as u64);
        bytes.extend_from_slice(key.as_bytes());
        ordering.push(i64::try_from(state >> 40).unwrap());
    }
    Log { bytes: bytes.into(), places, ordering }
}

fn base(rows: usize) -> (StringArray, Vec<i64>) {
    ((0..rows).map(|key| Some(format!("key-{key:010}"))).collect(), vec![5_000_000; rows])
}

fn ours(
    log: &Log,
    keys: &UInt64Array,
    ordering: &OrderingColumn,
    places: &[u32],
    base: &(StringArray, OrderingColumn),
) -> usize {
    let mut merger = WinningRecords::new(RecordMergeRules::EventTime { int_ordering: false });
    let source = merger.add_source(log.bytes.clone()).unwrap();
    merger.add(source, &LogBatch { kind: LogKind::Data, keys, ordering, deleted: None, places }).unwrap();
    let outcomes = merger.probe(&BaseRows::Keys(base.0.clone()), &base.1).unwrap();
    outcomes.iter().filter(|(_, outcome)| matches!(outcome, MergeOutcome::Replace(_))).count()
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

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(500_000, 15);
    asked.run(|| {
        let (log, base) = (log(asked.rows), base(asked.rows / OF_EACH));
        let keys = UInt64Array::from(log.places.clone());
        let places: Vec<u32> = (0..u32::try_from(asked.rows).unwrap()).collect();
        let ordering = OrderingColumn::Fixed(log.ordering.clone(), None);
        let our_base = (base.0.clone(), OrderingColumn::Fixed(base.1.clone(), None));
        assert_eq!(ours(&log, &keys, &ordering, &places, &our_base), plain(&log, &base));
        race(
            &asked,
            "event time",
            &mut [
                Contender::new("HashMap of owned keys", || _ = black_box(plain(&log, &base))),
                Contender::new("mortice", || _ = black_box(ours(&log, &keys, &ordering, &places, &our_base))),
            ],
        );
    });
}
