//! A new table, described by the options of the write that creates it, as Hudi's Spark source does
//! (`HoodieSparkSqlWriter`).

use std::collections::BTreeMap;

use super::new_table::NewTable;
use super::new_table_options::MergeChoice;
use mortice_base::error::{Error, Result};
use mortice_merge::config::{TableType, TableVersion, table_properties};

const NAME: &str = "hoodie.table.name";
const TYPE: &str = "hoodie.table.type";
const VERSION: &str = "hoodie.table.version";
const KEY: &str = "hoodie.table.recordkey.fields";
const PARTITION: &str = "hoodie.table.partition.fields";
const ORDERING: &str = "hoodie.table.ordering.fields";
const MODE: &str = "hoodie.record.merge.mode";
const PAYLOAD: &str = "hoodie.compaction.payload.class";
const GENERATOR_CLASS: &str = "hoodie.table.keygenerator.class";
const GENERATOR_TYPE: &str = "hoodie.table.keygenerator.type";

/// Key generators, by type and by class (`KeyGeneratorType`).
const GENERATORS: [(&str, &str); 6] = [
    ("SIMPLE", "SimpleKeyGenerator"),
    ("COMPLEX", "ComplexKeyGenerator"),
    ("NON_PARTITION", "NonpartitionedKeyGenerator"),
    ("TIMESTAMP", "TimestampBasedKeyGenerator"),
    ("CUSTOM", "CustomKeyGenerator"),
    ("GLOBAL_DELETE", "GlobalDeleteKeyGenerator"),
];

impl NewTable {
    /// The table that a write with these options creates. Hudi's defaults: copy-on-write, version 9, no partitions,
    /// generated keys.
    ///
    /// # Errors
    /// `InvalidArgument` if the name is missing, for options that contradict each other and for values that are none;
    /// `Unsupported` for key generators of the user's own.
    pub fn from_write_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let mut properties: BTreeMap<&str, String> = table_properties(options)?;
        let name = properties.remove(NAME).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            Error::invalid_argument(format!(
                "there is no table, and option {NAME} is missing: it names the table to create"
            ))
        })?;
        let version = match properties.remove(VERSION) {
            None => TableVersion::DEFAULT,
            Some(text) => text.parse().map_err(|_| {
                Error::invalid_argument(format!("option hoodie.write.table.version must be a number, got {text:?}"))
            })?,
        };
        let version = TableVersion::for_new_table(version)?;
        let table_type = table_type(properties.remove(TYPE).as_deref())?;
        let mut fields = |name: &str| properties.remove(name).map(|text: String| listed(&text)).unwrap_or_default();
        let (record_key, partition_by, ordering) = (fields(KEY), fields(PARTITION), fields(ORDERING));
        properties.retain(|name, _| !IMPLIED.contains(name));
        let has_partitions = choose_generator(&mut properties, version)?;
        // Hudi's generators for tables without partitions ignore the option (`SparkKeyGenUtils.getPartitionColumns`).
        let partition_by = if has_partitions { partition_by } else { Vec::new() };
        choose_merge_mode(&mut properties, version);
        let properties = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { name, version, table_type, record_key, partition_by, ordering, properties })
    }
}

/// Properties that follow from others.
const IMPLIED: [&str; 4] = [
    "hoodie.table.create.schema",
    "hoodie.table.initial.version",
    "hoodie.table.partition_extractor_class",
    "hoodie.timeline.layout.version",
];

fn table_type(name: Option<&str>) -> Result<TableType> {
    match name.map(str::to_ascii_uppercase).as_deref() {
        None | Some("COPY_ON_WRITE") => Ok(TableType::CopyOnWrite),
        Some("MERGE_ON_READ") => Ok(TableType::MergeOnRead),
        Some(other) => Err(Error::invalid_argument(format!(
            "option hoodie.datasource.write.table.type must be COPY_ON_WRITE or MERGE_ON_READ, got {other:?}"
        ))),
    }
}

fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|field| !field.is_empty()).map(str::to_owned).collect()
}

