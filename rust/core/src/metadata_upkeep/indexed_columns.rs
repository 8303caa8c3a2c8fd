//! The columns that have statistics (`HoodieTableMetadataUtil.getColumnsToIndex`), from `.hoodie/.index_defs/index.json`.
//!
//! Hudi takes a file that has statistics of some columns for one without values in the others, and prunes it. So statistics are
//! written of the columns that the file names and of those that a Hudi writer would add by default: the next one names them.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::column_kind::{ColumnKind, IndexVersion};
use crate::avro::{Schema, Type};
use crate::config::TableConfig;
use crate::error::{Error, Kind, Result};
use crate::names::meta_columns;
use crate::storage::FileStore;

/// The definitions of a table's indexes.
pub(super) const DEFINITIONS: &str = ".hoodie/.index_defs/index.json";
/// `hoodie.metadata.index.column.stats.max.columns.to.index`.
const MAX_COLUMNS: usize = 32;
/// Meta columns with statistics, in the order of the definition.
pub(super) const META: [&str; 3] = [meta_columns::COMMIT_TIME, meta_columns::PARTITION_PATH, meta_columns::RECORD_KEY];

/// Columns with statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexedColumns {
    pub(super) version: IndexVersion,
    /// Names, the paths of nested ones, and kinds.
    pub(super) columns: Vec<(String, ColumnKind)>,
}

#[derive(Deserialize)]
struct Definitions {
    #[serde(rename = "indexDefinitions")]
    definitions: BTreeMap<String, Definition>,
}

#[derive(Deserialize)]
struct Definition {
    #[serde(rename = "sourceFields", default)]
    source_fields: Vec<String>,
    #[serde(rename = "indexOptions", default)]
    options: BTreeMap<String, String>,
    version: Option<String>,
}

/// What the definitions of a table's indexes say.
#[derive(Default)]
pub(super) struct IndexDefinitions(BTreeMap<String, Definition>);

impl IndexDefinitions {
    /// Reads them; none if there is no such file, as in tables of Hudi 0.x.
    ///
    /// # Errors
    /// `InvalidTable` if the file cannot be read as JSON; those of the storage.
    pub(super) fn load(store: &dyn FileStore) -> Result<Self> {
        let bytes = match store.get(DEFINITIONS) {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == Kind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let unreadable = |error: serde_json::Error| {
            Error::invalid_table("the definitions of the table's indexes cannot be read")
                .in_file(store.full_path(DEFINITIONS))
                .caused_by(error)
        };
        let Definitions { definitions } = serde_json::from_slice(&bytes).map_err(unreadable)?;
        Ok(Self(definitions))
    }

    /// Refuses a record index for each partition.
    ///
    /// # Errors
    /// `Unsupported`.
    pub(super) fn check_record_index(&self) -> Result<()> {
        let options = self.0.get("record_index").map(|definition| &definition.options);
        let is_partitioned =
            options.and_then(|options| options.get("isPartitioned")).is_some_and(|value| value == "true");
        if is_partitioned {
            return Err(Error::unsupported(
                "the table has a partitioned record index, which mortice cannot maintain; drop the index with Hudi, or write with Hudi",
            ));
        }
        Ok(())
    }

    /// The columns with statistics of rows of this schema.
    pub(super) fn columns(&self, table: &TableConfig, schema: &Schema) -> IndexedColumns {
        let definition = self.0.get("column_stats");
        let version = match definition.and_then(|definition| definition.version.as_deref()) {
            Some("V2") => IndexVersion::V2,
            Some(_) => IndexVersion::V1,
            None if table.version.number() >= 9 => IndexVersion::V2,
            None => IndexVersion::V1,
        };
        let Some(definition) = definition else {
            return IndexedColumns { version, columns: all_columns(table, schema, version) };
        };
        let named = definition.source_fields.iter();
        let named = named.filter_map(|path| Some((path.clone(), kind_of_path(schema, path, version)?)));
        IndexedColumns { version, columns: with_defaults(named, table, schema, version) }
    }
}

/// The columns that Hudi 1.2 gives a new table.
pub(super) fn default_columns(
    table: &TableConfig,
    schema: &Schema,
    version: IndexVersion,
) -> Vec<(String, ColumnKind)> {
    with_defaults(std::iter::empty(), table, schema, version)
}

/// All columns, as Hudi 0.x has statistics of them.
fn all_columns(table: &TableConfig, schema: &Schema, version: IndexVersion) -> Vec<(String, ColumnKind)> {
    let meta = meta_columns::ALL.iter().filter(|_| table.populate_meta_fields);
    let own = schema.fields().iter().filter(|field| !meta_columns::ALL.contains(&field.name.as_str()));
    let own = own.filter_map(|field| Some((field.name.clone(), ColumnKind::of_type(&field.ty, version)?)));
    meta.map(|name| ((*name).to_owned(), ColumnKind::string())).chain(own).collect()
}

fn with_defaults(
    named: impl Iterator<Item = (String, ColumnKind)>,
    table: &TableConfig,
    schema: &Schema,
    version: IndexVersion,
) -> Vec<(String, ColumnKind)> {
    let meta =
        META.iter().filter(|_| table.populate_meta_fields).map(|name| ((*name).to_owned(), ColumnKind::string()));
    let mut columns: Vec<(String, ColumnKind)> = meta.collect();
    let is_meta = |name: &str| meta_columns::ALL.contains(&name) || name == meta_columns::OPERATION;
    let own = schema.fields().iter().filter(|field| !is_meta(&field.name));
    let defaults =
        own.filter_map(|field| Some((field.name.clone(), ColumnKind::of_type(&field.ty, version)?))).take(MAX_COLUMNS);
    for (name, kind) in named.filter(|(name, _)| !is_meta(name)).chain(defaults) {
        if !columns.iter().any(|(known, _)| *known == name) {
            columns.push((name, kind));
        }
    }
    columns
}

/// The kind of a column, or of a field of a struct by its path.
fn kind_of_path(schema: &Schema, path: &str, version: IndexVersion) -> Option<ColumnKind> {
    let mut parts = path.split('.');
    let mut ty = &schema.field(parts.next()?)?.ty;
    for part in parts {
        let Type::Record(record) = ty.non_null() else { return None };
        ty = &record.field(part)?.ty;
    }
    ColumnKind::of_type(ty, version)
}
