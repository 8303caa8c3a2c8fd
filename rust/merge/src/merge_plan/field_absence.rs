//! Which values of a table's fields a fold fills from the other record.

use serde_json::Value;

use crate::merge::fold::Absence;
use mortice_avro as avro;

/// When values of a table's fields count as absent.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldAbsence {
    /// Never.
    Never,
    /// If they are null.
    Null,
    /// If they are the default of the field.
    Default {
        /// Whether Java compares the default by object identity: then only booleans and small integers can be equal.
        by_identity: bool,
    },
    /// If they are this string.
    Text(String),
    /// If they are this string, or its UTF-8 bytes.
    TextOrBytes(String),
}

impl FieldAbsence {
    /// When values of one field count as absent.
    pub(super) fn absence_in(&self, field: &avro::Field) -> Absence {
        match self {
            Self::Never => Absence::Never,
            Self::Null => Absence::Null,
            Self::Text(text) => Absence::Text(text.clone()),
            Self::TextOrBytes(text) => Absence::TextOrBytes(text.clone()),
            Self::Default { by_identity } => match &field.default {
                None if *by_identity => Absence::Never,
                None | Some(Value::Null) => Absence::Null,
                Some(Value::Bool(value)) => Absence::Boolean(*value),
                // Java keeps one object for each small integer.
                Some(Value::Number(number)) => match number.as_f64() {
                    Some(value) if !by_identity || number.is_i64() && (-128.0..128.0).contains(&value) => {
                        Absence::Number(value)
                    }
                    _ => Absence::Never,
                },
                Some(_) => Absence::Never,
            },
        }
    }
}
