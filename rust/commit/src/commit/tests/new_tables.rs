//! New tables: in a folder that others use, by a process that is stopped, and every combination of merge mode and key
//! generator.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;

use super::scripted_store::{Call, Event, ScriptedStore};
use crate::commit::{NewTable, create_table};
use mortice_base::error::{ErrorKind, Result};
use mortice_merge::config::{MergeMode, PropertiesFile, TableConfig, TableType, TableVersion};
use mortice_storage::LocalStorage;
use mortice_storage::failing_store::FailingStore;

const MODE: &str = "hoodie.record.merge.mode";
const PAYLOAD: &str = "hoodie.compaction.payload.class";
const GENERATOR: &str = "hoodie.table.keygenerator.type";

fn columns() -> Schema {
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let fields = [("id", DataType::Utf8), ("city", DataType::Utf8), ("ts", DataType::Int64), ("at", zoned)];
    Schema::new(fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect::<Vec<_>>())
}

fn new_table(version: u8, ordering: &[&str], properties: &[(&str, &str)]) -> NewTable {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    NewTable {
        name: "t".to_owned(),
        version: TableVersion::for_new_table(version).unwrap(),
        table_type: TableType::MergeOnRead,
        record_key: vec!["id".to_owned()],
        partition_by: vec!["city".to_owned()],
        ordering: ordering.iter().map(|name| (*name).to_owned()).collect(),
        properties: properties.iter().map(owned).collect(),
    }
}

fn config(table: &NewTable) -> Result<TableConfig> {
    TableConfig::from_properties(table.properties_file(&columns())?.properties())
}

fn local(folder: &tempfile::TempDir) -> LocalStorage {
    LocalStorage::new(&folder.path().to_string_lossy(), true)
}

fn stored(folder: &tempfile::TempDir) -> PropertiesFile {
    PropertiesFile::parse(&std::fs::read(folder.path().join(".hoodie/hoodie.properties")).unwrap()).unwrap()
}

#[test]
fn a_table_that_is_there_is_not_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(9, &["ts"], &[]);
    create_table(&local(&folder), &table, &columns()).unwrap();
    let before = stored(&folder);
    assert!(before.is_whole() && before.get("hoodie.table.name") == Some("t"));
    let other = NewTable { name: "other".to_owned(), ..table };
    // Hudi is changing the properties: the table is one all the same.
    let (main, backup) = (".hoodie/hoodie.properties", ".hoodie/hoodie.properties.backup");
    for moves in [false, true] {
        if moves {
            std::fs::rename(folder.path().join(main), folder.path().join(backup)).unwrap();
        }
        let error = create_table(&local(&folder), &other, &columns()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("open it with Table"), "{error}");
    }
    assert!(!folder.path().join(main).exists());
}

#[test]
fn of_two_that_create_a_table_at_once_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let faster = local(&folder);
    let creates = Event::Before(Box::new(move || {
        create_table(&faster, &NewTable { name: "faster".to_owned(), ..new_table(9, &[], &[]) }, &columns()).unwrap();
    }));
    let store = ScriptedStore::new(&folder, [(Call::Create, creates)]);
    let error = create_table(&*store, &new_table(9, &[], &[]), &columns()).unwrap_err();
    assert_eq!((error.kind(), store.left()), (ErrorKind::AlreadyExists, 0));
    assert_eq!(stored(&folder).get("hoodie.table.name"), Some("faster"));
}

/// The folder may be one of other files, and the table may be created again.
#[test]
fn a_process_that_is_stopped_leaves_no_table_or_all_of_it() {
    for version in [6, 9] {
        let (table, mut limit) = (new_table(version, &["ts"], &[]), 0);
        loop {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
            let done = create_table(&FailingStore::new(local(&folder), limit, false), &table, &columns());
            if done.is_ok() {
                assert!(limit > 1, "nothing was created");
                break;
            }
            assert!(!folder.path().join(".hoodie/hoodie.properties").exists(), "version {version}, {limit} changes");
            create_table(&local(&folder), &table, &columns()).unwrap();
            assert!(stored(&folder).is_whole() && folder.path().join("notes.txt").exists());
            limit += 1;
        }
    }
}