/// From version 8 on key generators are named by their types, before by their classes. Returns whether the generator
/// makes partition paths.
fn choose_generator(properties: &mut BTreeMap<&str, String>, version: TableVersion) -> Result<bool> {
    let class = properties.remove(GENERATOR_CLASS).filter(|name| !name.is_empty());
    let kind = properties.remove(GENERATOR_TYPE).filter(|name| !name.is_empty());
    let Some(named) = class.or(kind) else { return Ok(true) };
    let short = named.rsplit('.').next().unwrap_or(&named);
    let short = short.replace("AvroKeyGenerator", "KeyGenerator");
    let short = short.strip_suffix("_AVRO").unwrap_or(&short);
    let is_named = |(kind, class): &&(&str, &str)| kind.eq_ignore_ascii_case(short) || *class == short;
    let (kind, class) = GENERATORS.iter().find(is_named).ok_or_else(|| {
        let known = GENERATORS.map(|(_, class)| class).join(", ");
        Error::unsupported(format!("key generator {named:?} (supported: {known}); create the table with Hudi"))
    })?;
    match version.number() {
        8.. => properties.insert(GENERATOR_TYPE, (*kind).to_owned()),
        _ => properties.insert(GENERATOR_CLASS, format!("org.apache.hudi.keygen.{class}")),
    };
    Ok(!matches!(*kind, "NON_PARTITION" | "GLOBAL_DELETE"))
}

