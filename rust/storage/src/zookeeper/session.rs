//! A session. It is that of one process, and goes on over another connection if one is lost, until the servers have not
//! heard of it for its timeout. Then they delete its ephemeral nodes.

use std::time::Duration;

use super::address::ZooKeeperAddress;
use super::connection::Connection;
use super::wire::{Reader, Writer};
use mortice_base::error::{Error, ErrorKind, Result};

/// Codes of requests (`ZooDefs.OpCode`).
pub(super) mod code {
    pub(in super::super) const CREATE: i32 = 1;
    pub(in super::super) const DELETE: i32 = 2;
    pub(in super::super) const EXISTS: i32 = 3;
    pub(in super::super) const SET_DATA: i32 = 5;
    pub(in super::super) const CHILDREN: i32 = 8;
    pub(in super::super) const PING: i32 = 11;
    pub(in super::super) const CLOSE: i32 = -11;
}

/// Codes of errors (`KeeperException.Code`).
pub(super) mod failure {
    pub(in super::super) const NO_NODE: i32 = -101;
    pub(in super::super) const NO_AUTH: i32 = -102;
    pub(in super::super) const NODE_EXISTS: i32 = -110;
    pub(in super::super) const SESSION_EXPIRED: i32 = -112;
    pub(in super::super) const AUTH_FAILED: i32 = -115;
    pub(in super::super) const NEEDS_SASL: i32 = -124;
}

/// The flags of a node that ends with its session, and whose name gets a number.
const EPHEMERAL_SEQUENTIAL: i32 = 3;
/// Any version.
const ANY: i32 = -1;
/// All permissions.
const ALL: i32 = 31;
const PING_XID: i32 = -2;
/// A password of a session that is new.
const NO_PASSWORD: [u8; 16] = [0; 16];
/// How long the response to the last request may take.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
/// How often a request is repeated over another connection.
const TRIES: usize = 3;

/// Time limits of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTimeouts {
    /// For a connection and for a response.
    pub connection: Duration,
    /// After which the servers end a session of which they do not hear. They may choose another one.
    pub session: Duration,
}

/// A session.
pub struct ZooKeeperSession {
    address: ZooKeeperAddress,
    timeouts: SessionTimeouts,
    connection: Option<Connection>,
    /// The host to connect to next.
    next_host: usize,
    id: i64,
    password: Vec<u8>,
    last_change: i64,
    last_xid: i32,
    process: u32,
}

impl ZooKeeperSession {
    /// Begins a session.
    ///
    /// # Errors
    /// `Unreachable` if no server can be reached.
    pub fn begin(address: &ZooKeeperAddress, timeouts: SessionTimeouts) -> Result<Self> {
        let mut session = Self {
            address: address.clone(),
            timeouts,
            connection: None,
            next_host: 0,
            id: 0,
            password: NO_PASSWORD.to_vec(),
            last_change: 0,
            last_xid: 0,
            process: std::process::id(),
        };
        session.connection()?;
        Ok(session)
    }

