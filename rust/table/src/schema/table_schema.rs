//! The table's Avro schema at an instant (`TableSchemaResolver`).
//!
//! It is that of the newest completed write that stores one, by completion from table version 8 on; clustering may
//! store an empty one, which is passed over. Else it is the one that the table was created with. Some commits store
//! meta columns with it and most do not, so they are removed and prepended again. Where a commit stores ids beside it
//! (schema on read), the columns are those that have ids.

use super::evolution::LATEST_SCHEMA;
use super::internal_schema::InternalSchema;
use crate::timeline::{Instant, MetadataPart, Timeline};
use mortice_avro::{Field, Schema};
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_merge::config::{STORES_OPERATIONS, TableConfig, TimelineLayout};

/// A table's schema at an instant.
#[derive(Debug, Clone)]
pub struct TableSchema {
    /// Its columns as queries return them, meta columns first where the table has them.
    pub schema: Schema,
    /// The columns as its files have them: with their own types, and without those that are in the path alone.
    pub files: Schema,
    /// The same with ids, if they identify the table's columns (schema on read).
    pub internal: Option<InternalSchema>,
}

/// The schema as of an instant, or the latest. `None` where neither a commit nor the table's properties hold one: the
/// footer of a data file then does.
///
/// # Errors
/// What reading commit metadata may fail with; `InvalidTable` where a stored schema is none.
pub fn at(timeline: &Timeline, config: &TableConfig, as_of: Option<&RequestedTime>) -> Result<Option<TableSchema>> {
    let Some(stored) = newest(timeline, config, as_of)? else {
        let Some(text) = &config.create_schema else { return Ok(None) };
        return stated(Some(text), None, config.stores_operations(), config).map(Some);
    };
    let has_operation = stored.has_operation || config.stores_operations();
    stated(stored.schema.as_deref(), stored.internal.as_deref(), has_operation, config)
        .map(Some)
        .map_err(|error| error.at_instant(&stored.instant.requested_time))
}

/// The JSON of the columns with their ids that the newest write stores; none if columns have no ids.
///
/// # Errors
/// Those of reading commit metadata.
pub fn column_ids(timeline: &Timeline, config: &TableConfig) -> Result<Option<String>> {
    Ok(newest(timeline, config, None)?.and_then(|stored| stored.internal))
}

/// The Avro schema of the table as it is stored, with descriptions of columns; none if only files have it.
///
/// # Errors
/// Those of reading commit metadata.
pub fn stored_text(timeline: &Timeline, config: &TableConfig) -> Result<Option<String>> {
    match newest(timeline, config, None)? {
        Some(stored) => Ok(stored.schema),
        None => Ok(config.create_schema.clone()),
    }
}

fn stated(
    schema: Option<&str>,
    internal: Option<&str>,
    has_operation: bool,
    config: &TableConfig,
) -> Result<TableSchema> {
    let schema = schema.map(Schema::parse).transpose()?;
    let internal = internal.map(InternalSchema::parse).transpose()?;
    let schema = match (&internal, schema) {
        (Some(internal), schema) => internal.as_avro(schema.as_ref())?,
        (None, Some(schema)) => schema,
        (None, None) => return Err(Error::invalid_table("a commit without a schema")),
    };
    let schema = if has_operation { with_operation(&schema)? } else { schema };
    TableSchema::of_files(&schema, internal, config)
}

/// The schema with `_hoodie_operation` in front.
///
/// # Errors
/// `InvalidTable` where it is no record.
pub fn with_operation(schema: &Schema) -> Result<Schema> {
    schema.with_leading_nullable_strings(&[meta_columns::OPERATION])
}

impl TableSchema {
    /// Of a schema that a commit or a file has, with or without meta columns.
    ///
    /// # Errors
    /// `InvalidTable` where it is no record.
    pub fn of_files(schema: &Schema, internal: Option<InternalSchema>, config: &TableConfig) -> Result<Self> {
        let files = with_meta_columns(schema, config)?;
        Ok(Self { schema: with_path_columns(&files, config)?, files, internal })
    }
}

/// What a commit stores: one or both.
struct StoredSchema<'a> {
    instant: &'a Instant,
    schema: Option<String>,
    internal: Option<String>,
    /// Whether the files of the write have `_hoodie_operation`, which its schema does not name.
    has_operation: bool,
}

