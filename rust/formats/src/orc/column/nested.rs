//! Structs, lists and maps.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_schema::{DataType, Field, Fields};

use super::present::StripeColumn;
use super::strings::{end_of, offsets};
use super::values::ValueReader;
use crate::orc::int_runs::IntRuns;
use mortice_base::error::{Error, Result};

/// Structs: their children, side by side.
pub(super) struct StructValues {
    pub(super) fields: Fields,
    pub(super) children: Vec<StripeColumn>,
}

impl ValueReader for StructValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let children = self.children.iter_mut().map(|child| child.read(count)).collect::<Result<_>>()?;
        let array = StructArray::try_new_with_length(self.fields.clone(), children, None, count);
        array.map(|array| Arc::new(array) as ArrayRef).map_err(unsound)
    }

    fn most_bytes(&mut self, count: u64) -> Result<u64> {
        self.children.iter_mut().try_fold(0_u64, |sum, child| Ok(sum.saturating_add(child.most_bytes(count)?)))
    }

    fn bytes(&self, count: u64) -> u64 {
        self.children.iter().map(|child| child.bytes(count)).fold(0, u64::saturating_add)
    }
}

/// Lists: how long each is, and all their items.
pub(super) struct ListValues {
    pub(super) lengths: IntRuns,
    pub(super) items: StripeColumn,
}

impl ValueReader for ListValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let offsets = offsets(&self.lengths.read(count)?)?;
        let items = self.items.read(end_of(&offsets))?;
        let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        ListArray::try_new(item, offsets, items, None).map(|array| Arc::new(array) as ArrayRef).map_err(unsound)
    }

    fn bytes(&self, count: u64) -> u64 {
        self.items.bytes(count)
    }
}

/// Maps: how many pairs each has, all keys and all values.
pub(super) struct MapValues {
    pub(super) lengths: IntRuns,
    pub(super) keys: StripeColumn,
    pub(super) items: StripeColumn,
    pub(super) arrow: DataType,
}

impl ValueReader for MapValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let offsets = offsets(&self.lengths.read(count)?)?;
        let count = end_of(&offsets);
        let (keys, items) = (self.keys.read(count)?, self.items.read(count)?);
        let DataType::Map(entries, _) = &self.arrow else {
            return Err(Error::invalid_table("invalid ORC map: its Arrow type is not a map"));
        };
        let DataType::Struct(pair) = entries.data_type() else {
            return Err(Error::invalid_table("invalid ORC map: its entries are missing"));
        };
        let pairs = StructArray::try_new(pair.clone(), vec![keys, items], None).map_err(unsound)?;
        let array = MapArray::try_new(Arc::clone(entries), offsets, pairs, None, false);
        array.map(|array| Arc::new(array) as ArrayRef).map_err(unsound)
    }

    fn bytes(&self, count: u64) -> u64 {
        self.keys.bytes(count).saturating_add(self.items.bytes(count))
    }
}

fn unsound(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("invalid nested values in an ORC file").caused_by(error)
}
