//! What a row does to its key.

/// What a row does to its key. The numbers are those of the column that is sent between the tasks of a distributed
/// write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RowMark {
    /// The row replaces the stored row of its key, as the table's merge mode says, or is a new one.
    Upsert = 0,
    /// It changes a stored row in some columns only, so that a log needs no others of them.
    Update = 1,
    /// It deletes its key, unless the stored row has a later ordering value.
    Delete = 2,
    /// It deletes its key regardless of ordering values: a row of the operation `delete`, or one that has moved to
    /// another partition.
    UnconditionalDelete = 3,
    /// It is a new row: the write is refused if the index finds a stored row of its key.
    Insert = 4,
    /// It changes all stored rows of its key alike: a merge has made it of several of them.
    UpdateAll = 5,
}

impl RowMark {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Upsert, Self::Update, Self::Delete, Self::UnconditionalDelete, Self::Insert, Self::UpdateAll];

    /// Whether the row deletes its key.
    #[must_use]
    pub const fn is_delete(self) -> bool {
        matches!(self, Self::Delete | Self::UnconditionalDelete)
    }

    /// The mark of a row of which these are known. A delete is no update, and one that is unconditional is a delete.
    #[must_use]
    pub const fn of_flags(is_delete: bool, is_unconditional: bool, is_update: bool) -> Self {
        match (is_unconditional, is_delete, is_update) {
            (true, ..) => Self::UnconditionalDelete,
            (false, true, _) => Self::Delete,
            (false, false, true) => Self::Update,
            (false, false, false) => Self::Upsert,
        }
    }

    /// The number of the mark.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The mark of a number, if there is one.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_marks() {
        for mark in RowMark::ALL {
            assert_eq!(RowMark::of_number(mark.number()), Some(mark));
        }
        assert_eq!(RowMark::of_number(6), None);
    }

    #[test]
    fn a_delete_is_no_update() {
        let marks = |unconditional: bool, delete: bool| {
            [true, false].map(|is_update| RowMark::of_flags(delete, unconditional, is_update))
        };
        assert_eq!(marks(true, true), [RowMark::UnconditionalDelete; 2]);
        assert_eq!(marks(true, false), [RowMark::UnconditionalDelete; 2]);
        assert_eq!(marks(false, true), [RowMark::Delete; 2]);
        assert_eq!(marks(false, false), [RowMark::Update, RowMark::Upsert]);
        assert_eq!(RowMark::ALL.map(RowMark::is_delete), [false, false, true, true, false, false]);
    }
}
