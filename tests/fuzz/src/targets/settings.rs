//! Properties of tables, and options of writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mortice::config::{ParsedOptions, Properties, PropertiesFile, TableConfig, WriteOptions, table_properties};

/// `hoodie.properties`. Lines that are not changed are written as they were, a value that is set is read again, and no
/// folder is outside of `.hoodie`.
pub fn properties(data: &[u8]) {
    let Ok(mut file) = PropertiesFile::parse(data) else { return };
    assert!(file.to_bytes() == data, "other bytes");
    let properties = file.properties();
    assert!(Properties::parse(data).is_ok_and(|parsed| parsed == properties), "other properties");
    check_config(properties.clone());
    if file.update_checksum().is_ok() {
        assert!(file.is_whole(), "a checksum that is wrong when it was set");
    }
    file.set("hoodie.table.name", " é\t=");
    let again = PropertiesFile::parse(&file.to_bytes()).ok();
    assert!(again.is_some_and(|again| again.get("hoodie.table.name") == Some(" é\t=")), "a value is lost");
    for (name, value) in properties.iter() {
        let mut other = PropertiesFile::default();
        other.set(name, value);
        let again = PropertiesFile::parse(&other.to_bytes()).ok();
        assert!(again.is_some_and(|again| again.get(name) == Some(value)), "an entry is lost: {name:?}");
    }
}

fn check_config(properties: Properties) {
    let Ok(config) = TableConfig::from_properties(properties) else { return };
    let _ = config.check_supported();
    for folder in [&config.timeline_folder, &config.archive_folder] {
        let is_below = folder.split('/').next() == Some(".hoodie") && folder.split('/').all(|part| part != "..");
        assert!(is_below && !folder.contains(':'), "a timeline outside of the table: {folder:?}");
    }
}

static TABLES: LazyLock<[TableConfig; 2]> = LazyLock::new(|| {
    [
        "hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=9\n\
            hoodie.table.recordkey.fields=id,sub\nhoodie.table.partition.fields=day\nhoodie.table.ordering.fields=ts\n\
            hoodie.record.merge.mode=EVENT_TIME_ORDERING\nhoodie.table.keygenerator.type=COMPLEX\n",
        "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.recordkey.fields=id\n",
    ]
    .map(|text| {
        let properties = Properties::parse(text.as_bytes()).expect("properties");
        TableConfig::from_properties(properties).expect("the properties of a table")
    })
});

const OPERATIONS: [&str; 4] = ["upsert", "insert", "bulk_insert", "delete"];

/// Options of a write, as lines of a properties file; the first byte selects the operation and the table. What is
/// accepted has values that can be sent, and means the same when it is given by the newest names.
pub fn options(data: &[u8]) {
    let Some((selected, text)) = data.split_first() else { return };
    let Ok(properties) = Properties::parse(text) else { return };
    let (table, operation) = (&TABLES[usize::from(selected % 2)], OPERATIONS[usize::from(selected / 2 % 4)]);
    let given: BTreeMap<String, String> =
        properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let _ = table_properties(&given);
    let resolved = WriteOptions::resolve(given.iter()).map(|options| check_sent(&options).map(|()| options));
    let Ok(parsed) = ParsedOptions::new(&given, operation, table) else { return };
    assert!(resolved.is_ok_and(|resolved| resolved == Some(parsed.options.clone())), "other options without a table");
    assert!(parsed.options.check_kinds().is_ok(), "an option of another kind");
}

/// Options are the same when they were sent to another process.
fn check_sent(options: &WriteOptions) -> Option<()> {
    let sent = serde_json::to_string(options).expect("options are written");
    let read: WriteOptions = serde_json::from_str(&sent).expect("options that were sent are read");
    assert!(read == *options, "other options: {sent}");
    Some(())
}
