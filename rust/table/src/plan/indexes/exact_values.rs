//! The record keys, and the values of other columns, that a filter names.

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};

use crate::metadata_table::indexed_strings;
use crate::plan::open_table::OpenTable;
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_formats::filter::{BoundFilter, Filter, Operator};

/// A filter that names values.
pub(super) struct ExactValues<'a> {
    types: &'a Schema,
    filter: BoundFilter,
}

impl<'a> ExactValues<'a> {
    /// Returns `None` if the filter names no values.
    pub(super) fn new(types: &'a Schema, filter: &Filter) -> Result<Option<Self>> {
        let is_exact = |operator| matches!(operator, Operator::Eq | Operator::In);
        let mut lists = filter.lists().iter();
        if filter.is_empty() || !lists.all(|list| list.iter().any(|term| is_exact(term.operator()))) {
            return Ok(None);
        }
        Ok(Some(Self { types, filter: BoundFilter::bind(filter, types)? }))
    }

    /// The record keys that rows can have.
    pub(super) fn record_keys(&self, table: &OpenTable) -> Option<BTreeSet<String>> {
        let key_field = table.key_field(self.types);
        let columns = [Some(meta_columns::RECORD_KEY), key_field.as_deref()];
        columns.into_iter().flatten().find_map(|column| self.of_path(column))
    }

    /// The values, as strings, that rows can have in a column, or in a field of a struct by its path.
    pub(super) fn of_path(&self, path: &str) -> Option<BTreeSet<String>> {
        let mut parts = path.split('.');
        let (column, field) = self.types.fields().find(parts.next()?)?;
        let (mut kind, mut fields) = (field.data_type(), Vec::new());
        for part in parts {
            let DataType::Struct(inner) = kind else { return None };
            let (at, field) = inner.find(part)?;
            fields.push(at);
            kind = field.data_type();
        }
        let mut values = BTreeSet::new();
        for literals in self.filter.exact_values(column, &fields)? {
            values.extend(strings(&literals)?);
        }
        Some(values)
    }
}

/// The strings of literals, none of which is null.
fn strings(literals: &ArrayRef) -> Option<Vec<String>> {
    let strings = indexed_strings(literals)?;
    (strings.null_count() == 0).then(|| strings.iter().flatten().map(str::to_owned).collect())
}
