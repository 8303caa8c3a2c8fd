//! Rows assigned to the file groups of real tables: each row has one place, and no file more rows than fit.
//!
//! `MORTICE_SCHEDULES` is the number of cases, `MORTICE_TEST_SEED` the first seed, which a failure prints.

mod case;
mod checks;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::simulation::seeds;
use super::stopped_services::{Row, Table, batch, options};
use case::{Case, keys};
use mortice_base::ErrorKind;
use mortice_base::names::bucket_in;
use mortice_base::row_number::at;
use mortice_merge::config::TableType;
use mortice_services::{ServiceRequest, run_clustering, run_compaction};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, WriteView};
use mortice_table::timeline::{MetadataPart, WriteOperation};
use mortice_write::assign::{AssignOptions, PlaceInserts, TaskKind, assign};
use mortice_write::index::{BucketEngine, BucketLayout, BucketOptions, Tagged, group_of};
use mortice_write::row_set::{RowMark, RowMarks};

const NO_SMALL_FILES: [(&str, &str); 3] = [
    ("hoodie.parquet.small.file.limit", "0"),
    ("hoodie.metadata.enable", "false"),
    ("hoodie.clean.automatic", "false"),
];

/// Options by which all files take one row of ten bytes.
fn assign_options() -> AssignOptions {
    AssignOptions {
        max_file_size: 100,
        small_file_limit: 0,
        small_file_candidates: 1,
        insert_split: None,
        record_size: 10,
        estimation_threshold: f64::INFINITY,
        metadata_size: 0,
        estimator: None,
        bucket: None,
    }
}

/// Two partitions of several file groups: some are in a pending clustering; of a merge-on-read table some have logs,
/// and some of those are in a pending compaction.
fn table_with_pending_services(table_type: TableType) -> (Table, Arc<OpenTable>, WriteView) {
    let table = Table::of_type(9, table_type);
    let upsert = |rows: &[Row]| table.upsert(rows, &NO_SMALL_FILES);
    upsert(&[("a", "x", 1), ("d", "y", 1)]);
    upsert(&[("e", "y", 1)]);
    let selected = [NO_SMALL_FILES.as_slice(), &[("hoodie.clustering.plan.strategy.partition.selected", "y")]].concat();
    let steps = ServiceRequest { schedule: true, run: false };
    assert!(run_clustering(&table.location(), steps, &options(&selected)).unwrap().scheduled.is_some());
    upsert(&[("b", "x", 1), ("f", "y", 1)]);
    upsert(&[("c", "x", 1), ("g", "y", 1)]);
    if table_type == TableType::MergeOnRead {
        upsert(&[("a", "x", 2), ("f", "y", 2)]);
        let request = ServiceRequest { schedule: true, run: false };
        assert!(run_compaction(&table.location(), request, &options(&NO_SMALL_FILES)).unwrap().scheduled.is_some());
        upsert(&[("b", "x", 2)]);
    }
    let open = table.open(false);
    let mut view = open.write_view(None).unwrap();
    // Ids are random: in the order of their instants a seed chooses the same groups again.
    for slices in [&mut view.base_files, &mut view.slices] {
        slices.sort_by_key(|slice| (slice.partition.clone(), group_of(slice).base_instant));
    }
    let pending = |slice: &&FileSlice| view.pending_clustering(&slice.partition, &slice.file_id).is_some();
    assert_eq!((view.base_files.len(), view.base_files.iter().filter(pending).count()), (7, 2));
    (table, open, view)
}

#[test]
fn each_row_has_its_place_and_files_are_filled_up_to_their_size() {
    let cases = seeds(300);
    for table_type in [TableType::CopyOnWrite, TableType::MergeOnRead] {
        let (_folder, table, view) = table_with_pending_services(table_type);
        for seed in cases.clone() {
            let case = Case::new(seed, table_type, &view);
            let given = &case;
            let assigned = assign(&table, &given.options, given.place, &given.keys, &given.tagged, &given.marks);
            if case.updates_clustered_group() {
                assert_eq!(assigned.unwrap_err().kind(), ErrorKind::Unsupported, "{case}");
                continue;
            }
            let assigned = assigned.unwrap_or_else(|error| panic!("{case}: {error}"));
            checks::check_rows(&case, &assigned);
            checks::check_files(&case, &assigned);
        }
    }
}

