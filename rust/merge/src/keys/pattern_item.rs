//! The items of a pattern of Joda-Time.

/// Text or a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Text(String),
    /// A field and the number of its letters.
    Field(char, usize),
}

impl Item {
    /// Returns true for fields that are written as digits (`DateTimeFormat.isNumericToken`).
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Field('M', count) => *count <= 2,
            Self::Field(letter, _) => "CYyxwDdeHkKhmsS".contains(*letter),
        }
    }
}
