//! Random writes with each index: the rows are those of a model, and each key is tagged with the file groups that have
//! it.
//!
//! `MORTICE_SCHEDULES` is the number of tables, `MORTICE_TEST_SEED` the first seed, which a failure prints.

mod common_keys;
mod merges;
mod model;
mod places;
mod presence;
mod rules;
mod stale_keys;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::simulation::{Random, seeds};
use super::stopped_services::{Row, Table, batch, options};
use crate::{WriteInput, write};
use model::{CITIES, KEYS, Model};
use mortice_base::names::bucket_in;
use mortice_base::row_number::at;
use mortice_merge::config::{TableType, WriteOptions};
use mortice_merge::keys::RowKeys;
use mortice_services::{ServiceRequest, run_compaction};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{
    BucketLayout, Index, IndexOptions, Provenance, Tagged, TaskLookUp, choose_index, choose_index_of,
};
use places::{Found, Group, base_rows, groups, snapshot};

type IndexSettings = &'static [(&'static str, &'static str)];

/// What the given options say of the index.
fn index_options(given: &[(&str, &str)]) -> IndexOptions {
    IndexOptions::resolve(&WriteOptions::resolve(given.iter().copied()).unwrap()).unwrap()
}

const fn index(name: &'static str) -> (&'static str, &'static str) {
    ("hoodie.index.type", name)
}

const WITH_RECORD_INDEX: (&str, &str) = ("hoodie.metadata.global.record.level.index.enable", "true");
/// Without the second option there is no record index, and keys are looked up in base files.
const INDEXES: [IndexSettings; 11] = [
    &[index("SIMPLE")],
    &[index("BLOOM")],
    &[index("GLOBAL_SIMPLE")],
    &[index("GLOBAL_SIMPLE"), ("hoodie.simple.index.update.partition.path", "false")],
    &[index("GLOBAL_BLOOM")],
    &[index("GLOBAL_BLOOM"), ("hoodie.bloom.index.update.partition.path", "false")],
    &[index("RECORD_INDEX"), WITH_RECORD_INDEX],
    &[index("RECORD_INDEX"), WITH_RECORD_INDEX, ("hoodie.record.index.update.partition.path", "true")],
    &[index("RECORD_INDEX")],
    &[index("RECORD_LEVEL_INDEX")],
    &[index("BUCKET"), ("hoodie.bucket.index.num.buckets", "3")],
];

