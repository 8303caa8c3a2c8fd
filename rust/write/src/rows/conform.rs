//! A user's columns in the types of the table.
//!
//! A value is taken over only if the table's type holds it unchanged: numbers by their values, other text and binary
//! layouts, dictionaries, other units of time as far as nothing is cut off, decimals. Fields of structs are matched by
//! name.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::evolve::widens;
use super::exact_cast::{cast_layout, exact, may_hold, nulls_only, unfit};
use super::value_place::{ValuePlace, row_of_item, row_of_valid};
use mortice_base::error::{Error, Result};
use mortice_base::trusted::with_short_offsets;

/// The columns of a schema, from a batch. Nullable columns that the batch lacks are null.
pub(crate) fn conformed(batch: &RecordBatch, schema: &SchemaRef, first_row: u64) -> Result<RecordBatch> {
    let column = |field: &FieldRef| {
        Ok(match batch.column_by_name(field.name()) {
            Some(column) => Rules::WRITTEN.conform(column, field, ValuePlace::column(field.name(), first_row))?,
            None => new_null_array(field.data_type(), batch.num_rows()),
        })
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| Error::internal("conformed columns do not fit their schema").caused_by(error))
}

/// The columns of a batch that these fields are in, with no other fields, as the table's. Rows to delete need no more,
/// and may lack what a row of the table must have. Columns that the table does not have stay as they are.
pub(crate) fn conformed_fields(
    batch: &RecordBatch,
    schema: &SchemaRef,
    fields: &[&str],
    first_row: u64,
) -> Result<RecordBatch> {
    let (given, columns) = (batch.schema(), batch.columns());
    let needed = given.fields().iter().zip(columns).filter(|(field, _)| is_on_path(field.name(), fields));
    let conformed = needed.map(|(own, column)| match schema.fields().find(own.name()) {
        Some((_, target)) => {
            let place = ValuePlace::column(own.name(), first_row);
            Ok((own.name().clone(), conform_parts(column, target, fields, place)?))
        }
        None => Ok((own.name().clone(), Arc::clone(column))),
    });
    let (names, columns): (Vec<_>, Vec<_>) = conformed.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let fields =
        names.into_iter().zip(&columns).map(|(name, column)| Field::new(name, column.data_type().clone(), true));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns, &options)
        .map_err(|error| Error::internal("conformed key columns").caused_by(error))
}

