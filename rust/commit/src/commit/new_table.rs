//! The properties of a new table, as Hudi writes them (`HoodieTableMetaClient.TableBuilder`; measured on tables that
//! 0.15.0, 1.0.2, 1.2.0 and 1.3.0-SNAPSHOT created).
//!
//! | version | written as by | differs in |
//! |---|---|---|
//! | 6 | 0.15.0 | timeline layout 1, key generator by class, payload class, `hoodie.table.precombine.field` |
//! | 8 | 1.0.2 | merge mode with strategy and payload class, `hoodie.table.precombine.field` |
//! | 9 | 1.2.0 | merge mode alone, `hoodie.table.ordering.fields` |
//! | 10 | 1.3.0-SNAPSHOT | `hoodie.table.storage.layout` |
//!
//! Releases that know a version read these names of it; later releases take them as older names of their own.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Schema};

use super::new_table_options::{MergeChoice, check_key_generator, check_options, merge_choice};
use super::writable_tables::check_writable;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns as meta;
use mortice_merge::config::{PropertiesFile, TableConfig, TableType, TableVersion};
use mortice_merge::keys::{FieldPath, check_key_type};

const EVENT_TIME_STRATEGY: &str = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5";
const COMMIT_TIME_STRATEGY: &str = "ce9acb64-bde0-424c-9b91-f6ebba25356d";

/// A table to be created.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// `hoodie.table.name`.
    pub name: String,
    /// 6, 8, 9 or 10.
    pub version: TableVersion,
    /// Whether updates go to logs.
    pub table_type: TableType,
    /// Fields of the record key, in order; none if keys are generated.
    pub record_key: Vec<String>,
    /// Partition columns, in order; none if the table is not partitioned.
    pub partition_by: Vec<String>,
    /// Ordering fields, in order. A table that has some is merged by them, unless the properties say otherwise.
    pub ordering: Vec<String>,
    /// Further properties, by Hudi's names.
    pub properties: BTreeMap<String, String>,
}

impl NewTable {
    /// Returns the content of `hoodie.properties` for a table with these columns (without meta columns).
    ///
    /// # Errors
    /// `InvalidArgument` if a field is not a column, a column has a name that Avro does not allow or that Hudi
    /// reserves, a property contradicts the others or is set by an argument; `Unsupported`, by name, for properties
    /// that tables written by this release cannot have.
    pub fn properties_file(&self, columns: &Schema) -> Result<PropertiesFile> {
        self.check_columns(columns)?;
        check_options(&self.properties, self.version)?;
        check_key_generator(&self.properties, &self.partition_by)?;
        let merge = merge_choice(&self.properties, self.version, !self.ordering.is_empty())?;
        if merge == MergeChoice::EventTime && self.ordering.is_empty() {
            return Err(Error::invalid_argument(
                "the merge mode EVENT_TIME_ORDERING needs ordering fields: name them, or choose COMMIT_TIME_ORDERING",
            ));
        }
        let mut file = PropertiesFile::default();
        self.common(columns, &mut file)?;
        match self.version.number() {
            9.. => self.version_9(merge, &mut file),
            8 => self.version_8(merge, &mut file),
            _ => self.version_6(merge, &mut file),
        }
        for (name, value) in &self.properties {
            file.set(name, value);
        }
        file.update_checksum()?;
        // The reader's own rules: contradictions that remain are found here.
        let config = TableConfig::from_properties(file.properties())?;
        config.check_supported()?;
        check_writable(&config)?;
        Ok(file)
    }

    fn common(&self, columns: &Schema, file: &mut PropertiesFile) -> Result<()> {
        let table_type = match self.table_type {
            TableType::CopyOnWrite => "COPY_ON_WRITE",
            TableType::MergeOnRead => "MERGE_ON_READ",
        };
        let version = self.version.number().to_string();
        let schema = avro::hudi_schema(columns, &self.name)?.json().to_owned();
        for (name, value) in [
            ("hoodie.table.name", self.name.as_str()),
            ("hoodie.table.type", table_type),
            ("hoodie.table.version", &version),
            ("hoodie.table.base.file.format", "PARQUET"),
            ("hoodie.table.create.schema", &schema),
            ("hoodie.table.partition.fields", &self.partition_by.join(",")),
            ("hoodie.table.cdc.enabled", "false"),
            ("hoodie.table.timeline.timezone", "UTC"),
            ("hoodie.populate.meta.fields", "true"),
            ("hoodie.partition.metafile.use.base.format", "false"),
            ("hoodie.datasource.write.drop.partition.columns", "false"),
            ("hoodie.datasource.write.hive_style_partitioning", "false"),
            ("hoodie.datasource.write.partitionpath.urlencode", "false"),
        ] {
            file.set(name, value);
        }
        if !self.record_key.is_empty() {
            file.set("hoodie.table.recordkey.fields", &self.record_key.join(","));
        }
        Ok(())
    }

