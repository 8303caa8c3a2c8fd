//! Which rows of a data block are deletes (`DeleteContext`): `_hoodie_is_deleted` is true, `_hoodie_operation` is `D`
//! or `-U`, or the configured delete field holds its marker. Rows of base files are never deletes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Scalar, StringArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use mortice_base::error::{Error, Result};

/// Columns that may mark a row as deleted; null never does.
#[derive(Debug, Clone, Default)]
pub struct DeleteMarkers {
    /// `_hoodie_is_deleted`.
    pub is_deleted: Option<ArrayRef>,
    /// `_hoodie_operation`.
    pub operation: Option<ArrayRef>,
    /// The delete field that the table's configuration names.
    pub field: Option<ArrayRef>,
    /// The strings in it that mark a delete.
    pub marks: Vec<String>,
}

impl DeleteMarkers {
    /// The marked rows; `None` if there are none.
    pub fn deleted(&self) -> Result<Option<BooleanArray>> {
        let mut all: Option<BooleanBuffer> = None;
        let mut add = |marked: &BooleanArray| {
            let marked = match marked.nulls() {
                Some(there) => marked.values() & there.inner(),
                None => marked.values().clone(),
            };
            all = Some(all.take().map_or_else(|| marked.clone(), |others| &others | &marked));
        };
        // The flag counts only where it is a boolean.
        if let Some(flags) = self.is_deleted.as_ref().filter(|flags| *flags.data_type() == DataType::Boolean) {
            add(flags.as_boolean());
        }
        if let Some(operations) = &self.operation {
            add(&is_text(operations, "D")?);
            add(&is_text(operations, "-U")?);
        }
        if let Some(values) = &self.field {
            for mark in &self.marks {
                add(&is_text(values, mark)?);
            }
        }
        Ok(all.filter(|all| all.count_set_bits() > 0).map(|all| BooleanArray::new(all, None)))
    }
}

fn is_text(values: &ArrayRef, text: &str) -> Result<BooleanArray> {
    let values = match values.data_type() {
        DataType::Utf8 => values.clone(),
        DataType::Boolean | DataType::Int32 | DataType::Int64 => {
            arrow_cast::cast(values, &DataType::Utf8).map_err(failed)?
        }
        other => {
            return Err(Error::unsupported(format!(
                "unsupported type {other} of the delete field (supported: string, int, boolean)"
            )));
        }
    };
    arrow_ord::cmp::eq(&values, &Scalar::new(StringArray::from(vec![text]))).map_err(failed)
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("the delete markers of a log block could not be read").caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int32Array;

    use super::*;

    #[test]
    fn any_mark_deletes_and_null_does_not() {
        let markers = DeleteMarkers {
            is_deleted: Some(Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, None]))),
            operation: Some(Arc::new(StringArray::from(vec![None, Some("D"), Some("U"), Some("-U"), None]))),
            field: Some(Arc::new(Int32Array::from(vec![None, None, Some(1), None, Some(7)]))),
            marks: vec!["7".into(), "8".into()],
        };
        let deleted = markers.deleted().unwrap().unwrap();
        assert_eq!(deleted.iter().map(Option::unwrap).collect::<Vec<_>>(), [true, true, false, true, true]);
    }

    #[test]
    fn no_mark_no_array() {
        assert!(DeleteMarkers::default().deleted().unwrap().is_none());
        let none = BooleanArray::from(vec![None, Some(false)]);
        assert!(DeleteMarkers { is_deleted: Some(Arc::new(none)), ..Default::default() }.deleted().unwrap().is_none());
        let text = DeleteMarkers { is_deleted: Some(Arc::new(StringArray::from(vec!["true"]))), ..Default::default() };
        assert!(text.deleted().unwrap().is_none());
    }
}
