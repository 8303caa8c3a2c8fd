//! An expression over columns, parsed and with its type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field};
use chrono::Utc;
use mortice_base::{Error, ErrorKind, Result};
use mortice_formats::filter::Term;

use crate::assign::assigned;
use crate::columns::Sides;
use crate::evaluate::{Batches, Value, as_key, decided, evaluate, failed, row_count};
use crate::kinds::{common_type, type_name};
use crate::literals;
use crate::moments::MICROS_OF_DAY;
use crate::parse::parse;
use crate::pushdown::pushed_terms;
use crate::text::{ExpressionText, Grammar, quoted};
use crate::tree::{Call, ColumnNode, Node};

/// An expression over the columns of sides.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    tree: Node,
    kind: DataType,
    sides: Arc<Sides>,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// `InvalidArgument`, with the place in the text, for one that cannot be parsed, names no column, or does not fit
    /// the types of the columns.
    pub fn parse(text: &str, sides: &Arc<Sides>) -> Result<Self> {
        let written = ExpressionText::new(text, Grammar::Expression);
        let mut tree = parse(&written)?;
        sides.bind(&mut tree, &written)?;
        set_time(&mut tree, Utc::now().timestamp_micros())?;
        Self::typed(text.to_owned(), tree, Arc::clone(sides))
    }

    /// Returns the expression of a constant.
    ///
    /// # Errors
    /// `Internal` if the array has not one value.
    pub fn constant(value: ArrayRef, text: &str) -> Result<Self> {
        if value.len() != 1 {
            return Err(Error::internal("a constant is one value"));
        }
        let kind = value.data_type().clone();
        Ok(Self { text: text.to_owned(), tree: Node::Literal(value), kind, sides: Arc::default() })
    }

    fn typed(text: String, tree: Node, sides: Arc<Sides>) -> Result<Self> {
        let mut made = Self { text, tree, kind: DataType::Null, sides };
        let empty = |(side, schema): &(String, _)| (side.clone(), RecordBatch::new_empty(Arc::clone(schema)));
        let batches = made.sides.schemas.iter().map(empty).collect();
        made.kind = made.computed(&batches)?.kind().clone();
        Ok(made)
    }

    /// The type of the values.
    #[must_use]
    pub fn kind(&self) -> &DataType {
        &self.kind
    }

    /// Refuses an expression that is no condition.
    ///
    /// # Errors
    /// `InvalidArgument` for another type than boolean.
    pub fn check_condition(&self) -> Result<()> {
        if matches!(self.kind, DataType::Boolean | DataType::Null) {
            return Ok(());
        }
        let (text, kind) = (quoted(&self.text), type_name(&self.kind));
        Err(Error::invalid_argument(format!("the condition {text} is {kind}, and must be boolean")))
    }

    fn columns(&self) -> Vec<&ColumnNode> {
        let mut found = Vec::new();
        self.tree.columns(&mut found);
        found
    }

    /// Returns the top-level columns of a side that the expression reads.
    #[must_use]
    pub fn names(&self, side: &str) -> Vec<&str> {
        let columns = self.columns().into_iter().filter(|column| column.side == side);
        let mut names: Vec<_> = columns.filter_map(|column| column.path.first()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the side and the name of the column that the expression is; `None` if it is anything else.
    #[must_use]
    pub fn plain_column(&self) -> Option<(&str, &str)> {
        match &self.tree {
            Node::Column(column) => match column.path.as_slice() {
                [name] => Some((&column.side, name)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the conditions that must all be true for the condition to be true.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn conjuncts(&self) -> Result<Vec<Self>> {
        self.tree.conjuncts().into_iter().map(|node| self.part(node)).collect()
    }

    /// Returns the values of two sides whose equality the condition is, in the order of the sides.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn equality(&self, one: &str, other: &str) -> Result<Option<(Self, Self)>> {
        let Node::Call(Call { name: "=", arguments, .. }) = &self.tree else { return Ok(None) };
        let [first, second] = arguments.as_slice() else { return Ok(None) };
        let (first, second) = (self.part(first)?, self.part(second)?);
        if first.reads_only(one) && second.reads_only(other) {
            return Ok(Some((first, second)));
        }
        Ok((first.reads_only(other) && second.reads_only(one)).then_some((second, first)))
    }

    fn reads_only(&self, side: &str) -> bool {
        let columns = self.columns();
        !columns.is_empty() && columns.into_iter().all(|column| column.side == side)
    }

    fn part(&self, node: &Node) -> Result<Self> {
        Self::typed(self.text.clone(), node.clone(), Arc::clone(&self.sides))
    }

    /// Returns the value for each row. Only columns that the expression reads are needed.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that is not defined: an overflow, a division by zero.
    pub fn evaluate(&self, batches: &Batches) -> Result<ArrayRef> {
        self.computed(batches)?.expanded(row_count(batches))
    }

    fn computed(&self, batches: &Batches) -> Result<Value> {
        evaluate(&self.tree, &self.read(batches)?).map_err(|error| self.named(&error))
    }

    /// The columns that are read, which may be a few of many: some are filtered for parts of the expression.
    fn read(&self, batches: &Batches) -> Result<Batches> {
        let project = |(side, batch): (&String, &RecordBatch)| {
            let names = self.names(side);
            let fields = batch.schema_ref().fields().iter().enumerate();
            let kept: Vec<_> =
                fields.filter(|(_, field)| names.contains(&field.name().as_str())).map(|(place, _)| place).collect();
            Ok((side.clone(), batch.project(&kept).map_err(|error| failed(&error))?))
        };
        batches.iter().map(project).collect()
    }

    fn named(&self, error: &Error) -> Error {
        match error.kind() {
            ErrorKind::InvalidArgument => {
                Error::invalid_argument(format!("the expression {}: {}", quoted(&self.text), error.text()))
            }
            _ => Error::new(error.kind(), error.text()),
        }
    }

    /// Returns for each row whether the condition is true, and not null.
    ///
    /// # Errors
    /// Those of `evaluate`.
    pub fn selected(&self, batches: &Batches) -> Result<BooleanArray> {
        let found = decided(&self.computed(batches)?, true).map_err(|error| self.named(&error))?;
        Ok(found.expanded(row_count(batches))?.as_boolean().clone())
    }

    /// Returns the value for each row, in the type of the column that it is assigned to.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the column, for a value that it does not hold exactly; those of `evaluate`.
    pub fn assigned(&self, batches: &Batches, column: &Field) -> Result<ArrayRef> {
        let rows = row_count(batches);
        let value = match &self.tree {
            Node::Literal(value) => Value::constant(value.clone()),
            _ => Value::rows(self.evaluate(batches)?),
        };
        assigned(&value, column)?.expanded(rows)
    }

    /// Returns the value for each row in the type that it has in common with another expression, to be joined with it:
    /// values are equal only if their bytes are.
    ///
    /// # Errors
    /// Those of `evaluate`; `InvalidArgument` if the two have no type in common.
    pub fn key_values(&self, batches: &Batches, other: &Self) -> Result<ArrayRef> {
        let kind = common_type(&self.kind, &other.kind)?;
        as_key(&Value::rows(self.evaluate(batches)?), &kind)
    }

    /// Returns terms of filters that all rows of a side satisfy for which the condition is true.
    #[must_use]
    pub fn pushed_terms(&self, side: &str) -> Vec<Term> {
        let schema = self.sides.schema(side);
        schema.map(|schema| pushed_terms(&self.tree, side, schema)).unwrap_or_default()
    }
}

/// Makes the time a constant: it is the same in all rows.
fn set_time(node: &mut Node, micros: i64) -> Result<()> {
    if let Node::Call(call) = node {
        let value = match call.name {
            "current_timestamp" => Some(literals::timestamp(micros, true)),
            "current_date" => {
                let day = i32::try_from(micros.div_euclid(MICROS_OF_DAY));
                Some(literals::date(day.map_err(|_| Error::internal("the clock is in the range of dates"))?))
            }
            _ => None,
        };
        if let Some(value) = value {
            *node = Node::Literal(value);
        }
    }
    node.children_mut().into_iter().try_for_each(|child| set_time(child, micros))
}
