//! The form in which pyarrow serialises an expression.
//!
//! It is an Arrow file: literals and options of functions are columns, and the calls are the metadata of the schema, in
//! order. They are read from the flatbuffer of the file, as a map of metadata has each key once.

use std::collections::BTreeMap;
use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::root_as_footer;
use mortice_formats::filter::Literal;

use super::values::{literal_at, literals_at};

const MAGIC: &[u8] = b"ARROW1";
/// Levels of calls within calls, which each thread's stack has room for.
const MOST_LEVELS: usize = 500;

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PyarrowNode {
    /// A constant; none for one that no literal is exactly.
    Literal(Option<Literal>),
    /// The names of a column and of fields within it.
    Field(Vec<String>),
    /// A call of a function.
    Call(PyarrowCall),
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PyarrowCall {
    pub(super) name: String,
    pub(super) arguments: Vec<PyarrowNode>,
    pub(super) options: BTreeMap<String, PyarrowOption>,
}

/// The value of an option; none in it for what no literal is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PyarrowOption {
    One(Option<Literal>),
    List(Option<Vec<Literal>>),
}

/// Returns the structure of an expression. None if it is not recognised.
pub(super) fn tree(file: &[u8]) -> Option<PyarrowNode> {
    let batch = FileReader::try_new(Cursor::new(file), None).ok()?.next()?.ok()?;
    // The next item is the last one.
    let mut items = calls(file)?;
    items.reverse();
    let tree = node(&mut items, &batch, 0)?;
    items.is_empty().then_some(tree)
}

/// Returns the metadata of the schema in the footer of an Arrow file, in order and with repeated keys.
fn calls(file: &[u8]) -> Option<Vec<(String, String)>> {
    let (rest, length) = file.strip_suffix(MAGIC)?.split_last_chunk::<4>()?;
    let start = rest.len().checked_sub(usize::try_from(i32::from_le_bytes(*length)).ok()?)?;
    let footer = root_as_footer(rest.get(start..)?).ok()?;
    let pairs = footer.schema()?.custom_metadata()?;
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Some(pairs.iter().map(|pair| (text(pair.key()), text(pair.value()))).collect())
}

fn node(items: &mut Vec<(String, String)>, batch: &RecordBatch, level: usize) -> Option<PyarrowNode> {
    if level > MOST_LEVELS {
        return None;
    }
    let (key, value) = items.pop()?;
    match key.as_str() {
        "literal" => Some(PyarrowNode::Literal(literal_at(column(batch, &value)?, 0))),
        "field_ref" => Some(PyarrowNode::Field(vec![value])),
        "nested_field_ref" => {
            let count: usize = value.parse().ok()?;
            let name = |(key, name): (String, String)| (key == "field_ref").then_some(name);
            let names = (0..count).map(|_| items.pop().and_then(name)).collect::<Option<Vec<_>>>()?;
            (!names.is_empty()).then_some(PyarrowNode::Field(names))
        }
        "call" => {
            let mut call = PyarrowCall { name: value, arguments: Vec::new(), options: BTreeMap::new() };
            loop {
                match items.last()?.0.as_str() {
                    "end" => {
                        items.pop();
                        return Some(PyarrowNode::Call(call));
                    }
                    "options" => call.options = options(column(batch, &items.pop()?.1)?)?,
                    _ => call.arguments.push(node(items, batch, level + 1)?),
                }
            }
        }
        _ => None,
    }
}

fn column<'b>(batch: &'b RecordBatch, number: &str) -> Option<&'b ArrayRef> {
    batch.columns().get(number.parse::<usize>().ok()?)
}

fn options(column: &ArrayRef) -> Option<BTreeMap<String, PyarrowOption>> {
    let parts = column.as_struct_opt()?;
    let option = |values: &ArrayRef| match values.data_type() {
        kind if kind.is_list() => PyarrowOption::List(literals_at(values, 0)),
        _ => PyarrowOption::One(literal_at(values, 0)),
    };
    let named = parts.fields().iter().zip(parts.columns());
    Some(named.map(|(field, values)| (field.name().clone(), option(values))).collect())
}
