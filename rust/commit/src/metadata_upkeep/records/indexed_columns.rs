//! The columns that have statistics (`HoodieTableMetadataUtil.getColumnsToIndex`), from
//! `.hoodie/.index_defs/index.json`.
//!
//! Hudi takes a file that has statistics of some columns for one without values in the others, and prunes it. So
//! statistics are written of the columns that the file names and of those that a Hudi writer would add by default: the
//! next one names them.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::json;

use super::column_kind::{ColumnKind, IndexVersion};
use crate::commit::{read_to_replace, replace_unchanged};
use mortice_avro::{Schema, Type};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::{TableConfig, TimelineLayout, option_names};
use mortice_storage::FileStore;
use mortice_table::metadata_table::{
    DEFINITIONS, IndexDefinitions as DefinedIndexes, SecondaryIndexVersion, unreadable_definitions,
};

/// The default of `hoodie.metadata.index.column.stats.max.columns.to.index`.
const MAX_COLUMNS: usize = 32;
/// Attempts to replace the definitions while other writers do.
const ATTEMPTS: usize = 8;
/// Meta columns with statistics, in the order of the definition.
pub(in crate::metadata_upkeep) const META: [&str; 3] =
    [meta_columns::COMMIT_TIME, meta_columns::PARTITION_PATH, meta_columns::RECORD_KEY];

/// Columns with statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct IndexedColumns {
    pub(in crate::metadata_upkeep) version: IndexVersion,
    /// Names, the paths of nested ones, and kinds.
    pub(in crate::metadata_upkeep) columns: Vec<(String, ColumnKind)>,
}

/// The columns that options name; by default the first 32.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct ColumnChoice {
    named: Vec<String>,
    most: Option<usize>,
}

impl ColumnChoice {
    /// The columns of a list, or so many of the first ones.
    pub(in crate::metadata_upkeep) fn new(list: &str, most: Option<usize>) -> Self {
        let named = list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { named, most }
    }

    /// Whether options name columns, or their number.
    pub(in crate::metadata_upkeep) fn is_given(&self) -> bool {
        !self.named.is_empty() || self.most.is_some()
    }

    /// Refuses names of columns that are not there.
    pub(in crate::metadata_upkeep) fn check(&self, schema: &Schema) -> Result<()> {
        match self.named.iter().find(|name| type_of_path(schema, name).is_none() && !is_meta(name)) {
            None => Ok(()),
            Some(name) => Err(Error::invalid_argument(format!(
                "option {} names the column {name:?}, which the table does not have",
                option_names::METADATA_INDEX_COLUMN_STATS_COLUMN_LIST
            ))),
        }
    }

    /// The chosen columns of a schema that can have statistics, after the meta columns.
    fn columns(&self, table: &TableConfig, schema: &Schema, version: IndexVersion) -> Vec<(String, ColumnKind)> {
        if self.named.is_empty() {
            let most = self.most.unwrap_or(MAX_COLUMNS);
            return with_meta(table, first_columns(schema, version, most));
        }
        let named = self.named.iter().filter(|name| !is_meta(name));
        with_meta(table, named.filter_map(|path| Some((path.clone(), kind_of_path(schema, path, version)?))))
    }
}

/// What the definitions of a table's indexes say.
#[derive(Default)]
pub(in crate::metadata_upkeep) struct IndexDefinitions(DefinedIndexes);

/// Whether the record index of a table has a location of a key for each partition, not for the table.
///
/// # Errors
/// `InvalidTable` if the definitions of the table's indexes cannot be read; those of the storage.
pub fn is_record_index_partitioned(store: &dyn FileStore) -> Result<bool> {
    Ok(IndexDefinitions::load(store)?.is_record_index_partitioned())
}

impl IndexDefinitions {
    /// Reads them; none if there is no such file, as in tables of Hudi 0.x.
    pub(in crate::metadata_upkeep) fn load(store: &dyn FileStore) -> Result<Self> {
        DefinedIndexes::load(store).map(Self)
    }

    /// The column and the version of a secondary index.
    pub(in crate::metadata_upkeep) fn secondary_index(&self, name: &str) -> Result<(&str, SecondaryIndexVersion)> {
        self.0.secondary_index(name)
    }

