//! Reading a file slice with log files only: 5 logs of 100,000 wide records each, either all with distinct keys
//! (`inserts`) or each log updating the keys of the first (`updates`). Compared with the naive implementation: decode
//! every record of every log, keep the latest record of each key in a `HashMap` and gather the winning records with
//! `interleave`. Times are CPU times of the process per log record.
//!
//! `cargo bench -p mortice-benches --bench parts -- log_slice [inserts|updates] [--rows N] [--rounds N]`.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;

use crate::rounds::{BenchArguments, Contender, race};
use crate::slice_table;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_select::interleave::interleave_record_batch;
use mortice::log::{BlockKind, BlockType, LogFile};
use mortice::{BatchLimit, QueryOptions, ReadOptions, Table};

const LOGS: usize = 5;
const KEY: &str = "_hoodie_record_key";
const ORDERING: &str = "ts";
/// The number of records that the naive implementation decodes at a time, and of rows that it gathers at a time.
const BATCH: usize = 8192;

fn merged(table: &Table, each: &mut dyn FnMut(RecordBatch)) {
    table.snapshot(&QueryOptions::default()).unwrap().stream().for_each(|batch| each(batch.unwrap()));
}

/// Decodes all records, then selects.
fn naive(logs: &[LogFile], each: &mut dyn FnMut(RecordBatch)) {
    let mut batches = Vec::new();
    for log in logs {
        for block in log.blocks(false) {
            let block = block.unwrap();
            if block.kind == BlockKind::Sound(BlockType::AvroData) {
                batches.extend(log.record_batches(&block, BatchLimit::with_rows(BATCH)).unwrap().1.map(Result::unwrap));
            }
        }
    }
    let mut latest: HashMap<&str, usize> = HashMap::new();
    let mut winning: Vec<(i64, (usize, usize))> = Vec::new();
    for (at, batch) in batches.iter().enumerate() {
        let keys = batch.column_by_name(KEY).unwrap().as_string::<i32>();
        let times = batch.column_by_name(ORDERING).unwrap().as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let newer = (times.value(row), (at, row));
            match latest.get(keys.value(row)) {
                None => {
                    latest.insert(keys.value(row), winning.len());
                    winning.push(newer);
                }
                Some(known) if newer.0 >= winning[*known].0 => winning[*known] = newer,
                Some(_) => {}
            }
        }
    }
    let sources: Vec<&RecordBatch> = batches.iter().collect();
    for some in winning.chunks(BATCH) {
        let picks: Vec<(usize, usize)> = some.iter().map(|(_, pick)| *pick).collect();
        each(interleave_record_batch(&sources, &picks).unwrap());
    }
}

fn logs(folder: &Path) -> Vec<LogFile> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.to_string_lossy().contains(".log.")).collect();
    files.sort();
    files.iter().map(|file| LogFile::open(file.to_str().unwrap(), &Default::default(), true).unwrap()).collect()
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(500_000, 9);
    asked.run(|| {
        for (case, distinct) in [("inserts", asked.rows), ("updates", asked.rows / LOGS)] {
            if !asked.is_asked(case) {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            slice_table::write_logs_only(folder.path(), asked.rows, LOGS, distinct);
            let options = ReadOptions { threads: Some(1), ..ReadOptions::default() };
            let table = Table::open(folder.path().to_str().unwrap(), &Default::default(), options).unwrap();
            let logs = logs(folder.path());
            let mut rows = [0, 0];
            merged(&table, &mut |batch| rows[0] += batch.num_rows());
            naive(&logs, &mut |batch| rows[1] += batch.num_rows());
            assert_eq!(rows, [distinct; 2]);
            race(
                &asked,
                case,
                &mut [
                    Contender::with_process_time("decode all, HashMap, interleave", || {
                        naive(&logs, &mut |batch| _ = black_box(batch));
                    }),
                    Contender::with_process_time("mortice", || merged(&table, &mut |batch| _ = black_box(batch))),
                ],
            );
        }
    });
}
