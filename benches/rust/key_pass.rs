//! The cost of each log record before any is decoded: its frame, the scan to its key and ordering value, and the index
//! of keys. Wide records of `records.rs`, a fifth as many keys, in event-time ordering; compared with a `HashMap` of
//! owned keys.
//!
//! `cargo bench -p mortice-benches --bench parts -- key_pass [--rows N] [--rounds N]`.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use crate::records;
use crate::rounds::{BenchArguments, Contender, race};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{RecordBatch, UInt64Array};
use bytes::Bytes;
use mortice::avro::{ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema};
use mortice::log::content::avro_data::{self, RecordFrames};
use mortice::merge::{LogBatch, LogKind, LogSink, OrderingColumn, RecordMergeRules, WinningRecords};

/// The number of records whose keys are decoded at a time, as in readers.
const AT_ONCE: usize = 1024;

fn frames(content: &[u8]) -> usize {
    avro_data::records(content).expect("a sound content").datums.len()
}

fn scan_keys(program: &Arc<DecodeProgram>, content: &[u8], mut each: impl FnMut(&RecordBatch, &[Datum])) {
    let mut frames = RecordFrames::new(content).expect("a sound head");
    let (mut decoder, mut found) = (Decoder::new(Arc::clone(program)), Vec::new());
    while frames.left() > 0 {
        found.clear();
        frames.next(AT_ONCE, &mut found).expect("sound frames");
        decoder.decode(content, &found).expect("sound records");
        each(&decoder.finish().expect("a batch"), &found);
    }
}

fn keys(batch: &RecordBatch) -> &UInt64Array {
    batch.column(0).as_primitive::<UInt64Type>()
}

fn merged(program: &Arc<DecodeProgram>, content: &Bytes) -> usize {
    let mut merger = WinningRecords::new(RecordMergeRules::EventTime { int_ordering: false });
    scan_keys(program, content, |batch, datums| {
        let source = merger.add_source(content.clone()).expect("a source");
        let ordering = batch.column(1).as_primitive::<Int64Type>().values().to_vec();
        let places: Vec<u32> = datums.iter().map(|datum| datum.at).collect();
        let ordering = OrderingColumn::Fixed(ordering, None);
        let batch =
            LogBatch { kind: LogKind::Data, keys: keys(batch), ordering: &ordering, deleted: None, places: &places };
        merger.add(source, &batch).expect("sound keys");
    });
    merger.keys()
}

fn plain(program: &Arc<DecodeProgram>, content: &[u8]) -> usize {
    let mut latest: HashMap<String, (i64, u32)> = HashMap::new();
    scan_keys(program, content, |batch, datums| {
        let ordering = batch.column(1).as_primitive::<Int64Type>().values();
        for ((place, ordering), datum) in keys(batch).values().iter().zip(ordering).zip(datums) {
            let key = avro_data::place_of(content, *place).and_then(|key| str::from_utf8(key).ok()).expect("a key");
            match latest.get(key) {
                Some((stored, _)) if stored > ordering => {}
                _ => {
                    latest.insert(key.to_owned(), (*ordering, datum.at));
                }
            }
        }
    });
    latest.len()
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(300_000, 15);
    asked.run(|| {
        let case = records::updates(asked.rows, asked.rows / 5, 0);
        let content = Bytes::from(case.content);
        let schema = Schema::parse(&case.json).expect("a schema");
        let wants = [RequestedColumn::Position("_hoodie_record_key".into()), RequestedColumn::Value("ts".into())];
        let program =
            Arc::new(DecodeProgram::compile(&schema, &schema, &wants, ArrowMapping::Table).expect("a program"));
        assert_eq!(merged(&program, &content), plain(&program, &content));
        race(
            &asked,
            "wide",
            &mut [
                Contender::new("frames alone", || _ = black_box(frames(&content))),
                Contender::new("mortice, all of it", || _ = black_box(merged(&program, &content))),
                Contender::new("frames and keys", || scan_keys(&program, &content, |batch, _| _ = black_box(batch))),
                Contender::new("into a HashMap", || _ = black_box(plain(&program, &content))),
            ],
        );
    });
}
