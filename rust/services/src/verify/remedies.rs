//! What to do about findings.

use super::findings::FindingKind;

/// For all kinds that are not in `REMEDIES`.
const BRING_BACK: &str = "bring the file back from a copy, or restore a savepoint";

/// What to do, and about which kinds.
const REMEDIES: [(&str, &[FindingKind]); 7] = [
    (
        "repair",
        &[
            FindingKind::OrphanFile,
            FindingKind::TemporaryFile,
            FindingKind::StaleMarkers,
            FindingKind::DeadHeartbeat,
            FindingKind::RollbackResult,
        ],
    ),
    ("repair, then metadata build --rebuild", &[FindingKind::ListedUncommitted]),
    (
        "metadata build --rebuild",
        &[
            FindingKind::IndexMissingKey,
            FindingKind::IndexWrongLocation,
            FindingKind::IndexStaleKey,
            FindingKind::ListedNotStored,
            FindingKind::StoredNotListed,
            FindingKind::ListedLength,
            FindingKind::UnreadableMetadataTable,
        ],
    ),
    ("repair --merge-buckets", &[FindingKind::DuplicateBucket]),
    ("keep the file, and find out which write it is of", &[FindingKind::UnaccountedFile]),
    ("downgrade the table with the release of Hudi that wrote it", &[FindingKind::UnsupportedFile]),
    (
        "choose which rows are right, and delete the others",
        &[FindingKind::DuplicateKey, FindingKind::UncommittedFile, FindingKind::LiveReplacedGroup],
    ),
];

/// Returns what to do about findings of a kind, by its name, in a few words.
#[must_use]
pub fn remedy(kind: &str) -> &'static str {
    let is_for = |kinds: &[FindingKind]| kinds.iter().any(|one| one.name() == kind);
    REMEDIES.iter().find(|(_, kinds)| is_for(kinds)).map_or(BRING_BACK, |(remedy, _)| remedy)
}
