//! The lock of `ZookeeperBasedLockProvider`: the recipe of Curator's `InterProcessMutex` that Hudi uses.
//!
//! Each writer that wants the lock creates a node in the folder of the lock, which ends with its session:
//! `_c_UUID-lock-NUMBER`. The numbers are given by the servers and grow; the writer with the lowest number has the
//! lock. A session ends if the servers have not heard of it for its timeout; the holder counts from an earlier moment,
//! that of its last request with a response, and has given the lock up by then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use super::lock::{HeldLock, TableLock};
use super::lock_place::LockedTable;
use super::renewed_lock::{Lease, Moment, Renewal, hold};
use super::unique_name::unique_name;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;
use mortice_merge::config::{WriteOption, WriteOptions, option_names};
use mortice_storage::zookeeper::{SessionTimeouts, ZooKeeperAddress, ZooKeeperSession};

/// The end of names before their number (`InterProcessMutex.LOCK_NAME`).
const NAME: &str = "lock-";
/// The name of a lock whose folder is the hash of the base path.
const IMPLICIT_KEY: &str = "lock_key";
const IMPLICIT_FOLDER: &str = "/tmp";
/// The writer whose turn it is keeps others waiting.
const PAUSE: Duration = Duration::from_millis(100);
/// A session is renewed three times before it ends.
const RENEWALS: u32 = 3;

/// Where a lock is, and how long it is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZooKeeperSettings {
    address: ZooKeeperAddress,
    servers: String,
    folder: String,
    timeouts: SessionTimeouts,
}

impl ZooKeeperSettings {
    /// Of a lock whose place options say.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for one that is missing or has a wrong value.
    pub(super) fn explicit(options: &WriteOptions, table: LockedTable<'_>) -> Result<Self> {
        let base = needed(options, option_names::WRITE_LOCK_ZOOKEEPER_BASE_PATH)?;
        let key = options.text(option_names::WRITE_LOCK_ZOOKEEPER_LOCK_KEY).unwrap_or(table.name);
        Self::new(options, &format!("{base}/{key}"))
    }

    /// Of a lock whose place is the hash of the base path.
    ///
    /// # Errors
    /// As for [`Self::explicit`].
    pub(super) fn implicit(options: &WriteOptions, table: LockedTable<'_>) -> Result<Self> {
        Self::new(options, &format!("{IMPLICIT_FOLDER}/{}/{IMPLICIT_KEY}", table.hashed_uri()))
    }

    fn new(options: &WriteOptions, folder: &str) -> Result<Self> {
        let url = option_names::WRITE_LOCK_ZOOKEEPER_URL;
        let servers = needed(options, url)?;
        let address = ZooKeeperAddress::parse(servers)
            .map_err(|error| Error::invalid_argument(format!("option {url}: {error}")))?;
        let millis = |name| options.integer(name).map(Duration::from_millis);
        let timeouts = SessionTimeouts {
            connection: millis(option_names::WRITE_LOCK_ZOOKEEPER_CONNECTION_TIMEOUT_MS)?,
            session: millis(option_names::WRITE_LOCK_ZOOKEEPER_SESSION_TIMEOUT_MS)?,
        };
        let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|part| matches!(*part, "." | "..") || part.contains('\0')) {
            let name = option_names::WRITE_LOCK_ZOOKEEPER_BASE_PATH;
            return Err(Error::invalid_argument(format!("option {name}: {folder:?} is no path of ZooKeeper")));
        }
        Ok(Self { address, servers: servers.to_owned(), folder: format!("/{}", parts.join("/")), timeouts })
    }
}

fn needed(options: &WriteOptions, name: WriteOption<option_names::Text>) -> Result<&str> {
    options.text(name).ok_or_else(|| {
        let message =
            format!("a ZooKeeper lock needs the option {name}, the same as in all other writers of the table");
        Error::invalid_argument(message)
    })
}

/// The lock of a table.
pub(super) struct ZooKeeperLock {
    settings: ZooKeeperSettings,
    time: Arc<dyn Time>,
    /// The node of this writer while it waits.
    waiting: Mutex<Option<TurnLease>>,
}