    /// Whether the record index has a location of a key for each partition, not for the table.
    fn is_record_index_partitioned(&self) -> bool {
        let options = self.0.0.get("record_index").map(|definition| &definition.options);
        options.and_then(|options| options.get("isPartitioned")).is_some_and(|value| value == "true")
    }

    /// Refuses a record index for each partition.
    pub(in crate::metadata_upkeep) fn check_record_index(&self) -> Result<()> {
        if self.is_record_index_partitioned() {
            return Err(Error::unsupported(
                "the table has a partitioned record index, which mortice cannot maintain; drop the index with Hudi, or write with Hudi",
            ));
        }
        Ok(())
    }

    /// Whether options choose other columns than the statistics have.
    pub(in crate::metadata_upkeep) fn differs(
        &self,
        table: &TableConfig,
        schema: &Schema,
        choice: &ColumnChoice,
    ) -> bool {
        let chosen = new_columns(table, schema, choice).columns;
        let chosen: BTreeSet<&str> = chosen.iter().map(|(name, _)| name.as_str()).collect();
        let defined =
            self.0.0.get("column_stats").map(|definition| definition.source_fields.iter().map(String::as_str));
        choice.is_given() && defined.map(BTreeSet::from_iter) != Some(chosen)
    }

    /// The columns with statistics of rows of this schema.
    pub(in crate::metadata_upkeep) fn columns(
        &self,
        table: &TableConfig,
        schema: &Schema,
        choice: &ColumnChoice,
    ) -> IndexedColumns {
        let definition = self.0.0.get("column_stats");
        let version = match definition.and_then(|definition| definition.version.as_deref()) {
            Some("V2") => IndexVersion::V2,
            Some(_) => IndexVersion::V1,
            None if table.version.number() >= 9 => IndexVersion::V2,
            None => IndexVersion::V1,
        };
        if choice.is_given() {
            return IndexedColumns { version, columns: choice.columns(table, schema, version) };
        }
        let Some(definition) = definition else {
            return IndexedColumns { version, columns: all_columns(table, schema, version) };
        };
        let named = definition.source_fields.iter();
        let named = named.filter_map(|path| Some((path.clone(), kind_of_path(schema, path, version)?)));
        let defaults = first_columns(schema, version, MAX_COLUMNS);
        IndexedColumns { version, columns: with_meta(table, named.chain(defaults)) }
    }
}

/// The columns of a new index: those that options choose, or that Hudi 1.2 gives a new table. Up to table version 7
/// nothing defines them unless options do, and Hudi 0.x takes all columns for indexed: it would skip files for a column
/// without statistics.
pub(in crate::metadata_upkeep) fn new_columns(
    table: &TableConfig,
    schema: &Schema,
    choice: &ColumnChoice,
) -> IndexedColumns {
    let version = if table.version.number() >= 9 { IndexVersion::V2 } else { IndexVersion::V1 };
    let is_undefined = table.layout() == TimelineLayout::V1 && !choice.is_given();
    let columns =
        if is_undefined { all_columns(table, schema, version) } else { choice.columns(table, schema, version) };
    IndexedColumns { version, columns }
}

/// Writes the definition of an index, instead of the one that is there. Others are kept.
pub(in crate::metadata_upkeep) fn define_index(
    store: &dyn FileStore,
    name: &str,
    definition: &serde_json::Value,
) -> Result<()> {
    change_definitions(store, |all| {
        let all = all.get_or_insert_with(|| json!({})).as_object_mut();
        let definitions = all.map(|all| all.entry("indexDefinitions").or_insert_with(|| json!({})));
        match definitions.and_then(|definitions| definitions.as_object_mut()) {
            Some(definitions) => drop(definitions.insert(name.to_owned(), definition.clone())),
            None => {
                let error = Error::invalid_table("not the definitions of indexes");
                return Err(error.in_file(store.full_path(DEFINITIONS)));
            }
        }
        Ok(true)
    })
}

/// Removes the definitions of indexes that are dropped.
pub(in crate::metadata_upkeep) fn undefine_indexes(store: &dyn FileStore, names: &[String]) -> Result<()> {
    change_definitions(store, |all| {
        let definitions = all.as_mut().and_then(|all| all.get_mut("indexDefinitions")?.as_object_mut());
        let Some(definitions) = definitions else { return Ok(false) };
        Ok(names.iter().filter(|name| definitions.remove(*name).is_some()).count() > 0)
    })
}

