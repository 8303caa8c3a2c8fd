//! Ordering values stored by ordinal, in the one form of the table's ordering column. The owner stores beside each
//! whether it is a value at all ([`OrderingFlags`]).

use super::ordering::OrderingValue;
use super::rules::MergeSide;
use mortice_base::error::{Error, Result};
use mortice_base::trusted::prefetch;

/// What is stored of an ordering value beside the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderingFlags {
    /// Whether there is a value.
    pub(super) is_value: bool,
    /// Whether it is of another class than the column's.
    pub(super) is_foreign: bool,
}

impl OrderingFlags {
    pub(super) const fn from_side(side: MergeSide<'_>) -> Self {
        let is_value = !matches!(side.ordering, OrderingValue::Default | OrderingValue::Foreign);
        Self { is_value, is_foreign: side.is_foreign }
    }
}

/// Ordering values by ordinal.
#[derive(Default)]
pub(super) struct OrderingValues {
    values: OrderingArray,
    /// Bytes of strings, which are not in the vector.
    strings: usize,
}

#[derive(Default)]
enum OrderingArray {
    #[default]
    None,
    Fixed(Vec<i64>),
    Wide(Vec<i128>),
    Bytes(Vec<Box<[u8]>>),
}

/// What the allocation of a string costs beside its bytes.
const ALLOCATION: usize = 16;

/// Evaluates the same expression for each type of vector.
macro_rules! each {
    ($values:expr, $all:ident => $do:expr) => {
        match $values {
            OrderingArray::None => Default::default(),
            OrderingArray::Fixed($all) => $do,
            OrderingArray::Wide($all) => $do,
            OrderingArray::Bytes($all) => $do,
        }
    };
}

impl OrderingValues {
    pub(super) fn get(&self, index: usize, kept: OrderingFlags) -> OrderingValue<'_> {
        match (kept.is_value, kept.is_foreign) {
            (true, _) => self.value(index),
            (false, false) => OrderingValue::Default,
            (false, true) => OrderingValue::Foreign,
        }
    }

    fn value(&self, index: usize) -> OrderingValue<'_> {
        match &self.values {
            OrderingArray::None => None,
            OrderingArray::Fixed(all) => all.get(index).copied().map(OrderingValue::Fixed),
            OrderingArray::Wide(all) => all.get(index).copied().map(OrderingValue::Wide),
            OrderingArray::Bytes(all) => all.get(index).map(|text| OrderingValue::Bytes(text)),
        }
        .unwrap_or_else(|| {
            debug_assert!(false, "no ordering value is kept for record {index}");
            OrderingValue::Default
        })
    }

    /// Prefetches a value.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        match &self.values {
            OrderingArray::None => {}
            OrderingArray::Fixed(all) => all.get(index).into_iter().for_each(prefetch),
            OrderingArray::Wide(all) => all.get(index).into_iter().for_each(prefetch),
            OrderingArray::Bytes(all) => all.get(index).into_iter().for_each(prefetch),
        }
    }

    /// Sets a value; the vector grows to it.
    pub(super) fn set(&mut self, index: usize, value: OrderingValue<'_>) -> Result<()> {
        match (&mut self.values, value) {
            (_, OrderingValue::Default | OrderingValue::Foreign) => {}
            (OrderingArray::Fixed(all), OrderingValue::Fixed(value)) => put(all, index, value),
            (OrderingArray::Wide(all), OrderingValue::Wide(value)) => put(all, index, value),
            (OrderingArray::Bytes(all), OrderingValue::Bytes(value)) => {
                // Memory of the value that is replaced.
                let before = all.get(index).map_or(0, |text| text.len() + ALLOCATION);
                self.strings = (self.strings + value.len() + ALLOCATION).saturating_sub(before);
                put(all, index, value.into());
            }
            (OrderingArray::None, OrderingValue::Fixed(value)) => {
                self.values = OrderingArray::Fixed(filled(index, value))
            }
            (OrderingArray::None, OrderingValue::Wide(value)) => {
                self.values = OrderingArray::Wide(filled(index, value))
            }
            (OrderingArray::None, OrderingValue::Bytes(value)) => {
                self.strings = value.len() + ALLOCATION;
                self.values = OrderingArray::Bytes(filled(index, value.into()));
            }
            (_, value) => {
                return Err(Error::internal(format_args!(
                    "the ordering value {value:?} beside values of another form"
                )));
            }
        }
        Ok(())
    }

    /// Moves a value to an ordinal that is not greater than its own.
    pub(super) fn shift(&mut self, from: usize, to: usize) {
        each!(&mut self.values, all => shift(all, from, to));
    }

    /// Forgets the values from an ordinal on.
    pub(super) fn truncate(&mut self, len: usize) {
        each!(&mut self.values, all => {
            all.truncate(len);
            all.shrink_to_fit();
        });
        if let OrderingArray::Bytes(all) = &self.values {
            self.strings = all.iter().map(|text| text.len() + ALLOCATION).sum();
        }
    }

    /// Bytes that so many values take, as far as they are here.
    pub(super) fn memory(&self, len: usize) -> usize {
        let width = match &self.values {
            OrderingArray::None => 0,
            OrderingArray::Fixed(_) => size_of::<i64>(),
            OrderingArray::Wide(_) => size_of::<i128>(),
            OrderingArray::Bytes(_) => size_of::<Box<[u8]>>(),
        };
        len.saturating_mul(width).saturating_add(self.strings)
    }

    /// Makes room for so many values in all, and no more.
    pub(super) fn reserve(&mut self, len: usize) {
        each!(&mut self.values, all => all.reserve_exact(len.saturating_sub(all.len())));
    }
}

fn shift<T: Default>(all: &mut [T], from: usize, to: usize) {
    // Values behind the last one that is set are not kept: all of them are defaults.
    let value = all.get_mut(from).map(std::mem::take);
    if let Some(slot) = all.get_mut(to) {
        *slot = value.unwrap_or_default();
    }
}

fn put<T: Default + Clone>(all: &mut Vec<T>, index: usize, value: T) {
    if all.len() <= index {
        all.resize(index + 1, T::default());
    }
    if let Some(slot) = all.get_mut(index) {
        *slot = value;
    }
}

fn filled<T: Default + Clone>(index: usize, value: T) -> Vec<T> {
    let mut all = Vec::new();
    put(&mut all, index, value);
    all
}
