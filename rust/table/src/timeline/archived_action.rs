//! An instant of the archive with what the archive has of it.

use super::instant::Instant;

/// An archived instant, with the contents of its files in the Avro format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedAction {
    /// The completed instant.
    pub instant: Instant,
    /// Its metadata; none if the archive has none.
    pub metadata: Option<Vec<u8>>,
    /// The plan that it executed; none if it had none.
    pub plan: Option<Vec<u8>>,
}