/// Gives definitions without a version that of table version 8, which has no other.
pub(in crate::metadata_upkeep) fn version_definitions(store: &dyn FileStore) -> Result<()> {
    change_definitions(store, |all| {
        let definitions = all.as_mut().and_then(|all| all.get_mut("indexDefinitions")?.as_object_mut());
        let mut is_changed = false;
        for definition in definitions.into_iter().flatten().filter_map(|(_, definition)| definition.as_object_mut()) {
            if definition.get("version").is_none_or(serde_json::Value::is_null) {
                definition.insert("version".to_owned(), json!("V1"));
                is_changed = true;
            }
        }
        Ok(is_changed)
    })
}

/// Changes the definitions, if `change` returns true, on condition that the file is as it was read. `change` is called
/// again if another writer was faster; `None` stands for a file that does not exist.
fn change_definitions(
    store: &dyn FileStore,
    mut change: impl FnMut(&mut Option<serde_json::Value>) -> Result<bool>,
) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let (bytes, version) = read_to_replace(store, DEFINITIONS)?.unzip();
        let parsed = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        let mut all = parsed.map_err(|error| unreadable_definitions(store, error))?;
        if !change(&mut all)? {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&all)
            .map_err(|error| Error::internal(format!("definitions of indexes cannot be serialised: {error}")))?;
        if replace_unchanged(store, DEFINITIONS, &Bytes::from(text), version.as_ref())?.is_some() {
            return Ok(());
        }
    }
    let message = format!("other writers replaced the file {ATTEMPTS} times while it was being changed");
    Err(Error::new(ErrorKind::WriteConflict, message).in_file(store.full_path(DEFINITIONS)))
}

/// The definition of the index of column statistics.
pub(in crate::metadata_upkeep) fn column_stats_definition(columns: &IndexedColumns) -> serde_json::Value {
    let names: Vec<&str> = columns.columns.iter().map(|(name, _)| name.as_str()).collect();
    let version = match columns.version {
        IndexVersion::V1 => "V1",
        IndexVersion::V2 => "V2",
    };
    json!({
        "indexName": "column_stats",
        "indexType": "column_stats",
        "indexFunction": "column_stats",
        "sourceFields": names,
        "indexOptions": {},
        "version": version,
    })
}

/// The definition of a record index of the whole table.
pub(in crate::metadata_upkeep) fn record_index_definition() -> serde_json::Value {
    json!({
        "indexName": "record_index",
        "indexType": "record_index",
        "indexFunction": "",
        "sourceFields": [],
        "indexOptions": {"isPartitioned": "false"},
        "version": "V1",
    })
}

/// The definition of a secondary index of a column.
pub(in crate::metadata_upkeep) fn secondary_index_definition(
    name: &str,
    column: &str,
    version: SecondaryIndexVersion,
) -> serde_json::Value {
    json!({
        "indexName": name,
        "indexType": "secondary_index",
        "indexFunction": "identity",
        "sourceFields": [column],
        "indexOptions": {},
        "version": match version {
            SecondaryIndexVersion::V1 => "V1",
            SecondaryIndexVersion::V2 => "V2",
        },
    })
}

/// All columns, as Hudi 0.x has statistics of them.
fn all_columns(table: &TableConfig, schema: &Schema, version: IndexVersion) -> Vec<(String, ColumnKind)> {
    let meta = meta_columns::ALL.iter().filter(|_| table.populate_meta_fields);
    let own = schema.fields().iter().filter(|field| !meta_columns::ALL.contains(&field.name.as_str()));
    let own = own.filter_map(|field| Some((field.name.clone(), ColumnKind::of_type(&field.ty, version)?)));
    meta.map(|name| ((*name).to_owned(), ColumnKind::string())).chain(own).collect()
}

/// The first columns of a schema that can have statistics.
fn first_columns(schema: &Schema, version: IndexVersion, most: usize) -> impl Iterator<Item = (String, ColumnKind)> {
    let own = schema.fields().iter().filter(|field| !is_meta(&field.name));
    own.filter_map(move |field| Some((field.name.clone(), ColumnKind::of_type(&field.ty, version)?))).take(most)
}

