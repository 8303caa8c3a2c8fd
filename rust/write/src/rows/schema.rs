//! The schema of a write: the table's, with what the user's columns add to it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::conform::conformed;
use super::evolve::ColumnEvolution;
use super::operations::stores_operations;
use super::options::RowOptions;
use super::schema_changes::{SchemaChange, schema_changes};
use mortice_avro::{self as avro, ArrowMapping, Schema, Type};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::keys::FieldPath;
use mortice_table::plan::OpenTable;
use mortice_table::schema::table_schema;

/// The columns of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteSchema {
    /// The table's columns, without meta columns but `_hoodie_operation`, which is the first one if files have it.
    pub columns: Schema,
    /// What files store: with meta columns, if the table has them.
    pub stored: Schema,
    /// The Arrow types of `columns`.
    pub types: SchemaRef,
    /// What the write changes of the columns that the table has.
    pub changes: Vec<SchemaChange>,
}

impl WriteSchema {
    /// The schema that the table has, for deletes: no rows are written.
    ///
    /// # Errors
    /// As for the table's schema.
    pub fn of_table(table: &OpenTable) -> Result<Self> {
        let (found, _) = table.schema_at(None)?;
        Self::from_columns(table, found.files.without_fields(&meta_columns::ALL)?)
    }

    /// The schema of the table with these columns written to it: the table's own, unless options ask for changes. Then
    /// columns that the table does not have are added, nullable, and so are fields of structs; a column of numbers
    /// becomes as wide as the user's, or a string.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the column, if a column is missing, or new and not asked for; `Unsupported` for tables
    /// whose columns have ids (schema on read) if columns are added.
    pub fn resolve(table: &OpenTable, given: &ArrowSchema, options: &RowOptions) -> Result<Self> {
        let evolution = ColumnEvolution::from_options(options)?;
        let own = own_columns(table)?;
        let given = without_pandas_index(given, own.as_ref().map(|(found, _)| found))?;
        let given = without_meta_columns(&given);
        let is_stored = match &own {
            Some((found, _)) => found.field(meta_columns::OPERATION).is_some(),
            None => table.config.stores_operations(),
        };
        let has_operation = stores_operations(is_stored, &given, options)?;
        let given = without_operation(&given);
        let with_operation =
            |columns: Schema| if has_operation { table_schema::with_operation(&columns) } else { Ok(columns) };
        let Some((found, has_ids)) = own else {
            avro::check_new_columns(given.fields(), "")?;
            let columns = avro::hudi_schema(&given, &table.config.name)?;
            columns.check_readable()?;
            return Self::from_columns(table, with_operation(columns)?);
        };
        let found = found.without_fields(&[meta_columns::OPERATION])?;
        check_has_keys(table, &given)?;
        let types = avro::arrow_schema(&found, ArrowMapping::Table)?;
        let fields = evolution.fields(found.as_record()?, types.fields(), given.fields(), "")?;
        let columns = found.with_fields(fields.clone())?;
        check_key_types(table, &found, &columns)?;
        if has_ids && fields != found.fields() {
            let old = found.fields();
            let changed = fields.iter().filter(|field| !old.contains(field)).map(|field| format!("{:?}", field.name));
            return Err(Error::unsupported(format!(
                "columns {} are added or changed, but the table's columns have ids (schema on read): change them with Table.alter first",
                changed.collect::<Vec<_>>().join(", ")
            )));
        }
        if fields != found.fields() {
            columns.check_readable()?;
        }
        let schema = Self::from_columns(table, with_operation(columns)?)?;
        let changes = schema_changes(types.fields(), schema.types.fields());
        let is_column = |change: &SchemaChange| change.column != meta_columns::OPERATION;
        Ok(Self { changes: changes.into_iter().filter(is_column).collect(), ..schema })
    }

    /// The schema that another process resolved for the same table, from the Avro JSON of its columns.
    ///
    /// # Errors
    /// `InvalidArgument` for JSON that is no schema.
    pub fn of_json(table: &OpenTable, json: &str) -> Result<Self> {
        Self::from_columns(table, Schema::parse(json)?)
    }

    /// Whether files have the column `_hoodie_operation`.
    pub fn has_operation(&self) -> bool {
        self.columns.field(meta_columns::OPERATION).is_some()
    }

    fn from_columns(table: &OpenTable, columns: Schema) -> Result<Self> {
        let stored = match table.config.populate_meta_fields {
            true => columns.with_leading_nullable_strings(&meta_columns::ALL)?,
            false => columns.clone(),
        };
        let types = Arc::new(avro::arrow_schema(&columns, ArrowMapping::Table)?);
        Ok(Self { columns, stored, types, changes: Vec::new() })
    }
}

/// Refuses columns that the rows of a new table could not be written with.
///
/// # Errors
/// `InvalidArgument`: names that occur twice, types that no type of Avro holds.
pub fn check_new_columns(columns: &ArrowSchema, table_name: &str) -> Result<()> {
    let stored = avro::hudi_schema(columns, table_name)?;
    stored.check_readable()?;
    let types = Arc::new(avro::arrow_schema(&stored, ArrowMapping::Table)?);
    conformed(&RecordBatch::new_empty(Arc::new(columns.clone())), &types, 0).map(drop)
}

