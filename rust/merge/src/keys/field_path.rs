//! A field of the table, possibly nested in a struct column: `a.b` (`HoodieAvroUtils.getNestedFieldVal`). The field is
//! null if a struct around it is null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, FieldRef, Schema};

use mortice_avro as avro;
use mortice_base::error::{Error, Result};

/// A field, by the names on its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    /// The full path, with dots between the names, as in the table's properties.
    name: String,
    /// The length of the column name.
    column: usize,
}

impl FieldPath {
    /// Parses a path with dots between the names.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), column: name.find('.').unwrap_or(name.len()) }
    }

    /// Returns the full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the column that is the field or contains it.
    pub fn column(&self) -> &str {
        self.name.get(..self.column).unwrap_or_default()
    }

    /// Returns the names below the column.
    fn below(&self) -> impl Iterator<Item = &str> {
        self.name.split('.').skip(1)
    }

    /// Returns the type of the field, `None` if there is no such field.
    pub fn type_in<'a>(&self, types: &'a Schema) -> Option<&'a DataType> {
        let (_, column) = types.fields().find(self.column())?;
        self.below().try_fold(column.data_type(), |kind, name| match kind {
            DataType::Struct(fields) => fields.find(name).map(|(_, field): (usize, &FieldRef)| field.data_type()),
            _ => None,
        })
    }

    /// Returns the Avro type of the field, without null.
    pub fn avro_type<'a>(&self, table: &'a avro::Schema) -> Option<&'a avro::Type> {
        let column = table.field(self.column())?.ty.non_null();
        self.below().try_fold(column, |kind, name| match kind {
            avro::Type::Record(record) => record.field(name).map(|field| field.ty.non_null()),
            _ => None,
        })
    }

    /// Returns the values of the field, from its column.
    pub fn values(&self, column: &ArrayRef) -> Result<ArrayRef> {
        self.below().try_fold(Arc::clone(column), |outer, name| {
            let inner = outer.as_struct_opt().and_then(|outer| Some((outer.column_by_name(name)?, outer.nulls())));
            match inner {
                Some((inner, None)) => Ok(Arc::clone(inner)),
                Some((inner, Some(there))) => null_where(inner, there),
                None => Err(Error::invalid_table(format!("no field {:?} in column {:?}", self.name, self.column()))),
            }
        })
    }
}

/// Returns the values, null also where `there` is null.
fn null_where(values: &ArrayRef, there: &NullBuffer) -> Result<ArrayRef> {
    let absent: BooleanBuffer = !there.inner();
    arrow_select::nullif::nullif(values, &absent.into())
        .map_err(|error| Error::invalid_table("a struct and a field of it do not fit").caused_by(error))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StructArray};
    use arrow_schema::{Field, Fields};

    use super::*;

    #[test]
    fn a_field_of_a_struct_is_null_where_the_struct_is() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None]));
        let fields = Fields::from(vec![Field::new("b", DataType::Int64, true)]);
        let inner = StructArray::new(fields.clone(), vec![values], Some(vec![true, false, true].into()));
        let outer_fields = Fields::from(vec![Field::new("c", DataType::Struct(fields), true)]);
        let outer = StructArray::new(outer_fields.clone(), vec![Arc::new(inner)], None);
        let path = FieldPath::new("a.c.b");
        let found = path.values(&(Arc::new(outer) as ArrayRef)).unwrap();
        assert_eq!(found.as_ref(), &Int64Array::from(vec![Some(1), None, None]) as &dyn Array);

        let types = Schema::new(vec![Field::new("a", DataType::Struct(outer_fields), true)]);
        assert_eq!((path.column(), path.type_in(&types)), ("a", Some(&DataType::Int64)));
        for absent in ["b", "a.b", "a.c.b.d", "a.c.", "a..b"] {
            assert_eq!(FieldPath::new(absent).type_in(&types), None, "{absent}");
        }
        assert!(FieldPath::new("x").type_in(&types).is_none());
    }
}
