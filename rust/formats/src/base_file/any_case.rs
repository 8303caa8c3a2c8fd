//! A base file whose columns may differ from the table's in the case of their names (`CaseNames`). They are read under
//! the file's names and returned under the table's, nested fields too.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, SchemaRef};

use super::reader::{BaseBatches, BaseFile};
use super::renamed::renamed;
use crate::filter::{BoundFilter, ColumnBounds};
use mortice_avro::{Schema, name_trees};
use mortice_base::error::Result;
use mortice_base::names::{CaseNames, NameTree};

/// The file with its columns under the table's names, and with the types that the table says (`correct_types`). `table`
/// has all columns, also those that are not read: a column that has its own name in the file is no other column's.
pub(super) fn in_any_case(mut file: Box<dyn BaseFile>, table: &Schema) -> Result<Box<dyn BaseFile>> {
    let fields = file.fields().unwrap_or_else(Fields::empty);
    let names = CaseNames::new(&name_trees(table), &trees(&fields));
    file.correct_types(table, names.names())?;
    if names.is_identity() {
        return Ok(file);
    }
    let file = renamed(file, names.names());
    Ok(Box::new(AnyCaseFile { file, names: Arc::new(names) }))
}

fn trees(fields: &Fields) -> Vec<NameTree<'_>> {
    fields.iter().map(|field| NameTree { name: field.name(), fields: inside(field.data_type()) }).collect()
}

fn inside(kind: &DataType) -> Vec<NameTree<'_>> {
    match kind {
        DataType::Struct(fields) => trees(fields),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => inside(item.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => pair.get(1).map_or_else(Vec::new, |value| inside(value.data_type())),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A file whose columns are found under the table's names, but for ambiguous ones.
struct AnyCaseFile {
    file: Box<dyn BaseFile>,
    names: Arc<CaseNames>,
}

impl AnyCaseFile {
    fn check(&self, wanted: &SchemaRef) -> Result<()> {
        self.names.check(wanted.fields().iter().map(|field| field.name().as_str()))
    }
}

impl BaseFile for AnyCaseFile {
    fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    fn avro_schema(&self) -> Option<String> {
        self.file.avro_schema()
    }

    fn footer_value(&self, key: &str) -> Option<String> {
        self.file.footer_value(key)
    }

    fn has_column(&self, name: &str) -> bool {
        self.names.is_ambiguous(name) || self.file.has_column(name)
    }

    fn row_groups(&self) -> Vec<u64> {
        self.file.row_groups()
    }

    fn column_bytes(&self, wanted: &SchemaRef) -> Option<Vec<u64>> {
        self.file.column_bytes(wanted)
    }

    fn bounds(&self, wanted: &Field) -> Option<ColumnBounds> {
        if self.names.is_ambiguous(wanted.name()) { None } else { self.file.bounds(wanted) }
    }

    fn again(&self) -> Option<Box<dyn BaseFile>> {
        Some(Box::new(Self { file: self.file.again()?, names: Arc::clone(&self.names) }))
    }

    fn keep_row_groups(&mut self, kept: Range<usize>) {
        self.file.keep_row_groups(kept);
    }

    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64> {
        self.check(wanted)?;
        self.file.prune(wanted, filter)
    }

    fn kept_rows(&self) -> Vec<Range<u64>> {
        self.file.kept_rows()
    }

    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()> {
        self.file.keep_rows(rows)
    }

    fn batches(self: Box<Self>, wanted: &SchemaRef, batch_rows: usize) -> Result<BaseBatches> {
        self.check(wanted)?;
        self.file.batches(wanted, batch_rows)
    }
}
