//! The first requests of a file slice, sent together: on remote storage each is a round trip.

use std::sync::Arc;

use crate::read::logs::log_blocks::{known_base, known_log};
use crate::split::Split;
use mortice_base::error::Result;
use mortice_storage::{FileSource, KnownFile, ReadFrom, Storage};

/// The maximum number of bytes that the first request for a file fetches.
const FIRST: u64 = 8 << 20;

/// Opens the files of a split's slice, and starts to fetch the first bytes that a reader needs of all of them. While
/// the result exists, readers that open the files share them. Does nothing for storage without round trips, and opens
/// only files that fit in `limit` bytes.
pub(super) fn begin(split: &Split, storage: &dyn Storage, limit: u64) -> Result<Vec<Arc<dyn FileSource>>> {
    if !storage.is_remote() {
        return Ok(Vec::new());
    }
    let slice = &split.slice;
    let base = slice.base_file.iter().map(|base| (&base.path, known_base(base), ReadFrom::End));
    let logs = slice.log_files.iter().map(|log| (&log.path, known_log(log), ReadFrom::Start));
    let (mut begun, mut bytes) = (Vec::new(), 0_u64);
    for (path, known, from) in base.chain(logs) {
        let KnownFile { len, .. } = known;
        bytes = bytes.saturating_add(len.min(FIRST));
        // A file of unknown size is opened with a separate request.
        if len == 0 || (bytes > limit && !begun.is_empty()) {
            continue;
        }
        let file = storage.open_known(path, &known)?;
        file.begin(from)?;
        begun.push(file);
    }
    Ok(begun)
}