impl ZooKeeperLock {
    pub(super) fn new(settings: ZooKeeperSettings, time: Arc<dyn Time>) -> Self {
        Self { settings, time, waiting: Mutex::default() }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<TurnLease>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session, and creates the folder of the lock, and a node in it.
    fn take_number(&self) -> Result<TurnLease> {
        let ZooKeeperSettings { address, folder, timeouts, .. } = &self.settings;
        let mut session = ZooKeeperSession::begin(address, *timeouts)?;
        let ends = folder.match_indices('/').skip(1).map(|(at, _)| at).chain([folder.len()]);
        for path in ends.filter_map(|end| folder.get(..end)) {
            // A node that exists may be in one that nobody may change.
            if !session.exists(path)? {
                session.create(path)?;
            }
        }
        let data = format!("application_id={}", unique_name()).into_bytes();
        let name = session.create_in_turn(folder, &format!("_c_{}-{NAME}", Uuid::new_v4()), &data)?;
        Ok(TurnLease { session, path: format!("{folder}/{name}"), name, data })
    }
}

impl TableLock for ZooKeeperLock {
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
        let mut waiting = self.waiting();
        let mut lease = match waiting.take() {
            Some(lease) => lease,
            None => self.take_number().map_err(|error| error.in_file(self.location()))?,
        };
        let begun = Moment::now(&*self.time);
        let others = match lease.session.children(&self.settings.folder) {
            Ok(others) => others.unwrap_or_default(),
            // The session has ended, and its node: the next attempt begins another one.
            Err(error) if error.kind() == ErrorKind::WriteConflict => return Ok(None),
            Err(error) => return Err(error.in_file(self.location())),
        };
        match turn(&others, &lease.name) {
            Some(0) => {}
            Some(_) => {
                *waiting = Some(lease);
                return Ok(None);
            }
            // Somebody has removed the node.
            None => return Ok(None),
        }
        let valid = lease.session.timeout();
        let renewal = Renewal {
            time: Arc::clone(&self.time),
            interval: valid / RENEWALS,
            location: self.location(),
            option: option_names::WRITE_LOCK_ZOOKEEPER_SESSION_TIMEOUT_MS.name(),
        };
        hold(lease, begun, valid, renewal).map(Some)
    }

    fn location(&self) -> String {
        format!("ZooKeeper {}, node {}", self.settings.servers, self.settings.folder)
    }

    fn is_file(&self) -> bool {
        false
    }

    fn longest_pause(&self) -> Duration {
        PAUSE
    }

    fn give_up(&self) {
        *self.waiting() = None;
    }
}

/// How many have a lower number (`LockInternals.getSortedChildren`); none if the name is not there.
fn turn(names: &[String], own: &str) -> Option<usize> {
    let number = |name: &str| name.rfind(NAME).and_then(|at| name.get(at + NAME.len()..)).unwrap_or(name).to_owned();
    let own_number = names.iter().any(|name| name == own).then(|| number(own))?;
    Some(names.iter().filter(|name| number(name) < own_number).count())
}

/// A node, which is the lock if its number is the lowest. It ends with the session, and so when this is dropped.
struct TurnLease {
    session: ZooKeeperSession,
    path: String,
    name: String,
    data: Vec<u8>,
}

