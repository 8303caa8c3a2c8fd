//! Takes the lock, renews it and gives it back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use super::super::lock::{HeldLock, TableLock};
use super::super::renewed_lock::{Lease, Moment, Renewal, hold};
use super::super::unique_name::unique_name;
use super::item::LockItem;
use super::settings::DynamoDbSettings;
use super::table::{Condition, LockTable};
use mortice_base::error::{ErrorKind, Result};
use mortice_base::time::Time;
use mortice_merge::config::option_names::WRITE_LOCK_WAIT_TIME_MS;
use mortice_storage::JsonService;

/// A lock is renewed three times while it is valid.
const RENEWALS: u32 = 3;

/// The lock of a table.
pub(in super::super) struct DynamoDbLock {
    table: LockTable,
    time: Arc<dyn Time>,
    seen: Mutex<Option<SeenLock>>,
}

/// A lock of another writer.
struct SeenLock {
    version: String,
    lease: Duration,
    /// When it was found to have this version first, by the monotonic clock of this process.
    since: Duration,
}

impl DynamoDbLock {
    /// The lock in a service.
    pub(in super::super) fn new(
        service: Arc<dyn JsonService>,
        settings: DynamoDbSettings,
        time: Arc<dyn Time>,
    ) -> Self {
        Self { table: LockTable { service, settings: Arc::new(settings) }, time, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Option<SeenLock>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the lock. A table that does not exist is created.
    fn find(&self) -> Result<Option<LockItem>> {
        match self.table.get() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.table.create(&*self.time)?;
                self.table.get()
            }
            found => found,
        }
    }

    /// Whether another writer's lock has had the version that it has for as long as it is valid.
    fn has_expired(&self, found: &LockItem) -> bool {
        // After the answer: its holder may have renewed it while the question was on its way.
        let now = self.time.monotonic();
        let mut seen = self.seen();
        match &*seen {
            Some(known) if known.version == found.version => now.saturating_sub(known.since) >= found.lease,
            _ => {
                *seen = Some(SeenLock { version: found.version.clone(), lease: found.lease, since: now });
                false
            }
        }
    }
}

impl TableLock for DynamoDbLock {
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
        let found = self.find()?;
        let condition = match &found {
            None => Condition::Absent,
            Some(found) if found.is_released => Condition::Released(&found.version),
            Some(found) if self.has_expired(found) => Condition::Version(&found.version),
            Some(_) => return Ok(None),
        };
        let lease = self.table.settings.lease;
        let item = LockItem { owner: unique_name(), lease, version: new_version(), is_released: false };
        let begun = Moment::now(&*self.time);
        let is_taken = match self.table.put(&item, condition) {
            Ok(true) => true,
            // The answer may have been lost: nobody would have the lock until its time is up.
            put => match self.table.get() {
                Ok(found) => found.as_ref() == Some(&item) || put.map(|_| false)?,
                Err(error) => return put.and(Err(error)),
            },
        };
        if !is_taken {
            return Ok(None);
        }
        *self.seen() = None;
        let renewal = Renewal {
            time: Arc::clone(&self.time),
            interval: lease / RENEWALS,
            location: self.location(),
            option: WRITE_LOCK_WAIT_TIME_MS.name(),
        };
        hold(ItemLease { table: self.table.clone(), item }, begun, lease, renewal).map(Some)
    }

    fn location(&self) -> String {
        self.table.location()
    }

    fn is_file(&self) -> bool {
        false
    }

    /// A lock of a writer that was killed is free after the time for which it is valid.
    fn added_wait(&self) -> Duration {
        self.seen().as_ref().map_or(Duration::ZERO, |seen| seen.lease)
    }
}

/// The lock, as this writer has written it last.
struct ItemLease {
    table: LockTable,
    item: LockItem,
}

impl ItemLease {
    /// The lock as it is, if it is this writer's: no other one has its owner.
    fn own(&self) -> Result<Option<LockItem>> {
        Ok(self.table.get()?.filter(|found| found.owner == self.item.owner && !found.is_released))
    }

    /// Does something to the lock. If the answer to the last renewal was lost, it has another version.
    fn change(&mut self, change: impl Fn(&LockTable, &LockItem) -> Result<bool>) -> Result<bool> {
        if change(&self.table, &self.item)? {
            return Ok(true);
        }
        match self.own()? {
            Some(own) => {
                self.item = own;
                change(&self.table, &self.item)
            }
            None => Ok(false),
        }
    }
}

impl Lease for ItemLease {
    fn renew(&mut self) -> Result<Option<Duration>> {
        let version = new_version();
        let renewed = self.change(|table, item| Ok(item.version == version || table.renew(item, &version)?))?;
        if !renewed {
            return Ok(None);
        }
        self.item.version = version;
        Ok(Some(self.item.lease))
    }

    fn is_own(&mut self) -> Result<bool> {
        self.own().map(|own| own.is_some())
    }

    /// Hudi's client deletes the item, too.
    fn give_back(&mut self) -> Result<()> {
        self.change(|table, item| table.delete(item)).map(drop)
    }
}

fn new_version() -> String {
    Uuid::new_v4().to_string()
}
