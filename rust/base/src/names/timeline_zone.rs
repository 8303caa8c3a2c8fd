//! The time zone of a timeline.

use chrono::{DateTime, Local, Utc};
use serde::{Deserialize, Serialize};

/// Digits of an instant in milliseconds.
const FORM: &str = "%Y%m%d%H%M%S%3f";

/// The time zone of instant times (`hoodie.table.timeline.timezone`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TimelineZone {
    /// The zone of the writer, which is not stored: as in Hudi, that of this machine.
    Local,
    /// UTC.
    Utc,
}

impl TimelineZone {
    /// Returns the 17 digits of a time: what a clock of this zone shows.
    #[must_use]
    pub fn digits(self, time: DateTime<Utc>) -> String {
        match self {
            Self::Utc => time.format(FORM).to_string(),
            Self::Local => time.with_timezone(&Local).format(FORM).to_string(),
        }
    }
}
