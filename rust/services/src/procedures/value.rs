//! Values of arguments and of rows.

/// A value of an argument or of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ProcedureValue {
    /// Null.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A 32-bit or a 64-bit integer.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A string.
    Text(String),
}

/// A row of a procedure.
pub type ProcedureRow = Vec<ProcedureValue>;

impl From<bool> for ProcedureValue {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i64> for ProcedureValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for ProcedureValue {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for ProcedureValue {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for ProcedureValue {
    fn from(value: usize) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for ProcedureValue {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<&str> for ProcedureValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for ProcedureValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&String> for ProcedureValue {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl<T: Into<Self>> From<Option<T>> for ProcedureValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}

/// Makes a row of values of any of the types above.
macro_rules! row {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::procedures::value::ProcedureValue::from($value)),*]
    };
}

pub(super) use row;
