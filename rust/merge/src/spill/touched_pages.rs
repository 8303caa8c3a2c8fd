//! Pages of mapped spill files that are in the memory of the process: they are taken out of it again and again, so that
//! rows that were spilled do not count as memory of the process only because each of them was read once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use mortice_storage::MappedPages;

/// Bytes that are touched between two releases.
const RELEASE_BYTES: usize = 64 << 20;

/// The mapped files of a folder, and how many bytes of them may be in memory.
#[derive(Debug, Default)]
pub(super) struct TouchedPages {
    files: Mutex<Vec<MappedPages>>,
    bytes: AtomicUsize,
}

impl TouchedPages {
    /// Adds a file.
    pub(super) fn add(&self, pages: MappedPages) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(pages);
    }

    /// Notes that so many bytes were read, or are about to be.
    pub(super) fn touch(&self, bytes: usize) {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= RELEASE_BYTES {
            self.release();
        }
    }

    /// Releases the pages of all files, and forgets files that are no longer mapped.
    pub(super) fn release(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.files.lock().unwrap_or_else(PoisonError::into_inner).retain(MappedPages::release);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use std::sync::Arc;

    use super::*;
    use crate::spill::{RowBatchesBuilder, RowMemory, SpillFolder};

    /// KiB of the mappings of deleted files that are in memory.
    fn mapped_kib() -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let (mut is_spilled, mut total) = (false, 0);
        for line in smaps.lines() {
            if line.split_whitespace().count() >= 5 && line.contains('-') {
                is_spilled = line.ends_with("(deleted)");
            } else if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_spilled) {
                total += size.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
            }
        }
        total
    }

    #[test]
    fn rows_that_are_read_from_files_do_not_stay_in_memory() {
        let len = RELEASE_BYTES / 16;
        let memory = RowMemory::new(SpillFolder::new(None), RELEASE_BYTES / 4);
        let batch = |from: usize| {
            let numbers: ArrayRef = Arc::new((from as i64..(from + len) as i64).collect::<Int64Array>());
            RecordBatch::try_from_iter([("number", numbers)]).unwrap()
        };
        let mut rows = RowBatchesBuilder::new(batch(0).schema(), memory);
        (0..8).for_each(|at| rows.push(batch(at * len)).unwrap());
        let rows = rows.finish();
        let all: Vec<u32> = (0..rows.num_rows() as u32).collect();
        for chunk in all.chunks(len / 4) {
            let taken = rows.take(chunk).unwrap();
            let column = taken.column(0).to_data();
            let found: &[i64] = &column.buffer(0)[..taken.num_rows()];
            assert!(found.iter().zip(chunk).all(|(found, number)| *found == i64::from(*number)));
            assert!(mapped_kib() <= 2 * (RELEASE_BYTES >> 10), "{} KiB", mapped_kib());
        }
    }
}
