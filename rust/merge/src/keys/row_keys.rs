//! Record keys and partition paths of a user's rows, byte-equal to those of Hudi's key generators.
//!
//! Keys of several fields are `field:value,field:value`, of one field its value; a null part is `__null__`, an empty
//! one `__empty__` (`KeyGenerator.constructRecordKey`). A key of which no part has a value is refused.

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};

use super::field_path::FieldPath;
use super::key_options::KeyOptions;
use super::record_key::RecordKey;
use super::row_generator::RowGenerator;
use super::row_partitions::{RowPartitions, checked_type, missing};
use super::row_text;
use crate::config::TableConfig;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};

/// The part of a key of several fields that is null.
const NULL_PART: &str = "__null__";
/// The part that is empty.
const EMPTY_PART: &str = "__empty__";

/// The record key and the partition path of each row of a batch. Neither is ever null.
#[derive(Debug, Clone, PartialEq)]
pub struct RowKeys {
    /// Record keys.
    pub record_keys: StringArray,
    /// Partition paths; empty strings if the table is not partitioned.
    pub partitions: StringArray,
}

/// Makes the keys of rows of one table.
#[derive(Debug, Clone)]
pub struct RowKeyReader {
    keys: KeySource,
    partitions: PartitionSource,
    consistent: bool,
}

#[derive(Debug, Clone)]
enum KeySource {
    /// Of fields; with or without their names.
    Fields(Vec<FieldPath>, bool),
    /// As readers compute them, where the files hold none.
    Virtual(RecordKey, Vec<String>),
    /// `_hoodie_record_key`.
    Stored,
    /// Generated for a write.
    Generated(Option<(RequestedTime, u32)>),
}

#[derive(Debug, Clone)]
enum PartitionSource {
    Fields(RowPartitions),
    /// `_hoodie_partition_path`.
    Stored,
    /// Not known, and not needed: deletes under a global index.
    Unknown,
}

impl RowKeyReader {
    /// Prepares the keys of rows with these columns.
    ///
    /// If the key or partition columns are absent, `_hoodie_record_key` and `_hoodie_partition_path` of the rows are
    /// taken.
    ///
    /// # Errors
    /// `InvalidArgument` if columns are missing, or if an option contradicts the table; `Unsupported`, by name, for key
    /// generators and types of columns.
    pub fn new(config: &TableConfig, schema: &Schema, options: &KeyOptions) -> Result<Self> {
        Self::with_generator(config, RowGenerator::choose(config, options)?, schema, options)
    }

    fn with_generator(
        config: &TableConfig,
        generator: RowGenerator,
        schema: &Schema,
        options: &KeyOptions,
    ) -> Result<Self> {
        let has = |name: &str| has_text(schema, name);
        let keys = match config.record_key_fields.as_slice() {
            _ if has(meta_columns::RECORD_KEY) && !has_all(schema, &config.record_key_fields) => KeySource::Stored,
            [] => KeySource::Generated(None),
            fields if !config.populate_meta_fields => {
                KeySource::Virtual(RecordKey::new(Some(fields))?, fields.to_vec())
            }
            fields => {
                let is_single = matches!(generator, RowGenerator::Simple | RowGenerator::Timestamp);
                if is_single && fields.len() > 1 {
                    return Err(Error::invalid_table(format!(
                        "the table's key generator is for one key field, but hoodie.table.recordkey.fields has {fields:?}"
                    )));
                }
                let paths = fields.iter().map(|name| FieldPath::new(name)).collect();
                KeySource::Fields(paths, generator.names_fields(config, options)?)
            }
        };
        if let KeySource::Fields(..) | KeySource::Virtual(..) = &keys {
            for field in config.record_key_fields.iter().map(|name| FieldPath::new(name)) {
                row_text::check_type(field.name(), checked_type(&field, schema)?)?;
            }
        }
        let partitions = if has(meta_columns::PARTITION_PATH) && !has_all(schema, &config.partition_fields) {
            PartitionSource::Stored
        } else {
            PartitionSource::Fields(RowPartitions::new(config, generator, schema, options)?)
        };
        Ok(Self { keys, partitions, consistent: options.consistent })
    }

    /// The keys that queried rows have in their meta columns; none if one of the two columns is missing.
    #[must_use]
    pub fn of_meta_columns(schema: &Schema) -> Option<Self> {
        let has_both =
            [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH].iter().all(|name| has_text(schema, name));
        has_both.then_some(Self { keys: KeySource::Stored, partitions: PartitionSource::Stored, consistent: false })
    }

