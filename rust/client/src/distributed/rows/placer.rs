//! Gives tagged rows their places: a file group of the table, or a number among the new rows of their partition. The
//! driver makes tasks of the counts.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, RecordBatch, UInt32Array, UInt64Array};

use crate::distributed::exchange::{ClassCount, GroupCount, KeyHasher, PlacedReport, RowSum, sent_rows, taken};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_write::index::{BucketLayout, IndexedRows, Tagged};
use mortice_write::row_set::WriteRows;

/// The place of a row: the number of a file group of its source; for new rows -1 less the number of their class.
pub(crate) const PLACE: &str = "_mortice_place";
/// The number of a new row in its class.
pub(crate) const ORDINAL: &str = "_mortice_ordinal";
/// The number of the key's row in the base file.
pub(crate) const POSITION: &str = "_mortice_position";
/// Whether the row before is the same: its key is in the base file several times.
pub(crate) const IS_REPEATED: &str = "_mortice_is_repeated";

/// Places the rows of one source.
pub(crate) struct Placer {
    buckets: Option<Arc<BucketLayout>>,
    is_global: bool,
    groups: Vec<GroupCount>,
    group_numbers: HashMap<(String, String), i32>,
    classes: Vec<ClassCount>,
    class_numbers: HashMap<(String, Option<u32>), usize>,
    placed: RowSum,
}

/// One place of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    row: u32,
    place: i32,
    position: Option<u64>,
    ordinal: Option<u32>,
}

impl Placer {
    pub(crate) fn new(buckets: Option<Arc<BucketLayout>>, is_global: bool) -> Self {
        Self {
            buckets,
            is_global,
            groups: Vec::new(),
            group_numbers: HashMap::new(),
            classes: Vec::new(),
            class_numbers: HashMap::new(),
            placed: RowSum::default(),
        }
    }

    /// The rows with their places. Deletes of keys that are not in the table are left out; a row whose key is in
    /// several file groups, or several times in one, is there several times.
    pub(crate) fn place(&mut self, rows: &IndexedRows) -> Result<RecordBatch> {
        let places = self.places(rows)?;
        let is_repeated = (0..places.len()).map(|at| {
            let before = at.checked_sub(1).and_then(|before| places.get(before));
            let same = |one: &Placed, other: &Placed| (one.row, one.place) == (other.row, other.place);
            Some(before.zip(places.get(at)).is_some_and(|(one, other)| same(one, other)))
        });
        let is_repeated: BooleanArray = is_repeated.collect();
        self.count(rows, &places, &is_repeated)?;
        let further: Vec<(&str, ArrayRef)> = vec![
            (PLACE, Arc::new(places.iter().map(|placed| placed.place).collect::<Int32Array>())),
            (ORDINAL, Arc::new(places.iter().map(|placed| placed.ordinal).collect::<UInt32Array>())),
            (POSITION, Arc::new(places.iter().map(|placed| placed.position).collect::<UInt64Array>())),
            (IS_REPEATED, Arc::new(is_repeated)),
        ];
        let own = sent_rows::to_batch(&rows.rows, Vec::new())?;
        let is_all = places.len() == own.num_rows() && (0_u32..).zip(&places).all(|(row, placed)| placed.row == row);
        let own = if is_all { own } else { taken(&own, &places.iter().map(|placed| placed.row).collect())? };
        let (schema, mut columns) = (own.schema(), own.columns().to_vec());
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        for (name, column) in further {
            fields.push(Arc::new(arrow_schema::Field::new(name, column.data_type().clone(), true)));
            columns.push(column);
        }
        RecordBatch::try_new(Arc::new(arrow_schema::Schema::new(fields)), columns)
            .map_err(|error| Error::internal("rows with their places").caused_by(error))
    }

    /// What the driver has to know of the rows, of which so many came to the task.
    pub(crate) fn report(self, source: u32, taken: RowSum, bytes: u64) -> PlacedReport {
        let Self { groups, classes, placed, .. } = self;
        PlacedReport { source, taken, placed, bytes, groups, classes }
    }

