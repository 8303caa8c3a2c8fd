//! The merged rows of some keys as they are stored, by file group.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use super::indexed_rows::{ByKey, IndexedRows, strings};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_base::row_number::{at, number_of};
use mortice_formats::filter::{Filter, Literal, Operator, Term};
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};

/// More keys than these are not looked up by a filter.
const MOST_LOOK_UPS: usize = 100_000;

/// Stored rows, with the columns of the input. A key has several of them if it is in several file groups.
pub(super) struct StoredRows {
    rows: RowBatches,
    /// The first row of each key, then the second of those that have one, and so on.
    rounds: Vec<ByKey<StoredRow>>,
    /// Keys of which a file group has several rows.
    several: HashSet<String>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredRow {
    pub(super) row: usize,
    /// An index into the file groups of the tagged rows.
    pub(super) group: u32,
}

impl StoredRows {
    /// Reads the rows of the keys of the chosen rows from the file groups that have them. Of several rows of a key in
    /// one file group the first counts.
    pub(super) fn read(table: &OpenTable, rows: &IndexedRows, chosen: &[bool]) -> Result<Self> {
        let collector = Collector::new(rows, chosen);
        let slices = rows.tagged.view.slices.iter();
        let slices: Vec<FileSlice> = slices.filter(|slice| collector.is_wanted(slice)).cloned().collect();
        let batches = scan(table, &slices, &collector.keys, &collector.schema)?;
        collector.collect(batches)
    }

    /// The same, of batches that [`read_stored_rows`] returned, in the order of the file slices.
    pub(super) fn of_batches(
        rows: &IndexedRows,
        chosen: &[bool],
        batches: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<Self> {
        Collector::new(rows, chosen).collect(batches)
    }

    pub(super) fn rows(&self) -> &RowBatches {
        &self.rows
    }

    /// How many rows a key has at most.
    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Whether a key has several rows.
    pub(super) fn are_several(&self, key: &str) -> bool {
        self.several.contains(key) || self.row_of(1, key).is_some()
    }

    /// The stored row of a key in a round: the first is numbered 0.
    pub(super) fn row_of(&self, round: usize, key: &str) -> Option<StoredRow> {
        self.rounds.get(round)?.get(key).copied()
    }

    /// The rows of a round, of which no two have the same key, and their keys.
    pub(super) fn of_round(&self, round: usize) -> Result<(RowBatches, Vec<&str>)> {
        let rows = self.rounds.get(round).into_iter().flatten();
        let mut keys: Vec<(usize, &str)> = rows.map(|(key, found)| (found.row, key.as_str())).collect();
        keys.sort_unstable();
        let (numbers, keys): (Vec<usize>, Vec<&str>) = keys.into_iter().unzip();
        if self.rounds.len() <= 1 {
            return Ok((self.rows.clone(), keys));
        }
        let numbers = numbers.into_iter().map(number_of).collect::<Result<Vec<u32>>>()?;
        Ok((self.rows.select(&numbers)?, keys))
    }
}

/// Reads the merged rows of some keys of a file slice: record key, partition path and file name, and the columns of
/// `schema` that the table has.
///
/// # Errors
/// `Unsupported` for tables without meta columns; what reading the slice may fail with.
pub fn read_stored_rows(
    table: &OpenTable,
    slice: &FileSlice,
    keys: &BTreeSet<&str>,
    schema: &Schema,
) -> Result<Vec<RecordBatch>> {
    let mut found = Vec::new();
    for batch in scan(table, std::slice::from_ref(slice), keys, schema)? {
        let batch = batch?;
        let keys_of_batch = strings(&batch, meta_columns::RECORD_KEY)?;
        let is_wanted = |key: Option<&str>| key.is_some_and(|key| keys.contains(key));
        let places = (0_u64..).zip(&keys_of_batch).filter(|(_, key)| is_wanted(*key)).map(|(at, _)| at).collect();
        let taken = take(&batch, places)?;
        if taken.num_rows() > 0 {
            found.push(taken);
        }
    }
    Ok(found)
}

fn scan(
    table: &OpenTable,
    slices: &[FileSlice],
    keys: &BTreeSet<&str>,
    schema: &Schema,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    if !table.config.populate_meta_fields {
        return Err(Error::unsupported(
            "rows that move between partitions in a table without meta columns (hoodie.populate.meta.fields=false); use an index that is not global",
        ));
    }
    let options = QueryOptions { columns: Some(columns_of(table, schema)?), filter: filter_of(keys)?, merger: None };
    Ok(table.stored_rows(slices, &options)?.stream())
}

/// Collects the stored rows of the chosen rows' keys.
struct Collector<'r> {
    keys: BTreeSet<&'r str>,
    /// The file groups that may have them, by partition and file id.
    groups: HashMap<(&'r str, &'r str), u32>,
    schema: SchemaRef,
    kept: RowBatchesBuilder,
    rounds: Vec<ByKey<StoredRow>>,
    several: HashSet<String>,
    count: usize,
}

impl<'r> Collector<'r> {
    fn new(rows: &'r IndexedRows, chosen: &[bool]) -> Self {
        let is_chosen = |row: usize| chosen.get(row) == Some(&true);
        let keys = rows.rows.keys.record_keys.iter().enumerate();
        let keys = keys.filter(|(row, _)| is_chosen(*row)).filter_map(|(_, key)| key).collect();
        let (groups, schema) = (groups_of(rows, &is_chosen), rows.rows.batches.schema());
        let kept = RowBatchesBuilder::new(nullable(&schema), rows.rows.batches.memory().clone());
        Self { keys, groups, schema, kept, rounds: Vec::new(), several: HashSet::new(), count: 0 }
    }