    /// As [`RowKeyReader::new`], for deletes. Rows that have both meta columns are those of a query, and delete the
    /// keys in these. Under a global index the rows need no partition columns, and the partition path of each is empty
    /// then, as the global delete key generator's.
    ///
    /// # Errors
    /// As for `new`; also if the table's keys are generated and the rows have no `_hoodie_record_key`.
    pub fn for_deletes(
        config: &TableConfig,
        schema: &Schema,
        options: &KeyOptions,
        index_is_global: bool,
    ) -> Result<Self> {
        if let Some(stored) = Self::of_meta_columns(schema).filter(|_| config.populate_meta_fields) {
            return Ok(stored);
        }
        let is_located = has_all(schema, &config.partition_fields) || has_text(schema, meta_columns::PARTITION_PATH);
        let reader = if index_is_global && !is_located {
            let unpartitioned = TableConfig { partition_fields: Vec::new(), ..config.clone() };
            let generator = match RowGenerator::choose(config, options)? {
                named @ (RowGenerator::Complex | RowGenerator::GlobalDelete) => named,
                _ => RowGenerator::NonPartitioned,
            };
            let reader = Self::with_generator(&unpartitioned, generator, schema, options)?;
            Self { partitions: PartitionSource::Unknown, ..reader }
        } else {
            Self::new(config, schema, options)?
        };
        let reader = reader.unchecked();
        if matches!(reader.keys, KeySource::Generated(_)) {
            return Err(Error::invalid_argument(format!(
                "the table has no key fields: rows to delete need the columns {} and {}, as a query of the table returns them",
                meta_columns::RECORD_KEY,
                meta_columns::PARTITION_PATH
            )));
        }
        Ok(reader)
    }

    /// The same, which does not check that readers find the values in the partition paths: of rows that are not
    /// written.
    #[must_use]
    pub fn unchecked(self) -> Self {
        match self.partitions {
            PartitionSource::Fields(partitions) => {
                Self { partitions: PartitionSource::Fields(partitions.unchecked()), ..self }
            }
            partitions => Self { partitions, ..self },
        }
    }

    /// Whether keys are generated, since the table has no key fields: [`RowKeyReader::with_instant`] is needed then.
    #[must_use]
    pub fn generates_keys(&self) -> bool {
        matches!(self.keys, KeySource::Generated(_))
    }

    /// The same, for rows that the task `task` of the write `instant` adds: generated keys are
    /// `<instant>_<task>_<row>`.
    #[must_use]
    pub fn with_instant(mut self, instant: &RequestedTime, task: u32) -> Self {
        if let KeySource::Generated(of) = &mut self.keys {
            *of = Some((instant.clone(), task));
        }
        self
    }

    /// The keys of a batch, whose first row is the row `first_row` of the input.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and column, for keys that are null or empty and for partition paths that cannot
    /// be.
    pub fn read(&self, batch: &RecordBatch, first_row: u64) -> Result<RowKeys> {
        let partitions = self.read_partitions(batch, first_row)?;
        Ok(RowKeys { record_keys: self.record_keys(batch, first_row)?, partitions })
    }

    /// The partition paths alone.
    ///
    /// # Errors
    /// As for [`RowKeyReader::read`].
    pub fn read_partitions(&self, batch: &RecordBatch, first_row: u64) -> Result<StringArray> {
        match &self.partitions {
            PartitionSource::Fields(partitions) => partitions.read(batch, first_row),
            PartitionSource::Stored => stored(batch, meta_columns::PARTITION_PATH, first_row, true),
            PartitionSource::Unknown => Ok(std::iter::repeat_n(Some(""), batch.num_rows()).collect()),
        }
    }

    fn record_keys(&self, batch: &RecordBatch, first_row: u64) -> Result<StringArray> {
        match &self.keys {
            KeySource::Stored => stored(batch, meta_columns::RECORD_KEY, first_row, false),
            KeySource::Generated(None) => Err(Error::internal("generated keys without an instant")),
            KeySource::Generated(Some((instant, task))) => {
                let rows = first_row..first_row.saturating_add(batch.num_rows() as u64);
                Ok(rows.map(|row| Some(format!("{instant}_{task}_{row}"))).collect())
            }
            KeySource::Virtual(key, names) => {
                let keys = key.keys_of(batch)?;
                match (0..keys.len()).find(|at| keys.is_null(*at) || keys.value(*at).is_empty()) {
                    None => Ok(keys),
                    Some(at) => Err(no_key(names.iter().map(String::as_str), first_row, at)),
                }
            }
            KeySource::Fields(fields, named) => self.of_fields(fields, *named, batch, first_row),
        }
    }