#[test]
fn a_table_that_is_refused_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(9, &["none"], &[]);
    assert_eq!(create_table(&local(&folder), &table, &columns()).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(!folder.path().join(".hoodie").exists());
}

/// The payload classes that are the same as a merge mode, and others.
const PAYLOADS: [(Option<&str>, Option<MergeMode>); 7] = [
    (None, None),
    (Some("org.apache.hudi.common.model.DefaultHoodieRecordPayload"), Some(MergeMode::EventTime)),
    (Some("org.apache.hudi.common.model.EventTimeAvroPayload"), Some(MergeMode::EventTime)),
    (Some("org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"), Some(MergeMode::CommitTime)),
    (Some("org.acme.OwnPayload"), None),
    // A class of the user's own, which Hudi has no package for.
    (Some("org.acme.OverwriteWithLatestAvroPayload"), None),
    (Some("EventTimeAvroPayload"), None),
];
const MODES: [(Option<&str>, Option<MergeMode>); 4] = [
    (None, None),
    (Some("EVENT_TIME_ORDERING"), Some(MergeMode::EventTime)),
    (Some("COMMIT_TIME_ORDERING"), Some(MergeMode::CommitTime)),
    (Some("CUSTOM"), None),
];

/// What a table with these properties is merged by; or the kind of the error.
fn expected_mode(
    version: u8,
    (mode, by_mode): (Option<&str>, Option<MergeMode>),
    (payload, by_payload): (Option<&str>, Option<MergeMode>),
    is_ordered: bool,
) -> Result<MergeMode, ErrorKind> {
    let is_unknown = mode.is_some() && by_mode.is_none() || payload.is_some() && by_payload.is_none();
    let is_of_other_version = mode.is_some() && version < 8 || payload.is_some() && version > 8;
    let merge = match (by_mode, by_payload) {
        _ if is_unknown || is_of_other_version => return Err(ErrorKind::Unsupported),
        (Some(mode), Some(payload)) if mode != payload => return Err(ErrorKind::InvalidArgument),
        (Some(merge), _) | (None, Some(merge)) => merge,
        (None, None) if is_ordered => MergeMode::EventTime,
        (None, None) => MergeMode::CommitTime,
    };
    if merge == MergeMode::EventTime && !is_ordered { Err(ErrorKind::InvalidArgument) } else { Ok(merge) }
}

#[test]
fn a_table_is_merged_as_its_properties_say_or_is_refused() {
    for version in [6, 8, 9] {
        for mode in MODES {
            for payload in PAYLOADS {
                for ordering in [&[][..], &["ts"]] {
                    let given = [(MODE, mode.0), (PAYLOAD, payload.0)];
                    let given: Vec<(&str, &str)> =
                        given.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
                    let found = config(&new_table(version, ordering, &given)).map(|config| config.merge.mode);
                    let expected = expected_mode(version, mode.clone(), payload.clone(), !ordering.is_empty());
                    assert_eq!(found.map_err(|error| error.kind()), expected, "{version} {given:?} {ordering:?}");
                }
            }
        }
    }
}