/// A table and what is known of it.
struct Run {
    table: Table,
    table_type: TableType,
    given: Vec<(&'static str, &'static str)>,
    index: Arc<dyn Index>,
    model: Model,
    random: Random,
    /// File groups that a write has replaced.
    replaced: BTreeSet<Group>,
    /// Keys and the file groups that have had them.
    ever: BTreeSet<(String, Group)>,
    has_pending_compaction: bool,
    now: i64,
    context: String,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let table_type = [TableType::MergeOnRead, TableType::CopyOnWrite][random.below(2)];
        let given = INDEXES[usize::try_from(seed).unwrap() % INDEXES.len()];
        let version = [6, 9][random.below(2)];
        let table = Table::of_type(version, table_type);
        let mut given = given.to_vec();
        if random.below(2) == 0 {
            given.push(("hoodie.parquet.small.file.limit", "0"));
        }
        if !given.contains(&WITH_RECORD_INDEX) && random.below(2) == 0 {
            given.push(("hoodie.metadata.enable", "false"));
        }
        let index = choose_index(&table.open(false).config, &index_options(&given)).unwrap();
        let model = Model::new(index.is_global(), index.updates_partition());
        let context = format!("MORTICE_TEST_SEED={seed}, version {version}, {table_type:?}, {given:?}");
        let (replaced, ever) = (BTreeSet::new(), BTreeSet::new());
        let has_pending_compaction = false;
        Self {
            table,
            table_type,
            given,
            index,
            model,
            random,
            replaced,
            ever,
            has_pending_compaction,
            now: 10,
            context,
        }
    }

    /// Rows of some keys, each once. `is_new`: keys that the table does not have.
    fn some_rows(&mut self, is_new: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..=self.random.below(5) {
            let (key, city) = (KEYS[self.random.below(KEYS.len())], CITIES[self.random.below(CITIES.len())]);
            // A row that comes late: the stored one stays.
            let is_late = self.random.below(5) == 0 && !self.model.deleted.contains(key);
            let ts = if is_late { 1 } else { self.now };
            let is_same = |row: &Row| row.0 == key && (self.model.is_global || row.1 == city);
            if !(rows.iter().any(is_same) || is_new && self.model.has(key, city)) {
                rows.push((key, city, ts));
            }
        }
        rows
    }

    /// A random write, or a compaction.
    fn step(&mut self) {
        self.now += 1;
        // Of two rows of a key in one base file a write changes the first, as Hudi's do: each needs a file group of its
        // own.
        let may_repeat_keys = self.given.contains(&("hoodie.parquet.small.file.limit", "0"))
            && !self.index.is_global()
            && self.index.buckets().is_none();
        let choice = self.random.below(12);
        let (operation, rows) = match choice {
            0 | 1 => (WriteOperation::Delete, self.some_rows(false)),
            2 => (WriteOperation::Insert, self.some_rows(!may_repeat_keys)),
            3 if !self.model.is_global => (WriteOperation::InsertOverwrite, self.some_rows(false)),
            4 | 5 if self.table_type == TableType::MergeOnRead => return self.compact(),
            _ => (WriteOperation::Upsert, self.some_rows(false)),
        };
        self.context += &format!("; {operation:?} {rows:?}");
        if rows.is_empty() {
            return;
        }
        let before = groups(&self.table);
        self.write(operation, &rows);
        match operation {
            WriteOperation::Delete => self.model.delete(&rows),
            WriteOperation::Insert => self.model.insert(&rows),
            WriteOperation::InsertOverwrite => {
                self.model.overwrite(&rows);
                let cities: BTreeSet<&str> = rows.iter().map(|row| row.1).collect();
                self.replaced.extend(before.into_iter().filter(|(city, _)| cities.contains(city.as_str())));
            }
            _ => self.model.upsert(&rows),
        }
        // The first write builds the record index: until then rows move by another option.
        self.index = choose_index(&self.table.open(false).config, &index_options(&self.given)).unwrap();
        self.model.moves = self.index.updates_partition();
    }

    fn write(&self, operation: WriteOperation, rows: &[Row]) {
        let (rows, given) = (batch(rows), options(&self.given));
        let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
        let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
        write(&self.table.location(), operation, input).unwrap_or_else(|error| panic!("{}: {error}", self.context));
    }

    /// Plans a compaction, or runs the one that is planned.
    fn compact(&mut self) {
        let request = ServiceRequest { schedule: !self.has_pending_compaction, run: self.has_pending_compaction };
        self.context += &format!("; {request:?}");
        let done = run_compaction(&self.table.location(), request, &options(&self.given)).unwrap();
        self.has_pending_compaction = done.scheduled.is_some();
    }

    /// Compares the rows with the model, and where the index finds keys with where they are.
    fn check(&mut self) {
        let found = snapshot(&self.table, false);
        let rows = |found: &[Found]| -> Vec<(String, String, i64)> {
            found.iter().map(|(key, partition, ts, _)| (key.clone(), partition.clone(), *ts)).collect()
        };
        let expected: Vec<(String, String, i64)> =
            self.model.sorted().iter().map(|(key, path, ts)| ((*key).to_owned(), (*path).to_owned(), *ts)).collect();
        assert_eq!(rows(&found), expected, "{}", self.context);
        if !self.given.contains(&("hoodie.metadata.enable", "false")) {
            assert_eq!(rows(&snapshot(&self.table, true)), expected, "with the metadata table: {}", self.context);
        }
        self.ever.extend(
            found.iter().map(|(key, partition, _, file_id)| (key.clone(), (partition.clone(), file_id.clone()))),
        );
        let pairs: Vec<(&str, &str)> = KEYS.iter().flat_map(|key| CITIES.map(|city| (*key, city))).collect();
        let keys = RowKeys {
            record_keys: pairs.iter().map(|(key, _)| Some(*key)).collect(),
            partitions: pairs.iter().map(|(_, city)| Some(*city)).collect(),
        };
        let table = self.table.open(true);
        let tagged = self.index.tag(&table, &keys).unwrap_or_else(|error| panic!("{}: {error}", self.context));
        assert_eq!(tagged.locations.len(), pairs.len());
        let searching = choose_index_of(&table.config, &index_options(&self.given), Provenance::Stored).unwrap();
        let searched = searching.tag(&table, &keys).unwrap_or_else(|error| panic!("{}: {error}", self.context));
        let base_rows = base_rows(&self.table, &self.replaced);
        for (row, (key, city)) in pairs.into_iter().enumerate() {
            let current = current_groups(&found, (key, city), self.index.is_global());
            let context = format!("key {key:?} of {city:?}, {current:?}: {}", self.context);
            let tagged_groups = tagged_places(&tagged, row);
            let in_all = groups_of(&tagged_places(&searched, row));
            assert!(in_all.is_superset(&groups_of(&tagged_groups)), "{in_all:?}, {tagged_groups:?}: {context}");
            match self.index.task_look_up(&table).unwrap() {
                TaskLookUp::StoredKeys => {
                    self.check_places(&tagged_groups, &current, (key, city), &base_rows, &context);
                }
                TaskLookUp::RecordIndex | TaskLookUp::RecordIndexAndStoredKeys => {
                    assert_eq!(groups_of(&tagged_groups), current, "{context}")
                }
                TaskLookUp::Buckets => self.check_bucket(&tagged_groups, &current, (key, city), &context),
            }
        }
    }

    /// Keys are tagged with each of their rows in base files, by its number, and with all file groups that have them.
    fn check_places(
        &self,
        tagged: &[(Group, Option<u64>)],
        current: &BTreeSet<Group>,
        (key, city): (&str, &str),
        base_rows: &[(String, Group, u64)],
        context: &str,
    ) {
        let is_global = self.index.is_global();
        let in_scope = |group: &Group| is_global || group.0 == city;
        let of_key = base_rows.iter().filter(|(other, group, _)| other == key && in_scope(group));
        let expected: BTreeSet<(Group, u64)> = of_key.map(|(_, group, number)| (group.clone(), *number)).collect();
        let numbered = tagged.iter().filter_map(|(group, number)| Some((group.clone(), (*number)?)));
        assert_eq!(numbered.clone().collect::<BTreeSet<_>>(), expected, "{context}");
        assert_eq!(numbered.count(), expected.len(), "a place is there twice: {context}");
        let groups = groups_of(tagged);
        assert!(current.is_subset(&groups), "{groups:?}: {context}");
        let had_key = |group: &&Group| self.ever.contains(&(key.to_owned(), (*group).clone()));
        let stale: Vec<&Group> = groups.iter().filter(|group| !had_key(group) || !in_scope(group)).collect();
        assert!(stale.is_empty(), "{stale:?} never had the key: {context}");
    }

    /// Keys are tagged with the file group of their bucket, whether or not it has them.
    fn check_bucket(
        &self,
        tagged: &[(Group, Option<u64>)],
        current: &BTreeSet<Group>,
        (key, city): (&str, &str),
        context: &str,
    ) {
        let layout = BucketLayout::fixed(self.index.buckets().unwrap()).unwrap();
        let bucket = Some(layout.bucket_of(key, city).unwrap());
        let groups = groups_of(tagged);
        assert!(groups.len() <= 1 && current.is_subset(&groups), "{groups:?}: {context}");
        assert!(groups.iter().all(|(path, file_id)| path == city && bucket_in(file_id) == bucket), "{context}");
        let is_bucket = |(_, (path, file_id)): &&(String, Group)| path == city && bucket_in(file_id) == bucket;
        let live = self.ever.iter().filter(is_bucket).any(|(_, group)| !self.replaced.contains(group));
        assert_eq!(!groups.is_empty(), live, "{context}");
    }
}