    fn of_fields(&self, fields: &[FieldPath], named: bool, batch: &RecordBatch, first_row: u64) -> Result<StringArray> {
        let strings = fields.iter().map(|field| {
            let column = batch.column_by_name(field.column()).ok_or_else(|| missing(field.name()))?;
            row_text::strings(&field.values(column)?, self.consistent)
        });
        let strings = strings.collect::<Result<Vec<_>>>()?;
        let has_value = |at: usize| strings.iter().any(|strings| strings.is_valid(at) && !strings.value(at).is_empty());
        if let Some(at) = (0..batch.num_rows()).find(|at| !has_value(*at)) {
            return Err(no_key(fields.iter().map(FieldPath::name), first_row, at));
        }
        match strings.as_slice() {
            [only] if !named => Ok(only.clone()),
            strings => {
                check_unambiguous(fields, strings, first_row)?;
                Ok(joined(fields, strings, batch.num_rows()))
            }
        }
    }
}

/// Refuses values that would give rows of different values the same key: keys do not escape their parts. A part ends
/// where the name of the next one begins, so that it is the next name alone that it cannot have.
fn check_unambiguous(fields: &[FieldPath], strings: &[StringArray], first_row: u64) -> Result<()> {
    let next = fields.iter().skip(1).map(|field| Some(format!(",{}:", field.name()))).chain([None]);
    for ((field, strings), next) in fields.iter().zip(strings).zip(next) {
        for (at, value) in strings.iter().enumerate() {
            let Some(value) = value else { continue };
            let reason = match &next {
                _ if matches!(value, NULL_PART | EMPTY_PART) => "it stands for a null or empty value there".to_owned(),
                Some(next) if value.contains(next.as_str()) => format!("{next:?} begins the next part of the key"),
                _ => continue,
            };
            let (row, name) = (first_row.saturating_add(at as u64), field.name());
            return Err(Error::invalid_argument(format!(
                "row {row}, column {name:?}: the value {value:?} cannot be in a record key of several columns: {reason}; change the value"
            )));
        }
    }
    Ok(())
}

fn joined(fields: &[FieldPath], strings: &[StringArray], rows: usize) -> StringArray {
    let mut keys = StringBuilder::with_capacity(rows, 0);
    let mut key = String::new();
    for row in 0..rows {
        key.clear();
        for (field, strings) in fields.iter().zip(strings) {
            if !key.is_empty() {
                key.push(',');
            }
            key.push_str(field.name());
            key.push(':');
            key.push_str(match strings.is_valid(row).then(|| strings.value(row)) {
                None => NULL_PART,
                Some("") => EMPTY_PART,
                Some(value) => value,
            });
        }
        keys.append_value(&key);
    }
    keys.finish()
}

fn no_key<'a>(names: impl Iterator<Item = &'a str>, first_row: u64, at: usize) -> Error {
    let (names, row) = (names.collect::<Vec<_>>(), first_row.saturating_add(at as u64));
    let columns = if names.len() == 1 { "column" } else { "columns" };
    Error::invalid_argument(format!(
        "row {row}, {columns} {}: the record key is null or empty; every row needs a key",
        names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
    ))
}

/// Refuses columns of a new table that cannot be in a record key or a partition path.
///
/// # Errors
/// `Unsupported`, naming the column.
pub fn check_key_type(name: &str, kind: &arrow_schema::DataType) -> Result<()> {
    row_text::check_type(name, kind)
}

/// A meta column of the rows, none of it null.
fn stored(batch: &RecordBatch, name: &str, first_row: u64, may_be_empty: bool) -> Result<StringArray> {
    let column = batch.column_by_name(name).ok_or_else(|| missing(name))?;
    let strings = row_text::strings(column, false)?;
    let is_wrong = |at: &usize| strings.is_null(*at) || (!may_be_empty && strings.value(*at).is_empty());
    match (0..strings.len()).find(is_wrong) {
        None => Ok(strings),
        Some(at) => Err(no_key(std::iter::once(name), first_row, at)),
    }
}

fn has_text(schema: &Schema, name: &str) -> bool {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    schema.fields().find(name).is_some_and(|(_, field)| is_text(field.data_type()))
}

