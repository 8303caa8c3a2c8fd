//! Partition paths of rows, byte-equal to those of Hudi's key generators (`KeyGenUtils.getPartitionPath`,
//! `KeyGenUtils.getRecordPartitionPath`).

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::Schema;

use super::field_path::FieldPath;
use super::key_options::KeyOptions;
use super::partition_path::NULL;
use super::path_check::PathCheck;
use super::path_escape::escape_into;
use super::row_generator::{RowGenerator, kinds_of, partition_kinds};
use super::row_text;
use super::row_times::RowTimes;
use crate::config::TableConfig;
use crate::config::option_names::PARTITION_PATH_FIELD;
use mortice_base::error::{Error, Result};

/// How the partition path of a row is made.
#[derive(Debug, Clone)]
pub(super) struct RowPartitions {
    parts: Vec<PathPart>,
    hive_style: bool,
    encode: bool,
    consistent: bool,
    /// None: only of rows to delete, whose partitions may be there.
    check: Option<PathCheck>,
}

/// The part of one column.
#[derive(Debug, Clone)]
struct PathPart {
    field: FieldPath,
    /// None: the value as text.
    times: Option<RowTimes>,
    /// Whether `-` becomes `/`.
    slashed: bool,
}

impl RowPartitions {
    /// Of a table whose rows have these columns. [`mortice_base::ErrorKind::InvalidArgument`] if one is missing.
    pub(super) fn new(
        config: &TableConfig,
        generator: RowGenerator,
        schema: &Schema,
        options: &KeyOptions,
    ) -> Result<Self> {
        let fields = match generator {
            RowGenerator::NonPartitioned | RowGenerator::GlobalDelete => &[][..],
            _ => config.partition_fields.as_slice(),
        };
        if matches!(generator, RowGenerator::Simple | RowGenerator::Timestamp) && fields.len() != 1 {
            return Err(Error::invalid_table(format!(
                "the table's key generator is for one partition column, but hoodie.table.partition.fields has {}",
                fields.len()
            )));
        }
        let kinds = if generator == RowGenerator::Custom { custom_kinds(config, options)? } else { Vec::new() };
        let mut parts = Vec::with_capacity(fields.len());
        for (at, name) in fields.iter().enumerate() {
            let is_time = generator == RowGenerator::Timestamp || kinds.get(at).is_some_and(|kind| kind == "TIMESTAMP");
            let field = FieldPath::new(name);
            row_text::check_type(name, checked_type(&field, schema)?)?;
            let slashed = config.has_slashed_dates() && (generator != RowGenerator::Complex || fields.len() == 1);
            let times = is_time.then(|| RowTimes::new(config, options)).transpose()?;
            parts.push(PathPart { field, slashed: slashed && !is_time, times });
        }
        let columns = parts.iter().map(|part| part.field.name().to_owned()).collect();
        Ok(Self {
            parts,
            hive_style: config.hive_style_partitioning,
            encode: config.url_encode_partitions,
            consistent: options.consistent,
            check: Some(PathCheck { columns, encodes: config.url_encode_partitions }),
        })
    }

    /// The same, of rows to delete: their paths are looked for, and nothing is written to those that are not there.
    pub(super) fn unchecked(self) -> Self {
        Self { check: None, ..self }
    }

    /// The path of each row. Errors name the row, counted from `first_row`.
    pub(super) fn read(&self, batch: &RecordBatch, first_row: u64) -> Result<StringArray> {
        let strings =
            self.parts.iter().map(|part| self.part_strings(part, batch, first_row)).collect::<Result<Vec<_>>>()?;
        if let [only] = strings.as_slice() {
            let mut checked = None;
            for (at, row) in (0..batch.num_rows()).zip(first_row..) {
                let path = only.segments.value(at);
                // Rows of one partition mostly follow each other.
                if checked != Some((path, only.value(at))) {
                    self.check_path(path, &strings, (at, row))?;
                    checked = Some((path, only.value(at)));
                }
            }
            return Ok(only.segments.clone());
        }
        let mut paths = StringBuilder::with_capacity(batch.num_rows(), 0);
        let (mut path, mut checked) = (String::new(), String::new());
        for (at, row) in (0..batch.num_rows()).zip(first_row..) {
            path.clear();
            for part in &strings {
                if !path.is_empty() {
                    path.push('/');
                }
                path.push_str(part.segments.value(at));
            }
            let is_same = path == checked && at > 0 && strings.iter().all(|part| part.value(at) == part.value(at - 1));
            if !is_same {
                self.check_path(&path, &strings, (at, row))?;
                checked.clone_from(&path);
            }
            paths.append_value(&path);
        }
        Ok(paths.finish())
    }