/// The table's columns without meta columns, and whether they have ids; none if the table has neither a commit nor a
/// schema.
fn own_columns(table: &OpenTable) -> Result<Option<(Schema, bool)>> {
    let is_empty = table.timeline.completed_writes().next().is_none();
    if is_empty && table.config.create_schema.is_none() {
        return Ok(None);
    }
    let (found, _) = table.schema_at(None)?;
    Ok(Some((found.files.without_fields(&meta_columns::ALL)?, found.internal.is_some())))
}

/// A column of rows that is not written: whether a row deletes its key, with any ordering value. So one commit has
/// updates and deletes, and the table needs no column for it.
pub const DELETES_KEY: &str = "_mortice_deletes_key";

/// Another one: whether a row is a stored row in which a merge has changed some columns.
pub const UPDATES_KEY: &str = "_mortice_updates_key";

/// Another one: the number of the output that a user-defined partitioner of a bulk insert has chosen for a row.
pub const OUTPUT: &str = "_mortice_output";

/// The columns without those that Hudi adds, and without marks of rows.
pub fn without_meta_columns(given: &ArrowSchema) -> ArrowSchema {
    let is_meta = |name: &str| meta_columns::ALL.contains(&name) || [DELETES_KEY, UPDATES_KEY, OUTPUT].contains(&name);
    ArrowSchema::new(given.fields().iter().filter(|field| !is_meta(field.name())).cloned().collect::<Vec<_>>())
}

/// The columns without the index of a pandas DataFrame, if it has no name and the table has no such column: pandas
/// gives it one as it makes Arrow data, with each filter or sort of the rows, and the table would have the column for
/// good.
fn without_pandas_index(given: &ArrowSchema, own: Option<&Schema>) -> Result<ArrowSchema> {
    let is_unknown_index = |name: &str| {
        let number = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit()))
            && own.is_none_or(|own| own.field(name).is_none())
    };
    let pandas = given.metadata().get("pandas").and_then(|json| serde_json::from_str::<serde_json::Value>(json).ok());
    let index = pandas.as_ref().and_then(|pandas| pandas.get("index_columns")?.as_array());
    let is_index = |name: &str| index.is_some_and(|columns| columns.iter().any(|column| column.as_str() == Some(name)));
    let mut kept = Vec::with_capacity(given.fields().len());
    for field in given.fields() {
        if !is_unknown_index(field.name()) {
            kept.push(Arc::clone(field));
        } else if !is_index(field.name()) {
            return Err(Error::invalid_argument(format!(
                "column {:?} has the name that pandas gives to an index, and the table does not have it; leave it out or rename it",
                field.name()
            )));
        }
    }
    Ok(ArrowSchema::new(kept))
}

fn without_operation(given: &ArrowSchema) -> ArrowSchema {
    let kept = given.fields().iter().filter(|field| field.name() != meta_columns::OPERATION);
    ArrowSchema::new(kept.cloned().collect::<Vec<_>>())
}

fn check_has_keys(table: &OpenTable, given: &ArrowSchema) -> Result<()> {
    let names = table.config.record_key_fields.iter().map(|name| name.split('.').next().unwrap_or(name));
    for name in names {
        if given.fields().find(name).is_none() {
            return Err(Error::invalid_argument(format!(
                "the rows have no column {name:?}, which is in the record key of the table; add it"
            )));
        }
    }
    Ok(())
}

/// Columns by which records are found keep their types, since the text of a value is in keys and partition paths: that
/// of 1 is "1" as an integer of any width, and "1.0" as a double. Numbers by which records are ordered do not become
/// strings, whose order is another.
fn check_key_types(table: &OpenTable, before: &Schema, after: &Schema) -> Result<()> {
    let config = &table.config;
    let keys = config.record_key_fields.iter().chain(&config.partition_fields).map(|name| (name, true));
    for (name, is_key) in keys.chain(table.merge.ordering_fields.iter().map(|name| (name, false))) {
        let path = FieldPath::new(name);
        // A column that is added has no keys, and none is removed.
        let (Some(old), Some(new)) = (path.avro_type(before), path.avro_type(after)) else { continue };
        let is_allowed = match (old, new) {
            (Type::Int, Type::Long) => true,
            (old, new) if is_key => old == new,
            (old, new) => old == new || *new != Type::String,
        };
        if !is_allowed {
            return Err(Error::invalid_argument(format!(
                "column {name:?} is a {} in the rows, but a {} in the table, which has its keys or ordering values in it; cast it before the write",
                number_name(new),
                number_name(old)
            )));
        }
    }
    Ok(())
}

/// The name of a type that columns of numbers have or get.
fn number_name(ty: &Type) -> &'static str {
    match ty {
        Type::Int => "32-bit integer",
        Type::Long => "64-bit integer",
        Type::Float => "float",
        Type::Double => "double",
        Type::String => "string",
        _ => "value of another type",
    }
}