fn has_all(schema: &Schema, fields: &[String]) -> bool {
    !fields.is_empty() && fields.iter().all(|name| FieldPath::new(name).type_in(schema).is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Date32Array, Int64Array};

    use super::*;
    use crate::config::Properties;
    use crate::config::WriteOptions;
    use mortice_base::ErrorKind;

    fn config(lines: &str) -> TableConfig {
        let text = format!("hoodie.table.name=t\nhoodie.record.merge.mode=COMMIT_TIME_ORDERING\n{lines}\n");
        TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn rows() -> RecordBatch {
        let strings = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
        RecordBatch::try_from_iter([
            ("id", strings(vec![Some("a"), Some("b,c"), Some("d")])),
            ("sub", strings(vec![Some(""), None, Some("x:y")])),
            ("city", strings(vec![Some("a/b=c"), None, Some("")])),
            ("day", Arc::new(Date32Array::from(vec![19_724, 0, -1])) as ArrayRef),
            ("at", Arc::new(Int64Array::from(vec![Some(1_704_164_645), None, Some(-1)]))),
        ])
        .unwrap()
    }

    fn read(lines: &str, options: &[(&str, &str)]) -> Result<(Vec<String>, Vec<String>)> {
        let options = KeyOptions::resolve(&WriteOptions::resolve(options.iter().copied())?)?;
        let rows = rows();
        let keys = RowKeyReader::new(&config(lines), rows.schema_ref(), &options)?.unchecked().read(&rows, 0)?;
        let strings = |array: &StringArray| array.iter().flatten().map(str::to_owned).collect::<Vec<_>>();
        Ok((strings(&keys.record_keys), strings(&keys.partitions)))
    }

    const V9: &str = "hoodie.table.version=9\nhoodie.table.recordkey.fields=";

    #[test]
    fn keys_by_generator() {
        let keys = |lines: &str| read(lines, &[]).unwrap().0;
        let simple = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.partition.fields=city";
        assert_eq!(keys(&format!("{V9}id\n{simple}")), ["a", "b,c", "d"]);
        assert_eq!(keys(&format!("{V9}id\nhoodie.table.keygenerator.type=NON_PARTITION")), ["a", "b,c", "d"]);
        assert_eq!(keys(&format!("{V9}id\nhoodie.table.keygenerator.type=GLOBAL_DELETE")), ["id:a", "id:b,c", "id:d"]);
        let both = ["id:a,sub:__empty__", "id:b,c,sub:__null__", "id:d,sub:x:y"];
        assert_eq!(keys(&format!("{V9}id,sub\nhoodie.table.keygenerator.type=NON_PARTITION")), both);
        let complex = "hoodie.table.keygenerator.type=COMPLEX\nhoodie.table.partition.fields=city,day";
        assert_eq!(keys(&format!("{V9}id,sub\n{complex}")), both);
        assert_eq!(keys(&format!("{V9}id\n{complex}")), ["id:a", "id:b,c", "id:d"]);
        // Virtual keys have no field names (readers compute them so).
        assert_eq!(keys(&format!("{V9}id\n{complex}\nhoodie.populate.meta.fields=false")), ["a", "b,c", "d"]);
    }

    #[test]
    fn values_that_would_share_a_key_are_refused() {
        let config = config(&format!("{V9}id,sub\nhoodie.table.keygenerator.type=NON_PARTITION"));
        let read = |id: &str, sub: &str| {
            let column = |value: &str| Arc::new(StringArray::from(vec!["x", value])) as ArrayRef;
            let rows = RecordBatch::try_from_iter([("id", column(id)), ("sub", column(sub))]).unwrap();
            RowKeyReader::new(&config, rows.schema_ref(), &KeyOptions::default())?.read(&rows, 6)
        };
        // Both would be `id:a,sub:b,sub:c`.
        for (id, sub) in [("a,sub:b", "c"), ("__null__", "c"), ("a", "__empty__")] {
            let error = read(id, sub).unwrap_err().to_string();
            assert!(error.contains("row 7, column ") && error.contains("of several columns"), "{error}");
        }
        assert_eq!(read("a", "b,sub:c").unwrap().record_keys.value(1), "id:a,sub:b,sub:c");
        assert_eq!(read("a,b:sub:", "c,id:d").unwrap().record_keys.value(1), "id:a,b:sub:,sub:c,id:d");
    }

    #[test]
    fn complex_keys_of_one_field_below_version_9_are_decided_by_an_option() {
        let lines = "hoodie.table.version=8\nhoodie.table.recordkey.fields=id\nhoodie.table.keygenerator.type=COMPLEX\nhoodie.table.partition.fields=city";
        let error = read(lines, &[]).unwrap_err();
        assert!(error.to_string().contains("hoodie.write.complex.keygen.new.encoding"), "{error}");
        let first = |options: &[(&str, &str)]| read(lines, options).unwrap().0.swap_remove(0);
        assert_eq!(first(&[("hoodie.write.complex.keygen.new.encoding", "true")]), "a");
        assert_eq!(first(&[("hoodie.write.complex.keygen.new.encoding", "false")]), "id:a");
        assert_eq!(first(&[("hoodie.write.complex.keygen.validation.enable", "false")]), "id:a");
    }

    #[test]
    fn partition_paths_by_generator() {
        let paths = |lines: &str| read(&format!("{V9}id\n{lines}"), &[]).unwrap().1;
        let simple =
            |more: &str| paths(&format!("hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.partition.fields={more}"));
        let (hive, encode) = (
            "hoodie.datasource.write.hive_style_partitioning=true",
            "hoodie.datasource.write.partitionpath.urlencode=true",
        );
        let null = "__HIVE_DEFAULT_PARTITION__";
        assert_eq!(simple("city"), ["a/b=c", null, null]);
        let hive_null = format!("city={null}");
        assert_eq!(simple(&format!("city\n{hive}\n{encode}")), ["city=a%2Fb%3Dc", &hive_null, &hive_null]);
        assert_eq!(simple("day"), ["2024-01-02", "1970-01-01", "1969-12-31"]);
        let slashed = "hoodie.datasource.write.slash.separated.date.partitioning=true";
        assert_eq!(simple(&format!("day\n{slashed}")), ["2024/01/02", "1970/01/01", "1969/12/31"]);
        let complex = |more: &str| {
            paths(&format!("hoodie.table.keygenerator.type=COMPLEX\nhoodie.table.partition.fields={more}"))
        };
        assert_eq!(complex("day,at")[..2], ["2024-01-02/1704164645".to_owned(), format!("1970-01-01/{null}")]);
        assert_eq!(complex(&format!("day,at\n{hive}"))[0], "day=2024-01-02/at=1704164645");
        // Slashes are for one partition column (`KeyGenUtils.getRecordPartitionPath`).
        assert_eq!(complex(&format!("day,at\n{slashed}"))[0], "2024-01-02/1704164645");
        assert_eq!(paths("hoodie.table.keygenerator.type=NON_PARTITION"), ["", "", ""]);
    }

    #[test]
    fn times_in_partition_paths() {
        let zone = "hoodie.keygen.timebased.timezone=GMT+08:00";
        let time = format!(
            "{V9}id\nhoodie.table.keygenerator.type=TIMESTAMP\nhoodie.table.partition.fields=at\nhoodie.keygen.timebased.timestamp.type=UNIX_TIMESTAMP\nhoodie.keygen.timebased.output.dateformat=yyyy/MM/dd HH\n{zone}"
        );
        assert_eq!(read(&time, &[]).unwrap().1, ["2024/01/02 11", "1970/01/01 08", "1970/01/01 07"]);
        let custom = format!("{V9}id\nhoodie.table.keygenerator.type=CUSTOM\nhoodie.table.partition.fields=");
        let options = [
            ("hoodie.datasource.write.partitionpath.field", "day:simple,at:timestamp"),
            ("hoodie.keygen.timebased.timestamp.type", "SCALAR"),
            ("hoodie.keygen.timebased.output.dateformat", "yyyyMMdd"),
            ("hoodie.keygen.timebased.output.timezone", "UTC"),
        ];
        let by_options = read(&format!("{custom}day,at"), &options).unwrap().1;
        assert_eq!(by_options, ["2024-01-02/20240102", "1970-01-01/19700101", "1969-12-31/19691231"]);
        let stored = format!("{custom}day:SIMPLE,at:TIMESTAMP\nhoodie.keygen.timebased.timestamp.type=SCALAR");
        assert_eq!(read(&stored, &options[2..]).unwrap().1, by_options);
        let error = read(&format!("{custom}day,at"), &[]).unwrap_err().to_string();
        assert!(error.contains("partitionpath.field"), "{error}");
    }

    #[test]
    fn strings_of_times_in_partition_paths() {
        let lines = format!(
            "{V9}id\nhoodie.table.keygenerator.type=TIMESTAMP\nhoodie.table.partition.fields=at\nhoodie.keygen.timebased.timestamp.type=DATE_STRING\nhoodie.keygen.timebased.input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd\nhoodie.keygen.timebased.input.timezone=UTC\nhoodie.keygen.timebased.output.dateformat=yyyy/MM/dd HH\nhoodie.keygen.timebased.output.timezone=UTC"
        );
        let column = |values: Vec<Option<&str>>| {
            let ids: ArrayRef = Arc::new((0..values.len()).map(|at| Some(at.to_string())).collect::<StringArray>());
            RecordBatch::try_from_iter([("id", ids), ("at", Arc::new(StringArray::from(values)) as ArrayRef)]).unwrap()
        };
        let rows = column(vec![Some("2024-01-02T23:00:00-02:00"), Some("2024-01-02"), None]);
        let reader = RowKeyReader::new(&config(&lines), rows.schema_ref(), &KeyOptions::default()).unwrap();
        let paths = reader.read(&rows, 0).unwrap().partitions;
        assert_eq!(paths, StringArray::from(vec!["2024/01/03 01", "2024/01/02 00", "1970/01/01 00"]));
        let error = reader.read(&column(vec![Some("2024-01-02"), Some("x")]), 7).unwrap_err().to_string();
        assert!(error.contains("row 8") && error.contains("\"at\""), "{error}");
    }

    #[test]
    fn what_is_refused() {
        for (lines, options, word) in [
            ("id\nhoodie.table.keygenerator.type=SPARK_SQL", &[][..], "SPARK_SQL"),
            ("id\nhoodie.table.keygenerator.class=org.acme.SimpleKeyGenerator", &[], "org.acme"),
            (
                "id\nhoodie.table.keygenerator.type=NON_PARTITION",
                &[("hoodie.datasource.write.keygenerator.class", "org.apache.hudi.keygen.SimpleKeyGenerator")],
                "keygenerator.class",
            ),
            ("sub\nhoodie.table.keygenerator.type=NON_PARTITION", &[], "row 0, column \"sub\""),
            ("id\nhoodie.table.keygenerator.type=SIMPLE", &[], "one partition column"),
            ("none\nhoodie.table.keygenerator.type=NON_PARTITION", &[], "no column \"none\""),
        ] {
            let error = read(&format!("{V9}{lines}"), options).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let rows = RecordBatch::try_from_iter([
            ("id", Arc::new(StringArray::from(vec!["a"])) as ArrayRef),
            ("p", Arc::new(StringArray::from(vec!["../x"]))),
        ])
        .unwrap();
        let lines = format!("{V9}id\nhoodie.table.keygenerator.type=SIMPLE\nhoodie.table.partition.fields=p");
        let error = RowKeyReader::new(&config(&lines), rows.schema_ref(), &KeyOptions::default())
            .unwrap()
            .read(&rows, 3)
            .unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("row 3"), "{error}");
    }

    #[test]
    fn deletes_under_a_global_index_need_keys_alone() {
        let lines = format!("{V9}id\nhoodie.table.keygenerator.type=COMPLEX\nhoodie.table.partition.fields=city,day");
        let rows = rows().project(&[0]).unwrap();
        let reader = |is_global| {
            RowKeyReader::for_deletes(&config(&lines), rows.schema_ref(), &KeyOptions::default(), is_global)
        };
        let keys = reader(true).unwrap().read(&rows, 0).unwrap();
        assert_eq!((keys.record_keys.value(0), keys.partitions.value(0)), ("id:a", ""));
        assert!(reader(false).is_err());
        let strings = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
        let queried = RecordBatch::try_from_iter([
            (meta_columns::RECORD_KEY, strings("id:a")),
            (meta_columns::PARTITION_PATH, strings("x/2024-01-02")),
            ("id", strings("other")),
        ])
        .unwrap();
        let reader =
            RowKeyReader::for_deletes(&config(&lines), queried.schema_ref(), &KeyOptions::default(), false).unwrap();
        let keys = reader.read(&queried, 0).unwrap();
        assert_eq!((keys.record_keys.value(0), keys.partitions.value(0)), ("id:a", "x/2024-01-02"));
        let generated = RowKeyReader::for_deletes(
            &config("hoodie.table.version=9"),
            rows.schema_ref(),
            &KeyOptions::default(),
            true,
        );
        assert!(generated.unwrap_err().to_string().contains("_hoodie_record_key"));
    }
}
