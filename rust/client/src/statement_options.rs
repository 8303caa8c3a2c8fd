//! What options say of Spark's statements: which write an `INSERT` is, and the options of `CREATE TABLE`
//! (`ProvidesHoodieConfig` and `HoodieOptionConfig` of Hudi 1.2, tried with it).
//!
//! The session's settings take precedence over the table's, and `hoodie.datasource.write.operation` over
//! `hoodie.spark.sql.insert.into.operation`. `hoodie.sql.insert.mode` is checked and changes no rows, and
//! `hoodie.datasource.write.insert.drop.duplicates` has no effect in SQL.

use std::collections::BTreeMap;

use mortice_base::error::{Error, Result};
use mortice_merge::config::{is_table_property, option_names};

const OPERATION: &str = option_names::OPERATION.name();
const INTO_OPERATION: &str = "hoodie.spark.sql.insert.into.operation";
const POLICY: &str = option_names::DATASOURCE_INSERT_DUP_POLICY.name();
const DROPS: &str = option_names::DATASOURCE_WRITE_INSERT_DROP_DUPLICATES.name();
const MODE: &str = "hoodie.sql.insert.mode";
const BULK: &str = "hoodie.sql.bulk.insert.enable";
const OVERWRITE_MODE: &str = "hoodie.datasource.overwrite.mode";
const COMBINES: &str = option_names::COMBINE_BEFORE_INSERT.name();
const SPARK_OVERWRITE_MODE: &str = "spark.sql.sources.partitionOverwriteMode";
const INSERTS: [&str; 3] = ["insert", "upsert", "bulk_insert"];
const OVERWRITES: [&str; 2] = ["insert_overwrite", "insert_overwrite_table"];

/// The options that say which write an `INSERT` is; the write does not get them.
pub const INSERT_OPTIONS: [&str; 7] = [OPERATION, INTO_OPERATION, POLICY, DROPS, MODE, BULK, OVERWRITE_MODE];
/// What only the session says of an `INSERT`.
pub const INSERT_SETTINGS: [&str; 2] = [COMBINES, SPARK_OVERWRITE_MODE];

/// Options by name.
pub type Options = BTreeMap<String, String>;

/// Returns the operation of an `INSERT`, and the options that its write gets besides those of the table.
///
/// An `INSERT OVERWRITE` that replaces the partitions of its rows alone is an `insert_overwrite`, and else an
/// `insert_overwrite_table`.
///
/// # Errors
/// `InvalidArgument` for values that the options do not have, `Unsupported` for operations that are other statements.
pub fn insert_write(session: &Options, table: &Options, overwrites: bool) -> Result<(String, Options)> {
    let policy = InsertPolicy { session, table };
    policy.check_mode()?;
    if overwrites { policy.overwrite() } else { policy.insert() }
}

struct InsertPolicy<'a> {
    session: &'a Options,
    table: &'a Options,
}

impl InsertPolicy<'_> {
    fn session(&self, name: &str) -> Option<&str> {
        self.session.get(name).map(String::as_str)
    }

    fn given(&self, name: &str) -> Option<&str> {
        self.session(name).or_else(|| self.table.get(name).map(String::as_str))
    }

    fn insert(&self) -> Result<(String, Options)> {
        let name = if self.given(OPERATION).is_some() { OPERATION } else { INTO_OPERATION };
        let operation = self.given(name).filter(|operation| !operation.is_empty()).unwrap_or("insert");
        if !INSERTS.contains(&operation) {
            return Err(Error::unsupported(format!(
                "INSERT INTO with {name}={operation}, which would be another statement; it can be {}",
                INSERTS.join(", ")
            )));
        }
        let mut options = self.combined();
        let Some(policy) = self.given(POLICY) else { return Ok((operation.to_owned(), options)) };
        // An upsert with such a policy is an insert, of which a write warns.
        let is_insert = operation == "upsert" && ["drop", "fail"].contains(&policy.to_lowercase().as_str());
        options.insert(POLICY.to_owned(), policy.to_owned());
        Ok((if is_insert { "insert" } else { operation }.to_owned(), options))
    }

    fn overwrite(&self) -> Result<(String, Options)> {
        if let Some(operation) = self.session(OPERATION).filter(|operation| !OVERWRITES.contains(operation)) {
            return Err(Error::unsupported(format!(
                "INSERT OVERWRITE with {OPERATION}={operation} in the session, which would overwrite nothing; RESET {OPERATION}"
            )));
        }
        let own = self.given(OVERWRITE_MODE).filter(|mode| !mode.is_empty());
        let mode = own.or_else(|| self.session(SPARK_OVERWRITE_MODE)).unwrap_or("static");
        let operation = match mode.to_lowercase().as_str() {
            "dynamic" => "insert_overwrite",
            "static" => "insert_overwrite_table",
            _ => {
                let message = format!("{OVERWRITE_MODE} must be static or dynamic, got '{mode}'");
                return Err(Error::invalid_argument(message));
            }
        };
        Ok((operation.to_owned(), self.combined()))
    }

    fn combined(&self) -> Options {
        self.session(COMBINES).map(|combines| (COMBINES.to_owned(), combines.to_owned())).into_iter().collect()
    }

    fn check_mode(&self) -> Result<()> {
        let Some(mode) = self.given(MODE) else { return Ok(()) };
        let is_strict = match mode.to_lowercase().as_str() {
            "strict" | "upsert" => true,
            "non-strict" => false,
            _ => {
                let message = format!("{MODE} must be upsert, strict or non-strict, got '{mode}'");
                return Err(Error::invalid_argument(message));
            }
        };
        let is_bulk = self.given(BULK).is_some_and(|bulk| bulk.eq_ignore_ascii_case("true"));
        if is_bulk && is_strict && self.given(INTO_OPERATION).is_none() {
            return Err(Error::invalid_argument(format!(
                "{BULK}=true is possible with {MODE}=non-strict only, got '{mode}'"
            )));
        }
        Ok(())
    }
}

