//! The values that no file may have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema, TimeUnit};

use super::distinct::Distinct;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::{Filter, Literal, Operator};

/// Shorter values are searched for in columns only: bytes are like them by chance.
const LEAST_BYTES: usize = 4;
/// The values that one query asks for.
const MOST_CONSTANTS: usize = 100_000;
const DECIMAL_DIGITS: u8 = 38;

/// The values that no file may have: by column, and as the bytes that they have where they are stored plainly.
pub struct ErasedValues {
    columns: BTreeMap<String, Distinct>,
    strings: Vec<Vec<u8>>,
}

impl ErasedValues {
    /// The values of columns.
    ///
    /// # Errors
    /// `Unsupported` for types that cannot be compared.
    pub fn from_columns(columns: impl IntoIterator<Item = (String, ArrayRef)>) -> Result<Self> {
        let mut values = Self { columns: BTreeMap::new(), strings: Vec::new() };
        for (name, column) in columns {
            values.add(name, column.data_type(), &column)?;
        }
        values.with_strings()
    }

    /// The same, and the constants of the filter that selects the rows.
    ///
    /// Args:
    ///     filter: The filter.
    ///     schema: The columns of the table.
    ///     partitions: The partition columns, whose values other rows share.
    pub(super) fn with_constants(mut self, filter: &Filter, schema: &Schema, partitions: &[String]) -> Result<Self> {
        for term in filter.lists().iter().flatten() {
            let is_equal = matches!(term.operator(), Operator::Eq | Operator::In);
            let column = (is_equal && term.fields().is_empty()).then(|| schema.field_with_name(term.column()).ok());
            let Some(field) = column.flatten().filter(|field| !partitions.contains(field.name())) else { continue };
            for constant in term.literals().iter().filter_map(array_of) {
                self.add(field.name().clone(), field.data_type(), &constant)?;
            }
        }
        self.with_strings()
    }

    /// The same, without the values that other rows have. Record keys stay, as no other row has them.
    ///
    /// `shared` returns those of some values of a column that rows have.
    pub(super) fn without_shared(mut self, shared: impl Fn(&str, &ArrayRef) -> Result<Vec<ArrayRef>>) -> Result<Self> {
        for (name, column) in &mut self.columns {
            let values = column.values()?;
            let mut start = 0;
            while start < values.len() {
                let some = values.slice(start, MOST_CONSTANTS.min(values.len().saturating_sub(start)));
                for found in shared(name, &some)? {
                    column.remove(&found)?;
                }
                start = start.saturating_add(MOST_CONSTANTS);
            }
        }
        self.with_strings()
    }