#[test]
fn new_rows_of_a_bucket_go_to_one_new_group_of_its_number() {
    let folder = Table::of_type(9, TableType::MergeOnRead);
    let table = folder.open(false);
    let fields = vec!["id".to_owned()];
    let bucket = BucketOptions { engine: BucketEngine::Simple, buckets: 5, rules: None, fields };
    let layout = Arc::new(BucketLayout::of_table(&table, &bucket).unwrap());
    let options = AssignOptions { bucket: Some(Arc::clone(&layout)), ..assign_options() };
    let rows: Vec<(String, &str)> = (0..200_usize).map(|row| (format!("k{row}"), ["x", "y"][row % 2])).collect();
    let keys = keys(rows.iter().map(|(key, city)| (key.as_str(), *city)));
    let tagged = Tagged::untagged(rows.len(), Arc::default());
    let marks = RowMarks::repeated(RowMark::Upsert, rows.len());
    let assigned = assign(&table, &options, PlaceInserts::SmallFiles, &keys, &tagged, &marks).unwrap();
    let mut seen = BTreeSet::new();
    for task in &assigned.tasks {
        let TaskKind::Create { file_id_prefix } = &task.kind else { panic!("{task:?}") };
        let number = bucket_in(file_id_prefix).unwrap();
        assert!(seen.insert((task.partition.clone(), number)), "two file groups of bucket {number}");
        for row in &task.rows {
            let (key, city) = &rows[at(*row)];
            assert_eq!((layout.bucket_of(key, city).unwrap(), *city), (number, task.partition.as_str()), "{key}");
        }
    }
    assert_eq!((seen.len(), assigned.tasks.iter().map(|task| task.rows.len()).sum::<usize>()), (10, rows.len()));
}

#[test]
fn rows_are_taken_for_as_large_as_those_of_the_newest_commit_that_wrote_enough() {
    let table = Table::of_type(9, TableType::CopyOnWrite);
    table.write(WriteOperation::Insert, batch(&[("a", "x", 1), ("b", "x", 1), ("c", "x", 1)]), &NO_SMALL_FILES);
    table.write(WriteOperation::Insert, batch(&[("d", "x", 1)]), &NO_SMALL_FILES);
    let open = table.open(false);
    // The bytes and the rows of each commit.
    let sizes: Vec<(u64, u64)> = open
        .timeline
        .completed_writes()
        .map(|commit| {
            let metadata = open.timeline.commit_metadata(commit, MetadataPart::All).unwrap().unwrap();
            let stats: Vec<_> = metadata.write_stats.into_values().flatten().collect();
            assert_eq!(stats.len(), 1);
            let path = table.folder.path().join(stats[0].path.as_deref().unwrap());
            (std::fs::metadata(path).unwrap().len(), u64::try_from(stats[0].num_writes.unwrap()).unwrap())
        })
        .collect();
    assert_eq!(sizes.iter().map(|size| size.1).collect::<Vec<_>>(), [3, 1]);
    let metadata_size = 500;
    let of_row = |commit: usize| (sizes[commit].0 - metadata_size).div_ceil(sizes[commit].1);
    let counted = |threshold: u64, max_file_size: u64| {
        // A limit of one byte, below which no file is.
        let estimation_threshold = threshold as f64;
        let options = AssignOptions {
            max_file_size,
            small_file_limit: 1,
            estimation_threshold,
            metadata_size,
            ..assign_options()
        };
        let rows: Vec<String> = (0..25).map(|row| format!("n{row}")).collect();
        let keys = keys(rows.iter().map(|key| (key.as_str(), "x")));
        let tagged = Tagged::untagged(rows.len(), Arc::new(open.write_view(None).unwrap()));
        let marks = RowMarks::repeated(RowMark::Upsert, rows.len());
        let assigned = assign(&open, &options, PlaceInserts::SmallFiles, &keys, &tagged, &marks).unwrap();
        assigned.tasks.iter().map(|task| task.rows.len()).collect::<Vec<_>>()
    };
    assert!(sizes[0].0 > sizes[1].0, "{sizes:?}");
    let newest = sizes[1].0 - metadata_size;
    assert_eq!(counted(0, of_row(1) * 10), [10, 10, 5]);
    assert_eq!(counted(newest - 1, of_row(1) * 10), [10, 10, 5]);
    assert_eq!(counted(newest, of_row(0) * 10), [10, 10, 5], "the newest commit wrote too little");
    assert_eq!(counted(u64::MAX, 100), [10, 10, 5], "no commit wrote enough: rows have the size of the option");
}