    fn places(&mut self, rows: &IndexedRows) -> Result<Vec<Placed>> {
        let tagged = &rows.tagged;
        let WriteRows { keys, marks, .. } = &rows.rows;
        let count = marks.len();
        if tagged.locations.len() != count {
            return Err(Error::internal(format_args!("{} tags of {count} rows", tagged.locations.len())));
        }
        // The numbers of the index's file groups that rows are in.
        let mut numbers = vec![None; tagged.groups.len()];
        let mut places = Vec::with_capacity(count);
        for ((row, location), mark) in (0_u32..).zip(&tagged.locations).zip(marks.iter()) {
            let at = at(row);
            if let Some(group) = location {
                let position = tagged.position(at)?;
                places.push(Placed { row, place: self.group(tagged, &mut numbers, *group)?, position, ordinal: None });
            } else if !mark.is_delete() {
                let (key, partition) = (keys.record_keys.value(at), keys.partitions.value(at));
                let (place, ordinal) = self.new_place(key, partition)?;
                places.push(Placed { row, place, position: None, ordinal: Some(ordinal) });
            }
        }
        for further in &tagged.further {
            let place = self.group(tagged, &mut numbers, further.group)?;
            places.push(Placed { row: further.row, place, position: further.position, ordinal: None });
        }
        if !tagged.further.is_empty() {
            places.sort_unstable();
            places.dedup();
        }
        Ok(places)
    }

    /// The number of one of the index's file groups.
    fn group(&mut self, tagged: &Tagged, numbers: &mut [Option<i32>], group: u32) -> Result<i32> {
        let location = tagged.group(group)?;
        let number = numbers.get_mut(at(group)).ok_or_else(|| Error::internal("a file group without a number"))?;
        if let Some(known) = number {
            return Ok(*known);
        }
        let next = i32::try_from(self.groups.len()).map_err(|_| Error::unsupported("2,147,483,648 file groups"))?;
        let (partition, file_id) = (location.partition.clone(), location.file_id.clone());
        let found = *self.group_numbers.entry((partition.clone(), file_id.clone())).or_insert(next);
        if found == next {
            self.groups.push(GroupCount { partition, file_id, placed: 0, once: 0, live: 0 });
        }
        *number = Some(found);
        Ok(found)
    }

    /// The place of a new row, and its number there.
    fn new_place(&mut self, key: &str, partition: &str) -> Result<(i32, u32)> {
        let bucket = self.buckets.as_ref().map(|buckets| buckets.bucket_of(key, partition)).transpose()?;
        // Without buckets there are few classes, and rows of one mostly follow each other.
        let known = self.classes.last().filter(|class| class.partition == partition && class.bucket == bucket);
        let number = match known {
            Some(_) => self.classes.len() - 1,
            None => self.class(partition, bucket)?,
        };
        let class = self.classes.get_mut(number).ok_or_else(|| Error::internal("a class that is not there"))?;
        let too_many = || Error::unsupported("4,294,967,296 new rows of one partition in one task");
        let ordinal = u32::try_from(class.rows).map_err(|_| too_many())?;
        class.rows = class.rows.saturating_add(1);
        let number = i32::try_from(number).map_err(|_| Error::unsupported("2,147,483,648 partitions"))?;
        Ok((-1 - number, ordinal))
    }

    fn class(&mut self, partition: &str, bucket: Option<u32>) -> Result<usize> {
        let key = (partition.to_owned(), bucket);
        if let Some(number) = self.class_numbers.get(&key) {
            return Ok(*number);
        }
        let number = self.classes.len();
        self.classes.push(ClassCount { partition: partition.to_owned(), bucket, rows: 0 });
        self.class_numbers.insert(key, number);
        Ok(number)
    }

    fn count(&mut self, rows: &IndexedRows, places: &[Placed], is_repeated: &BooleanArray) -> Result<()> {
        let mut hasher = KeyHasher::new(self.is_global);
        for (placed, is_repeated) in places.iter().zip(is_repeated) {
            let (at, mark) = (at(placed.row), rows.rows.marks.of_row(placed.row)?);
            let keys = &rows.rows.keys;
            let hash = hasher.hash(keys.record_keys.value(at), keys.partitions.value(at));
            self.placed.add(RowSum { rows: 1, hash });
            // A new row, which its class has counted.
            let Ok(number) = usize::try_from(placed.place) else { continue };
            let group = self.groups.get_mut(number).ok_or_else(|| Error::internal("a place that is no file group"))?;
            group.placed = group.placed.saturating_add(1);
            if is_repeated != Some(true) {
                group.once = group.once.saturating_add(1);
                group.live = group.live.saturating_add(u64::from(!mark.is_delete()));
            }
        }
        Ok(())
    }
}