    /// After how long without a request the session ends.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeouts.session
    }

    /// Returns true if there is a node.
    ///
    /// # Errors
    /// `WriteConflict` if the session has expired; `Forbidden`, `Unreachable` or `Io`. So for all requests.
    pub fn exists(&mut self, path: &str) -> Result<bool> {
        let request = self.path(path).boolean(false);
        Ok(self.repeated(code::EXISTS, &request)?.is_some())
    }

    /// Creates a node without data, unless there is one.
    ///
    /// # Errors
    /// As for [`Self::exists`]; `NotFound` if its parent does not exist.
    pub fn create(&mut self, path: &str) -> Result<()> {
        let request = with_permissions(self.path(path).bytes(&[])).int(0);
        match self.repeated(code::CREATE, &request) {
            Ok(None) => Err(Error::new(ErrorKind::NotFound, "no such node").in_file(path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other.map(drop),
        }
    }

    /// Creates a node that ends with the session. The server adds a number to its name, which is greater than those of
    /// nodes that were created before. Returns the name, of which `prefix` is unique: after a lost response the node is
    /// found by it.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn create_in_turn(&mut self, folder: &str, prefix: &str, data: &[u8]) -> Result<String> {
        let path = format!("{folder}/{prefix}");
        let mut tries = 1;
        loop {
            let request = with_permissions(self.path(&path).bytes(data)).int(EPHEMERAL_SEQUENTIAL);
            match self.once(code::CREATE, request) {
                Ok(Some(response)) => {
                    let created = Reader(&response).text()?;
                    return Ok(created.rsplit('/').next().unwrap_or_default().to_owned());
                }
                Ok(None) => return Err(Error::new(ErrorKind::NotFound, "no such node").in_file(folder)),
                Err(error) if error.kind() == ErrorKind::Unreachable && tries < TRIES => tries += 1,
                Err(error) => return Err(error),
            }
            let children = self.children(folder)?.unwrap_or_default();
            if let Some(name) = children.into_iter().find(|name| name.starts_with(prefix)) {
                return Ok(name);
            }
        }
    }

    /// The names of the nodes in a node; none if there is none.
    ///
    /// # Errors
    /// As for [`Self::exists`].
    pub fn children(&mut self, path: &str) -> Result<Option<Vec<String>>> {
        let request = self.path(path).boolean(false);
        let response = self.repeated(code::CHILDREN, &request)?;
        response.map(|response| Reader(&response).strings()).transpose()
    }

    /// Replaces the data of a node; false if there is none. A majority of the servers confirms that.
    ///
    /// # Errors
    /// As for [`Self::exists`].
    pub fn set_data(&mut self, path: &str, data: &[u8]) -> Result<bool> {
        let request = self.path(path).bytes(data).int(ANY);
        Ok(self.repeated(code::SET_DATA, &request)?.is_some())
    }

    /// Deletes a node, if there is one.
    ///
    /// # Errors
    /// As for [`Self::exists`].
    pub fn delete(&mut self, path: &str) -> Result<()> {
        let request = self.path(path).int(ANY);
        self.repeated(code::DELETE, &request).map(drop)
    }

    /// Lets the servers hear of the session.
    ///
    /// # Errors
    /// As for [`Self::exists`].
    pub fn ping(&mut self) -> Result<()> {
        self.repeated(code::PING, &Writer::default()).map(drop)
    }

    fn path(&self, path: &str) -> Writer {
        Writer::default().text(&format!("{}{path}", self.address.folder))
    }

    /// Runs a request, and again over other connections: it may be repeated.
    fn repeated(&mut self, code: i32, request: &Writer) -> Result<Option<Vec<u8>>> {
        let mut tries = 1;
        loop {
            match self.once(code, request.clone()) {
                Err(error) if error.kind() == ErrorKind::Unreachable && tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    /// Runs a request. Returns the response without its header; none if there is no node.
    fn once(&mut self, code: i32, request: Writer) -> Result<Option<Vec<u8>>> {
        let xid = if code == code::PING { PING_XID } else { self.next_xid() };
        let connection = self.connection()?;
        let answered = exchange(connection, xid, Writer::default().int(xid).int(code).then(request));
        let (change, error, response) = match answered {
            Ok(answered) => answered,
            Err(error) => {
                // A response may still arrive on it.
                self.connection = None;
                return Err(error);
            }
        };
        self.last_change = self.last_change.max(change);
        let failed = |kind, what: &str| Err(Error::new(kind, format!("ZooKeeper refused a request: {what} ({error})")));
        match error {
            0 => Ok(Some(response)),
            failure::NO_NODE => Ok(None),
            failure::NODE_EXISTS => failed(ErrorKind::AlreadyExists, "the node exists"),
            failure::SESSION_EXPIRED => Err(expired()),
            failure::NO_AUTH | failure::AUTH_FAILED => failed(
                ErrorKind::Forbidden,
                "everybody may not change the node; locks need nodes without a list of who may",
            ),
            failure::NEEDS_SASL => failed(ErrorKind::Unsupported, "it asks for SASL, which is not supported"),
            _ => failed(ErrorKind::Io, "see KeeperException.Code"),
        }
    }

    fn next_xid(&mut self) -> i32 {
        self.last_xid = self.last_xid.checked_add(1).unwrap_or(1);
        self.last_xid
    }

    /// The connection. If it was lost, the next host is connected to, and so on, each once.
    fn connection(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut tries = self.address.hosts.len();
            let connected = loop {
                match self.connect() {
                    Err(error) if error.kind() == ErrorKind::Unreachable && tries > 1 => tries -= 1,
                    other => break other?,
                }
            };
            self.connection = Some(connected);
        }
        self.connection.as_mut().ok_or_else(|| Error::internal("a session without a connection"))
    }

    /// Connects to the next host, and begins the session, or goes on with it.
    fn connect(&mut self) -> Result<Connection> {
        let host = self.address.hosts.get(self.next_host).or_else(|| self.address.hosts.first());
        self.next_host = (self.next_host + 1) % self.address.hosts.len().max(1);
        let (host, port) = host.ok_or_else(|| Error::internal("an address without a host"))?;
        let mut connection = Connection::open(host, *port, self.timeouts.connection)?;
        let timeout = i32::try_from(self.timeouts.session.as_millis()).unwrap_or(i32::MAX);
        let request = Writer::default().int(0).long(self.last_change).int(timeout);
        connection.send(request.long(self.id).bytes(&self.password).boolean(false))?;
        let response = connection.receive()?;
        let mut response = Reader(&response);
        let _version = response.int()?;
        let timeout = response.int()?;
        let (id, password) = (response.long()?, response.bytes()?.to_vec());
        match u64::try_from(timeout) {
            Ok(timeout @ 1..) => {
                (self.id, self.password) = (id, password);
                self.timeouts.session = Duration::from_millis(timeout);
                Ok(connection)
            }
            // The servers do not know the session any more.
            _ => Err(expired()),
        }
    }
}

/// Ends the session at once, with its ephemeral nodes, if it is connected. In a forked child it is the parent's.
impl Drop for ZooKeeperSession {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let xid = self.next_xid();
        if let Some(connection) = &mut self.connection {
            connection.limit_patience(LAST_PATIENCE);
            let _ = exchange(connection, xid, Writer::default().int(xid).int(code::CLOSE));
        }
    }
}

/// Sends a request and waits for its response: the last change that the server knows, the error, and the rest.
fn exchange(connection: &mut Connection, xid: i32, request: Writer) -> Result<(i64, i32, Vec<u8>)> {
    connection.send(request)?;
    loop {
        let packet = connection.receive()?;
        let mut reader = Reader(&packet);
        let (found, change, error) = (reader.int()?, reader.long()?, reader.int()?);
        // Others are notifications.
        if found == xid {
            return Ok((change, error, reader.0.to_vec()));
        }
    }
}

/// Everybody may do everything with a node, as with those of Hudi.
fn with_permissions(request: Writer) -> Writer {
    request.int(1).int(ALL).text("world").text("anyone")
}

fn expired() -> Error {
    Error::new(ErrorKind::WriteConflict, "the session with ZooKeeper has expired")
}