    /// The columns with their values.
    ///
    /// # Errors
    /// As for [`Self::from_columns`].
    pub fn columns(&self) -> Result<Vec<(String, ArrayRef)>> {
        self.columns.iter().map(|(name, values)| Ok((name.clone(), values.values()?))).collect()
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> usize {
        self.columns.values().map(Distinct::len).fold(0, usize::saturating_add)
    }

    /// The values of each column.
    pub(super) fn by_column(&self) -> impl Iterator<Item = (&str, &Distinct)> {
        self.columns.iter().map(|(name, values)| (name.as_str(), values))
    }

    /// Strings and binary values, in order.
    pub(super) fn strings(&self) -> &[Vec<u8>] {
        &self.strings
    }

    fn add(&mut self, name: String, kind: &DataType, values: &ArrayRef) -> Result<()> {
        let column = match self.columns.entry(name) {
            std::collections::btree_map::Entry::Occupied(column) => column.into_mut(),
            std::collections::btree_map::Entry::Vacant(column) => column.insert(Distinct::of_type(kind)?),
        };
        column.add(values)
    }

    fn with_strings(mut self) -> Result<Self> {
        self.columns.retain(|_, values| values.len() > 0);
        let mut strings = BTreeSet::new();
        for values in self.columns.values().filter(|values| is_text(values.kind())) {
            let bytes = cast(&values.values()?, &DataType::Binary).map_err(unfit)?;
            let bytes = bytes.as_binary::<i32>().iter().flatten();
            strings.extend(bytes.filter(|text| text.len() >= LEAST_BYTES).map(<[u8]>::to_vec));
        }
        self.strings = strings.into_iter().collect();
        Ok(self)
    }
}

/// Whether values of a type are bytes that are found wherever they are stored plainly.
pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// Returns an array of a constant; none of null.
fn array_of(literal: &Literal) -> Option<ArrayRef> {
    Some(match literal {
        Literal::Null => return None,
        Literal::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
        Literal::Int(value) => match i64::try_from(*value) {
            Ok(value) => Arc::new(Int64Array::from(vec![value])),
            Err(_) => Arc::new(Decimal128Array::from(vec![*value]).with_precision_and_scale(DECIMAL_DIGITS, 0).ok()?),
        },
        Literal::Float(value) => Arc::new(Float64Array::from(vec![*value])),
        Literal::Text(value) => Arc::new(StringArray::from(vec![value.as_str()])),
        Literal::Bytes(value) => Arc::new(BinaryArray::from(vec![value.as_slice()])),
        Literal::Decimal { unscaled, scale } => {
            Arc::new(Decimal128Array::from(vec![*unscaled]).with_precision_and_scale(DECIMAL_DIGITS, *scale).ok()?)
        }
        Literal::Date(days) => Arc::new(Date32Array::from(vec![*days])),
        Literal::Timestamp { micros, utc } => {
            let values = TimestampMicrosecondArray::from(vec![*micros]);
            Arc::new(if *utc { values.with_timezone("UTC") } else { values })
        }
    })
}

/// Returns the values of an array, which has no null, as constants of a filter.
pub(super) fn literals_of(values: &ArrayRef) -> Result<Vec<Literal>> {
    let as_type = |kind: DataType| cast(values, &kind).map_err(unfit);
    Ok(match values.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let values = as_type(DataType::Binary)?;
            values.as_binary::<i32>().iter().flatten().map(|value| Literal::Bytes(value.to_vec())).collect()
        }
        DataType::Boolean => values.as_boolean().iter().flatten().map(Literal::Bool).collect(),
        kind if kind.is_integer() => {
            let values = as_type(DataType::Int64)?;
            values.as_primitive::<Int64Type>().iter().flatten().map(|value| Literal::Int(value.into())).collect()
        }
        kind if kind.is_floating() => {
            let values = as_type(DataType::Float64)?;
            values.as_primitive::<Float64Type>().iter().flatten().map(Literal::Float).collect()
        }
        DataType::Date32 => values.as_primitive::<Date32Type>().iter().flatten().map(Literal::Date).collect(),
        DataType::Timestamp(_, zone) => {
            let (utc, values) = (zone.is_some(), as_type(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?);
            let micros = values.as_primitive::<TimestampMicrosecondType>().iter().flatten();
            micros.map(|micros| Literal::Timestamp { micros, utc }).collect()
        }
        DataType::Decimal128(_, scale) => {
            let unscaled = values.as_primitive::<Decimal128Type>().iter().flatten();
            unscaled.map(|unscaled| Literal::Decimal { unscaled, scale: *scale }).collect()
        }
        _ => {
            let values = as_type(DataType::Utf8)?;
            values.as_string::<i32>().iter().flatten().map(|value| Literal::Text(value.to_owned())).collect()
        }
    })
}

fn unfit(error: arrow_schema::ArrowError) -> Error {
    Error::unsupported("values of this type cannot be searched for").caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use mortice_formats::filter::{Filter, Literal, Operator, Term};

    use super::{ErasedValues, literals_of};

    fn strings(values: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn term(column: &str, operator: Operator, literals: Vec<Literal>) -> Term {
        Term::new(column, operator, literals).unwrap()
    }

    #[test]
    fn values_are_distinct_and_short_ones_are_no_texts() {
        let columns =
            [("name".to_owned(), strings(&["Bobby", "Al", "Bobby"])), ("name".to_owned(), strings(&["Cary"]))];
        let erased = ErasedValues::from_columns(columns).unwrap();
        assert_eq!(erased.count(), 3);
        assert_eq!(erased.strings(), [b"Bobby".to_vec(), b"Cary".to_vec()]);
        assert_eq!(&erased.columns().unwrap()[0].1, &strings(&["Al", "Bobby", "Cary"]));
    }

    #[test]
    fn constants_of_equality_are_values_unless_they_are_partitions() {
        let fields = [("id", DataType::Utf8), ("city", DataType::Utf8), ("fare", DataType::Int64)];
        let schema = Schema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec());
        let filter = Filter::any_of(vec![vec![
            term("id", Operator::In, vec![Literal::Text("alice".into()), Literal::Text("bobby".into())]),
            term("city", Operator::Eq, vec![Literal::Text("oslo".into())]),
            term("fare", Operator::Eq, vec![Literal::Int(7)]),
            term("fare", Operator::Gt, vec![Literal::Int(3)]),
        ]]);
        let none = ErasedValues::from_columns([]).unwrap();
        let erased = none.with_constants(&filter, &schema, &["city".to_owned()]).unwrap();
        let fares: ArrayRef = Arc::new(Int64Array::from(vec![7]));
        let expected = [("fare".to_owned(), fares), ("id".to_owned(), strings(&["alice", "bobby"]))];
        assert_eq!(erased.columns().unwrap(), expected);
    }

    #[test]
    fn values_of_other_rows_are_not_searched_for() {
        let erased = ErasedValues::from_columns([("name".to_owned(), strings(&["Alice", "Bobby"]))]).unwrap();
        let erased = erased.without_shared(|_, values| Ok(vec![values.slice(1, 1)])).unwrap();
        assert_eq!(erased.strings(), [b"Alice".to_vec()]);
        assert_eq!(literals_of(&erased.columns().unwrap()[0].1).unwrap(), [Literal::Text("Alice".into())]);
    }
}
