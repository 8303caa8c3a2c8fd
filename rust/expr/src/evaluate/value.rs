//! The values of a part of an expression: one for each row, or one for all of them.

use arrow_array::{Array, ArrayRef, BooleanArray, Datum, Scalar, UInt64Array, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;
use mortice_base::{Error, Result};

use crate::kinds::type_name;

/// An array, and whether it is a constant: one value for all rows.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) array: ArrayRef,
    pub(crate) is_constant: bool,
}

/// The error for values that a kernel refuses.
pub(crate) fn failed(error: &ArrowError) -> Error {
    Error::invalid_argument(match error {
        ArrowError::DivideByZero => "divide by zero".to_owned(),
        ArrowError::ArithmeticOverflow(what) => format!("overflow: {what}"),
        ArrowError::CastError(what) | ArrowError::ComputeError(what) | ArrowError::InvalidArgumentError(what) => {
            what.clone()
        }
        other => other.to_string(),
    })
}

impl Value {
    pub(crate) fn rows(array: ArrayRef) -> Self {
        Self { array, is_constant: false }
    }

    pub(crate) fn constant(array: ArrayRef) -> Self {
        Self { array, is_constant: true }
    }

    pub(crate) fn kind(&self) -> &DataType {
        self.array.data_type()
    }

    /// Whether it is a constant that is null.
    pub(crate) fn is_null_constant(&self) -> bool {
        self.is_constant && (self.kind().is_null() || self.array.null_count() > 0)
    }

    /// The same values in another array.
    pub(crate) fn with(&self, array: ArrayRef) -> Self {
        Self { array, is_constant: self.is_constant }
    }

    /// Converts the array.
    pub(crate) fn map(&self, convert: impl FnOnce(&ArrayRef) -> Result<ArrayRef>) -> Result<Self> {
        Ok(self.with(convert(&self.array)?))
    }

    /// Returns the value of each row.
    pub(crate) fn expanded(&self, rows: usize) -> Result<ArrayRef> {
        if !self.is_constant {
            return Ok(self.array.clone());
        }
        if self.array.null_count() > 0 || self.kind().is_null() {
            return Ok(new_null_array(self.kind(), rows));
        }
        take(&self.array, &UInt64Array::from(vec![0; rows]), None).map_err(|error| failed(&error))
    }

    /// A datum for kernels of several operands.
    fn datum(&self, is_constant: bool) -> Box<dyn Datum> {
        if is_constant { Box::new(Scalar::new(self.array.clone())) } else { Box::new(self.array.clone()) }
    }

    /// Calls a kernel with two operands.
    pub(crate) fn call<A: Array + 'static>(
        &self,
        other: &Self,
        kernel: impl FnOnce(&dyn Datum, &dyn Datum) -> std::result::Result<A, ArrowError>,
    ) -> Result<Self> {
        let is_constant = self.is_constant && other.is_constant;
        let one = self.datum(self.is_constant && !is_constant);
        let two = other.datum(other.is_constant && !is_constant);
        let array = kernel(one.as_ref(), two.as_ref()).map_err(|error| failed(&error))?;
        Ok(Self { array: arrow_array::make_array(array.into_data()), is_constant })
    }
}

/// Returns values beside each other, of the same length; true if all of them are constants.
pub(crate) fn aligned(values: &[Value]) -> Result<(Vec<ArrayRef>, bool)> {
    let rows = values.iter().find(|value| !value.is_constant).map(|value| value.array.len());
    let arrays = values.iter().map(|value| value.expanded(rows.unwrap_or(1))).collect::<Result<_>>()?;
    Ok((arrays, rows.is_none()))
}

/// Returns an array as one of a type.
pub(crate) fn downcast<A: 'static>(array: &dyn Array) -> Result<&A> {
    let found = array.as_any().downcast_ref();
    found.ok_or_else(|| Error::internal(format!("an array is {}", type_name(array.data_type()))))
}

/// Returns an array of booleans.
pub(crate) fn booleans(value: &Value) -> Result<&BooleanArray> {
    downcast(&value.array)
}