impl Lease for TurnLease {
    fn renew(&mut self) -> Result<Option<Duration>> {
        match self.session.ping() {
            Ok(()) => Ok(Some(self.session.timeout())),
            Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// By a change, which needs a majority of the servers: one that is behind may still show the node.
    fn is_own(&mut self) -> Result<bool> {
        match self.session.set_data(&self.path, &self.data) {
            Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(false),
            is_there => is_there,
        }
    }

    fn give_back(&mut self) -> Result<()> {
        self.session.delete(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::{LockWait, acquire};
    use super::*;
    use mortice_base::time::SimulatedTime;
    use mortice_storage::zookeeper::scripted_server::ScriptedZooKeeper;

    const FOLDER: &str = "/hudi/trips";
    const SESSION: Duration = Duration::from_secs(60);

    fn settings(pairs: &[(&str, &str)]) -> Result<ZooKeeperSettings> {
        let options = WriteOptions::resolve(pairs.iter().copied()).unwrap();
        ZooKeeperSettings::explicit(&options, LockedTable { name: "trips", uri: "/t" })
    }

    fn lock(server: &ScriptedZooKeeper, time: &SimulatedTime) -> ZooKeeperLock {
        let options =
            [("hoodie.write.lock.zookeeper.url", server.address()), ("hoodie.write.lock.zookeeper.base_path", "/hudi")];
        ZooKeeperLock::new(settings(&options).unwrap(), Arc::new(time.clone()))
    }

    fn taken(server: &ScriptedZooKeeper, time: &SimulatedTime) -> Box<dyn HeldLock> {
        lock(server, time).try_acquire().unwrap().unwrap()
    }

    fn numbers(server: &ScriptedZooKeeper) -> Vec<String> {
        let nodes = server.nodes().into_iter().filter(|(path, _)| path.starts_with("/hudi/trips/"));
        let mut numbers: Vec<String> = nodes.map(|(path, _)| path.rsplit('-').next().unwrap().to_owned()).collect();
        numbers.sort();
        numbers
    }

    #[test]
    fn the_lowest_number_has_the_lock() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        let mut first = taken(&server, &time);
        let (second, third) = (lock(&server, &time), lock(&server, &time));
        assert!(second.try_acquire().unwrap().is_none() && third.try_acquire().unwrap().is_none());
        assert_eq!(numbers(&server), ["0000000000", "0000000001", "0000000002"]);
        let (path, data) = server.nodes().pop().unwrap();
        assert!(path.starts_with("/hudi/trips/_c_") && data.starts_with(b"application_id="), "{path}");
        first.check().unwrap();
        first.release().unwrap();
        assert!(third.try_acquire().unwrap().is_none(), "it is not its turn");
        let mut held = second.try_acquire().unwrap().unwrap();
        held.check().unwrap();
        drop(held);
        third.try_acquire().unwrap().unwrap().release().unwrap();
        assert_eq!(numbers(&server), [""; 0]);
    }

    /// Curator sorts by the number alone; the UUIDs before it are in any order.
    #[test]
    fn turns_are_those_of_curator() {
        let names = ["_c_b-lock-0000000009", "_c_a-lock-0000000010", "lock-0000000008"].map(str::to_owned);
        assert_eq!(names.each_ref().map(|name| turn(&names, name)), [Some(1), Some(2), Some(0)]);
        assert_eq!(turn(&names, "_c_c-lock-0000000001"), None);
    }

    #[test]
    fn a_writer_that_has_waited_in_vain_leaves_no_node() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        drop(taken(&server, &time));
        server.add_in_turn("/hudi/trips/_c_curator-lock-");
        let wait = LockWait { limit: Duration::from_secs(1), pause: Duration::from_secs(1) };
        let refused = acquire(&lock(&server, &time), wait, &time).err().unwrap().to_string();
        assert!(refused.contains("another writer") && refused.contains("ZooKeeper 127.0.0.1"), "{refused}");
        assert_eq!(numbers(&server), ["0000000001"]);
    }

    #[test]
    fn a_session_is_kept_alive_over_other_connections() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        let mut held = taken(&server, &time);
        server.drop_connections();
        time.advance(SESSION * 2);
        held.check().unwrap();
        server.lose_answers(1);
        held.check().unwrap();
        held.release().unwrap();
        assert_eq!(numbers(&server), [""; 0]);
    }

    #[test]
    fn a_holder_whose_session_has_ended_has_lost_the_lock() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        let mut held = taken(&server, &time);
        server.expire_sessions();
        held.state().unwrap().check_time().unwrap();
        let mut next = taken(&server, &time);
        assert_eq!(held.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        held.release().unwrap();
        next.check().unwrap();
        // So it has if its node was removed.
        let (path, _) = server.nodes().pop().unwrap();
        server.remove(&path);
        assert_eq!(next.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        // And at its next renewal.
        let held = taken(&server, &time);
        server.expire_sessions();
        time.advance(SESSION / 3);
        assert_eq!(held.state().unwrap().check_time().unwrap_err().kind(), ErrorKind::WriteConflict);
    }

    /// The servers do not hear of a writer that is stopped, either.
    #[test]
    fn a_holder_that_cannot_renew_has_lost_the_lock_when_its_session_ends() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        let held = taken(&server, &time);
        server.set_silent(true);
        time.advance(SESSION - Duration::from_millis(1));
        held.state().unwrap().check_time().unwrap();
        time.advance(Duration::from_millis(1));
        assert_eq!(held.state().unwrap().check_time().unwrap_err().kind(), ErrorKind::WriteConflict);
        held.release().unwrap();
    }

    #[test]
    fn a_writer_whose_session_ends_while_it_waits_waits_with_another_one() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        let held = taken(&server, &time);
        let waiting = lock(&server, &time);
        assert!(waiting.try_acquire().unwrap().is_none());
        server.expire_sessions();
        assert!(waiting.try_acquire().unwrap().is_none());
        waiting.try_acquire().unwrap().unwrap().check().unwrap();
        drop(held);
    }

    #[test]
    fn options_are_hudis() {
        let url = ("hoodie.write.lock.zookeeper.url", "zk1:2181,zk2:2181");
        let base = ("hoodie.write.lock.zookeeper.base_path", "/locks/");
        assert_eq!(settings(&[url, base]).unwrap().folder, "/locks/trips");
        let key = ("hoodie.write.lock.zookeeper.lock_key", "key");
        assert_eq!(settings(&[url, base, key]).unwrap().folder, "/locks/key");
        for (given, word) in [
            (&[base][..], "zookeeper.url"),
            (&[url], "zookeeper.base_path"),
            (&[("hoodie.write.lock.zookeeper.url", "a:b"), base], "option hoodie.write.lock.zookeeper.url"),
            (&[url, ("hoodie.write.lock.zookeeper.base_path", "/a/..")], "no path"),
        ] {
            let error = settings(given).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(word), "{error}");
        }
        let options = WriteOptions::resolve([url]).unwrap();
        let implicit = ZooKeeperSettings::implicit(&options, LockedTable { name: "trips", uri: "ts" }).unwrap();
        assert_eq!(implicit.folder, "/tmp/A324E3BE2287BA12/lock_key");
    }

    #[test]
    fn folders_are_created() {
        let (server, time) = (ScriptedZooKeeper::start().unwrap(), SimulatedTime::default());
        drop(taken(&server, &time));
        let paths: Vec<String> = server.nodes().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["/hudi", FOLDER]);
    }
}