const NAME: &str = "hoodie.table.name";
const HIVE_STYLE: &str = option_names::HIVE_STYLE_PARTITIONING.name();
const RECORD_KEY: &str = "hoodie.datasource.write.recordkey.field";
const ORDERING: &str = "hoodie.datasource.write.precombine.field";
const PARTITIONS: &str = option_names::PARTITION_PATH_FIELD.name();
/// Hudi's names of table properties in SQL, in lower case, and the options that they stand for.
const PROPERTIES: [(&str, &str); 7] = [
    ("type", "hoodie.datasource.write.table.type"),
    ("primarykey", RECORD_KEY),
    ("precombinefield", ORDERING),
    ("orderingfields", ORDERING),
    ("payloadclass", "hoodie.datasource.write.payload.class"),
    ("recordmergemode", "hoodie.write.record.merge.mode"),
    ("hoodie.record.merge.mode", "hoodie.write.record.merge.mode"),
];

/// A table as `CREATE TABLE` describes it.
#[derive(Debug, Clone, Copy)]
pub struct NewSqlTable<'a> {
    /// Its name, or its path.
    pub title: &'a str,
    /// The options and properties, without those of the storage.
    pub properties: &'a [(String, String)],
    /// The columns of `PARTITIONED BY`.
    pub partitions: &'a [String],
}

impl NewSqlTable<'_> {
    /// Returns the options of reads and writes that the entry of the catalog keeps, in the order of the statement: what
    /// describes the table is in its properties.
    ///
    /// # Errors
    /// `InvalidArgument` for a property that a table does not have.
    pub fn kept_options(&self) -> Result<Vec<(String, String)>> {
        let is_described = |name: &str| PROPERTIES.iter().any(|(_, option)| *option == name) || name == PARTITIONS;
        let mut kept = Vec::new();
        for (name, value) in self.given()? {
            if !is_described(&name) && !name.starts_with("hoodie.table.") && !is_table_property(&name)? {
                kept.push((name, value));
            }
        }
        Ok(kept)
    }

    /// Returns the options of the write that creates the table. Names of columns get the case of the columns.
    ///
    /// # Errors
    /// Those of [`Self::kept_options`]; `InvalidArgument` for a column that the table does not have.
    pub fn write_options(&self, columns: &[String]) -> Result<Options> {
        let name = self.title.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let mut options = Options::from([
            (NAME.to_owned(), name.chars().map(plain).collect()),
            (HIVE_STYLE.to_owned(), "true".to_owned()),
        ]);
        options.extend(self.given()?);
        options.remove(INTO_OPERATION);
        for name in [RECORD_KEY, ORDERING] {
            if let Some(fields) = options.get_mut(name) {
                *fields = cased(fields.split(','), columns, name)?;
            }
        }
        if !self.partitions.is_empty() {
            let fields = cased(self.partitions.iter().map(String::as_str), columns, "PARTITIONED BY")?;
            options.insert(PARTITIONS.to_owned(), fields);
        }
        Ok(options)
    }

    /// The options of Hudi, of those that the statement gives.
    fn given(&self) -> Result<Vec<(String, String)>> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (name, value) in self.properties {
            let lower = name.to_lowercase();
            let (name, value) = match PROPERTIES.iter().find(|(property, _)| *property == lower) {
                Some((_, option)) => {
                    let value = match value.to_lowercase().as_str() {
                        "cow" if lower == "type" => "COPY_ON_WRITE",
                        "mor" if lower == "type" => "MERGE_ON_READ",
                        _ => value.as_str(),
                    };
                    (*option, value.split(',').map(str::trim).collect::<Vec<_>>().join(","))
                }
                None if lower.starts_with("hoodie.") || lower.starts_with("mortice.") => (name.as_str(), value.clone()),
                None => {
                    return Err(Error::invalid_argument(format!(
                        "{name} is not a property of a table; properties are type, primaryKey, orderingFields, \
                         preCombineField, payloadClass, recordMergeMode, and options that begin with hoodie."
                    )));
                }
            };
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = value,
                None => found.push((name.to_owned(), value)),
            }
        }
        Ok(found)
    }
}

