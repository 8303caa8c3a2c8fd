//! The records that an instant wrote to the metadata table, as values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mortice::avro::{Schema, Value, decode_value};
use mortice::hfile::HFile;
use mortice::log::{BlockKind, BlockType, HeaderKey, LogFile};
use mortice::storage::{FileSource, MemoryFile, SectionSource};

use super::table_copy::{METADATA, TableCopy};

/// Records and deleted keys of one partition.
#[derive(Debug, Default, PartialEq)]
pub struct PartitionRecords {
    pub upserts: BTreeMap<String, Value<'static>>,
    pub deletes: BTreeSet<String>,
    /// Which file group has a key.
    pub groups: BTreeMap<String, String>,
}

/// The records of an instant's logs, by partition.
pub fn records_of(table: &TableCopy, instant: &str) -> BTreeMap<String, PartitionRecords> {
    let mut found: BTreeMap<String, PartitionRecords> = BTreeMap::new();
    for path in table.metadata_files() {
        if path.ends_with(".hfile") || table.instant_of(&path) != instant {
            continue;
        }
        let (partition, name) = path[METADATA.len() + 1..].split_once('/').unwrap();
        let group = name[1..].split('_').next().unwrap().to_owned();
        read_log(table.read(&path), &group, found.entry(partition.to_owned()).or_default());
    }
    found
}

fn read_log(bytes: Vec<u8>, group: &str, found: &mut PartitionRecords) {
    let source: Arc<dyn FileSource> = Arc::new(MemoryFile::new("log", bytes));
    let log = LogFile::new(Arc::clone(&source));
    for block in log.blocks(false) {
        let block = block.unwrap();
        match block.kind {
            BlockKind::Sound(BlockType::HfileData) => {
                let content = SectionSource::new(Arc::clone(&source), block.content.clone()).unwrap();
                let file = HFile::open(Arc::new(content)).unwrap();
                let text = block.header.get(HeaderKey::Schema).unwrap();
                assert_eq!(file.schema().unwrap(), text);
                let schema = Schema::parse(&text).unwrap();
                for cells in file.scan() {
                    for (key, value) in cells.unwrap().iter() {
                        let key = String::from_utf8(key.to_vec()).unwrap();
                        let value = decode_value(schema.root(), value).unwrap().into_owned();
                        found.groups.insert(key.clone(), group.to_owned());
                        found.upserts.insert(key, sorted(value));
                    }
                }
            }
            BlockKind::Sound(BlockType::Delete) => {
                let keys = log.deletes(&block).unwrap();
                let keys = keys.column(0).as_any().downcast_ref::<arrow_array::StringArray>().unwrap().clone();
                for key in keys.iter().flatten() {
                    found.groups.insert(key.to_owned(), group.to_owned());
                    found.deletes.insert(key.to_owned());
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Maps have no order.
pub fn sorted(value: Value<'static>) -> Value<'static> {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(members)
        }
        Value::Branch(index, value) => Value::Branch(index, Box::new(sorted(*value))),
        other => other,
    }
}

/// A member of a record, through unions.
pub fn member<'a>(value: &'a Value<'static>, name: &str) -> &'a Value<'static> {
    let Value::Object(members) = value else { panic!("{value:?} has no member {name}") };
    &members.iter().find(|(one, _)| one == name).unwrap_or_else(|| panic!("no member {name}")).1
}

/// A member of a record that schemas of 0.15 lack.
pub fn find_member<'a>(value: &'a Value<'static>, name: &str) -> Option<&'a Value<'static>> {
    let Value::Object(members) = value else { return None };
    members.iter().find(|(one, _)| one == name).map(|(_, value)| value)
}
