//! Columns, and fields within them, by their names.

use arrow_schema::{DataType, Schema};

/// Returns the names of a column and of the fields within it, outermost first: `a.b` is a field of the column `a` if
/// there is no column `a.b`, but a column `a`. Without columns to look up, names stay as they are.
pub(super) fn resolved(names: &[String], schema: Option<&Schema>) -> Vec<String> {
    let Some(schema) = schema else { return names.to_vec() };
    let split: Vec<String> = match names {
        [name] => name.split('.').map(str::to_owned).collect(),
        _ => names.to_vec(),
    };
    let whole = split.join(".");
    let has = |name: &str| schema.fields().find(name).is_some();
    if has(&whole) || !split.first().is_some_and(|first| has(first)) { vec![whole] } else { split }
}

/// Returns the type of a column or a field. None if there is none, and if several columns have the name.
pub(super) fn type_at<'s>(path: &[String], schema: &'s Schema) -> Option<&'s DataType> {
    let (first, fields) = path.split_first()?;
    let mut named = schema.fields().iter().filter(|field| field.name() == first);
    let column = named.next().filter(|_| named.next().is_none())?;
    fields.iter().try_fold(column.data_type(), |kind, name| match kind {
        DataType::Struct(inner) => inner.find(name).map(|(_, field)| field.data_type()),
        _ => None,
    })
}
