//! The time of a new instant, which no other writer has taken.

use super::clock::Clock;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::PutOutcome;
use mortice_table::timeline::Timeline;

/// Attempts to find a requested time that no other writer has.
const ATTEMPTS: usize = 10;

/// The timelines that a new instant must be later than.
pub trait Timelines {
    /// As they were last read.
    fn timelines(&self) -> Vec<&Timeline>;
}

/// Puts an instant on a timeline, at a time that is later than all that are known. If another writer has taken it, the
/// timelines are read again. Returns the time and the timelines; none if `put` had nothing to put there.
///
/// # Errors
/// `AlreadyExists` if other writers are always earlier; those of the arguments.
pub fn request_instant<T: Timelines>(
    clock: &Clock,
    mut known: T,
    reload: impl Fn() -> Result<T>,
    mut put: impl FnMut(&T, &RequestedTime) -> Result<Option<PutOutcome>>,
) -> Result<Option<(RequestedTime, T)>> {
    for _ in 0..ATTEMPTS {
        let time = clock.requested_time(&known.timelines())?;
        match put(&known, &time)? {
            None => return Ok(None),
            Some(PutOutcome::Written(_)) => return Ok(Some((time, known))),
            Some(PutOutcome::Refused) => known = reload()?,
        }
    }
    let message =
        "other writers keep creating instants at the same times: the table has several writers without a lock";
    Err(Error::new(ErrorKind::AlreadyExists, message))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use mortice_base::time::SimulatedTime;
    use mortice_merge::config::{Properties, TableConfig};
    use mortice_storage::{FileStore, LocalStorage, Storage};

    fn clock(config: &TableConfig) -> Clock {
        Clock::new(config, Arc::new(SimulatedTime::default()))
    }

    struct One(Timeline);

    impl Timelines for One {
        fn timelines(&self) -> Vec<&Timeline> {
            vec![&self.0]
        }
    }

    /// A table whose last instant is later than any clock.
    struct LaterTable {
        folder: tempfile::TempDir,
        config: TableConfig,
    }

    impl LaterTable {
        fn new() -> Self {
            let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", "6")];
            let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
            let later = Self { folder: tempfile::tempdir().unwrap(), config };
            later.add("20990101000000000");
            later
        }

        fn add(&self, time: &str) {
            let folder = self.folder.path().join(&self.config.timeline_folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{time}.commit.requested")), b"").unwrap();
        }

        fn store(&self) -> LocalStorage {
            LocalStorage::new(&self.folder.path().to_string_lossy(), true)
        }

        fn load(&self) -> Result<One> {
            let storage: Arc<dyn Storage> = Arc::new(self.store());
            Timeline::load(&storage, &self.config).map(One)
        }
    }

    #[test]
    fn a_time_that_another_writer_took_is_not_taken_again() {
        let table = LaterTable::new();
        let store = table.store();
        let mut tried = Vec::new();
        let put = |_: &One, time: &RequestedTime| {
            tried.push(time.to_string());
            if tried.len() == 1 {
                // Another writer was faster.
                table.add(time.as_str());
                return Ok(Some(PutOutcome::Refused));
            }
            store.put("taken", &Bytes::new(), None).map(Some)
        };
        let found = request_instant(&clock(&table.config), table.load().unwrap(), || table.load(), put).unwrap();
        let (time, known) = found.unwrap();
        assert_eq!(tried, ["20990101000000001", "20990101000000002"]);
        assert_eq!(time.as_str(), "20990101000000002");
        assert!(known.0.has_pending_at(&"20990101000000001".into()));
    }

    #[test]
    fn nothing_to_put_leaves_no_instant_and_attempts_end() {
        let (table, clock) = (LaterTable::new(), clock(&LaterTable::new().config));
        let found = request_instant(&clock, table.load().unwrap(), || table.load(), |_, _| Ok(None)).unwrap();
        assert!(found.is_none());
        let mut attempts = 0;
        let put = |_: &One, _: &RequestedTime| {
            attempts += 1;
            Ok(Some(PutOutcome::Refused))
        };
        let error = request_instant(&clock, table.load().unwrap(), || table.load(), put).err().unwrap();
        assert_eq!((attempts, error.kind()), (ATTEMPTS, ErrorKind::AlreadyExists));
    }
}