/// The file groups that have rows of a key.
fn current_groups(found: &[Found], (key, city): (&str, &str), is_global: bool) -> BTreeSet<Group> {
    let of_key = found.iter().filter(|(other, partition, ..)| other == key && (is_global || partition == city));
    of_key.map(|(_, partition, _, file_id)| (partition.clone(), file_id.clone())).collect()
}

/// The file groups that a row is tagged with, each with the number of a row in its base file.
fn tagged_places(tagged: &Tagged, row: usize) -> Vec<(Group, Option<u64>)> {
    let mut places = Vec::new();
    let group = |group: u32| {
        let location = tagged.group(group).unwrap();
        (location.partition.clone(), location.file_id.clone())
    };
    places.extend(tagged.locations[row].map(|first| (group(first), tagged.position(row).unwrap())));
    let further = tagged.further.iter().filter(|further| at(further.row) == row);
    places.extend(further.map(|further| (group(further.group), further.position)));
    places
}

fn groups_of(places: &[(Group, Option<u64>)]) -> BTreeSet<Group> {
    places.iter().map(|(group, _)| group.clone()).collect()
}

/// Writes of each table.
const STEPS: usize = 6;
/// Tables without `MORTICE_SCHEDULES`.
const TABLES: u64 = 5;

#[test]
fn keys_are_tagged_as_a_search_of_all_files_finds_them() {
    for seed in seeds(TABLES) {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step();
            run.check();
        }
    }
}