/// The meta columns with statistics, and others, each once.
fn with_meta(table: &TableConfig, others: impl Iterator<Item = (String, ColumnKind)>) -> Vec<(String, ColumnKind)> {
    let meta =
        META.iter().filter(|_| table.populate_meta_fields).map(|name| ((*name).to_owned(), ColumnKind::string()));
    let mut columns: Vec<(String, ColumnKind)> = meta.collect();
    for (name, kind) in others.filter(|(name, _)| !is_meta(name)) {
        if !columns.iter().any(|(known, _)| *known == name) {
            columns.push((name, kind));
        }
    }
    columns
}

fn is_meta(name: &str) -> bool {
    meta_columns::ALL.contains(&name) || name == meta_columns::OPERATION
}

/// The kind of a column, or of a field of a struct by its path.
fn kind_of_path(schema: &Schema, path: &str, version: IndexVersion) -> Option<ColumnKind> {
    ColumnKind::of_type(type_of_path(schema, path)?, version)
}

fn type_of_path<'s>(schema: &'s Schema, path: &str) -> Option<&'s Type> {
    let mut parts = path.split('.');
    let mut ty = &schema.field(parts.next()?)?.ty;
    for part in parts {
        let Type::Record(record) = ty.non_null() else { return None };
        ty = &record.field(part)?.ty;
    }
    Some(ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata_upkeep::options::MetadataOptions;
    use mortice_merge::config::WriteOptions;

    const COLUMN_LIST: &str = "hoodie.metadata.index.column.stats.column.list";
    const MOST: &str = "hoodie.metadata.index.column.stats.max.columns.to.index";
    use mortice_merge::config::Properties;
    use mortice_storage::LocalStorage;

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
        {"name":"_hoodie_commit_time","type":["null","string"],"default":null},
        {"name":"_hoodie_operation","type":["null","string"],"default":null},
        {"name":"id","type":"string"},
        {"name":"list","type":{"type":"array","items":"int"}},
        {"name":"s","type":{"type":"record","name":"s","fields":[{"name":"x","type":["null","int"],"default":null}]}},
        {"name":"ts","type":"long"}]}"#;
    const META_THREE: [&str; 3] = ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key"];

    fn table(version: &str) -> TableConfig {
        let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", version)];
        TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap()
    }

    fn choice(options: &[(&str, &str)]) -> Result<ColumnChoice> {
        let options = WriteOptions::resolve(options.iter().copied())?;
        MetadataOptions::resolve(&options).map(|options| options.columns)
    }

    /// The names behind those of the meta columns.
    fn own_names(found: &IndexedColumns) -> Vec<&str> {
        let names: Vec<&str> = found.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.get(..3), Some(&META_THREE[..]), "{names:?}");
        names.get(3..).unwrap().to_vec()
    }

    fn definitions(columns: &str, version: &str) -> IndexDefinitions {
        let text = format!(r#"{{"sourceFields":[{columns}],"version":"{version}"}}"#);
        let definition = ("column_stats".to_owned(), serde_json::from_str(&text).unwrap());
        IndexDefinitions(DefinedIndexes(std::iter::once(definition).collect()))
    }

    #[test]
    fn a_new_index_has_the_first_columns_whose_types_have_bounds() {
        let (schema, table) = (Schema::parse(SCHEMA).unwrap(), table("9"));
        assert_eq!(own_names(&new_columns(&table, &schema, &ColumnChoice::default())), ["id", "ts"]);
        assert_eq!(own_names(&new_columns(&table, &schema, &choice(&[(MOST, "1")]).unwrap())), ["id"]);
        let many: Vec<String> = (0..40).map(|number| format!(r#"{{"name":"c{number}","type":"int"}}"#)).collect();
        let many = Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, many.join(","))).unwrap();
        assert_eq!(own_names(&new_columns(&table, &many, &ColumnChoice::default())).len(), 32);
    }

    /// Without a definition readers take all columns for indexed: those of files that were there have statistics as
    /// well.
    #[test]
    fn an_index_without_a_definition_is_built_with_the_columns_of_commits() {
        let many: Vec<String> = (0..40).map(|number| format!(r#"{{"name":"c{number}","type":"int"}}"#)).collect();
        let many = Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, many.join(","))).unwrap();
        let default = ColumnChoice::default();
        let built = new_columns(&table("6"), &many, &default);
        assert_eq!(built, IndexDefinitions::default().columns(&table("6"), &many, &default));
        assert_eq!(built.columns.len(), 45);
        // Options are written as a definition.
        assert_eq!(own_names(&new_columns(&table("6"), &many, &choice(&[(MOST, "1")]).unwrap())), ["c0"]);
    }

    #[test]
    fn options_name_columns_and_fields_of_structs() {
        let (schema, table) = (Schema::parse(SCHEMA).unwrap(), table("9"));
        let named = choice(&[(COLUMN_LIST, " s.x , ts,,_hoodie_commit_time, ts")]).unwrap();
        named.check(&schema).unwrap();
        assert_eq!(own_names(&new_columns(&table, &schema, &named)), ["s.x", "ts"]);
        for missing in ["none", "s.none", "id.x"] {
            let error = choice(&[(COLUMN_LIST, missing)]).unwrap().check(&schema).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(missing), "{error}");
        }
        assert_eq!(choice(&[(MOST, "many")]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert!(!choice(&[]).unwrap().is_given() && named.is_given());
    }

    /// Hudi prunes a file without statistics of a column that other files have statistics of.
    #[test]
    fn columns_of_the_definition_and_added_ones_have_statistics() {
        let (schema, default) = (Schema::parse(SCHEMA).unwrap(), ColumnChoice::default());
        let defined = definitions(r#""_hoodie_commit_time","s.x","gone""#, "V1");
        let found = defined.columns(&table("9"), &schema, &default);
        assert_eq!((found.version, own_names(&found)), (IndexVersion::V1, vec!["s.x", "id", "ts"]));
        let none = IndexDefinitions::default();
        for (version, of_table) in [("8", IndexVersion::V1), ("9", IndexVersion::V2)] {
            assert_eq!(none.columns(&table(version), &schema, &default).version, of_table);
        }
        // Hudi 0.x has statistics of all columns, meta columns included.
        let all = none.columns(&table("6"), &schema, &default);
        let names: Vec<&str> = all.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [&meta_columns::ALL[..], &["_hoodie_operation", "id", "ts"]].concat());
    }

    #[test]
    fn an_index_is_built_again_only_for_other_columns() {
        let (schema, table) = (Schema::parse(SCHEMA).unwrap(), table("9"));
        let defined = definitions(r#""_hoodie_commit_time","_hoodie_partition_path","_hoodie_record_key","ts""#, "V2");
        assert!(!defined.differs(&table, &schema, &ColumnChoice::default()));
        assert!(!defined.differs(&table, &schema, &choice(&[(COLUMN_LIST, "ts")]).unwrap()));
        assert!(defined.differs(&table, &schema, &choice(&[(COLUMN_LIST, "ts,id")]).unwrap()));
        assert!(IndexDefinitions::default().differs(&table, &schema, &choice(&[(MOST, "3")]).unwrap()));
    }

    #[test]
    fn definitions_of_other_indexes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
        undefine_indexes(&store, &["column_stats".to_owned()]).unwrap();
        assert!(!is_record_index_partitioned(&store).unwrap());
        let own = json!({"indexName": "expr", "sourceFields": ["a"], "unknown": [1, {"x": null}]});
        define_index(&store, "expr", &own).unwrap();
        define_index(&store, "record_index", &json!({"indexOptions": {"isPartitioned": "true"}})).unwrap();
        assert!(is_record_index_partitioned(&store).unwrap());
        let refused = IndexDefinitions::load(&store).unwrap().check_record_index().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        define_index(&store, "record_index", &record_index_definition()).unwrap();
        IndexDefinitions::load(&store).unwrap().check_record_index().unwrap();
        undefine_indexes(&store, &["record_index".to_owned(), "none".to_owned()]).unwrap();
        let (bytes, _) = store.get(DEFINITIONS).unwrap();
        let left: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(left, json!({"indexDefinitions": {"expr": own}}));
    }

    #[test]
    fn a_definition_that_is_not_json_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
        for damaged in ["{", "[]", r#"{"indexDefinitions":1}"#] {
            store.put(DEFINITIONS, &Bytes::from(damaged), None).unwrap();
            let error = define_index(&store, "record_index", &record_index_definition()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTable, "{damaged}");
            assert_eq!(store.get(DEFINITIONS).unwrap().0, damaged.as_bytes());
        }
    }
}
