//! Ordering values kept by ordinal, in the one form that the table's ordering column has. Which of them are there at all is for
//! who keeps them to note ([`Kept`]).

use super::ordering::OrderingValue;
use super::rules::Side;

/// What is noted of an ordering value beside itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Whether it is among those kept.
    pub(super) is_value: bool,
    /// Whether it is of another class than the column's.
    pub(super) is_foreign: bool,
}

impl Kept {
    pub(super) const fn of(side: Side<'_>) -> Self {
        let is_value = !matches!(side.ordering, OrderingValue::Default | OrderingValue::Foreign);
        Self { is_value, is_foreign: side.is_foreign }
    }
}

/// Ordering values by ordinal.
#[derive(Default)]
pub(super) enum Orderings {
    #[default]
    None,
    Fixed(Vec<i64>),
    Wide(Vec<i128>),
    Bytes(Vec<Box<[u8]>>),
}

impl Orderings {
    pub(super) fn get(&self, index: usize, kept: Kept) -> OrderingValue<'_> {
        match (kept.is_value, kept.is_foreign) {
            (true, _) => self.value(index),
            (false, false) => OrderingValue::Default,
            (false, true) => OrderingValue::Foreign,
        }
    }

    fn value(&self, index: usize) -> OrderingValue<'_> {
        match self {
            Self::None => None,
            Self::Fixed(all) => all.get(index).copied().map(OrderingValue::Fixed),
            Self::Wide(all) => all.get(index).copied().map(OrderingValue::Wide),
            Self::Bytes(all) => all.get(index).map(|text| OrderingValue::Bytes(text)),
        }
        .unwrap_or(OrderingValue::Default)
    }

    /// Sets a value; the vector grows to it.
    pub(super) fn set(&mut self, index: usize, value: OrderingValue<'_>) {
        match (&mut *self, value) {
            (_, OrderingValue::Default | OrderingValue::Foreign) => {}
            (Self::Fixed(all), OrderingValue::Fixed(value)) => put(all, index, value),
            (Self::Wide(all), OrderingValue::Wide(value)) => put(all, index, value),
            (Self::Bytes(all), OrderingValue::Bytes(value)) => put(all, index, value.into()),
            (_, OrderingValue::Fixed(value)) => *self = Self::Fixed(filled(index, value)),
            (_, OrderingValue::Wide(value)) => *self = Self::Wide(filled(index, value)),
            (_, OrderingValue::Bytes(value)) => *self = Self::Bytes(filled(index, value.into())),
        }
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
