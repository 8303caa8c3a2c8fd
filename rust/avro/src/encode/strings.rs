//! Writers of strings and bytes, and of enums and fixed, which are derived from them.

use std::collections::HashMap;

use arrow_array::{
    Array as _, FixedSizeBinaryArray, GenericBinaryArray, GenericStringArray, LargeBinaryArray, LargeListArray,
    LargeStringArray, OffsetSizeTrait,
};

use super::column_writer::{ColumnWriter, RefusedValue, WriteResult};
use crate::binary::{write_bytes, write_long};
use crate::vector::VectorShape;

/// `string`.
pub(super) struct StringWriter<O: OffsetSizeTrait>(pub(super) GenericStringArray<O>);

impl<O: OffsetSizeTrait> ColumnWriter for StringWriter<O> {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        write_bytes(self.0.value(row).as_bytes(), out);
        Ok(())
    }
}

/// `bytes`.
pub(super) struct BytesWriter<O: OffsetSizeTrait>(pub(super) GenericBinaryArray<O>);

impl<O: OffsetSizeTrait> ColumnWriter for BytesWriter<O> {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        write_bytes(self.0.value(row), out);
        Ok(())
    }
}

/// `fixed`, of the size that the type has.
pub(super) struct FixedWriter(pub(super) FixedSizeBinaryArray);

impl ColumnWriter for FixedWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        out.extend_from_slice(self.0.value(row));
        Ok(())
    }
}

/// `fixed` from bytes of any length.
pub(super) struct FixedBinaries {
    pub(super) values: LargeBinaryArray,
    pub(super) size: usize,
    pub(super) path: String,
}

impl ColumnWriter for FixedBinaries {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let value = self.values.value(row);
        if value.len() != self.size {
            return Err(RefusedValue::new(&self.path, format!("{} bytes for a fixed of {}", value.len(), self.size)));
        }
        out.extend_from_slice(value);
        Ok(())
    }
}

/// `fixed` / `vector` from lists.
pub(super) struct VectorWriter {
    pub(super) values: LargeListArray,
    pub(super) shape: VectorShape,
    pub(super) path: String,
}

impl ColumnWriter for VectorWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let value = self.values.value(row);
        self.shape.write(value.as_ref(), out).ok_or_else(|| {
            let nulls = value.null_count();
            RefusedValue::new(
                &self.path,
                format!("{} elements, {nulls} of them null, for a {}", value.len(), self.shape.descriptor()),
            )
        })
    }
}

/// `enum`, by the names of its symbols.
pub(super) struct EnumWriter {
    values: LargeStringArray,
    indices: HashMap<String, i64>,
    path: String,
}

impl EnumWriter {
    pub(super) fn new(values: LargeStringArray, symbols: &[String], path: &str) -> Self {
        let indices = symbols.iter().cloned().zip(0..).collect();
        Self { values, indices, path: path.to_owned() }
    }
}

impl ColumnWriter for EnumWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        let value = self.values.value(row);
        let Some(index) = self.indices.get(value) else {
            return Err(RefusedValue::new(&self.path, format!("{value:?} is not a symbol of the enum")));
        };
        write_long(*index, out);
        Ok(())
    }
}
