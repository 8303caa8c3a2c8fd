//! A base file whose columns may differ from the table's in the case of their names (`CaseNames`). They are read under
//! the file's names and returned under the table's, nested fields too.

use arrow_schema::{DataType, Fields};

use super::reader::BaseFile;
use super::renamed::renamed;
use mortice_avro::{Schema, name_trees};
use mortice_base::error::Result;
use mortice_base::names::{CaseNames, NameTree};

/// The file with its columns under the table's names, and with the types that the table says (`correct_types`). `table`
/// has all columns, also those that are not read: a column that has its own name in the file is no other column's.
pub(super) fn in_any_case(mut file: Box<dyn BaseFile>, table: &Schema) -> Result<Box<dyn BaseFile>> {
    let fields = file.fields().unwrap_or_else(Fields::empty);
    let names = CaseNames::new(&name_trees(table), &trees(&fields));
    file.correct_types(table, names.names())?;
    Ok(renamed(file, names))
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