/// What the newest write stores. Table services have the types of their time, and not always ids: it is the newest of
/// the other writes that says whether columns have them.
fn newest<'a>(
    timeline: &'a Timeline,
    config: &TableConfig,
    as_of: Option<&RequestedTime>,
) -> Result<Option<StoredSchema<'a>>> {
    let in_time = |instant: &&Instant| as_of.is_none_or(|as_of| instant.requested_time <= *as_of);
    let mut writes: Vec<&Instant> = timeline.completed_writes().filter(in_time).collect();
    if writes.is_empty() && as_of.is_some_and(|as_of| timeline.is_before_start(as_of)) {
        writes = timeline.archived()?.iter().filter(|instant| instant.is_completed_write()).filter(in_time).collect();
    }
    if config.layout() == TimelineLayout::V2 {
        writes.sort_by(|one, other| one.completion_time.cmp(&other.completion_time));
    }
    let mut of_service: Option<StoredSchema<'a>> = None;
    for instant in writes.into_iter().rev() {
        let Some(metadata) = timeline.commit_metadata(instant, MetadataPart::Header)? else { continue };
        let schema = metadata.schema().map(str::to_owned);
        let internal = metadata.extra.get(LATEST_SCHEMA).filter(|text| !text.is_empty()).cloned();
        if schema.is_none() && internal.is_none() {
            continue;
        }
        let has_operation = metadata.extra.get(STORES_OPERATIONS).is_some_and(|value| value == "true");
        let stored = StoredSchema { instant, schema, internal, has_operation };
        if metadata.is_of_service() {
            of_service = of_service.or(Some(stored));
        } else if stored.internal.is_some() {
            return Ok(Some(stored));
        } else {
            let newest = of_service.filter(|of_service| of_service.schema.is_some()).unwrap_or(stored);
            return Ok(Some(StoredSchema { internal: None, has_operation, ..newest }));
        }
    }
    Ok(of_service)
}

/// A schema with meta columns in front, where the table's files hold them.
fn with_meta_columns(schema: &Schema, config: &TableConfig) -> Result<Schema> {
    let mut leading: Vec<&str> = Vec::new();
    if config.populate_meta_fields {
        leading.extend(meta_columns::ALL);
        if schema.field(meta_columns::OPERATION).is_some() {
            leading.push(meta_columns::OPERATION);
        }
    }
    schema.without_fields(&meta_columns::ALL)?.with_leading_nullable_strings(&leading)
}

