//! The columns that the names of an expression stand for.

use arrow_schema::{DataType, Schema, SchemaRef};
use mortice_base::names::nearest_name;
use mortice_base::{Error, Result};

use crate::kinds::type_name;
use crate::text::{ExpressionText, quoted};
use crate::tree::{ColumnNode, Node};

const MOST_LISTED: usize = 20;

/// The columns of one or two sides, such as the rows of a table and those that are merged into it.
#[derive(Debug, Clone, Default)]
pub struct Sides {
    /// The schema of each side, by its name, in order.
    pub schemas: Vec<(String, SchemaRef)>,
    /// Other names of the sides, in lower case, with the side of each.
    pub aliases: Vec<(String, String)>,
}

impl Sides {
    /// Returns the columns of a side.
    #[must_use]
    pub fn schema(&self, side: &str) -> Option<&SchemaRef> {
        self.schemas.iter().find(|(name, _)| name == side).map(|(_, schema)| schema)
    }

    /// Looks up the columns of a tree. `InvalidArgument` for a name of none, or of one on each side.
    pub(crate) fn bind(&self, node: &mut Node, text: &ExpressionText) -> Result<()> {
        if let Node::Column(column) = node {
            *column = self.find(column, text)?;
        }
        node.children_mut().into_iter().try_for_each(|child| self.bind(child, text))
    }

    /// The first alias of a side.
    fn short_name<'a>(&'a self, side: &'a str) -> &'a str {
        self.aliases.iter().find(|(_, of)| of == side).map_or(side, |(alias, _)| alias)
    }

    fn find(&self, column: &ColumnNode, text: &ExpressionText) -> Result<ColumnNode> {
        let Some((first, fields)) = column.path.split_first() else {
            return Err(Error::internal("a column has a name"));
        };
        let alias = first.to_lowercase();
        let by_alias = self.aliases.iter().find(|(name, _)| *name == alias).map(|(_, side)| side);
        if let Some((side, schema)) = by_alias.and_then(|side| Some((side, self.schema(side)?)))
            && !fields.is_empty()
        {
            let found = ColumnNode { side: side.clone(), path: fields.to_vec(), at: column.at };
            return checked(found, schema, text);
        }
        let having: Vec<_> = self.schemas.iter().filter(|(_, schema)| schema.index_of(first).is_ok()).collect();
        match having.as_slice() {
            [(side, schema)] => {
                checked(ColumnNode { side: side.clone(), path: column.path.clone(), at: column.at }, schema, text)
            }
            [] => {
                let schemas = self.schemas.iter().map(|(_, schema)| schema.as_ref());
                Err(unknown(first, &schemas.collect::<Vec<_>>(), text, column.at))
            }
            _ => {
                let names: Vec<_> =
                    self.schemas.iter().map(|(side, _)| format!("{}.{first}", self.short_name(side))).collect();
                let what = format!("names {}, which both sides have, so write {}:", quoted(first), names.join(" or "));
                Err(text.refused(column.at, &what))
            }
        }
    }
}

fn checked(column: ColumnNode, schema: &Schema, text: &ExpressionText) -> Result<ColumnNode> {
    let Some((first, fields)) = column.path.split_first() else {
        return Err(Error::internal("a column has a name"));
    };
    let Ok(field) = schema.field_with_name(first) else { return Err(unknown(first, &[schema], text, column.at)) };
    let mut kind = field.data_type();
    for name in fields {
        let inner = match kind {
            DataType::Struct(inner) => inner.find(name),
            _ => None,
        };
        let Some((_, field)) = inner else {
            let (path, kind) = (quoted(&column.path.join(".")), type_name(kind));
            let what = format!("names {path}, where {kind} has no field {},", quoted(name));
            return Err(text.refused(column.at, &what));
        };
        kind = field.data_type();
    }
    Ok(column)
}

fn unknown(name: &str, schemas: &[&Schema], text: &ExpressionText, at: usize) -> Error {
    let known: Vec<&str> =
        schemas.iter().flat_map(|schema| schema.fields()).map(|field| field.name().as_str()).collect();
    let hint = nearest_name(name, known.iter().copied())
        .map_or_else(|| listed(&known), |near| format!(" (did you mean {}?)", quoted(near)));
    text.refused(at, &format!("names {}, which is no column{hint},", quoted(name)))
}

fn listed(known: &[&str]) -> String {
    let more = match known.len().saturating_sub(MOST_LISTED) {
        0 => String::new(),
        more if more < 1_000 => format!(" and {more} more"),
        more => format!(" and {},{:03} more", more / 1_000, more % 1_000),
    };
    let first: Vec<_> = known.iter().take(MOST_LISTED).copied().collect();
    format!(" (columns: {}{more})", first.join(", "))
}
