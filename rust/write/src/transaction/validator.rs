//! Checks of the table as a write would leave it, before the write is completed (`hoodie.precommit.validators`).

use std::cell::RefCell;
use std::sync::Arc;

use mortice_base::error::Result;
use mortice_table::plan::OpenTable;

/// A check of the table as a write would leave it.
pub trait CommitValidator: Send + Sync {
    /// Checks the table, in which the write seems to be completed.
    ///
    /// # Errors
    /// An error refuses the commit: the write is rolled back.
    fn validate(&self, table: OpenTable) -> Result<()>;
}

thread_local! {
    /// The validator of the writes that this thread completes. The functions of writes have it in common, and none of them uses it.
    static CURRENT: RefCell<Option<Arc<dyn CommitValidator>>> = const { RefCell::new(None) };
}

/// Runs a write whose commit is checked, if there is a validator.
pub fn with_validator<T>(validator: Option<Arc<dyn CommitValidator>>, work: impl FnOnce() -> T) -> T {
    struct Restored(Option<Arc<dyn CommitValidator>>);
    impl Drop for Restored {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restored = Restored(CURRENT.replace(validator));
    work()
}

/// The validator of writes that this thread completes.
pub(super) fn current_validator() -> Option<Arc<dyn CommitValidator>> {
    CURRENT.with_borrow(Clone::clone)
}
