//! The error of an archiver that finds the archive changed.

use mortice_base::error::{Error, ErrorKind};

/// The error of an archiver that finds the archive changed.
pub(super) fn changed_by_another(path: &str) -> Error {
    let message = "another writer has archived the timeline since this one began, as the lock of this one had expired; this one \
                   has archived nothing, run it again";
    Error::new(ErrorKind::WriteConflict, message).in_file(path)
}
