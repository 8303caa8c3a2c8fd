//! What the columns of a table were called when each of its files was written, under schema on read.
//!
//! | a file's schema is | rule of Hudi (`InternalSchemaCache`) |
//! |---|---|
//! | the one that its commit stores (`latest_schema`) | first: a commit may have begun before a change that came in first |
//! | else that of the greatest version up to its instant, of the newest history (`.hoodie/.schema/*.schemacommit`) | second |
//! | else not known: names are what they seem | |
//!
//! The history is what outlives the archiving of commits. It travels with a split as what differs from the names of the
//! query.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::internal_schema::InternalSchema;
use crate::timeline::{MetadataPart, Timeline};
use mortice_avro::{self as avro, Field, Record, Type};
use mortice_base::error::Result;
use mortice_base::names::{FieldNames, RequestedTime};
use mortice_storage::{FolderEntry, Storage};

/// Under this key commits keep their schema.
pub const LATEST_SCHEMA: &str = "latest_schema";

/// The folder of histories.
pub const HISTORY_FOLDER: &str = ".hoodie/.schema";

/// What files call the columns of a query, by the instants that wrote them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaEvolution {
    /// From each version on, until the next.
    by_version: BTreeMap<i64, FieldNames>,
    /// Versions of instants that have another than the greatest before them.
    odd: BTreeMap<i64, i64>,
}

impl SchemaEvolution {
    /// Of a query by the columns of `query`: reads the table's history, and what its commits store since.
    ///
    /// # Errors
    /// What listing and reading may fail with; `InvalidTable` where a schema is none.
    pub fn load(storage: &dyn Storage, timeline: &Timeline, query: &InternalSchema) -> Result<Self> {
        let history = history(storage, timeline)?;
        let mut schemas: BTreeMap<i64, InternalSchema> = history.into_iter().map(|one| (one.version, one)).collect();
        // Commits before the first change that a history knows of store no schema with ids.
        let first_change = schemas.keys().find(|version| **version > 0).copied().unwrap_or_default();
        schemas.entry(query.version).or_insert_with(|| query.clone());
        let mut stored = Vec::new();
        for instant in timeline.completed_writes() {
            let Some(at) = number(&instant.requested_time).filter(|at| *at >= first_change) else { continue };
            let metadata = timeline.commit_metadata(instant, MetadataPart::Header)?;
            let text = metadata.as_ref().and_then(|metadata| metadata.extra.get(LATEST_SCHEMA));
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let schema = InternalSchema::parse(text).map_err(|error| error.at_instant(&instant.requested_time))?;
                stored.push((at, schema.version));
                schemas.entry(schema.version).or_insert(schema);
            }
        }
        let up_to = |at: i64| schemas.range(..=at).next_back().map(|(version, _)| *version);
        let odd = stored.into_iter().filter(|(at, version)| up_to(*at) != Some(*version)).collect();
        Ok(Self {
            by_version: schemas.iter().map(|(version, schema)| (*version, query.names_in(schema))).collect(),
            odd,
        }
        .without_repetitions())
    }

    /// Versions that call all columns as the one before them say nothing.
    fn without_repetitions(self) -> Self {
        let mut by_version: BTreeMap<i64, FieldNames> = BTreeMap::new();
        for (version, names) in self.by_version {
            let before = by_version.last_key_value().map_or(FieldNames::identity(), |(_, names)| names);
            if *before != names {
                by_version.insert(version, names);
            }
        }
        Self { by_version, odd: self.odd }
    }

    /// What a file or a log block of that instant calls the columns.
    #[must_use]
    pub fn names_at(&self, instant: &RequestedTime) -> &FieldNames {
        let Some(at) = number(instant) else { return FieldNames::identity() };
        let version = self.odd.get(&at).copied().unwrap_or(at);
        self.by_version.range(..=version).next_back().map_or(FieldNames::identity(), |(_, names)| names)
    }
}

/// A writer's schema with the table's names in it.
///
/// # Errors
/// `InvalidTable` where it is no record.
pub fn in_tables_names(writer: &avro::Schema, names: &FieldNames) -> Result<avro::Schema> {
    if names.is_identity() { Ok(writer.clone()) } else { writer.with_fields(renamed_fields(writer.fields(), names)) }
}

fn renamed_fields(fields: &[Field], names: &FieldNames) -> Vec<Field> {
    let renamed = |field: &Field| {
        let (name, inside) = names.in_table(&field.name);
        Field { name: name.into_owned(), ty: renamed_type(&field.ty, inside), default: field.default.clone() }
    };
    fields.iter().map(renamed).collect()
}

fn renamed_type(ty: &Type, names: &FieldNames) -> Type {
    if names.is_identity() {
        return ty.clone();
    }
    match ty {
        Type::Record(record) => {
            let fields = renamed_fields(&record.fields, names);
            Type::Record(Record { fields, ..record.as_ref().clone() }.into())
        }
        Type::Array(items) => Type::Array(renamed_type(items, names).into()),
        Type::Map(values) => Type::Map(renamed_type(values, names).into()),
        Type::Union(branches) => Type::Union(branches.iter().map(|branch| renamed_type(branch, names)).collect()),
        other => other.clone(),
    }
}

/// An instant as versions count.
fn number(instant: &RequestedTime) -> Option<i64> {
    instant.as_str().parse().ok()
}

/// The newest history that a completed write has left; empty where there is none.
fn history(storage: &dyn Storage, timeline: &Timeline) -> Result<Vec<InternalSchema>> {
    let Some((instant, path, text)) = newest_history(storage, timeline)? else { return Ok(Vec::new()) };
    InternalSchema::parse_history(&text).map_err(|error| error.in_file(path).at_instant(instant))
}

/// The JSON of the newest history that a completed write has left; none if there is none.
///
/// # Errors
/// Those of listing and reading.
pub fn history_text(storage: &dyn Storage, timeline: &Timeline) -> Result<Option<Bytes>> {
    Ok(newest_history(storage, timeline)?.map(|(_, _, text)| text))
}

fn newest_history(storage: &dyn Storage, timeline: &Timeline) -> Result<Option<(RequestedTime, String, Bytes)>> {
    let entries = storage.list(HISTORY_FOLDER)?.unwrap_or_default();
    let newest = entries.iter().filter_map(|entry| {
        let FolderEntry::File(file) = entry else { return None };
        // `requested.schemacommit`, with the time of completion behind it in layout 2.
        let times = file.name.strip_suffix(".schemacommit")?;
        let requested = times.split_once('_').map_or(times, |(requested, _)| requested);
        let requested = RequestedTime::parse(requested)?;
        timeline.is_completed(&requested).then_some((requested, &file.name))
    });
    let Some((instant, name)) = newest.max() else { return Ok(None) };
    let source = storage.open(&format!("{HISTORY_FOLDER}/{name}"))?;
    let text = source.read_all()?;
    Ok(Some((instant, source.path().to_owned(), text)))
}