    fn part_strings(&self, part: &PathPart, batch: &RecordBatch, first_row: u64) -> Result<PartStrings> {
        let name = part.field.name();
        let column = batch.column_by_name(part.field.column()).ok_or_else(|| missing(name))?;
        let values = part.field.values(column)?;
        let mut segments = StringBuilder::with_capacity(batch.num_rows(), 0);
        let mut text = String::new();
        if let Some(times) = &part.times {
            for value in times.strings(name, &values, first_row)? {
                self.write_part(part, Some(&value), &mut text);
                segments.append_value(&text);
            }
            return Ok(PartStrings { segments: segments.finish(), values: None });
        }
        let values = row_text::strings(&values, self.consistent)?;
        let mut written = None;
        for value in &values {
            if written != Some(value) {
                self.write_part(part, value, &mut text);
                written = Some(value);
            }
            segments.append_value(&text);
        }
        Ok(PartStrings { segments: segments.finish(), values: (!part.slashed).then_some(values) })
    }

    fn write_part(&self, part: &PathPart, value: Option<&str>, text: &mut String) {
        text.clear();
        if self.hive_style {
            text.push_str(part.field.name());
            text.push('=');
        }
        match value.filter(|value| !value.is_empty()) {
            None => text.push_str(NULL),
            Some(value) if self.encode => escape_into(value, text),
            Some(value) => text.push_str(value),
        }
        if part.slashed {
            *text = text.replace('-', "/");
        }
    }

    /// Refuses paths that name no folder of their own below the table: another writer would resolve them otherwise. Of
    /// rows that are written also those in which a reader does not find the values.
    fn check_path(&self, path: &str, strings: &[PartStrings], (at, row): (usize, u64)) -> Result<()> {
        if let Some(check) = &self.check {
            let found: Vec<_> = strings.iter().map(|part| part.value(at)).collect();
            return check.check(path, &found, row);
        }
        let is_wrong = |segment: &str| matches!(segment, "" | "." | ".." | ".hoodie");
        if self.parts.is_empty() || !path.split('/').any(is_wrong) {
            return Ok(());
        }
        let names: Vec<&str> = self.parts.iter().map(|part| part.field.name()).collect();
        Err(Error::invalid_argument(format!(
            "row {row}, partition columns {names:?}: the partition path {path:?} has an empty segment, \".\", \"..\" or \".hoodie\", and so no rows"
        )))
    }
}

/// The part of one column in the paths of rows.
struct PartStrings {
    segments: StringArray,
    /// The values that readers find in them; none if the segments have them in another form.
    values: Option<StringArray>,
}

impl PartStrings {
    fn value(&self, at: usize) -> Option<Option<&str>> {
        self.values.as_ref().map(|values| values.is_valid(at).then(|| values.value(at)))
    }
}

/// The type of a field. [`mortice_base::ErrorKind::InvalidArgument`] if the rows do not have it.
pub(super) fn checked_type<'a>(field: &FieldPath, schema: &'a Schema) -> Result<&'a arrow_schema::DataType> {
    field.type_in(schema).ok_or_else(|| {
        let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        Error::invalid_argument(format!(
            "the rows have no column {:?}, which the table's key or partition path needs; they have {columns:?}",
            field.name()
        ))
    })
}

pub(super) fn missing(name: &str) -> Error {
    Error::invalid_argument(format!("a batch has no column {name:?}, which the table's key or partition path needs"))
}

/// `SIMPLE` or `TIMESTAMP` of each partition column: from the table's properties, else from the options (below version
/// 8 tables do not store them).
fn custom_kinds(config: &TableConfig, options: &KeyOptions) -> Result<Vec<String>> {
    let declared = options.partition_fields.as_deref().map(kinds_of).unwrap_or_default();
    let stored = partition_kinds(config);
    let kind = |(at, name): (usize, &String)| {
        let option = declared.iter().find(|(option, _)| option == name).and_then(|(_, kind)| kind.clone());
        let kind = stored.get(at).cloned().flatten().or(option);
        match kind.as_deref() {
            Some("SIMPLE" | "TIMESTAMP") => Ok(kind.unwrap_or_default()),
            Some(other) => Err(Error::invalid_argument(format!(
                "partition column {name:?} of the custom key generator must be of type simple or timestamp, got {other:?}"
            ))),
            None => Err(Error::invalid_argument(format!(
                "the table does not store how its custom key generator makes the path of column {name:?}; set {PARTITION_PATH_FIELD} to a list such as \"{name}:simple\" or \"{name}:timestamp\""
            ))),
        }
    };
    config.partition_fields.iter().enumerate().map(kind).collect()
}