    fn version_9(&self, merge: MergeChoice, file: &mut PropertiesFile) {
        self.layout_2(file);
        if self.version.has_native_logs() {
            file.set("hoodie.table.storage.layout", "default");
        }
        file.set("hoodie.table.format", "native");
        file.set("hoodie.record.merge.mode", merge.mode());
        if !self.ordering.is_empty() {
            file.set("hoodie.table.ordering.fields", &self.ordering.join(","));
        }
        if self.partition_by.len() == 1 {
            file.set(
                "hoodie.table.partition_extractor_class",
                "org.apache.hudi.hive.SinglePartPartitionValueExtractor",
            );
        }
    }

    fn version_8(&self, merge: MergeChoice, file: &mut PropertiesFile) {
        self.layout_2(file);
        let strategy = match merge {
            MergeChoice::EventTime => EVENT_TIME_STRATEGY,
            MergeChoice::CommitTime => COMMIT_TIME_STRATEGY,
        };
        file.set("hoodie.record.merge.mode", merge.mode());
        file.set("hoodie.record.merge.strategy.id", strategy);
        file.set("hoodie.compaction.payload.class", merge.payload_class());
        self.precombine(file);
    }

    fn layout_2(&self, file: &mut PropertiesFile) {
        for (name, value) in [
            ("hoodie.table.initial.version", self.version.number().to_string().as_str()),
            ("hoodie.timeline.layout.version", "2"),
            ("hoodie.timeline.path", "timeline"),
            ("hoodie.timeline.history.path", "history"),
            ("hoodie.archivelog.folder", "history"),
            ("hoodie.table.multiple.base.file.formats.enable", "false"),
            ("hoodie.table.keygenerator.type", self.key_generator().0),
        ] {
            file.set(name, value);
        }
    }

    fn version_6(&self, merge: MergeChoice, file: &mut PropertiesFile) {
        for (name, value) in [
            ("hoodie.timeline.layout.version", "1"),
            ("hoodie.archivelog.folder", "archived"),
            ("hoodie.table.keygenerator.class", self.key_generator().1),
            ("hoodie.compaction.payload.class", merge.payload_class()),
            // 0.15 writes this constant beside every payload class.
            ("hoodie.compaction.record.merger.strategy", EVENT_TIME_STRATEGY),
        ] {
            file.set(name, value);
        }
        self.precombine(file);
    }

    fn precombine(&self, file: &mut PropertiesFile) {
        if !self.ordering.is_empty() {
            file.set("hoodie.table.precombine.field", &self.ordering.join(","));
        }
    }

    /// The type and the class of the key generator that Hudi takes for so many fields.
    fn key_generator(&self) -> (&'static str, &'static str) {
        match (self.record_key.len(), self.partition_by.len()) {
            (_, 0) => ("NON_PARTITION", "org.apache.hudi.keygen.NonpartitionedKeyGenerator"),
            (0 | 1, 1) => ("SIMPLE", "org.apache.hudi.keygen.SimpleKeyGenerator"),
            _ => ("COMPLEX", "org.apache.hudi.keygen.ComplexKeyGenerator"),
        }
    }

    fn check_columns(&self, columns: &Schema) -> Result<()> {
        if let Some(field) = columns.fields().iter().find(|field| meta::ALL.contains(&field.name().as_str())) {
            return Err(Error::invalid_argument(format!(
                "the column {:?} is one that Hudi adds itself; leave it out of the schema",
                field.name()
            )));
        }
        avro::check_new_columns(columns.fields(), "")?;
        let stored = avro::hudi_schema(columns, &self.name)?;
        stored.check_readable()?;
        if self.ordering.len() > 1 && self.version.number() < 9 {
            return Err(Error::unsupported(format!(
                "{} ordering fields at table version {}: several are of version 9; create the table as version 9, or name one",
                self.ordering.len(),
                self.version
            )));
        }
        for (role, fields) in
            [("record_key", &self.record_key), ("partition_by", &self.partition_by), ("ordering", &self.ordering)]
        {
            for field in fields {
                check_field(columns, role, field)?;
            }
        }
        self.check_key_types(&avro::arrow_schema(&stored, ArrowMapping::Table)?)
    }

