//! The advisory lock of a local folder (`flock`), which the system releases when its process ends.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use crate::put::RootLock;

/// Takes the lock of a folder if it is free. It is another one than those of the folders in it, which replacing a file
/// takes for a moment: nothing replaces a file in the root of a table under this lock.
///
/// File systems without such locks, and folders that cannot be opened, have none.
pub(super) fn try_lock(folder: &Path) -> RootLock {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = open(folder, flags, Mode::empty()) else { return RootLock::Unsupported };
    match rustix::io::retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => RootLock::Held(Box::new(LockedFolder(File::from(folder)))),
        Err(Errno::WOULDBLOCK) => RootLock::Busy,
        Err(_) => RootLock::Unsupported,
    }
}

/// A folder whose lock is held.
struct LockedFolder(File);

impl Drop for LockedFolder {
    fn drop(&mut self) {
        // Not by closing the file alone: a process that was forked meanwhile has it open, too.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_lock_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let RootLock::Held(held) = try_lock(folder.path()) else { panic!("a lock that is free") };
        assert!(matches!(try_lock(folder.path()), RootLock::Busy));
        drop(held);
        assert!(matches!(try_lock(folder.path()), RootLock::Held(_)));
        assert!(matches!(try_lock(&folder.path().join("none")), RootLock::Unsupported));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
