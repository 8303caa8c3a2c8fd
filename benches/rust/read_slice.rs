//! Reading one file slice from disk, a tenth of its 1,000,000 wide rows updated by 5 log files, compared with a scan of
//! the base file by the parquet crate. Times are CPU times of the process per base row; the last race, of one thread
//! and two, is in wall-clock time.
//!
//! `cargo bench -p mortice-benches --bench parts -- read_slice [PART] [--rows N] [--rounds N]`, where PART is
//! 'all columns', 'one column', 'no later' or threads.
//! First the rows of one and of several threads are held to be the same, batch by batch. Updates are later than all
//! base rows, as they mostly are, so that base rows need not be asked when they are from; but for `no later`.

use std::fs::File;
use std::path::Path;

use crate::rounds::{BenchArguments, Contender, race};
use crate::slice_table;
use arrow_array::RecordBatch;
use mortice::{QueryOptions, ReadOptions, Table};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

const LOGS: usize = 5;
/// The column that is projected alone; scanning it reads the key, too.
const COLUMN: &str = "c2";
const KEY: &str = "_hoodie_record_key";
const BATCH: usize = 8192;

/// Reads all rows, merged, and passes each batch to `each`.
fn merged(table: &Table, columns: Option<&str>, each: &mut dyn FnMut(RecordBatch)) {
    let columns = columns.map(|name| vec![name.to_owned()]);
    let scan = table.snapshot(&QueryOptions { columns, ..QueryOptions::default() }).unwrap();
    scan.stream().for_each(|batch| each(batch.unwrap()));
}

fn scanned(base: &Path, columns: Option<[&str; 2]>) -> usize {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(base).unwrap()).unwrap();
    let mask = match columns {
        None => ProjectionMask::all(),
        Some(names) => ProjectionMask::columns(builder.parquet_schema(), names),
    };
    let reader = builder.with_projection(mask).with_batch_size(BATCH).build().unwrap();
    reader.map(|batch| batch.unwrap().num_rows()).sum()
}

fn table(folder: &Path, threads: usize) -> Table {
    let options = ReadOptions { threads: Some(threads), ..ReadOptions::default() };
    Table::open(folder.to_str().unwrap(), &Default::default(), options).unwrap()
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(1_000_000, 7);
    asked.run(|| {
        let folder = tempfile::tempdir().unwrap();
        let written = |folder: &Path, later| {
            folder.join(slice_table::write_table(folder, asked.rows, LOGS, asked.rows / 10 / LOGS, later))
        };
        let base = written(folder.path(), asked.rows);
        let (one, two) = (table(folder.path(), 1), table(folder.path(), 2));
        let all = |table| {
            let mut batches = Vec::new();
            merged(table, None, &mut |batch| batches.push(batch));
            batches
        };
        assert!(all(&one) == all(&two), "other batches by two threads");
        let mut rows = 0;
        let mut count = |batch: RecordBatch| rows += batch.num_rows();
        if asked.is_asked("all columns") {
            race(
                &asked,
                "all columns",
                &mut [
                    Contender::with_process_time("parquet, the base file alone", || {
                        assert_eq!(scanned(&base, None), asked.rows)
                    }),
                    Contender::with_process_time("mortice", || merged(&one, None, &mut count)),
                ],
            );
        }
        let one_column = |case: &str, base: &Path, table: &Table| {
            race(
                &asked,
                case,
                &mut [
                    Contender::with_process_time("parquet, it and the key", || _ = scanned(base, Some([KEY, COLUMN]))),
                    Contender::with_process_time("mortice", || merged(table, Some(COLUMN), &mut |_| ())),
                ],
            );
        };
        if asked.is_asked("one column") {
            one_column("one column", &base, &one);
        }
        if asked.is_asked("no later") {
            let folder = tempfile::tempdir().unwrap();
            let base = written(folder.path(), 0);
            one_column("one column, updates no later than the base", &base, &table(folder.path(), 1));
        }
        if asked.is_asked("threads") {
            race(
                &asked,
                "threads",
                &mut [
                    Contender::with_wall_time("one thread", || merged(&one, None, &mut |_| ())),
                    Contender::with_wall_time("two threads", || merged(&two, None, &mut |_| ())),
                ],
            );
        }
    });
}
