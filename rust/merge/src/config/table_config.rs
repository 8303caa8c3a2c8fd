//! The keys of `hoodie.properties` that a reader goes by, typed (`HoodieTableConfig`).

use serde::{Deserialize, Serialize};

use super::meta_fields::{check_meta_fields, populate_meta_fields};
use super::property_files;
use super::{MergeConfig, MergeSemantics, Properties, TableVersion, TimelineLayout};
use mortice_base::error::{Error, Result};
use mortice_base::names::TimelineZone;
use mortice_storage::Storage;

/// Whether updates go to logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TableType {
    /// `COPY_ON_WRITE`: base files only. Read as a merge-on-read table without logs.
    CopyOnWrite,
    /// `MERGE_ON_READ`: base files and logs.
    MergeOnRead,
}

impl TableType {
    /// Hudi's name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CopyOnWrite => "COPY_ON_WRITE",
            Self::MergeOnRead => "MERGE_ON_READ",
        }
    }
}

/// What a supplemental change log holds (`hoodie.table.cdc.supplemental.logging.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CdcMode {
    /// Operation and key.
    OpKeyOnly,
    /// Also the row before.
    DataBefore,
    /// Also the row after.
    DataBeforeAfter,
}

/// What a table says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TableConfig {
    /// `hoodie.table.name`.
    pub name: String,
    /// `hoodie.table.type`.
    pub table_type: TableType,
    /// `hoodie.table.version`.
    pub version: TableVersion,
    /// `hoodie.table.base.file.format`, in capitals: `PARQUET`, `ORC`, `HFILE`, `LANCE`.
    pub base_file_format: String,
    /// Fields of the record key, in order; none where keys are generated.
    pub record_key_fields: Vec<String>,
    /// Partition columns, in order; none where the table is not partitioned.
    pub partition_fields: Vec<String>,
    /// Ordering fields as stored; see [`MergeConfig::ordering_fields`] for those in force.
    pub ordering_fields: Vec<String>,
    /// `hoodie.compaction.payload.class`, under its Apache name.
    pub payload_class: Option<String>,
    /// Whether files hold the five meta columns; false for virtual keys.
    pub populate_meta_fields: bool,
    /// Whether partition columns are in the path alone.
    pub drop_partition_columns: bool,
    /// Whether partition folders are `column=value`.
    pub hive_style_partitioning: bool,
    /// Whether partition values are URL-encoded in the path.
    pub url_encode_partitions: bool,
    /// Whether the partition path of `2024-01-02` is `2024/01/02`.
    pub slash_separated_dates: bool,
    /// `hoodie.table.keygenerator.type`, or else the class.
    pub key_generator: Option<String>,
    /// The folder of the active timeline, relative to the table.
    pub timeline_folder: String,
    /// The folder of archived instants, relative to the table.
    pub archive_folder: String,
    /// The zone of instant times.
    pub timeline_zone: TimelineZone,
    /// `hoodie.table.create.schema`, Avro JSON.
    pub create_schema: Option<String>,
    /// What change logs hold, where change data capture is on.
    pub cdc: Option<CdcMode>,
    /// Partitions of the metadata table that may be used.
    pub metadata_partitions: Vec<String>,
    /// How records of one key become one row.
    pub merge: MergeConfig,
    /// Everything that is stored.
    pub properties: Properties,
}

/// The option by which files have the column `_hoodie_operation` (`HoodieWriteConfig.ALLOW_OPERATION_METADATA_FIELD`).
/// mortice puts it beside the schema in commits of such files, and follows it among a table's properties.
pub const STORES_OPERATIONS: &str = "hoodie.allow.operation.metadata.field";