/// Such a generator would write all rows to the table's own folder.
#[test]
fn a_key_generator_without_partitions_is_refused_where_there_are_some() {
    let class = |name: &str| format!("org.apache.hudi.keygen.{name}");
    for (property, value, is_without) in [
        (GENERATOR, "NON_PARTITION".to_owned(), true),
        (GENERATOR, "NON_PARTITION_AVRO".to_owned(), true),
        (GENERATOR, "GLOBAL_DELETE".to_owned(), true),
        (GENERATOR, "SIMPLE".to_owned(), false),
        (GENERATOR, "COMPLEX".to_owned(), false),
        ("hoodie.table.keygenerator.class", class("NonpartitionedKeyGenerator"), true),
        ("hoodie.table.keygenerator.class", class("NonpartitionedAvroKeyGenerator"), true),
        ("hoodie.table.keygenerator.class", class("GlobalAvroDeleteKeyGenerator"), true),
        ("hoodie.table.keygenerator.class", class("SimpleKeyGenerator"), false),
    ] {
        let version = if property == GENERATOR { 9 } else { 6 };
        let table = new_table(version, &[], &[(property, &value)]);
        let found = config(&table).map(|config| config.partition_fields.len());
        if is_without {
            let error = found.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{property}={value}");
            assert!(error.to_string().contains("partition_by is city"), "{error}");
            config(&NewTable { partition_by: Vec::new(), ..table }).unwrap();
        } else {
            assert_eq!(found.unwrap(), 1, "{property}={value}");
        }
    }
}

/// The path of such a column has a number, which readers take for null, unless a key generator makes a date of it.
#[test]
fn a_partition_column_of_times_needs_a_key_generator_for_times() {
    let by = |field: &str, properties: &[(&str, &str)]| {
        config(&NewTable { partition_by: vec![field.to_owned()], ..new_table(9, &[], properties) })
    };
    let error = by("at", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("TIMESTAMP"), "{error}");
    let dates = [
        (GENERATOR, "TIMESTAMP"),
        ("hoodie.keygen.timebased.timestamp.type", "EPOCHMILLISECONDS"),
        ("hoodie.keygen.timebased.output.dateformat", "yyyy-MM-dd"),
    ];
    by("at", &dates).unwrap();
}

#[test]
fn ordering_fields_before_version_9_are_one() {
    for (version, is_taken) in [(6, false), (8, false), (9, true)] {
        let found = config(&new_table(version, &["ts", "id"], &[]));
        assert_eq!(found.is_ok(), is_taken, "{version}");
        assert!(config(&new_table(version, &["ts"], &[])).is_ok(), "{version}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// A property that is not known is refused by name, and never stored: a reader would follow it.
    #[test]
    fn properties_that_are_not_known_are_refused_by_name(
        name in prop_oneof!["hoodie\\.[a-z]{1,8}(\\.[a-z]{1,8}){0,3}", "[a-z.]{1,12}"],
        version in prop_oneof![Just(6_u8), Just(8), Just(9)],
    ) {
        let found = new_table(version, &["ts"], &[(&name, "x")]).properties_file(&columns());
        let error = found.unwrap_err();
        prop_assert!(error.to_string().contains(&name), "{}", error);
    }

    /// What is stored is read back as it was given, and the rest is Hudi's.
    #[test]
    fn properties_that_may_be_set_are_stored_as_they_are(
        given in proptest::collection::btree_map(
            prop_oneof![
                Just("hoodie.database.name".to_owned()),
                Just("hoodie.datasource.write.hive_style_partitioning".to_owned()),
                Just("hoodie.datasource.write.partitionpath.urlencode".to_owned()),
                "hoodie\\.record\\.merge\\.property\\.[a-z]{1,5}",
            ],
            prop_oneof![Just("true"), Just("false")],
            0..4,
        ),
        version in prop_oneof![Just(6_u8), Just(8), Just(9)],
    ) {
        let entries: Vec<(&str, &str)> = given.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let file = new_table(version, &["ts"], &entries).properties_file(&columns()).unwrap();
        let plain = new_table(version, &["ts"], &[]).properties_file(&columns()).unwrap();
        prop_assert!(file.is_whole());
        let of_file = |file: &PropertiesFile| -> BTreeMap<String, String> {
            file.properties().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let (found, plain) = (of_file(&file), of_file(&plain));
        let names: BTreeSet<&String> = found.keys().chain(plain.keys()).collect();
        for name in names.into_iter().filter(|name| *name != "hoodie.table.checksum") {
            let expected = given.get(name).map(|value| (*value).to_owned()).or_else(|| plain.get(name).cloned());
            prop_assert_eq!(found.get(name), expected.as_ref(), "{}", name);
        }
    }
}
