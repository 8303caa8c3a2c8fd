//! The values that columns get, checked against the table.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{FieldRef, Schema};

use super::clauses::NewValue;
use super::sides::no_rows;
use mortice_base::error::{Error, Result};
use mortice_expr::{Batches, Expression, Sides, quoted};

/// Columns, and the expressions that they get.
#[derive(Debug, Clone, Default)]
pub(super) struct Assignments(Vec<(FieldRef, Expression)>);

impl Assignments {
    /// The values of columns of a table, by expressions over the columns of some sides.
    pub(super) fn new(values: &[(String, NewValue)], columns: &Schema, sides: &Arc<Sides>) -> Result<Self> {
        let empty = no_rows(sides);
        let bound = values.iter().map(|(name, value)| {
            let Some((_, field)) = columns.fields().find(name) else {
                let hint = if name.contains('.') { "; assign the whole struct" } else { "" };
                let name = quoted(name);
                return Err(Error::invalid_argument(format!(
                    "values name {name}, which the table does not have{hint}"
                )));
            };
            let expression = match value {
                NewValue::Expression(text) => {
                    Expression::parse(text, sides).map_err(|error| with_quotes(error, text))?
                }
                NewValue::Constant { value, text } => Expression::constant(Arc::clone(value), text)?,
            };
            expression.assigned(&empty, field)?;
            Ok((Arc::clone(field), expression))
        });
        bound.collect::<Result<_>>().map(Self)
    }

    /// The columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(field, _)| field.name())
    }

    /// The columns of a side that the expressions read.
    pub(super) fn read<'a>(&'a self, side: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().flat_map(move |(_, expression)| expression.names(side))
    }

    /// The new values of rows, in the types of the columns.
    pub(super) fn made(&self, rows: &Batches) -> Result<NewColumns> {
        let made = |(field, expression): &(FieldRef, Expression)| {
            Ok((field.name().clone(), expression.assigned(rows, field)?))
        };
        self.0.iter().map(made).collect::<Result<_>>().map(NewColumns)
    }
}

/// Adds to the error of an expression that is only words how the string itself is written.
fn with_quotes(error: Error, text: &str) -> Error {
    let is_words = text.chars().any(char::is_alphabetic)
        && text.chars().all(|one| one.is_alphanumeric() || matches!(one, ' ' | '_' | '-'));
    if !is_words {
        return error;
    }
    let hint = format!("a value is an expression: the string itself is written \"'{text}'\"");
    Error::new(error.kind(), format!("{}; {hint}", error.text()))
}

/// Columns with new values.
#[derive(Debug, Default)]
pub(super) struct NewColumns(Vec<(String, ArrayRef)>);

impl NewColumns {
    /// The new values of a column; none if it has none.
    pub(super) fn get(&self, name: &str) -> Option<&ArrayRef> {
        self.0.iter().find(|(column, _)| column == name).map(|(_, values)| values)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Float64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};

    use super::super::sides::{TARGET, alone, sides_of};
    use super::super::testing::{batch, expressions};
    use super::*;

    #[test]
    fn columns_get_expressions_and_constants() {
        let rows = batch(&[("a", "x", 1.0, 1), ("b", "y", 2.0, 2)]);
        let sides = sides_of([(TARGET, rows.schema())]);
        let mut values = expressions(&[("ts", "ts + 1")]);
        let constant = NewValue::Constant { value: Arc::new(Float64Array::from(vec![7.5])), text: "7.5".into() };
        values.push(("fare".into(), constant));
        let assignments = Assignments::new(&values, &rows.schema(), &sides).unwrap();
        assert_eq!(assignments.names().collect::<Vec<_>>(), ["ts", "fare"]);
        assert_eq!(assignments.read(TARGET).collect::<Vec<_>>(), ["ts"]);
        let made = assignments.made(&alone(TARGET, rows.clone())).unwrap();
        assert_eq!(made.get("ts").unwrap().as_primitive::<Int64Type>().values().to_vec(), [2, 3]);
        assert_eq!(made.get("fare").unwrap().as_primitive::<Float64Type>().values().to_vec(), [7.5, 7.5]);
        assert!(made.get("id").is_none());
        let refused = |values: &[(&str, &str)]| {
            Assignments::new(&expressions(values), &rows.schema(), &sides).unwrap_err().text()
        };
        assert_eq!(
            refused(&[("a.b", "1")]),
            "values name 'a.b', which the table does not have; assign the whole struct"
        );
        let said = refused(&[("id", "rome")]);
        assert!(said.ends_with("; a value is an expression: the string itself is written \"'rome'\""), "{said}");
        assert!(refused(&[("ts", "s.ts")]).contains("names 's', which is no column"));
        assert!(refused(&[("ts", "id")]).starts_with("column 'ts' is int64, and the value string"));
    }
}