/// Names of columns in the case of the columns; fields of structs stay as they are.
fn cased<'a>(names: impl Iterator<Item = &'a str>, columns: &[String], place: &str) -> Result<String> {
    let mut found = Vec::new();
    for name in names.map(str::trim) {
        let mut same = columns.iter().filter(|column| column.to_lowercase() == name.to_lowercase());
        match (same.next(), same.next()) {
            (Some(column), None) => found.push(column.as_str()),
            (Some(column), Some(_)) if name.contains('.') => found.push(column),
            (None, _) if name.contains('.') => found.push(name),
            _ => {
                let known = columns.join(", ");
                let message = format!("{place} names '{name}', which is not a column; they are {known}");
                return Err(Error::invalid_argument(message));
            }
        }
    }
    Ok(found.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_of_the_session_precede_those_of_the_table() {
        let (session, table) = (options(&[(OPERATION, "upsert")]), options(&[(INTO_OPERATION, "bulk_insert")]));
        assert_eq!(insert_write(&session, &table, false).unwrap(), ("upsert".to_owned(), Options::new()));
        let (operation, _) = insert_write(&Options::new(), &table, false).unwrap();
        assert_eq!(operation, "bulk_insert");
        let table = options(&[(OPERATION, "upsert"), (POLICY, "drop")]);
        let dropping = ("insert".to_owned(), options(&[(POLICY, "drop")]));
        assert_eq!(insert_write(&Options::new(), &table, false).unwrap(), dropping);
        let refused = insert_write(&options(&[(OPERATION, "delete")]), &Options::new(), false);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn overwrites_are_static_unless_a_setting_says_otherwise() {
        let operation = |session: &[(&str, &str)], table: &[(&str, &str)]| {
            insert_write(&options(session), &options(table), true).map(|(operation, _)| operation)
        };
        assert_eq!(operation(&[], &[]).unwrap(), "insert_overwrite_table");
        assert_eq!(operation(&[(SPARK_OVERWRITE_MODE, "DYNAMIC")], &[]).unwrap(), "insert_overwrite");
        let table = [(OVERWRITE_MODE, "static")];
        assert_eq!(operation(&[(SPARK_OVERWRITE_MODE, "dynamic")], &table).unwrap(), "insert_overwrite_table");
        assert_eq!(operation(&[], &[(OVERWRITE_MODE, "some")]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn properties_of_sql_are_options_of_the_write() {
        let properties = [("primaryKey", "ID, Day"), ("type", "mor"), ("hoodie.index.type", "BLOOM")];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let table = NewSqlTable { title: "/lake/my-trips/", properties: &properties, partitions: &["DAY".to_owned()] };
        let made = table.write_options(&["id".to_owned(), "day".to_owned()]).unwrap();
        let expected = [
            (NAME, "my_trips"),
            (HIVE_STYLE, "true"),
            (RECORD_KEY, "id,day"),
            (PARTITIONS, "day"),
            ("hoodie.datasource.write.table.type", "MERGE_ON_READ"),
            ("hoodie.index.type", "BLOOM"),
        ];
        assert_eq!(made, options(&expected));
        assert_eq!(table.kept_options().unwrap(), [("hoodie.index.type".to_owned(), "BLOOM".to_owned())]);
        assert_eq!(table.write_options(&["id".to_owned()]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let properties = [("colour".to_owned(), "red".to_owned())];
        assert!(NewSqlTable { properties: &properties, ..table }.kept_options().is_err());
    }
}