impl TableConfig {
    /// Reads the config of the table at `storage`, and refuses what this release cannot read.
    ///
    /// # Errors
    /// `NotFound` where there is no table; `InvalidTable` where the properties are torn or contradict themselves;
    /// `Unsupported` for table versions, formats and features that this release does not have, by name.
    pub fn load(storage: &dyn Storage) -> Result<Self> {
        let config = Self::read(storage)?;
        config.check_supported().map_err(|error| error.in_file(storage.root()))?;
        Ok(config)
    }

    /// As [`TableConfig::load`], but refuses no format and no feature.
    ///
    /// # Errors
    /// As for `load`, without the refusals of formats and features.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let properties = property_files::read(storage)?;
        Self::from_properties(properties).map_err(|error| error.in_file(storage.full_path(".hoodie/hoodie.properties")))
    }

    /// The config that properties amount to.
    ///
    /// # Errors
    /// As for [`TableConfig::read`].
    pub fn from_properties(properties: Properties) -> Result<Self> {
        let version = TableVersion::from_properties(&properties)?;
        let text = |keys: &[&str]| properties.first_of(keys).map(str::to_owned);
        let flag = |key, default| flag(&properties, key, default);
        let merge = MergeConfig::from_properties(version, &properties)?;
        check_folders(&properties)?;
        Ok(Self {
            name: properties.get("hoodie.table.name").unwrap_or_default().to_owned(),
            table_type: table_type(&properties)?,
            version,
            base_file_format: properties
                .first_of(&["hoodie.table.base.file.format", "hoodie.table.ro.file.format"])
                .unwrap_or("PARQUET")
                .to_ascii_uppercase(),
            record_key_fields: properties.list(&["hoodie.table.recordkey.fields"]),
            partition_fields: partition_fields(&properties),
            ordering_fields: ordering_fields(&properties),
            payload_class: payload_class(&properties),
            populate_meta_fields: populate_meta_fields(&properties, flag("hoodie.populate.meta.fields", true)?)?,
            drop_partition_columns: flag("hoodie.datasource.write.drop.partition.columns", false)?,
            hive_style_partitioning: flag("hoodie.datasource.write.hive_style_partitioning", false)?,
            url_encode_partitions: flag("hoodie.datasource.write.partitionpath.urlencode", false)?,
            slash_separated_dates: flag("hoodie.datasource.write.slash.separated.date.partitioning", false)?,
            key_generator: text(&["hoodie.table.keygenerator.type", "hoodie.table.keygenerator.class"]),
            timeline_folder: timeline_folder(version, &properties),
            archive_folder: archive_folder(version, &properties),
            timeline_zone: timeline_zone(&properties)?,
            create_schema: text(&["hoodie.table.create.schema"]),
            cdc: cdc(&properties)?,
            metadata_partitions: properties.list(&["hoodie.table.metadata.partitions"]),
            merge,
            properties,
        })
    }

    /// How records of one key become one row by the rules of `semantics`.
    ///
    /// # Errors
    /// `InvalidArgument` for the rules of 0.x on a table that no 0.x can read; `InvalidTable` as for
    /// [`TableConfig::read`].
    pub fn merge_by(&self, semantics: MergeSemantics) -> Result<MergeConfig> {
        match (semantics, self.version.layout()) {
            (MergeSemantics::V1x, _) => Ok(self.merge.clone()),
            (MergeSemantics::V0x, TimelineLayout::V1) => MergeConfig::from_properties_0_x(&self.properties),
            (MergeSemantics::V0x, TimelineLayout::V2) => Err(Error::invalid_argument(format!(
                "semantics=\"0.x\" needs a table of version 7 or below, got version {}; leave it out",
                self.version.number()
            ))),
        }
    }

    /// Refuses formats and features that this release does not have.
    ///
    /// # Errors
    /// `Unsupported`, by name.
    pub fn check_supported(&self) -> Result<()> {
        if !["PARQUET", "ORC", "HFILE"].contains(&self.base_file_format.as_str()) {
            return Err(Error::unsupported(format!(
                "unsupported base file format {} (supported: PARQUET, ORC, HFILE)",
                self.base_file_format
            )));
        }
        check_meta_fields(&self.properties)
    }

    /// The table format that a plug-in of Hudi keeps beside the table (`hoodie.table.format`), such as `ICEBERG`; none
    /// of a table that is Hudi's alone. The table's own timeline is complete either way, so it is read as any other.
    #[must_use]
    pub fn other_format(&self) -> Option<&str> {
        self.properties.first_of(&["hoodie.table.format"]).filter(|format| !format.eq_ignore_ascii_case("native"))
    }

    /// Whether it was made of files that lie elsewhere, whose rows may still be there (`hoodie.bootstrap.base.path`).
    #[must_use]
    pub fn is_bootstrapped(&self) -> bool {
        self.properties.first_of(&["hoodie.bootstrap.base.path"]).is_some()
    }

    /// Whether its properties have [`STORES_OPERATIONS`].
    #[must_use]
    pub fn stores_operations(&self) -> bool {
        self.properties.get(STORES_OPERATIONS).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
    }

    /// The layout of its timeline.
    #[must_use]
    pub fn layout(&self) -> TimelineLayout {
        self.version.layout()
    }
}

