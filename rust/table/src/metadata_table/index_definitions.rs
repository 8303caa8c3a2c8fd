//! The definitions of a table's secondary and expression indexes, from `.hoodie/.index_defs/index.json`
//! (`HoodieIndexMetadata`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::secondary_key::SecondaryIndexVersion;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::Storage;

/// The definitions of a table's indexes.
pub const DEFINITIONS: &str = ".hoodie/.index_defs/index.json";

/// The error of definitions that are not what they should be.
#[must_use]
pub fn unreadable_definitions(storage: &dyn Storage, error: serde_json::Error) -> Error {
    Error::invalid_table("the definitions of the table's indexes cannot be read")
        .in_file(storage.full_path(DEFINITIONS))
        .caused_by(error)
}

#[derive(Deserialize)]
struct DefinitionsFile {
    #[serde(rename = "indexDefinitions")]
    definitions: BTreeMap<String, IndexDefinition>,
}

/// The definition of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct IndexDefinition {
    /// `secondary_index`, `column_stats`, …
    #[serde(rename = "indexType", default)]
    pub kind: String,
    /// The function of an expression index.
    #[serde(rename = "indexFunction", default)]
    pub function: Option<String>,
    /// The indexed columns; a field of a struct by its path.
    #[serde(rename = "sourceFields", default)]
    pub source_fields: Vec<String>,
    /// Options of the index.
    #[serde(rename = "indexOptions", default)]
    pub options: BTreeMap<String, String>,
    /// The version, from table version 9 on.
    pub version: Option<String>,
}

/// Definitions by the names of partitions of the metadata table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexDefinitions(pub BTreeMap<String, IndexDefinition>);

impl IndexDefinitions {
    /// Reads them; none if there is no such file, as in tables of Hudi 0.x.
    ///
    /// # Errors
    /// `InvalidTable` if the file cannot be read as definitions; those of the storage.
    pub fn load(storage: &dyn Storage) -> Result<Self> {
        let source = match storage.open(DEFINITIONS) {
            Ok(source) => source,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let bytes = source.read_all()?;
        let parsed = serde_json::from_slice(&bytes).map_err(|error| unreadable_definitions(storage, error))?;
        let DefinitionsFile { definitions } = parsed;
        Ok(Self(definitions))
    }

    /// The column and the version of a secondary index.
    ///
    /// # Errors
    /// `InvalidTable`, by the name of the index, if it is not defined, or not of one column.
    pub fn secondary_index(&self, name: &str) -> Result<(&str, SecondaryIndexVersion)> {
        let Some(definition) = self.0.get(name) else {
            return Err(Error::invalid_table(format!(
                "the definitions of the table's indexes ({DEFINITIONS}) lack the index {name}; drop the index and create it again"
            )));
        };
        let [column] = &definition.source_fields[..] else {
            return Err(Error::invalid_table(format!(
                "the index {name} is defined with {} source fields ({DEFINITIONS}); a secondary index has one column",
                definition.source_fields.len()
            )));
        };
        let version = match definition.version.as_deref() {
            Some("V2") => SecondaryIndexVersion::V2,
            Some("V1") | None => SecondaryIndexVersion::V1,
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "version {other} of the index {name} ({DEFINITIONS}; supported: V1, V2)"
                )));
            }
        };
        Ok((column, version))
    }
}
