//! Instants at which partitions of the metadata table were initialised.

use mortice_base::names::{RequestedTime, instant_time};

/// The requested time of the initialisation of the partition `files`, from table version 8 on.
pub(super) const INIT_TIME: &str = "00000000000000000";
/// The requested times of initialisations begin so on tables without commits, and on all tables from version 8 on.
const NO_TIME: &str = "00000000000000";
/// What the requested time of that initialisation has after the time of the last completed instant, before.
pub(super) const INIT_SUFFIX: &str = "010";

/// Returns the time of the table's timeline that a write to the metadata table belongs to; `None` for an initialisation
/// that belongs to no time.
pub(super) fn time_on_table(write: &RequestedTime) -> Option<&str> {
    let time = write.as_str();
    // Times of initialisations count from zero; before table version 8, others have the time of a commit and a suffix.
    let of_commit = || of_bootstrap(time).unwrap_or_else(|| time.get(..INIT_TIME.len()).unwrap_or(time));
    (!time.starts_with(NO_TIME)).then(of_commit)
}

/// Whether a time is that of a bootstrap, which has fewer digits than others and is before all of them.
pub(super) fn is_bootstrap(time: &str) -> bool {
    matches!(time, instant_time::METADATA_BOOTSTRAP | instant_time::FULL_BOOTSTRAP)
}

/// The bootstrap that an initialisation follows: its time with a suffix is as long as the time of a commit.
fn of_bootstrap(time: &str) -> Option<&str> {
    let (written, suffix) = time.split_at_checked(instant_time::METADATA_BOOTSTRAP.len())?;
    (is_bootstrap(written) && suffix.len() == INIT_SUFFIX.len() && suffix >= INIT_SUFFIX).then_some(written)
}

/// Whether a requested time of the metadata table's timeline is that of a partition's initialisation: a number counted
/// from zero, or, before table version 8, the time of a commit with a number from 010 on behind it
/// (`HoodieTableMetadataUtil.createIndexInitTimestamp`).
#[must_use]
pub fn is_init_instant(time: &RequestedTime) -> bool {
    let time = time.as_str();
    let is_numbered = |suffix: &str| suffix.len() == INIT_SUFFIX.len() && suffix >= INIT_SUFFIX;
    time.starts_with(NO_TIME) || of_bootstrap(time).is_some() || time.get(INIT_TIME.len()..).is_some_and(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialisations_are_known_by_their_times() {
        for (time, expected) in [
            ("00000000000000002", true),
            ("00000000000000010", true),
            ("00000000000001010", true),
            ("00000000000002011", true),
            ("00000000000001009", false),
            ("20240101000000000010", true),
            ("20240101000000000012", true),
            ("20240101000000000001", false),
            ("20240101000000000006", false),
            ("20240101000000000", false),
        ] {
            assert_eq!(is_init_instant(&RequestedTime::from(time)), expected, "{time}");
        }
    }

    #[test]
    fn initialisations_belong_to_the_commit_before_them() {
        for (time, expected) in [
            ("00000000000000010", None),
            ("00000000000001010", Some("00000000000001")),
            ("20240101000000000010", Some("20240101000000000")),
        ] {
            assert_eq!(time_on_table(&RequestedTime::from(time)), expected, "{time}");
        }
    }
}