fn table_type(properties: &Properties) -> Result<TableType> {
    match properties.first_of(&["hoodie.table.type"]).unwrap_or("COPY_ON_WRITE") {
        "COPY_ON_WRITE" => Ok(TableType::CopyOnWrite),
        "MERGE_ON_READ" => Ok(TableType::MergeOnRead),
        other => Err(Error::invalid_table(format!(
            "hoodie.table.type must be COPY_ON_WRITE or MERGE_ON_READ, got {other:?}"
        ))),
    }
}

/// Custom key generators store `column:SIMPLE` or `column:TIMESTAMP`.
fn partition_fields(properties: &Properties) -> Vec<String> {
    let fields = properties.list(&["hoodie.table.partition.fields"]);
    let name = |field: String| field.split_once(':').map_or(field.clone(), |(name, _)| name.trim().to_owned());
    fields.into_iter().map(name).collect()
}

pub(super) fn ordering_fields(properties: &Properties) -> Vec<String> {
    properties.list(&["hoodie.table.ordering.fields", "hoodie.table.precombine.field"])
}

pub(super) fn payload_class(properties: &Properties) -> Option<String> {
    let class = properties.first_of(&["hoodie.compaction.payload.class"])?;
    Some(class.strip_prefix("com.uber.hoodie.").map_or(class.to_owned(), |rest| format!("org.apache.hudi.{rest}")))
}

/// Makes sure that timelines are below `.hoodie`: writers delete instants there.
fn check_folders(properties: &Properties) -> Result<()> {
    for name in ["hoodie.timeline.path", "hoodie.timeline.history.path", "hoodie.archivelog.folder"] {
        let Some(folder) = properties.get(name).map(str::trim) else { continue };
        if folder.starts_with('/') || folder.contains(':') || folder.split('/').any(|part| part == "..") {
            return Err(Error::invalid_table(format!("{name} must be a folder below .hoodie, got {folder:?}")));
        }
    }
    Ok(())
}

fn timeline_folder(version: TableVersion, properties: &Properties) -> String {
    match version.layout() {
        TimelineLayout::V1 => ".hoodie".to_owned(),
        TimelineLayout::V2 => {
            format!(".hoodie/{}", properties.first_of(&["hoodie.timeline.path"]).unwrap_or("timeline"))
        }
    }
}

/// Tables from version 8 on may carry `hoodie.archivelog.folder` too; there it means nothing.
fn archive_folder(version: TableVersion, properties: &Properties) -> String {
    let (key, default) = match version.layout() {
        TimelineLayout::V1 => ("hoodie.archivelog.folder", "archived"),
        TimelineLayout::V2 => ("hoodie.timeline.history.path", "history"),
    };
    let folder = timeline_folder(version, properties);
    match properties.get(key).map(str::trim) {
        // Before 0.5 archived instants lay beside the others, and nothing was stored; later releases say so.
        Some("") => folder,
        stored => format!("{folder}/{}", stored.unwrap_or(default)),
    }
}

