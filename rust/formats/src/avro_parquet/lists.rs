//! The two structures of lists in parquet (`parquet.avro.write-old-list-structure`). A file has one for all its lists:
//! Hudi detects by the first that it finds.

/// How lists are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListStructure {
    /// `repeated T array`: parquet-avro's default. Elements cannot be null.
    TwoLevels,
    /// `repeated group list { element }`: elements may be null.
    #[default]
    ThreeLevels,
}

impl ListStructure {
    /// The name of an element.
    pub(super) const fn element(self) -> &'static str {
        match self {
            Self::TwoLevels => "array",
            Self::ThreeLevels => "element",
        }
    }
}