/// A schema as queries return it: partition columns that have formatted times in paths are strings, and those that are
/// in the path alone are at the end.
fn with_path_columns(schema: &Schema, config: &TableConfig) -> Result<Schema> {
    let mut schema = schema.clone();
    let string_fields = config.text_partition_fields();
    if !string_fields.is_empty() {
        let as_text = |field: &Field| {
            if string_fields.contains(&field.name) { Field::nullable_string(&field.name) } else { field.clone() }
        };
        schema = schema.with_fields(schema.fields().iter().map(as_text).collect())?;
    }
    if config.drop_partition_columns {
        let mut fields = schema.fields().to_vec();
        for name in config.partition_fields.iter().filter(|name| schema.field(name).is_none()) {
            fields.push(Field::nullable_string(name));
        }
        schema = schema.with_fields(fields)?;
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::MemoryStorage;
    use mortice_merge::config::Properties;

    const OLD: &str = r#"{"type":"record","name":"r","fields":[{"name":"_hoodie_file_name","type":["null","string"]},{"name":"a","type":"int"}]}"#;

    fn schema(fields: &str) -> String {
        let fields: Vec<_> = fields.split(',').map(|name| format!(r#"{{"name":"{name}","type":"int"}}"#)).collect();
        format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, fields.join(","))
    }

    fn commit(schema: &str, operation: &str) -> Vec<u8> {
        serde_json::json!({"operationType": operation, "extraMetadata": {"schema": schema}}).to_string().into_bytes()
    }

    fn columns(
        version: &str,
        extra: &[(&str, &str)],
        files: &[(&str, Vec<u8>)],
        as_of: Option<&RequestedTime>,
    ) -> Option<String> {
        let stored = [("hoodie.table.name", "t"), ("hoodie.table.version", version)];
        let properties: Properties = stored.iter().chain(extra).copied().collect();
        let config = TableConfig::from_properties(properties).unwrap();
        let paths: Vec<String> = files.iter().map(|(name, _)| format!("{}/{name}", config.timeline_folder)).collect();
        let kept = format!("{}/kept", config.timeline_folder);
        let files = paths.iter().map(String::as_str).zip(files.iter().map(|(_, bytes)| bytes.as_slice()));
        let storage = MemoryStorage::holding(files.chain([(kept.as_str(), b"".as_slice())]));
        let timeline = Timeline::load(&storage, &config).unwrap();
        let schema = at(&timeline, &config, as_of).unwrap()?.schema;
        Some(schema.fields().iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(","))
    }

    const META: &str =
        "_hoodie_commit_time,_hoodie_commit_seqno,_hoodie_record_key,_hoodie_partition_path,_hoodie_file_name";

    #[test]
    fn the_newest_commit_with_a_schema_counts() {
        let files = [
            ("1.deltacommit", commit(OLD, "UPSERT")),
            ("2.deltacommit", commit(&schema("a,b"), "UPSERT")),
            ("3.replacecommit", commit("", "CLUSTER")),
            ("4.commit", Vec::new()),
            ("5.deltacommit.inflight", Vec::new()),
        ];
        assert_eq!(columns("6", &[], &files, None).unwrap(), format!("{META},a,b"));
        assert_eq!(columns("6", &[], &files, Some(&"1".into())).unwrap(), format!("{META},a"));
        assert_eq!(columns("6", &[], &files, Some(&"0".into())), None);
    }

    #[test]
    fn from_version_8_on_completion_decides_which_is_newest() {
        let files = [("1_9.deltacommit", commit(&schema("a"), "")), ("2_5.deltacommit", commit(&schema("b"), ""))];
        assert_eq!(columns("8", &[], &files, None).unwrap(), format!("{META},a"));
    }

    #[test]
    fn meta_columns_and_partition_columns_as_the_table_has_them() {
        let files = [("1.deltacommit", commit(OLD, ""))];
        assert_eq!(columns("6", &[("hoodie.populate.meta.fields", "false")], &files, None).unwrap(), "a");
        let dropped =
            [("hoodie.datasource.write.drop.partition.columns", "true"), ("hoodie.table.partition.fields", "p,a")];
        assert_eq!(columns("6", &dropped, &files, None).unwrap(), format!("{META},a,p"));
        let operation = [("1.deltacommit", commit(&schema("a,_hoodie_operation"), ""))];
        assert_eq!(columns("6", &[], &operation, None).unwrap(), format!("{META},_hoodie_operation,a"));
        let name = "hoodie.allow.operation.metadata.field";
        assert_eq!(columns("6", &[(name, "true")], &files, None).unwrap(), format!("{META},_hoodie_operation,a"));
        let extra = serde_json::json!({"schema": schema("a"), name: "true"});
        let marked = serde_json::json!({"operationType": "UPSERT", "extraMetadata": extra}).to_string().into_bytes();
        let files = [("1.deltacommit", marked), ("2.commit", commit(&schema("a,b"), "COMPACT"))];
        assert_eq!(columns("6", &[], &files, None).unwrap(), format!("{META},_hoodie_operation,a,b"));
    }

    #[test]
    fn times_of_the_timestamp_based_key_generator_are_text() {
        let types = |generator: &str| {
            let stored = [
                ("hoodie.table.name", "t"),
                ("hoodie.table.version", "9"),
                ("hoodie.table.keygenerator.type", generator),
                ("hoodie.table.partition.fields", "a:TIMESTAMP"),
                ("hoodie.populate.meta.fields", "false"),
            ];
            let config = TableConfig::from_properties(stored.into_iter().collect()).unwrap();
            TableSchema::of_files(&Schema::parse(&schema("a,b")).unwrap(), None, &config)
                .unwrap()
                .schema
                .json()
                .to_owned()
        };
        assert!(types("TIMESTAMP").contains("string") && types("TIMESTAMP_AVRO").contains("string"));
        assert!(!types("CUSTOM").contains("string") && !types("SIMPLE").contains("string"));
    }

    #[test]
    fn a_table_without_commits_has_the_schema_of_its_creation() {
        let created = schema("x");
        assert_eq!(columns("9", &[("hoodie.table.create.schema", &created)], &[], None).unwrap(), format!("{META},x"));
        assert_eq!(columns("9", &[], &[], None), None);
    }
}
