//! Merging partial updates into rows: 5 batches that update 5 of 25 columns of every fifth row, on rows of wide
//! records. Uses `mortice.merge` with `partial=True`, whose merge is that of partial log blocks. Compared with the
//! naive implementation: a `HashMap` from key to the newest source of each column, then `interleave`. Times are per
//! row.
//!
//! `cargo bench -p mortice-benches --bench parts -- merge_partial [--rows N] [--rounds N]`.

use std::collections::HashMap;
use std::hint::black_box;

use crate::records::{cases, updates};
use crate::rounds::{BenchArguments, Contender, race};
use crate::slice_table;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_select::interleave::interleave;
use mortice::config::Properties;
use mortice::{MergeSemantics, RowsMerge, RowsMergeOptions};

const KEY: &str = "_hoodie_record_key";
const ORDERING: &str = "ts";
const UPDATED: [&str; 5] = [KEY, ORDERING, "c2", "c3", "c10"];
const BATCHES: usize = 5;

fn naive(older: &RecordBatch, newer: &[RecordBatch]) -> RecordBatch {
    let keys = older.column_by_name(KEY).unwrap().as_string::<i32>();
    let times = older.column_by_name(ORDERING).unwrap().as_primitive::<Int64Type>();
    let rows: HashMap<&str, usize> = (0..older.num_rows()).map(|row| (keys.value(row), row)).collect();
    let mut newest = times.values().to_vec();
    let mut picks: Vec<(usize, usize)> = (0..older.num_rows()).map(|row| (0, row)).collect();
    for (at, batch) in newer.iter().enumerate() {
        let keys = batch.column_by_name(KEY).unwrap().as_string::<i32>();
        let times = batch.column_by_name(ORDERING).unwrap().as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let older = rows[keys.value(row)];
            if times.value(row) >= newest[older] {
                newest[older] = times.value(row);
                picks[older] = (at + 1, row);
            }
        }
    }
    let schema = older.schema();
    let columns = schema.fields().iter().zip(older.columns()).map(|(field, column)| {
        if !UPDATED.contains(&field.name().as_str()) {
            return column.clone();
        }
        let newer = newer.iter().map(|batch| batch.column_by_name(field.name()).unwrap().as_ref());
        let sources: Vec<_> = std::iter::once(column.as_ref()).chain(newer).collect();
        interleave(&sources, &picks).unwrap()
    });
    let columns = columns.collect();
    RecordBatch::try_new(older.schema(), columns).unwrap()
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(200_000, 9);
    asked.run(|| {
        let [wide, ..] = cases(asked.rows);
        let older = slice_table::batches_of(&wide, asked.rows).remove(0);
        let updated = asked.rows / 5;
        let columns: Vec<usize> = UPDATED.map(|name| older.schema().index_of(name).unwrap()).to_vec();
        let newer = slice_table::batches_of(&updates(updated * BATCHES, asked.rows, asked.rows), updated);
        let newer: Vec<RecordBatch> = newer.iter().map(|batch| batch.project(&columns).unwrap()).collect();
        let options = RowsMergeOptions {
            record_key: vec![KEY.to_owned()],
            properties: Properties::from_iter([
                ("hoodie.table.version", "9"),
                ("hoodie.table.type", "MERGE_ON_READ"),
                ("hoodie.record.merge.mode", "EVENT_TIME_ORDERING"),
                ("hoodie.table.ordering.fields", ORDERING),
            ]),
            semantics: MergeSemantics::V1x,
            schema: None,
            commit_order: Vec::new(),
            partial: true,
            emit_deletes: false,
            merger: None,
        };
        let merge = RowsMerge::new(&older.schema(), &newer[0].schema(), options).unwrap();
        let bases: Vec<RecordBatch> =
            (0..older.num_rows()).step_by(8192).map(|at| older.slice(at, 8192.min(older.num_rows() - at))).collect();
        let ours = || merge.merge(&bases, &newer).unwrap();
        let merged = arrow_select::concat::concat_batches(&older.schema(), &ours()).unwrap();
        assert_eq!(merged.columns(), naive(&older, &newer).columns());
        race(
            &asked,
            "5 of 25 columns",
            &mut [
                Contender::new("HashMap of rows, interleave", || _ = black_box(naive(&older, &newer))),
                Contender::new("mortice", || _ = black_box(ours())),
            ],
        );
    });
}