    fn is_wanted(&self, slice: &FileSlice) -> bool {
        self.groups.contains_key(&(slice.partition.as_str(), slice.file_id.as_str()))
    }

    fn collect(mut self, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<StoredRows> {
        for batch in batches {
            self.add(&batch?)?;
        }
        Ok(StoredRows { rows: self.kept.finish(), rounds: self.rounds, several: self.several })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut places = Vec::new();
        let [keys, partitions, files] =
            [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH, meta_columns::FILE_NAME]
                .map(|name| strings(batch, name));
        let (keys, partitions, files) = (keys?, partitions?, files?);
        for (at, ((key, partition), file)) in (0_u64..).zip(keys.iter().zip(&partitions).zip(&files)) {
            let Some(key) = key.filter(|key| self.keys.contains(key)) else { continue };
            let (Some(partition), Some(file)) = (partition, file) else {
                return Err(Error::invalid_table(format!("the row of key {key:?} does not say in which file it is")));
            };
            // A base row has the name of its base file, a log row the file id.
            let file_id = file.split_once('_').map_or(file, |(file_id, _)| file_id);
            let group = self.groups.get(&(partition, file_id)).ok_or_else(|| {
                Error::invalid_table(format!(
                    "the row of key {key:?} says that it is in file {file:?} of partition {partition:?}, and is not"
                ))
            })?;
            let row = StoredRow { row: self.count + places.len(), group: *group };
            if self.keeps(key, row) {
                places.push(at);
            }
        }
        self.count += places.len();
        self.kept.push(in_columns(&take(batch, places)?, &self.schema)?)
    }

    /// Adds a row of a key. Of several rows in one file group one is merged: the file group changes all of them.
    fn keeps(&mut self, key: &str, row: StoredRow) -> bool {
        for round in &mut self.rounds {
            match round.get(key) {
                Some(known) if known.group == row.group => {
                    self.several.insert(key.to_owned());
                    return false;
                }
                Some(_) => {}
                None => {
                    round.insert(key.to_owned(), row);
                    return true;
                }
            }
        }
        self.rounds.push(std::iter::once((key.to_owned(), row)).collect());
        true
    }
}

/// The file groups that the chosen rows may be in, by partition and file id.
fn groups_of<'r>(rows: &'r IndexedRows, is_chosen: &impl Fn(usize) -> bool) -> HashMap<(&'r str, &'r str), u32> {
    let tagged = &rows.tagged;
    let of_rows =
        tagged.locations.iter().enumerate().filter(|(row, _)| is_chosen(*row)).filter_map(|(_, group)| *group);
    let further = tagged.further.iter().filter(|further| is_chosen(at(further.row)));
    let wanted: BTreeSet<u32> = of_rows.chain(further.map(|further| further.group)).collect();
    (0_u32..)
        .zip(&tagged.groups)
        .filter(|(group, _)| wanted.contains(group))
        .map(|(group, location)| ((location.partition.as_str(), location.file_id.as_str()), group))
        .collect()
}

/// The columns to read: those of the input that the table has, and three meta columns.
fn columns_of(table: &OpenTable, schema: &Schema) -> Result<Vec<String>> {
    let (_, types) = table.schema_at(None)?;
    let meta = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH, meta_columns::FILE_NAME];
    let names = schema.fields().iter().map(|field| field.name().as_str()).filter(|name| !meta.contains(name));
    let known = names.filter(|name| types.fields().find(name).is_some());
    Ok(meta.into_iter().chain(known).map(str::to_owned).collect())
}