    /// Refuses types whose values readers do not find in a path. Columns of timestamp key generators are read from the
    /// files.
    fn check_partition_type(&self, name: &str, kind: &DataType) -> Result<()> {
        let is_time = |part: &String| part.contains(':');
        let of_times = |(name, value): (&String, &String)| {
            name.contains("keygenerator")
                && ["timestamp", "custom"].iter().any(|kind| value.to_lowercase().contains(kind))
        };
        let remedy = match kind {
            DataType::Binary | DataType::FixedSizeBinary(_) => {
                "the path has its hexadecimal text, which readers take for the value; make it a string"
            }
            DataType::Timestamp(..)
                if !self.partition_by.iter().any(is_time) && !self.properties.iter().any(of_times) =>
            {
                "the path has a number, which readers take for null; partition by a date or a string, or with a timestamp key \
                 generator (hoodie.table.keygenerator.type=TIMESTAMP)"
            }
            _ => return Ok(()),
        };
        Err(Error::unsupported(format!("partition column {name:?} of type {kind}: {remedy}")))
    }

    /// Refuses record keys and partition columns of types that have no text in a key or path.
    fn check_key_types(&self, stored: &Schema) -> Result<()> {
        let of_path = |field: &String| field.split(':').next().unwrap_or_default().to_owned();
        let fields = self.record_key.iter().cloned().chain(self.partition_by.iter().map(of_path));
        for (at, name) in fields.enumerate() {
            let Some(kind) = FieldPath::new(&name).type_in(stored) else { continue };
            check_key_type(&name, kind)?;
            if at >= self.record_key.len() {
                self.check_partition_type(&name, kind)?;
            }
        }
        Ok(())
    }
}

