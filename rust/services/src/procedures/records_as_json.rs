//! Records of Arrow columns as `GenericData.toString` of Avro writes them: JSON with a space after `:` and `,`.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;

use mortice_base::error::{Error, Result};

/// Returns each row as a string.
pub(super) fn records_as_json(batch: &RecordBatch) -> Result<Vec<String>> {
    let records = StructArray::from(batch.clone());
    (0..records.len()).map(|row| record(&records, row)).collect()
}

fn record(records: &StructArray, row: usize) -> Result<String> {
    let fields = records.fields().iter().zip(records.columns());
    let members = fields.map(|(field, column)| Ok(format!("{}: {}", quoted(field.name()), value(column, row)?)));
    Ok(format!("{{{}}}", members.collect::<Result<Vec<_>>>()?.join(", ")))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(values: &ArrayRef) -> Result<Vec<String>> {
    (0..values.len()).map(|row| value(values, row)).collect()
}

fn value(column: &ArrayRef, row: usize) -> Result<String> {
    if column.is_null(row) {
        return Ok("null".to_owned());
    }
    match column.data_type() {
        DataType::Struct(_) => record(column.as_struct(), row),
        DataType::List(_) => Ok(format!("[{}]", list(&column.as_list::<i32>().value(row))?.join(", "))),
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            let [keys, values] = entries.columns() else {
                return Err(Error::internal("the entries of a map are keys and values"));
            };
            let members = list(keys)?.into_iter().zip(list(values)?);
            let members: Vec<_> = members.map(|(key, value)| format!("{key}: {value}")).collect();
            Ok(format!("{{{}}}", members.join(", ")))
        }
        DataType::Utf8 => Ok(quoted(column.as_string::<i32>().value(row))),
        DataType::Binary => {
            // Avro writes a byte as the character of its number.
            let text: String = column.as_binary::<i32>().value(row).iter().map(|byte| char::from(*byte)).collect();
            Ok(quoted(&text))
        }
        _ => shown(column, row),
    }
}

/// Numbers and booleans as they are, all others as strings.
fn shown(column: &ArrayRef, row: usize) -> Result<String> {
    let misfit = |error| Error::unsupported(format!("records of the type {}", column.data_type())).caused_by(error);
    let formatter = ArrayFormatter::try_new(column.as_ref(), &FormatOptions::default()).map_err(misfit)?;
    let text = formatter.value(row).to_string();
    let is_plain = column.data_type().is_numeric() || *column.data_type() == DataType::Boolean;
    Ok(if is_plain { text } else { quoted(&text) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Float64Array, Int32Array, StringArray};

    use super::*;

    #[test]
    fn records_are_json_with_spaces() {
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
            ("name", Arc::new(StringArray::from(vec!["a\"b", "é"]))),
            ("fare", Arc::new(Float64Array::from(vec![11.5, 2.0]))),
            ("live", Arc::new(BooleanArray::from(vec![true, false]))),
        ])
        .unwrap();
        assert_eq!(
            records_as_json(&batch).unwrap(),
            [
                r#"{"id": 1, "name": "a\"b", "fare": 11.5, "live": true}"#,
                r#"{"id": null, "name": "é", "fare": 2.0, "live": false}"#,
            ]
        );
    }
}