fn timeline_zone(properties: &Properties) -> Result<TimelineZone> {
    match properties.first_of(&["hoodie.table.timeline.timezone"]).unwrap_or("LOCAL").to_ascii_uppercase().as_str() {
        "LOCAL" => Ok(TimelineZone::Local),
        "UTC" => Ok(TimelineZone::Utc),
        other => {
            Err(Error::invalid_table(format!("hoodie.table.timeline.timezone must be LOCAL or UTC, got {other:?}")))
        }
    }
}

/// Old tables store the mode in small letters.
fn cdc(properties: &Properties) -> Result<Option<CdcMode>> {
    if !flag(properties, "hoodie.table.cdc.enabled", false)? {
        return Ok(None);
    }
    let mode = properties.first_of(&["hoodie.table.cdc.supplemental.logging.mode"]).unwrap_or("DATA_BEFORE_AFTER");
    match mode.to_ascii_uppercase().as_str() {
        "OP_KEY_ONLY" | "OP_KEY" => Ok(Some(CdcMode::OpKeyOnly)),
        "DATA_BEFORE" | "CDC_DATA_BEFORE" => Ok(Some(CdcMode::DataBefore)),
        "DATA_BEFORE_AFTER" | "CDC_DATA_BEFORE_AFTER" => Ok(Some(CdcMode::DataBeforeAfter)),
        other => Err(Error::unsupported(format!("hoodie.table.cdc.supplemental.logging.mode {other:?}"))),
    }
}