/// Whether a field is one of these, or one of these is in it.
fn is_on_path(path: &str, fields: &[&str]) -> bool {
    fields.iter().any(|field| field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

fn conform_parts(column: &ArrayRef, target: &Field, fields: &[&str], place: ValuePlace<'_>) -> Result<ArrayRef> {
    use DataType::{Int32, Int64, Struct, UInt32, UInt64};
    match (column.data_type(), target.data_type()) {
        // The text of a number is the same; larger ones are no keys of the table.
        (Int64 | UInt32 | UInt64, Int32) => Ok(Arc::clone(column)),
        (Struct(own), Struct(targets)) => {
            let given = column.as_struct();
            let mut children: Vec<(FieldRef, ArrayRef)> = Vec::new();
            for (field, child) in own.iter().zip(given.columns()) {
                let path = format!("{}.{}", place.path(), field.name());
                let Some((_, target)) = targets.find(field.name()).filter(|_| is_on_path(&path, fields)) else {
                    continue;
                };
                let child = conform_parts(child, target, fields, place.field(&path))?;
                children.push((Arc::new(Field::new(field.name(), child.data_type().clone(), true)), child));
            }
            let (fields, children): (Vec<_>, Vec<_>) = children.into_iter().unzip();
            StructArray::try_new_with_length(fields.into(), children, given.nulls().cloned(), given.len())
                .map(|array| Arc::new(array) as ArrayRef)
                .map_err(|error| unfit(place.path(), error))
        }
        _ => Rules { can_evolve: false, ..Rules::WRITTEN }.conform(column, target, place),
    }
}

/// What is taken over besides columns that the table's types hold.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Whether nullable fields of structs that the rows lack are null.
    pub fills: bool,
    /// Whether the write could change the table's columns, if it were asked for: an error says how.
    pub can_evolve: bool,
}

impl Rules {
    /// Of rows that are written: the table's columns have what was added to them, and have fields that the rows lack
    /// only where they are to be null.
    const WRITTEN: Self = Self { fills: true, can_evolve: true };

    /// A column as the table's.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row, column and value, for a value that the table's type does not hold exactly.
    pub fn conform(self, column: &ArrayRef, target: &Field, place: ValuePlace<'_>) -> Result<ArrayRef> {
        let (from, to) = (column.data_type(), target.data_type());
        if from.equals_datatype(to) && from == to {
            return Ok(Arc::clone(column));
        }
        match (from, to) {
            (DataType::Null, _) => Ok(new_null_array(to, column.len())),
            (DataType::Dictionary(_, values), _) => {
                let plain = cast_layout(column, values, place.path())?;
                self.conform(&plain, target, place)
            }
            (DataType::Struct(_), DataType::Struct(fields)) => self.conform_struct(column.as_struct(), fields, place),
            (DataType::List(_), DataType::List(item)) => self.conform_list(column.as_list::<i32>(), item, place),
            (DataType::LargeList(_) | DataType::FixedSizeList(..), DataType::List(item)) => {
                let plain = DataType::List(Arc::new(item_of(from, item)));
                self.conform_list(cast_layout(column, &plain, place.path())?.as_list::<i32>(), item, place)
            }
            (DataType::Map(..), DataType::Map(entries, sorted)) => {
                self.conform_map(column.as_map(), entries, *sorted, place)
            }
            // Offsets of a slice may begin anywhere.
            (DataType::LargeUtf8, DataType::Utf8) => match with_short_offsets(column.as_string::<i64>()) {
                Some(strings) => Ok(Arc::new(strings)),
                None => cast_layout(column, to, place.path()),
            },
            _ if may_hold(to, from) => exact(column, to, place),
            _ => nulls_only(column, to, place, self.hint(from, to)),
        }
    }

    fn hint(self, from: &DataType, to: &DataType) -> &'static str {
        if self.can_evolve && widens(to, from) {
            ", or write with schema=\"evolve\", which changes the type of the column"
        } else {
            ""
        }
    }

    fn conform_struct(
        self,
        column: &StructArray,
        fields: &arrow_schema::Fields,
        place: ValuePlace<'_>,
    ) -> Result<ArrayRef> {
        let path = place.path();
        if let Some(unknown) = column.fields().iter().find(|own| fields.find(own.name()).is_none()) {
            return Err(Error::invalid_argument(format!(
                "column {path:?} has a field {:?} that the table's does not have; new fields within structs are not added",
                unknown.name()
            )));
        }
        let row_of = row_of_valid(column, |at| place.row(at));
        let child = |field: &FieldRef| match column.column_by_name(field.name()) {
            Some(child) => self.conform(child, field, place.nested(&format!("{path}.{}", field.name()), &row_of)),
            None if field.is_nullable() && self.fills => Ok(new_null_array(field.data_type(), column.len())),
            None => Err(Error::invalid_argument(format!("column {path:?} lacks the field {:?}", field.name()))),
        };
        let children = fields.iter().map(child).collect::<Result<Vec<_>>>()?;
        let len = column.len();
        StructArray::try_new_with_length(fields.clone(), children, column.nulls().cloned(), len)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| unfit(path, error))
    }

    fn conform_list(self, column: &GenericListArray<i32>, item: &FieldRef, place: ValuePlace<'_>) -> Result<ArrayRef> {
        let path = place.path();
        let row_of_list = row_of_valid(column, |at| place.row(at));
        let row_of = row_of_item(column.offsets(), &row_of_list);
        let values = self.conform(column.values(), item, place.nested(&format!("{path}.{}", item.name()), &row_of))?;
        GenericListArray::<i32>::try_new(Arc::clone(item), column.offsets().clone(), values, column.nulls().cloned())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| unfit(path, error))
    }

    fn conform_map(
        self,
        column: &MapArray,
        entries: &FieldRef,
        sorted: bool,
        place: ValuePlace<'_>,
    ) -> Result<ArrayRef> {
        let path = place.path();
        let DataType::Struct(fields) = entries.data_type() else {
            return Err(Error::internal("the entries of a map are no struct"));
        };
        let row_of_map = row_of_valid(column, |at| place.row(at));
        let row_of = row_of_item(column.offsets(), &row_of_map);
        let pairs = fields.iter().zip([column.keys(), column.values()]);
        let children = pairs
            .map(|(field, child)| {
                self.conform(child, field, place.nested(&format!("{path}.{}", field.name()), &row_of))
            })
            .collect::<Result<Vec<_>>>()?;
        let children = StructArray::try_new(fields.clone(), children, None).map_err(|error| unfit(path, error))?;
        MapArray::try_new(Arc::clone(entries), column.offsets().clone(), children, column.nulls().cloned(), sorted)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| unfit(path, error))
    }
}

fn item_of(list: &DataType, table_item: &Field) -> Field {
    match list {
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => item.as_ref().clone(),
        _ => table_item.clone(),
    }
}