/// A field is a column, or a path of names with dots into a struct.
fn check_field(columns: &Schema, role: &str, field: &str) -> Result<()> {
    // Custom key generators name the type after a colon.
    let name = if role == "partition_by" { field.split(':').next().unwrap_or(field) } else { field };
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let mut found = columns.field_with_name(name).ok();
    if found.is_none() {
        found = columns.field_with_name(first).ok();
        for part in parts {
            found = found.and_then(|field| match field.data_type() {
                DataType::Struct(inner) => inner.find(part).map(|(_, field)| field.as_ref()),
                _ => None,
            });
        }
    }
    if found.is_none() || name.contains(',') {
        let known: Vec<_> = columns.fields().iter().map(|field| field.name().as_str()).collect();
        return Err(Error::invalid_argument(format!(
            "{role} names {field:?}, which is not a column (columns: {})",
            known.join(", ")
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;
    use mortice_base::ErrorKind;
    use mortice_merge::config::MergeMode;

    fn columns() -> Schema {
        let inner = vec![Field::new("x", DataType::Int32, true)];
        Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("city", DataType::Utf8, true),
            Field::new("day", DataType::Date32, true),
            Field::new("ts", DataType::Int64, true),
            Field::new("raw", DataType::Binary, true),
            Field::new("s", DataType::Struct(inner.into()), true),
        ])
    }

    fn new_table(version: u8) -> NewTable {
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        NewTable {
            name: "t".to_owned(),
            version: TableVersion::for_new_table(version).unwrap(),
            table_type: TableType::MergeOnRead,
            record_key: strings(&["id"]),
            partition_by: strings(&["city"]),
            ordering: strings(&["ts"]),
            properties: BTreeMap::new(),
        }
    }

    fn refusal(table: &NewTable) -> (ErrorKind, String) {
        let error = table.properties_file(&columns()).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn properties_are_those_of_the_release_that_wrote_the_version() {
        for (version, present, absent) in [
            (6, ["hoodie.table.precombine.field", "hoodie.table.keygenerator.class"], "hoodie.record.merge.mode"),
            (8, ["hoodie.table.precombine.field", "hoodie.record.merge.strategy.id"], "hoodie.table.ordering.fields"),
            (9, ["hoodie.table.ordering.fields", "hoodie.record.merge.mode"], "hoodie.table.storage.layout"),
            (10, ["hoodie.table.ordering.fields", "hoodie.table.storage.layout"], "hoodie.compaction.payload.class"),
        ] {
            let file = new_table(version).properties_file(&columns()).unwrap();
            let properties = file.properties();
            assert!(present.iter().all(|name| properties.get(name).is_some()), "{version}");
            assert_eq!(properties.get(absent), None, "{version}");
            let config = TableConfig::from_properties(properties).unwrap();
            assert_eq!((config.version.number(), config.table_type), (version, TableType::MergeOnRead));
            assert_eq!((config.record_key_fields, config.partition_fields), (vec!["id".into()], vec!["city".into()]));
        }
    }

    #[test]
    fn the_merge_mode_follows_from_ordering_fields_and_properties() {
        let mode = |table: &NewTable| {
            let file = table.properties_file(&columns()).unwrap();
            TableConfig::from_properties(file.properties()).unwrap().merge.mode
        };
        for version in [6, 8, 9] {
            assert_eq!(mode(&new_table(version)), MergeMode::EventTime, "{version}");
            let unordered = NewTable { ordering: Vec::new(), ..new_table(version) };
            assert_eq!(mode(&unordered), MergeMode::CommitTime, "{version}");
        }
        let by_commit = ("hoodie.record.merge.mode".to_owned(), "COMMIT_TIME_ORDERING".to_owned());
        assert_eq!(mode(&NewTable { properties: [by_commit].into(), ..new_table(9) }), MergeMode::CommitTime);
    }

    #[test]
    fn key_generators_follow_from_the_number_of_fields() {
        for (keys, partitions, kind) in [
            (vec!["id"], vec![], "NON_PARTITION"),
            (vec!["id"], vec!["city"], "SIMPLE"),
            (vec![], vec!["city"], "SIMPLE"),
            (vec!["id", "s.x"], vec!["city"], "COMPLEX"),
            (vec!["id"], vec!["city", "day"], "COMPLEX"),
        ] {
            let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let table = NewTable { record_key: strings(&keys), partition_by: strings(&partitions), ..new_table(9) };
            let file = table.properties_file(&columns()).unwrap();
            assert_eq!(file.properties().get("hoodie.table.keygenerator.type"), Some(kind), "{keys:?} {partitions:?}");
        }
    }

    #[test]
    fn what_is_not_in_the_columns_is_refused_by_name() {
        let named = |name: &str| vec![name.to_owned()];
        for (table, word) in [
            (NewTable { record_key: named("none"), ..new_table(9) }, "record_key names \"none\""),
            (NewTable { record_key: named("s.none"), ..new_table(9) }, "s.none"),
            (NewTable { partition_by: named("none"), ..new_table(9) }, "partition_by"),
            (NewTable { ordering: named("none"), ..new_table(9) }, "ordering"),
        ] {
            let (kind, message) = refusal(&table);
            assert!(kind == ErrorKind::InvalidArgument && message.contains(word), "{message}");
        }
        let own = Schema::new(vec![Field::new("_hoodie_record_key", DataType::Utf8, true)]);
        assert!(new_table(9).properties_file(&own).unwrap_err().to_string().contains("_hoodie_record_key"));
    }

    #[test]
    fn what_readers_would_not_find_again_is_refused() {
        let named = |name: &str| vec![name.to_owned()];
        let (kind, message) = refusal(&NewTable { partition_by: named("raw"), ..new_table(9) });
        assert!(kind == ErrorKind::Unsupported && message.contains("hexadecimal"), "{message}");
        let two = NewTable { ordering: vec!["ts".to_owned(), "id".to_owned()], ..new_table(8) };
        let (kind, message) = refusal(&two);
        assert!(kind == ErrorKind::Unsupported && message.contains("version 9"), "{message}");
        new_table(9).properties_file(&columns()).unwrap();
    }

    #[test]
    fn properties_that_contradict_the_arguments_are_refused() {
        for (version, name, value, kind, word) in [
            (9, "hoodie.table.name", "other", ErrorKind::InvalidArgument, "argument name"),
            (9, "hoodie.table.precombine.field", "id", ErrorKind::InvalidArgument, "argument ordering"),
            (6, "hoodie.record.merge.mode", "COMMIT_TIME_ORDERING", ErrorKind::Unsupported, "version 8"),
            (9, "hoodie.compaction.payload.class", "x.Y", ErrorKind::Unsupported, "merge modes instead"),
            (8, "hoodie.compaction.payload.class", "x.Own", ErrorKind::Unsupported, "=x.Own"),
            (9, "hoodie.record.merge.mode", "CUSTOM", ErrorKind::Unsupported, "CUSTOM"),
            (9, "hoodie.table.keygenerator.type", "NON_PARTITION", ErrorKind::InvalidArgument, "without partitions"),
            (9, "hoodie.index.type", "BUCKET", ErrorKind::Unsupported, "hoodie.index.type"),
        ] {
            let properties = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let (found, message) = refusal(&NewTable { properties, ..new_table(version) });
            assert!(found == kind && message.contains(word), "{name}: {message}");
        }
        let both = [
            ("hoodie.record.merge.mode".to_owned(), "EVENT_TIME_ORDERING".to_owned()),
            (
                "hoodie.compaction.payload.class".to_owned(),
                "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload".to_owned(),
            ),
        ];
        let (_, message) = refusal(&NewTable { properties: both.into(), ..new_table(8) });
        assert!(message.contains("contradict"), "{message}");
    }
}