/// From version 9 on the payload classes of the two orderings are merge modes
/// (`HoodieTableConfig.inferMergingConfigsForV9TableCreation`).
fn choose_merge_mode(properties: &mut BTreeMap<&str, String>, version: TableVersion) {
    let choice = properties.get(PAYLOAD).and_then(|class| MergeChoice::of_payload(class));
    let Some(mode) = choice.map(MergeChoice::mode) else { return };
    if version.number() >= 9 && properties.get(MODE).is_none_or(|own| own == mode) {
        properties.remove(PAYLOAD);
        properties.insert(MODE, mode.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(options: &[(&str, &str)]) -> Result<NewTable> {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        NewTable::from_write_options(&options)
    }

    #[test]
    fn defaults_are_those_of_hudi() {
        let created = table(&[("hoodie.table.name", "t")]).unwrap();
        assert_eq!((created.table_type, created.version.number()), (TableType::CopyOnWrite, 9));
        assert!(created.record_key.is_empty() && created.partition_by.is_empty() && created.properties.is_empty());
        let error = table(&[("hoodie.datasource.write.recordkey.field", "id")]).unwrap_err();
        assert!(error.to_string().contains("hoodie.table.name"), "{error}");
    }

    #[test]
    fn options_of_a_hudi_job_describe_its_table() {
        let created = table(&[
            ("hoodie.table.name", "t"),
            ("hoodie.datasource.write.recordkey.field", "id, sub"),
            ("hoodie.datasource.write.partitionpath.field", "day"),
            ("hoodie.datasource.write.precombine.field", "ts"),
            ("hoodie.datasource.write.storage.type", "merge_on_read"),
            ("hoodie.datasource.write.hive_style_partitioning", "true"),
            ("hoodie.datasource.write.payload.class", "org.apache.hudi.common.model.DefaultHoodieRecordPayload"),
            ("hoodie.datasource.write.keygenerator.class", "org.apache.hudi.keygen.ComplexAvroKeyGenerator"),
            ("hoodie.upsert.shuffle.parallelism", "2"),
            ("hoodie.write.table.version", "9"),
        ])
        .unwrap();
        assert_eq!((created.record_key, created.partition_by), (vec!["id".into(), "sub".into()], vec!["day".into()]));
        assert_eq!((created.ordering, created.table_type), (vec!["ts".into()], TableType::MergeOnRead));
        let properties: Vec<(&str, &str)> = created.properties.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            properties,
            [
                ("hoodie.datasource.write.hive_style_partitioning", "true"),
                ("hoodie.record.merge.mode", "EVENT_TIME_ORDERING"),
                ("hoodie.table.keygenerator.type", "COMPLEX"),
            ]
        );
    }

    #[test]
    fn key_generators_without_partitions_ignore_the_option() {
        for (generator, fields) in [
            ("org.apache.hudi.keygen.NonpartitionedKeyGenerator", vec![]),
            ("org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator", vec![]),
            ("org.apache.hudi.keygen.GlobalDeleteKeyGenerator", vec![]),
            ("org.apache.hudi.keygen.SimpleKeyGenerator", vec!["day".to_owned()]),
        ] {
            let created = table(&[
                ("hoodie.table.name", "t"),
                ("hoodie.datasource.write.recordkey.field", "id"),
                ("hoodie.datasource.write.partitionpath.field", "day"),
                ("hoodie.datasource.write.keygenerator.class", generator),
            ])
            .unwrap();
            assert_eq!(created.partition_by, fields, "{generator}");
        }
    }

    #[test]
    fn older_versions_name_classes() {
        let created = table(&[
            ("hoodie.table.name", "t"),
            ("hoodie.write.table.version", "6"),
            ("hoodie.datasource.write.payload.class", "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
            ("hoodie.datasource.write.keygenerator.type", "TIMESTAMP"),
        ])
        .unwrap();
        let property = |name: &str| created.properties.get(name).map(String::as_str);
        assert_eq!(property(PAYLOAD), Some("org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"));
        assert_eq!(property(GENERATOR_CLASS), Some("org.apache.hudi.keygen.TimestampBasedKeyGenerator"));
    }

    /// A table says which class it is by its package: readers merge by no other class of the name.
    #[test]
    fn a_payload_class_of_another_package_is_no_merge_mode() {
        let payload = "hoodie.datasource.write.payload.class";
        for (class, mode) in [
            ("org.apache.hudi.common.model.OverwriteWithLatestAvroPayload", Some("COMMIT_TIME_ORDERING")),
            ("org.apache.hudi.common.model.EventTimeAvroPayload", Some("EVENT_TIME_ORDERING")),
            ("org.apache.hudi.common.model.PartialUpdateAvroPayload", None),
            ("org.acme.OverwriteWithLatestAvroPayload", None),
            ("OverwriteWithLatestAvroPayload", None),
        ] {
            let created = table(&[("hoodie.table.name", "t"), (payload, class)]).unwrap();
            assert_eq!(created.properties.get(MODE).map(String::as_str), mode, "{class}");
            let kept = mode.is_none().then_some(class);
            assert_eq!(created.properties.get(PAYLOAD).map(String::as_str), kept, "{class}");
        }
    }

    /// Types and classes name the same generators, each as the table's version stores it.
    #[test]
    fn key_generators_are_stored_as_the_version_does() {
        let (by_class, by_type) =
            ("hoodie.datasource.write.keygenerator.class", "hoodie.datasource.write.keygenerator.type");
        for (kind, class) in GENERATORS {
            let avro = class.replace("KeyGenerator", "AvroKeyGenerator");
            for (option, value) in [
                (by_type, kind.to_owned()),
                (by_type, kind.to_lowercase()),
                (by_type, format!("{kind}_AVRO")),
                (by_class, format!("org.apache.hudi.keygen.{class}")),
                (by_class, format!("org.apache.hudi.keygen.{avro}")),
            ] {
                for (version, stored, expected) in [
                    ("6", GENERATOR_CLASS, format!("org.apache.hudi.keygen.{class}")),
                    ("8", GENERATOR_TYPE, kind.to_owned()),
                    ("9", GENERATOR_TYPE, kind.to_owned()),
                ] {
                    let given =
                        [("hoodie.table.name", "t"), ("hoodie.write.table.version", version), (option, &*value)];
                    let properties = table(&given).unwrap().properties;
                    assert_eq!(properties, BTreeMap::from([(stored.to_owned(), expected)]), "{given:?}");
                }
            }
        }
    }

    #[test]
    fn names_of_fields_are_taken_without_spaces_and_an_empty_list_is_none() {
        for (text, fields) in
            [("id", &["id"][..]), (" id , sub ", &["id", "sub"]), (",id,", &["id"]), (" , ", &[]), ("", &[])]
        {
            let created =
                table(&[("hoodie.table.name", "t"), ("hoodie.datasource.write.recordkey.field", text)]).unwrap();
            assert_eq!(created.record_key, fields, "{text:?}");
        }
        assert!(table(&[("hoodie.table.name", "")]).is_err());
    }

    #[test]
    fn contradictions_and_unknown_values_are_refused() {
        for (options, word) in [
            (&[("hoodie.datasource.write.table.name", "u")][..], "contradict"),
            (&[("hoodie.write.table.version", "nine")], "nine"),
            (&[("hoodie.write.table.version", "7")], "7"),
            (&[("hoodie.datasource.write.table.type", "FAST")], "FAST"),
            (&[("hoodie.datasource.write.keygenerator.class", "org.acme.Keys")], "org.acme.Keys"),
        ] {
            let all: Vec<_> = [("hoodie.table.name", "t")].iter().chain(options).copied().collect();
            let error = table(&all).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
