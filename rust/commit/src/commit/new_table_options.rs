//! Properties that a user may set when a table is created; all others are refused by name.

use std::collections::BTreeMap;

use mortice_base::error::{Error, Result};
use mortice_merge::config::{MergeMode, PayloadClass, TableVersion};

/// Properties that are stored as they are given.
const STORED: &[&str] = &[
    "hoodie.database.name",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.datasource.write.slash.separated.date.partitioning",
    "hoodie.payload.delete.field",
    "hoodie.payload.delete.marker",
    "hoodie.table.keygenerator.class",
    "hoodie.table.keygenerator.type",
    "hoodie.table.timeline.timezone",
    "hoodie.compaction.payload.class",
    "hoodie.record.merge.mode",
    "hoodie.table.cdc.enabled",
    "hoodie.table.cdc.supplemental.logging.mode",
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.populate.meta.fields",
];
const STORED_PREFIXES: &[&str] = &["hoodie.keygen.timebased.", "hoodie.record.merge.property."];

/// Properties that an argument of `create_table` sets.
const ARGUMENTS: &[(&str, &str)] = &[
    ("hoodie.table.name", "name"),
    ("hoodie.table.type", "table_type"),
    ("hoodie.table.version", "version"),
    ("hoodie.table.initial.version", "version"),
    ("hoodie.table.recordkey.fields", "record_key"),
    ("hoodie.table.partition.fields", "partition_by"),
    ("hoodie.table.ordering.fields", "ordering"),
    ("hoodie.table.precombine.field", "ordering"),
    ("hoodie.table.create.schema", "schema"),
];

const MODE: &str = "hoodie.record.merge.mode";
const PAYLOAD: &str = "hoodie.compaction.payload.class";

/// How records of one key are merged in a new table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeChoice {
    EventTime,
    CommitTime,
}

impl MergeChoice {
    /// That of a payload class of Hudi, by its full name; `None` if no merge mode is the same. Readers take a class of
    /// another package for a user-defined one.
    pub(super) fn of_payload(class: &str) -> Option<Self> {
        match PayloadClass::parse(class)?.mode()? {
            MergeMode::EventTime => Some(Self::EventTime),
            MergeMode::CommitTime => Some(Self::CommitTime),
            MergeMode::Custom(_) => None,
        }
    }

    pub(super) fn mode(self) -> &'static str {
        match self {
            Self::EventTime => "EVENT_TIME_ORDERING",
            Self::CommitTime => "COMMIT_TIME_ORDERING",
        }
    }

    pub(super) fn payload_class(self) -> &'static str {
        match self {
            Self::EventTime => "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
            Self::CommitTime => "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        }
    }
}

/// Refuses properties that cannot be set, by name.
pub(super) fn check_options(properties: &BTreeMap<String, String>, version: TableVersion) -> Result<()> {
    for name in properties.keys() {
        if let Some((_, argument)) = ARGUMENTS.iter().find(|(property, _)| property == name) {
            return Err(Error::invalid_argument(format!("{name} is set by the argument {argument}; leave it out")));
        }
        if name == MODE && version.number() < 8 {
            return Err(Error::unsupported(format!(
                "{MODE} at table version {version}: merge modes are of version 8 and later; set {PAYLOAD}"
            )));
        }
        if name == PAYLOAD && version.number() > 8 {
            return Err(Error::unsupported(format!(
                "{PAYLOAD} at table version {version}, which has merge modes instead; set {MODE}"
            )));
        }
        let is_stored =
            STORED.contains(&name.as_str()) || STORED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if !is_stored {
            return Err(Error::unsupported(format!(
                "the table property {name} cannot be set when a table is created; writers take options of their own"
            )));
        }
    }
    Ok(())
}

/// Refuses a key generator without partitions for a partitioned table, whose rows it would write to the table's own
/// folder.
pub(super) fn check_key_generator(properties: &BTreeMap<String, String>, partition_by: &[String]) -> Result<()> {
    if partition_by.is_empty() {
        return Ok(());
    }
    for name in ["hoodie.table.keygenerator.type", "hoodie.table.keygenerator.class"] {
        let Some(value) = properties.get(name) else { continue };
        let class = value.rsplit('.').next().unwrap_or(value).replace("Avro", "");
        let kind = class.strip_suffix("_AVRO").unwrap_or(&class);
        if matches!(kind, "NON_PARTITION" | "GLOBAL_DELETE" | "NonpartitionedKeyGenerator" | "GlobalDeleteKeyGenerator")
        {
            return Err(Error::invalid_argument(format!(
                "{name}={value} is for tables without partitions, but partition_by is {}; leave one of them out",
                partition_by.join(", ")
            )));
        }
    }
    Ok(())
}

/// The merge mode that the properties name, or else the one that Hudi infers from whether there are ordering fields.
pub(super) fn merge_choice(
    properties: &BTreeMap<String, String>,
    version: TableVersion,
    is_ordered: bool,
) -> Result<MergeChoice> {
    let by_mode = match properties.get(MODE).map(String::as_str) {
        None => None,
        Some("EVENT_TIME_ORDERING") => Some(MergeChoice::EventTime),
        Some("COMMIT_TIME_ORDERING") => Some(MergeChoice::CommitTime),
        Some(other) => {
            return Err(Error::unsupported(format!(
                "{MODE}={other} for a new table (supported: EVENT_TIME_ORDERING, COMMIT_TIME_ORDERING)"
            )));
        }
    };
    let choice_of = |class: &String| {
        MergeChoice::of_payload(class).ok_or_else(|| {
            Error::unsupported(format!(
                "{PAYLOAD}={class} for a new table of version {version} (supported: DefaultHoodieRecordPayload, \
                 EventTimeAvroPayload and OverwriteWithLatestAvroPayload of the package org.apache.hudi.common.model)"
            ))
        })
    };
    let by_class = properties.get(PAYLOAD).map(choice_of).transpose()?;
    match (by_mode, by_class) {
        (Some(mode), Some(class)) if mode != class => {
            Err(Error::invalid_argument(format!("{MODE} and {PAYLOAD} contradict each other; leave one of them out")))
        }
        (Some(choice), _) | (None, Some(choice)) => Ok(choice),
        (None, None) if is_ordered => Ok(MergeChoice::EventTime),
        (None, None) => Ok(MergeChoice::CommitTime),
    }
}
