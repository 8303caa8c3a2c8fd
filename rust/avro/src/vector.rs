//! Hudi's VECTOR type: a fixed number of floats, doubles or bytes, stored little-endian in an Avro `fixed` or a parquet
//! `FIXED_LEN_BYTE_ARRAY` (`HoodieSchema.Vector`, `VectorConversionUtils.convertBinaryToVectorArray` of Hudi 1.2).
//!
//! ```text
//! {"type":"fixed","name":"vector_float_4","size":16,
//!  "logicalType":"vector","dimension":4,"elementType":"FLOAT","storageBacking":"FIXED_BYTES"}
//! ```
//! In Arrow a vector is a list, as in Spark, whose schema has the type's name in the field's metadata under
//! [`HUDI_TYPE`].

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, Int8Array, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use mortice_base::error::{Error, ErrorKind, Result};

/// The key in a field's metadata under which Hudi keeps the name of a type that Spark lacks
/// (`HoodieSchema.TYPE_METADATA_FIELD`).
pub const HUDI_TYPE: &str = "hudi_type";

/// The type of a vector's elements (`HoodieSchema.Vector.VectorElementType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorElement {
    /// Four bytes, little-endian.
    Float,
    /// Eight bytes, little-endian.
    Double,
    /// One byte, signed.
    Int8,
}

impl VectorElement {
    /// Parses Hudi's word for it, in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Float, Self::Double, Self::Int8].into_iter().find(|element| element.word().eq_ignore_ascii_case(word))
    }

    fn word(self) -> &'static str {
        match self {
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Int8 => "INT8",
        }
    }

    /// Bytes of an element.
    fn size(self) -> usize {
        match self {
            Self::Float => 4,
            Self::Double => 8,
            Self::Int8 => 1,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Int8 => DataType::Int8,
        }
    }
}

/// Dimension and element type of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorShape {
    dimension: usize,
    element: VectorElement,
}

impl VectorShape {
    /// A shape of at least one element; `None` for none, and where a vector would have 2 GiB or more.
    #[must_use]
    pub fn new(dimension: usize, element: VectorElement) -> Option<Self> {
        let size = dimension.checked_mul(element.size())?;
        (dimension > 0 && i32::try_from(size).is_ok()).then_some(Self { dimension, element })
    }

    /// Parses Hudi's name of the type: `VECTOR(128)`, `VECTOR(128, DOUBLE)` (`HoodieSchema.parseTypeDescriptor`).
    #[must_use]
    pub fn from_descriptor(text: &str) -> Option<Self> {
        let (word, rest) = text.trim().split_once('(')?;
        let inner = rest.strip_suffix(')')?;
        let (dimension, element) = inner.split_once(',').unwrap_or((inner, "FLOAT"));
        let shape = Self::new(dimension.trim().parse().ok()?, VectorElement::parse(element.trim())?);
        shape.filter(|_| word.eq_ignore_ascii_case("VECTOR"))
    }

    /// The shape of an Arrow field that is a vector, from its metadata.
    #[must_use]
    pub fn of_field(field: &Field) -> Option<Self> {
        Self::from_descriptor(field.metadata().get(HUDI_TYPE)?)
    }

    /// Hudi's name of the type (`HoodieSchema.Vector.toTypeDescriptor`): the element type is left out where it is
    /// FLOAT.
    #[must_use]
    pub fn descriptor(self) -> String {
        match self.element {
            VectorElement::Float => format!("VECTOR({})", self.dimension),
            other => format!("VECTOR({}, {})", self.dimension, other.word()),
        }
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dimension(self) -> usize {
        self.dimension
    }

    /// The type of its elements, as Hudi writes it.
    #[must_use]
    pub fn element(self) -> &'static str {
        self.element.word()
    }

    /// The Arrow type of its elements.
    #[must_use]
    pub fn element_type(self) -> DataType {
        self.element.data_type()
    }

    /// Bytes of a vector.
    #[must_use]
    pub fn size(self) -> usize {
        self.dimension.saturating_mul(self.element.size())
    }

    /// The Arrow type: a list of nullable `element`, as all lists of a table.
    #[must_use]
    pub fn data_type(self) -> DataType {
        DataType::List(Arc::new(Field::new("element", self.element.data_type(), true)))
    }

    /// The list array of stored vectors that follow each other, those of null rows left out.
    ///
    /// # Errors
    /// `InvalidTable` where the bytes are not those of as many vectors as there are valid rows; `MemoryLimit` for more
    /// than 2^31 elements.
    pub fn lists(self, bytes: &[u8], rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let vectors = rows.saturating_sub(nulls.as_ref().map_or(0, NullBuffer::null_count));
        if vectors.checked_mul(self.size()) != Some(bytes.len()) {
            let message = format!("{} bytes where there should be {vectors} of {}", bytes.len(), self.descriptor());
            return Err(Error::invalid_table(message));
        }
        if i32::try_from(bytes.len() / self.element.size()).is_err() {
            let message = "more than 2^31 elements of vectors in one batch of a column; ask for fewer rows";
            return Err(Error::new(ErrorKind::MemoryLimit, message));
        }
        let lengths = (0..rows).map(|row| {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if is_null { 0 } else { self.dimension }
        });
        let offsets = OffsetBuffer::from_lengths(lengths);
        let DataType::List(item) = self.data_type() else {
            return Err(Error::invalid_table("invalid vector: its Arrow type is not a list"));
        };
        ListArray::try_new(item, offsets, self.elements(bytes), nulls)
            .map(|lists| Arc::new(lists) as ArrayRef)
            .map_err(|error| Error::invalid_table(format!("invalid column of {}", self.descriptor())).caused_by(error))
    }