fn flag(properties: &Properties, key: &str, default: bool) -> Result<bool> {
    match properties.first_of(&[key]) {
        None => Ok(default),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(Error::invalid_table(format!("{key} must be true or false, got {text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn table_config(text: &str) -> Result<TableConfig> {
        let config = TableConfig::from_properties(Properties::parse(text.as_bytes())?)?;
        config.check_supported()?;
        Ok(config)
    }

    const V6: &str = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n";
    const V9: &str = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.record.merge.mode=COMMIT_TIME_ORDERING\n";

    #[test]
    fn defaults_of_the_releases() {
        let config = table_config(V6).unwrap();
        assert_eq!(config.table_type, TableType::MergeOnRead);
        assert_eq!(config.timeline_folder, ".hoodie");
        assert_eq!(config.archive_folder, ".hoodie/archived");
        assert!(config.populate_meta_fields && !config.drop_partition_columns && config.cdc.is_none());
        let config = table_config(V9).unwrap();
        assert_eq!(config.table_type, TableType::CopyOnWrite);
        assert_eq!(config.timeline_folder, ".hoodie/timeline");
        assert_eq!(config.archive_folder, ".hoodie/timeline/history");
    }

    #[test]
    fn fields_are_lists_and_lose_what_key_generators_add() {
        let lists = "hoodie.table.recordkey.fields=a, b\nhoodie.table.partition.fields=p:SIMPLE,q:TIMESTAMP\n";
        let config = table_config(&format!("{V9}{lists}hoodie.table.ordering.fields=x,y\n")).unwrap();
        assert_eq!(config.record_key_fields, ["a", "b"]);
        assert_eq!(config.partition_fields, ["p", "q"]);
        assert_eq!(config.ordering_fields, ["x", "y"]);
        assert_eq!(table_config(&format!("{V6}hoodie.table.precombine.field=ts\n")).unwrap().ordering_fields, ["ts"]);
        assert!(table_config(&format!("{V6}hoodie.table.partition.fields=\n")).unwrap().partition_fields.is_empty());
    }

    #[test]
    fn tables_before_0_9_say_next_to_nothing() {
        let config =
            table_config("hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.archivelog.folder=\n").unwrap();
        assert_eq!((config.version.number(), config.layout()), (0, TimelineLayout::V1));
        assert_eq!(config.base_file_format, "PARQUET");
        assert!(config.record_key_fields.is_empty() && config.partition_fields.is_empty());
        assert!(config.populate_meta_fields && config.key_generator.is_none() && config.payload_class.is_none());
        assert_eq!(config.archive_folder, ".hoodie", "an empty name is the timeline's own folder");
        let stored = "hoodie.table.name=t\nhoodie.table.ro.file.format=ORC\nhoodie.compaction.payload.class=com.uber.hoodie.common.model.X\n";
        let config = table_config(stored).unwrap();
        assert_eq!((config.base_file_format.as_str(), config.archive_folder.as_str()), ("ORC", ".hoodie/archived"));
        assert_eq!(config.payload_class.as_deref(), Some("org.apache.hudi.common.model.X"));
    }

    #[test]
    fn archive_folder_is_ignored_where_history_is_kept() {
        assert_eq!(
            table_config(&format!("{V9}hoodie.archivelog.folder=x\n")).unwrap().archive_folder,
            ".hoodie/timeline/history"
        );
        assert_eq!(table_config(&format!("{V6}hoodie.archivelog.folder=x\n")).unwrap().archive_folder, ".hoodie/x");
    }

    #[test]
    fn the_older_companys_classes_have_new_names() {
        let config = table_config(&format!("{V6}hoodie.compaction.payload.class=com.uber.hoodie.common.P\n")).unwrap();
        assert_eq!(config.payload_class.as_deref(), Some("org.apache.hudi.common.P"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        for (line, kind, word) in [
            ("hoodie.table.ro.file.format=LANCE", ErrorKind::Unsupported, "LANCE"),
            ("hoodie.table.type=MERGE_ON_WRITE", ErrorKind::InvalidTable, "MERGE_ON_WRITE"),
            ("hoodie.populate.meta.fields=maybe", ErrorKind::InvalidTable, "maybe"),
            (
                "hoodie.table.cdc.enabled=true\nhoodie.table.cdc.supplemental.logging.mode=x",
                ErrorKind::Unsupported,
                "X",
            ),
        ] {
            let error = table_config(&format!("{V6}{line}\n")).unwrap_err();
            assert_eq!(error.kind(), kind, "{line}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn the_mode_of_meta_fields_decides() {
        let of = |lines: &str| table_config(&format!("{V9}{lines}\n"));
        for (lines, expected) in [
            ("hoodie.meta.fields.mode=ALL", true),
            ("hoodie.meta.fields.mode=none", false),
            ("hoodie.meta.fields.mode=NONE\nhoodie.populate.meta.fields=true", false),
            ("hoodie.meta.fields.mode=ALL\nhoodie.populate.meta.fields=false", true),
        ] {
            assert_eq!(of(lines).unwrap().populate_meta_fields, expected, "{lines}");
        }
        for mode in ["COMMIT_TIME_ONLY", "file_name_only", "COMMIT_TIME_AND_FILE_NAME"] {
            let error = of(&format!("hoodie.meta.fields.mode={mode}")).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Unsupported && error.to_string().contains("meta.fields.mode"),
                "{error}"
            );
        }
        assert_eq!(of("hoodie.meta.fields.mode=SOME").unwrap_err().kind(), ErrorKind::InvalidTable);
    }

    #[test]
    fn cdc_modes_in_either_case() {
        for (mode, expected) in [("op_key_only", CdcMode::OpKeyOnly), ("DATA_BEFORE", CdcMode::DataBefore)] {
            let lines = format!("hoodie.table.cdc.enabled=true\nhoodie.table.cdc.supplemental.logging.mode={mode}\n");
            assert_eq!(table_config(&format!("{V9}{lines}")).unwrap().cdc, Some(expected));
        }
    }
}