pub(super) fn filter_of(keys: &BTreeSet<&str>) -> Result<Filter> {
    if keys.len() > MOST_LOOK_UPS {
        return Ok(Filter::default());
    }
    let literals = keys.iter().map(|key| Literal::Text((*key).to_owned())).collect();
    Ok(Filter::any_of(vec![vec![Term::new(meta_columns::RECORD_KEY, Operator::In, literals)?]]))
}

fn take(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    let taken = take_record_batch(batch, &UInt64Array::from(rows));
    taken.map_err(|error| Error::internal("rows of a batch").caused_by(error))
}

fn nullable(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(
        schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>(),
    ))
}

/// Rows with the columns of the input; columns that the table does not have yet are null.
fn in_columns(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch> {
    let column = |field: &Arc<arrow_schema::Field>| match batch.column_by_name(field.name()) {
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        Some(column) if column.data_type() == field.data_type() => Ok(Arc::clone(column)),
        Some(column) => arrow_cast::cast(column, field.data_type()).map_err(|error| {
            Error::unsupported(format!("column {:?} of stored rows as {}", field.name(), field.data_type()))
                .caused_by(error)
        }),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let rows = RecordBatch::try_new_with_options(nullable(schema), columns, &options);
    rows.map_err(|error| Error::internal("stored rows").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{FurtherLocation, Location, Tagged};
    use crate::row_set::{RowMark, RowMarks, WriteRows};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};
    use mortice_base::error::ErrorKind;
    use mortice_merge::keys::RowKeys;
    use proptest::prelude::*;

    const GROUPS: [(&str, &str); 3] = [("p", "f0"), ("p", "f1"), ("q", "f0")];

    /// Rows with these keys, each tagged with a file group, or with none.
    fn rows(keys: &[(&str, Option<u32>)]) -> IndexedRows {
        let location = |(partition, file_id): (&str, &str)| Location {
            partition: partition.to_owned(),
            file_id: file_id.to_owned(),
            base_instant: "20260101000000000".into(),
        };
        let columns: [(&str, ArrayRef); 2] = [
            ("id", Arc::new(keys.iter().map(|(key, _)| Some(*key)).collect::<StringArray>())),
            ("n", Arc::new(Int64Array::from_iter_values((0..).take(keys.len())))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let keys_of_rows = RowKeys {
            record_keys: keys.iter().map(|(key, _)| Some(*key)).collect(),
            partitions: keys.iter().map(|_| Some("p")).collect(),
        };
        let marks = RowMarks::repeated(RowMark::Upsert, keys.len());
        let locations = keys.iter().map(|(_, group)| *group).collect();
        let tagged = Tagged { locations, groups: GROUPS.map(location).to_vec(), ..Tagged::default() };
        IndexedRows { rows: WriteRows::new(batch.into(), keys_of_rows, marks).unwrap(), tagged }
    }

    /// Stored rows: key, partition, file name and `n`.
    type StoredValues<'a> = (&'a str, Option<&'a str>, Option<&'a str>, i32);

    fn batch(rows: &[StoredValues<'_>]) -> RecordBatch {
        let columns: [(&str, ArrayRef); 4] = [
            (meta_columns::RECORD_KEY, Arc::new(rows.iter().map(|row| Some(row.0)).collect::<StringArray>())),
            (meta_columns::PARTITION_PATH, Arc::new(rows.iter().map(|row| row.1).collect::<StringArray>())),
            (meta_columns::FILE_NAME, Arc::new(rows.iter().map(|row| row.2).collect::<StringArray>())),
            // The table's type is not yet that of the input, and it does not have the column `id`.
            ("n", Arc::new(rows.iter().map(|row| Some(row.3)).collect::<Int32Array>())),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    fn collected(rows: &IndexedRows, chosen: &[bool], batches: &[&[StoredValues<'_>]]) -> Result<StoredRows> {
        StoredRows::of_batches(rows, chosen, batches.iter().map(|rows| Ok(batch(rows))))
    }

    fn found(rows: &StoredRows, key: &str) -> Option<(i64, u32)> {
        let StoredRow { row, group } = rows.row_of(0, key)?;
        let numbers = rows.rows().to_batch().unwrap();
        assert!(numbers.column_by_name("id").unwrap().is_null(row), "the table does not have the column yet");
        Some((numbers.column_by_name("n").unwrap().as_primitive::<Int64Type>().value(row), group))
    }

    #[test]
    fn the_first_row_of_a_chosen_key_counts() {
        let rows = rows(&[("a", Some(0)), ("b", Some(1)), ("c", Some(2))]);
        let batches: [&[StoredValues<'_>]; 2] = [
            &[
                ("other", Some("p"), Some("f0_0-0-0_1.parquet"), 1),
                ("b", Some("p"), Some("f1_0-0-0_1.parquet"), 2),
                ("a", Some("p"), Some("f0_0-0-0_1.parquet"), 3),
            ],
            &[("a", Some("p"), Some("f0"), 4), ("c", Some("q"), Some("f0"), 5)],
        ];
        let all = collected(&rows, &[true; 3], &batches).unwrap();
        assert_eq!(
            ["a", "b", "c", "other"].map(|key| found(&all, key)),
            [Some((3, 0)), Some((2, 1)), Some((5, 2)), None]
        );
        assert_eq!(all.of_round(0).unwrap().1, ["b", "a", "c"], "in the order of the rows");
        assert_eq!(all.rounds(), 1, "a file group changes all of its rows of a key");
        assert_eq!(["a", "b", "c", "other"].map(|key| all.are_several(key)), [true, false, false, false]);
        let some = collected(&rows, &[true, false, true], &batches).unwrap();
        assert_eq!(["a", "b", "c"].map(|key| found(&some, key)), [Some((3, 0)), None, Some((5, 2))]);
    }

    /// A row that is written back to a file group which does not have it would be there twice.
    #[test]
    fn rows_that_do_not_say_truly_where_they_are_are_refused() {
        let rows = rows(&[("a", Some(0)), ("b", Some(1))]);
        for (partition, file, word) in [
            (None, Some("f0"), "does not say in which file"),
            (Some("p"), None, "does not say in which file"),
            (Some("p"), Some("f9_0-0-0_1.parquet"), "and is not"),
            (Some("q"), Some("f1"), "and is not"),
            // It is not one of those that the chosen rows are tagged with.
            (Some("q"), Some("f0"), "and is not"),
        ] {
            let error = collected(&rows, &[true; 2], &[&[("a", partition, file, 1)]]).err().unwrap();
            assert!(error.kind() == ErrorKind::InvalidTable && error.to_string().contains(word), "{error}");
            // Rows that are not looked up may be anywhere.
            assert!(collected(&rows, &[false; 2], &[&[("a", partition, file, 1)]]).is_ok());
        }
        let failed = StoredRows::of_batches(&rows, &[true; 2], std::iter::once(Err(Error::internal("of a file"))));
        assert_eq!(failed.err().unwrap().kind(), ErrorKind::Internal);
    }

    /// A key of several places is in one of them.
    #[test]
    fn rows_may_be_in_further_locations() {
        let mut rows = rows(&[("a", Some(0))]);
        let stored: StoredValues<'_> = ("a", Some("q"), Some("f0"), 7);
        assert!(collected(&rows, &[true], &[&[stored]]).is_err());
        rows.tagged.further = vec![FurtherLocation { row: 0, group: 2, position: None }];
        assert_eq!(found(&collected(&rows, &[true], &[&[stored]]).unwrap(), "a"), Some((7, 2)));
        let collector = Collector::new(&rows, &[true]);
        let slice = |partition: &str, file_id: &str| FileSlice {
            partition: partition.to_owned(),
            file_id: file_id.to_owned(),
            base_instant: "1".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        let wanted = GROUPS.map(|(partition, file_id)| collector.is_wanted(&slice(partition, file_id)));
        assert_eq!(wanted, [true, false, true], "others are not read");
    }

    #[test]
    fn a_key_of_several_file_groups_has_a_row_of_each() {
        let mut rows = rows(&[("a", Some(0)), ("b", Some(1))]);
        rows.tagged.further = vec![FurtherLocation { row: 0, group: 2, position: None }];
        let stored: [&[StoredValues<'_>]; 2] = [
            &[("b", Some("p"), Some("f1"), 2), ("a", Some("p"), Some("f0"), 3), ("a", Some("p"), Some("f0"), 4)],
            &[("a", Some("q"), Some("f0"), 5)],
        ];
        let all = collected(&rows, &[true; 2], &stored).unwrap();
        assert_eq!((all.rounds(), all.rows().num_rows()), (2, 3));
        assert_eq!(["a", "b"].map(|key| found(&all, key)), [Some((3, 0)), Some((2, 1))]);
        assert_eq!((all.row_of(1, "a"), all.row_of(1, "b")), (Some(StoredRow { row: 2, group: 2 }), None));
        let (batches, keys) = all.of_round(1).unwrap();
        assert_eq!((batches.num_rows(), keys), (1, vec!["a"]));
    }

    proptest! {
        /// Batches of any size, with rows of other keys between those that are looked up.
        #[test]
        fn rows_keep_their_numbers(
            keys in proptest::collection::vec(0_usize..8, 0..30),
            chosen in proptest::collection::vec(any::<bool>(), 8),
            size in 1_usize..7,
        ) {
            let names: Vec<String> = (0..8).map(|key| format!("k{key}")).collect();
            let incoming: Vec<(&str, Option<u32>)> = names.iter().map(|name| (name.as_str(), Some(0))).collect();
            let rows = rows(&incoming);
            let stored: Vec<StoredValues<'_>> =
                keys.iter().zip(0..).map(|(key, n)| (names[*key].as_str(), Some("p"), Some("f0"), n)).collect();
            let batches: Vec<&[StoredValues<'_>]> = stored.chunks(size).collect();
            let all = collected(&rows, &chosen, &batches).unwrap();
            for (key, name) in names.iter().enumerate() {
                let first = keys.iter().position(|one| *one == key).filter(|_| chosen[key]);
                let expected = first.map(|first| (i64::try_from(first).unwrap(), 0));
                prop_assert_eq!(found(&all, name), expected);
            }
            let kept = all.of_round(0).unwrap().1.len();
            prop_assert_eq!(kept, all.rows().num_rows(), "rows that nobody needs are not kept");
        }
    }

    #[test]
    fn many_keys_are_not_looked_up_one_by_one() {
        let names: Vec<String> = (0..=MOST_LOOK_UPS).map(|key| key.to_string()).collect();
        let all: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(filter_of(&all).unwrap(), Filter::default());
        let some: BTreeSet<&str> = all.into_iter().skip(1).collect();
        assert_ne!(filter_of(&some).unwrap(), Filter::default());
    }

    #[test]
    fn a_stored_value_that_is_not_one_of_the_input_s_type_is_refused() {
        let schema = Schema::new(vec![arrow_schema::Field::new(
            "n",
            arrow_schema::DataType::Struct(arrow_schema::Fields::empty()),
            true,
        )]);
        let error = in_columns(&batch(&[("a", None, None, 1)]), &schema).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("\"n\""), "{error}");
    }
}
