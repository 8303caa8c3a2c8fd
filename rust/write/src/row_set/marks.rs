//! The marks of rows.

use arrow_array::{BooleanArray, UInt8Array};
use arrow_buffer::BooleanBuffer;

use super::mark::RowMark;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;

/// The marks of rows, in the order of the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowMarks(Vec<RowMark>);

impl RowMarks {
    /// The same mark for so many rows.
    #[must_use]
    pub fn repeated(mark: RowMark, rows: usize) -> Self {
        Self(vec![mark; rows])
    }

    /// Marks of rows of which it is known whether each deletes its key, does so regardless of ordering values, and
    /// changes a stored row in some columns only.
    ///
    /// # Errors
    /// `Internal` for different numbers of rows.
    pub fn of_flags(deletes: &BooleanBuffer, unconditional: &BooleanBuffer, updates: &BooleanBuffer) -> Result<Self> {
        let rows = deletes.len();
        if [unconditional.len(), updates.len()] != [rows; 2] {
            return Err(Error::internal(format_args!("marks of {} rows for {rows} rows", updates.len())));
        }
        let flags = deletes.iter().zip(unconditional).zip(updates);
        Ok(flags.map(|((delete, unconditional), update)| RowMark::of_flags(delete, unconditional, update)).collect())
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The marks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RowMark> + '_ {
        self.0.iter().copied()
    }

    /// The mark of a row.
    ///
    /// # Errors
    /// `Internal` for a row that does not exist.
    pub fn of_row(&self, row: u32) -> Result<RowMark> {
        let unknown = || Error::internal(format_args!("row {row} of {} rows has no mark", self.0.len()));
        self.0.get(at(row)).copied().ok_or_else(unknown)
    }

    /// The marks of some rows.
    ///
    /// # Errors
    /// `Internal` for a row that does not exist.
    pub fn select(&self, rows: &[u32]) -> Result<Self> {
        rows.iter().map(|row| self.of_row(*row)).collect()
    }

    /// The marks of rows, and of others behind them.
    #[must_use]
    pub fn chained(&self, then: &Self) -> Self {
        self.iter().chain(then.iter()).collect()
    }

    /// The numbers of the marks.
    #[must_use]
    pub fn to_array(&self) -> UInt8Array {
        self.iter().map(RowMark::number).map(Some).collect()
    }

    /// The marks of numbers that [`Self::to_array`] returned.
    ///
    /// # Errors
    /// `Internal` for other numbers.
    pub fn of_array(numbers: &UInt8Array) -> Result<Self> {
        let mark = |number: Option<u8>| {
            number.and_then(RowMark::of_number).ok_or_else(|| Error::internal("a row whose mark is not known"))
        };
        numbers.iter().map(mark).collect()
    }

    /// Where marks fulfil a condition.
    #[must_use]
    pub fn which(&self, is_chosen: impl Fn(RowMark) -> bool) -> BooleanArray {
        BooleanArray::from(BooleanBuffer::collect_bool(self.0.len(), |row| {
            self.0.get(row).is_some_and(|mark| is_chosen(*mark))
        }))
    }
}

impl FromIterator<RowMark> for RowMarks {
    fn from_iter<I: IntoIterator<Item = RowMark>>(marks: I) -> Self {
        Self(marks.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    fn marks() -> impl Strategy<Value = RowMarks> {
        proptest::collection::vec(0_u8..5, 0..20)
            .prop_map(|numbers| numbers.into_iter().filter_map(RowMark::of_number).collect())
    }

    proptest! {
        #[test]
        fn marks_are_what_is_sent(one in marks(), then in marks()) {
            prop_assert_eq!(&RowMarks::of_array(&one.to_array()).unwrap(), &one);
            let both = one.chained(&then);
            prop_assert!(both.iter().eq(one.iter().chain(then.iter())));
            let rows: Vec<u32> = (0..u32::try_from(both.len()).unwrap()).rev().collect();
            let reversed = both.select(&rows).unwrap();
            prop_assert!(reversed.iter().eq(both.iter().collect::<Vec<_>>().into_iter().rev()));
            let deletes = both.which(RowMark::is_delete);
            prop_assert!(both.iter().map(|mark| Some(mark.is_delete())).eq(&deletes));
        }
    }

    #[test]
    fn what_does_not_fit_is_an_internal_error() {
        let one = RowMarks::repeated(RowMark::Upsert, 2);
        let kinds = [
            one.of_row(2).map(|_| ()),
            one.select(&[0, 5]).map(|_| ()),
            RowMarks::of_array(&UInt8Array::from(vec![0, 6])).map(|_| ()),
            RowMarks::of_array(&UInt8Array::from(vec![Some(0), None])).map(|_| ()),
            RowMarks::of_flags(&vec![true].into(), &vec![true, false].into(), &vec![true].into()).map(|_| ()),
        ];
        for result in kinds {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Internal);
        }
    }
}
