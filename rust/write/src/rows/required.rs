//! Nulls where the table's schema requires a value, found before rows are distributed to files: a message has the
//! number that the row has among all rows of the write.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};

use super::value_place::{RowOf, row_of_item, row_of_valid};
use mortice_avro::{Schema, Type};
use mortice_base::error::{Error, Result};

/// Refuses a null in a required column or a required field, at any depth. The columns of the batch are those of the
/// schema. `is_exempt` returns which rows may have such nulls: those that delete their keys, of which no values are
/// written.
pub(crate) fn check_required(
    rows: &RecordBatch,
    columns: &Schema,
    first_row: u64,
    is_exempt: &dyn Fn(usize) -> bool,
) -> Result<()> {
    let row_of = |row: usize| if is_exempt(row) { None } else { Some(row) };
    for (field, column) in columns.fields().iter().zip(rows.columns()) {
        if let Some((row, path)) = missing_value(&field.ty, column, &row_of, &field.name) {
            return Err(Error::invalid_argument(format!(
                "row {}, field {path}: null, but the schema requires a value",
                first_row.saturating_add(row as u64)
            )));
        }
    }
    Ok(())
}

/// The first null that is not allowed, by its row and its path.
fn missing_value(ty: &Type, values: &ArrayRef, row_of: RowOf<'_>, path: &str) -> Option<(usize, String)> {
    if !ty.is_nullable() && values.null_count() > 0 {
        let missing = (0..values.len()).filter(|at| values.is_null(*at)).find_map(row_of);
        if let Some(row) = missing {
            return Some((row, path.to_owned()));
        }
    }
    match ty.non_null() {
        Type::Record(record) => {
            let rows = values.as_struct_opt()?;
            let row_of = row_of_valid(rows, row_of);
            record.fields.iter().find_map(|field| {
                let child = rows.column_by_name(&field.name)?;
                missing_value(&field.ty, child, &row_of, &format!("{path}.{}", field.name))
            })
        }
        Type::Array(item) => {
            let lists = values.as_list_opt::<i32>()?;
            let row_of_list = row_of_valid(lists, row_of);
            let row_of = row_of_item(lists.offsets(), &row_of_list);
            missing_value(item, lists.values(), &row_of, &format!("{path}.element"))
        }
        Type::Map(value) => {
            let maps = values.as_map_opt()?;
            let row_of_map = row_of_valid(maps, row_of);
            let row_of = row_of_item(maps.offsets(), &row_of_map);
            missing_value(value, maps.values(), &row_of, &format!("{path}.value"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, ListArray, StructArray};
    use arrow_schema::{DataType, Field, Fields};

    use super::*;

    fn message(column: ArrayRef, ty: &str, first_row: u64) -> Option<String> {
        let schema = format!(r#"{{"type":"record","name":"r","fields":[{{"name":"v","type":{ty}}}]}}"#);
        let rows = RecordBatch::try_from_iter([("v", column)]).unwrap();
        check_required(&rows, &Schema::parse(&schema).unwrap(), first_row, &|row| row == 9)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn nulls_are_found_with_the_number_of_their_row() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
        assert!(message(Arc::clone(&numbers), r#""int""#, 5).unwrap().contains("row 6, field v: null"));
        assert_eq!(message(Arc::clone(&numbers), r#"["null","int"]"#, 5), None);
        let ninth: ArrayRef = Arc::new((0..11).map(|n| (n != 9).then_some(n)).collect::<Int32Array>());
        assert_eq!(message(ninth, r#""int""#, 0), None);
        let lists = vec![Some(vec![Some(1), Some(2)]), None, Some(vec![]), Some(vec![Some(3), None])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let of_lists = r#"["null",{"type":"array","items":"int"}]"#;
        assert!(message(Arc::clone(&lists), of_lists, 0).unwrap().contains("row 3, field v.element: null"));
        assert!(message(lists.slice(3, 1), of_lists, 7).unwrap().contains("row 7, field v.element"));
        assert_eq!(message(lists.slice(0, 3), of_lists, 0), None);
        let record = r#"["null",{"type":"record","name":"s","fields":[{"name":"a","type":"int"}]}]"#;
        let structs = |valid: Vec<bool>| -> ArrayRef {
            let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
            Arc::new(StructArray::new(fields, vec![Arc::clone(&numbers)], Some(valid.into())))
        };
        assert!(message(structs(vec![true; 3]), record, 0).unwrap().contains("row 1, field v.a: null"));
        assert_eq!(message(structs(vec![true, false, true]), record, 0), None);
    }
}