    /// The stored form of vectors: little-endian, of a fixed size.
    ///
    /// # Errors
    /// Where a list is no vector of this shape.
    pub fn stored(self, lists: &ListArray) -> Result<ArrayRef, ArrowError> {
        let misfit =
            || ArrowError::InvalidArgumentError(format!("invalid vector: a list that is not {}", self.descriptor()));
        let size = i32::try_from(self.size()).map_err(|_| misfit())?;
        let mut stored = FixedSizeBinaryBuilder::with_capacity(lists.len(), size);
        let mut bytes = Vec::with_capacity(self.size());
        for vector in lists.iter() {
            match vector {
                Some(vector) => {
                    bytes.clear();
                    self.write(vector.as_ref(), &mut bytes).ok_or_else(misfit)?;
                    stored.append_value(&bytes)?;
                }
                None => stored.append_null(),
            }
        }
        Ok(Arc::new(stored.finish()))
    }

    /// Appends the stored bytes of a vector's elements; `None`, and nothing appended, where they are not of this shape.
    pub(super) fn write(self, elements: &dyn Array, out: &mut Vec<u8>) -> Option<()> {
        if elements.len() != self.dimension || elements.null_count() > 0 {
            return None;
        }
        match self.element {
            VectorElement::Float => {
                let values = elements.as_primitive_opt::<Float32Type>()?.values();
                out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
            VectorElement::Double => {
                let values = elements.as_primitive_opt::<Float64Type>()?.values();
                out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
            VectorElement::Int8 => {
                let values = elements.as_primitive_opt::<Int8Type>()?.values();
                out.extend(values.iter().map(|value| value.cast_unsigned()));
            }
        }
        Some(())
    }

    fn elements(self, bytes: &[u8]) -> ArrayRef {
        match self.element {
            VectorElement::Float => {
                let (values, _) = bytes.as_chunks::<4>();
                Arc::new(Float32Array::from_iter_values(values.iter().map(|value| f32::from_le_bytes(*value))))
            }
            VectorElement::Double => {
                let (values, _) = bytes.as_chunks::<8>();
                Arc::new(Float64Array::from_iter_values(values.iter().map(|value| f64::from_le_bytes(*value))))
            }
            VectorElement::Int8 => Arc::new(Int8Array::from_iter_values(bytes.iter().map(|byte| byte.cast_signed()))),
        }
    }
}

/// Whether each list that is not null has as many elements as the shape, and no null among them.
#[must_use]
pub fn are_vectors(lists: &ListArray, shape: VectorShape) -> bool {
    let (offsets, values) = (lists.value_offsets(), lists.values());
    offsets.windows(2).enumerate().all(|(row, ends)| {
        let [from, to] = ends else { return false };
        let length = usize::try_from(to.saturating_sub(*from)).ok();
        let from = usize::try_from(*from).unwrap_or_default();
        lists.is_null(row)
            || length == Some(shape.dimension)
                && (values.null_count() == 0 || values.slice(from, shape.dimension).null_count() == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dimension: usize, element: VectorElement) -> VectorShape {
        VectorShape::new(dimension, element).unwrap()
    }

    #[test]
    fn descriptors_are_hudis() {
        for (text, again) in [
            ("VECTOR(128)", "VECTOR(128)"),
            ("vector( 3 , float )", "VECTOR(3)"),
            ("VECTOR(2,DOUBLE)", "VECTOR(2, DOUBLE)"),
            ("VECTOR(4, INT8)", "VECTOR(4, INT8)"),
        ] {
            assert_eq!(VectorShape::from_descriptor(text).unwrap().descriptor(), again);
        }
        for text in ["BLOB", "VECTOR", "VECTOR()", "VECTOR(0)", "VECTOR(-1)", "VECTOR(3, INT)", "VECTOR(3", "X(3)"] {
            assert_eq!(VectorShape::from_descriptor(text), None, "{text}");
        }
        assert_eq!(VectorShape::new(1 << 29, VectorElement::Float), None);
    }

    #[test]
    fn bytes_become_lists() {
        let nulls = Some(NullBuffer::from(vec![true, false, true]));
        let bytes: Vec<u8> = [1.5_f32, f32::NAN, -0.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let lists = shape(2, VectorElement::Float).lists(&bytes, 3, nulls).unwrap();
        let lists = lists.as_list::<i32>();
        assert!(lists.is_null(1) && lists.value(1).is_empty());
        assert_eq!(lists.value(0).as_primitive::<Float32Type>().value(0), 1.5);
        assert!(lists.value(0).as_primitive::<Float32Type>().value(1).is_nan());
        assert_eq!(lists.value(2).as_primitive::<Float32Type>().values().as_ref(), [-0.0, 3.0]);
        let doubles = shape(1, VectorElement::Double).lists(&0.1_f64.to_le_bytes(), 1, None).unwrap();
        assert_eq!(doubles.as_list::<i32>().values().as_primitive::<Float64Type>().values().as_ref(), [0.1]);
        let bytes = shape(2, VectorElement::Int8).lists(&[0x80, 0x7f], 1, None).unwrap();
        assert_eq!(bytes.as_list::<i32>().values().as_primitive::<Int8Type>().values().as_ref(), [-128, 127]);
    }

    #[test]
    fn other_numbers_of_bytes_are_an_error() {
        let error = shape(2, VectorElement::Float).lists(&[0; 12], 2, None).unwrap_err();
        assert!(error.to_string().contains("VECTOR(2)"), "{error}");
    }
}
