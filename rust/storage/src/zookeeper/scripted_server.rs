//! A server of ZooKeeper in memory, whose sessions and connections end when a test says so.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::session::{code, failure};
use super::wire::{Reader, Writer};
use mortice_base::error::{Error, Result};

/// The server. Its threads end with their connections.
pub struct ScriptedZooKeeper {
    state: Arc<Mutex<State>>,
    address: String,
}

#[derive(Default)]
struct State {
    /// By path: the session that it ends with, and its data.
    nodes: BTreeMap<String, (Option<i64>, Vec<u8>)>,
    /// Sessions that are alive.
    sessions: Vec<i64>,
    next_session: i64,
    next_number: u32,
    connections: Vec<TcpStream>,
    /// How many responses are not sent, after which the connection ends.
    lost_answers: usize,
    is_silent: bool,
}

impl ScriptedZooKeeper {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// `Io` if there is none.
    pub fn start() -> Result<Self> {
        let failed = |error| Error::io("could not start a server", error);
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?.to_string();
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Ok(Self { state, address })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends all sessions, as if the server had not heard of them in time.
    pub fn expire_sessions(&self) {
        let mut state = self.state();
        for session in std::mem::take(&mut state.sessions) {
            state.end(session);
        }
    }

    /// Ends all connections; sessions go on.
    pub fn drop_connections(&self) {
        for stream in std::mem::take(&mut self.state().connections) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Does what the next requests ask for, and ends the connection instead of responding.
    pub fn lose_answers(&self, count: usize) {
        self.state().lost_answers = count;
    }

    /// Ends connections at their next request, until this is called again.
    pub fn set_silent(&self, is_silent: bool) {
        self.state().is_silent = is_silent;
    }

    /// The paths of all nodes, with their data.
    #[must_use]
    pub fn nodes(&self) -> Vec<(String, Vec<u8>)> {
        self.state().nodes.iter().map(|(path, (_, data))| (path.clone(), data.clone())).collect()
    }

    /// Creates a node in turn, as another client does whose session does not end.
    pub fn add_in_turn(&self, path: &str) -> String {
        self.state().create(path, None, &[], true).unwrap_or_default()
    }

    /// Removes a node.
    pub fn remove(&self, path: &str) {
        self.state().nodes.remove(path);
    }
}

impl State {
    fn end(&mut self, session: i64) {
        self.nodes.retain(|_, (owner, _)| *owner != Some(session));
        self.sessions.retain(|alive| *alive != session);
    }

    fn create(
        &mut self,
        path: &str,
        owner: Option<i64>,
        data: &[u8],
        is_in_turn: bool,
    ) -> std::result::Result<String, i32> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if !parent.is_empty() && !self.nodes.contains_key(parent) {
            return Err(failure::NO_NODE);
        }
        let path = if is_in_turn { format!("{path}{:010}", self.next_number) } else { path.to_owned() };
        self.next_number += u32::from(is_in_turn);
        if self.nodes.contains_key(&path) {
            return Err(failure::NODE_EXISTS);
        }
        self.nodes.insert(path.clone(), (owner, data.to_vec()));
        Ok(path)
    }

    fn answer(&mut self, session: i64, code: i32, reader: &mut Reader<'_>) -> Result<std::result::Result<Writer, i32>> {
        if !self.sessions.contains(&session) {
            return Ok(Err(failure::SESSION_EXPIRED));
        }
        let done = Ok(Writer::default());
        if code == code::PING {
            return Ok(done);
        }
        if code == code::CLOSE {
            self.end(session);
            return Ok(done);
        }
        let path = reader.text()?;
        let is_there = self.nodes.contains_key(&path);
        Ok(match code {
            code::CREATE => {
                let data = reader.bytes()?.to_vec();
                let (_acls, _all, _scheme, _id) = (reader.int()?, reader.int()?, reader.text()?, reader.text()?);
                let is_in_turn = reader.int()? == 3;
                let owner = is_in_turn.then_some(session);
                self.create(&path, owner, &data, is_in_turn).map(|path| Writer::default().text(&path))
            }
            _ if !is_there => Err(failure::NO_NODE),
            code::DELETE => {
                self.nodes.remove(&path);
                done
            }
            code::SET_DATA => {
                let data = reader.bytes()?.to_vec();
                if let Some(node) = self.nodes.get_mut(&path) {
                    node.1 = data;
                }
                done
            }
            code::CHILDREN => {
                let inside = format!("{path}/");
                let names: Vec<&str> = self.nodes.keys().filter_map(|path| path.strip_prefix(&inside)).collect();
                let count = i32::try_from(names.len()).unwrap_or_default();
                Ok(names.iter().fold(Writer::default().int(count), |written, name| written.text(name)))
            }
            _ => done,
        })
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    locked(state).connections.push(stream.try_clone().ok()?);
    let request = packet(&mut stream)?;
    let mut reader = Reader(&request);
    let (_version, _change, timeout) = (reader.int().ok()?, reader.long().ok()?, reader.int().ok()?);
    let mut session = reader.long().ok()?;
    {
        let mut state = locked(state);
        if state.is_silent {
            return close(&stream);
        }
        if session == 0 {
            state.next_session += 1;
            session = state.next_session;
            state.sessions.push(session);
        }
        let timeout = if state.sessions.contains(&session) { timeout } else { 0 };
        let response = Writer::default().int(0).int(timeout).long(session).bytes(&[7; 16]).boolean(false);
        stream.write_all(&response.packet()).ok()?;
    }
    loop {
        let request = packet(&mut stream)?;
        let mut reader = Reader(&request);
        let (xid, code) = (reader.int().ok()?, reader.int().ok()?);
        let mut state = locked(state);
        if state.is_silent {
            return close(&stream);
        }
        let answer = state.answer(session, code, &mut reader).ok()?;
        if state.lost_answers > 0 {
            state.lost_answers -= 1;
            return close(&stream);
        }
        let (error, response) = answer.map_or_else(|error| (error, Writer::default()), |response| (0, response));
        // A notification of something that the client has not asked for comes first.
        stream.write_all(&Writer::default().int(-1).long(-1).int(0).packet()).ok()?;
        stream.write_all(&Writer::default().int(xid).long(1).int(error).then(response).packet()).ok()?;
    }
}

fn close(stream: &TcpStream) -> Option<()> {
    stream.shutdown(Shutdown::Both).ok()
}

fn packet(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut len = [0; 4];
    stream.read_exact(&mut len).ok()?;
    let mut bytes = vec![0; usize::try_from(i32::from_be_bytes(len)).ok()?];
    stream.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{SessionTimeouts, ZooKeeperAddress, ZooKeeperSession};
    use super::*;
    use mortice_base::error::ErrorKind;

    fn session(server: &ScriptedZooKeeper, folder: &str) -> ZooKeeperSession {
        let timeouts = SessionTimeouts { connection: Duration::from_secs(5), session: Duration::from_secs(30) };
        let address = ZooKeeperAddress::parse(&format!("127.0.0.1:1,{}{folder}", server.address())).unwrap();
        ZooKeeperSession::begin(&address, timeouts).unwrap()
    }

    fn paths(server: &ScriptedZooKeeper) -> Vec<String> {
        server.nodes().into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn nodes_are_created_found_and_deleted() {
        let server = ScriptedZooKeeper::start().unwrap();
        let mut one = session(&server, "");
        assert_eq!(one.timeout(), Duration::from_secs(30));
        assert!(!one.exists("/a").unwrap());
        assert_eq!(one.create("/b/c").unwrap_err().kind(), ErrorKind::NotFound);
        one.create("/a").unwrap();
        one.create("/a").unwrap();
        let mut inside = session(&server, "/a");
        inside.create("/b").unwrap();
        let name = inside.create_in_turn("/b", "x-lock-", b"data").unwrap();
        assert_eq!(name, "x-lock-0000000000");
        assert_eq!(one.children("/a/b").unwrap().unwrap(), [name.as_str()]);
        assert!(inside.set_data(&format!("/b/{name}"), b"other").unwrap());
        assert_eq!(server.nodes()[2], (format!("/a/b/{name}"), b"other".to_vec()));
        assert!(one.children("/none").unwrap().is_none() && !one.set_data("/none", b"").unwrap());
        one.delete("/none").unwrap();
        one.ping().unwrap();
        drop(inside);
        assert_eq!(paths(&server), ["/a", "/a/b"]);
    }

    #[test]
    fn a_session_goes_on_over_another_connection() {
        let server = ScriptedZooKeeper::start().unwrap();
        let mut one = session(&server, "");
        one.create("/a").unwrap();
        server.drop_connections();
        assert!(one.exists("/a").unwrap());
        // The node was created, and the response lost: it is not created again.
        server.lose_answers(1);
        let name = one.create_in_turn("/a", "x-lock-", b"").unwrap();
        assert_eq!(paths(&server), ["/a".to_owned(), format!("/a/{name}")]);
        server.set_silent(true);
        assert_eq!(one.ping().unwrap_err().kind(), ErrorKind::Unreachable);
        server.set_silent(false);
        one.ping().unwrap();
        server.expire_sessions();
        assert_eq!(one.ping().unwrap_err().kind(), ErrorKind::WriteConflict);
        server.drop_connections();
        assert_eq!(one.ping().unwrap_err().kind(), ErrorKind::WriteConflict);
        assert_eq!(paths(&server), ["/a"]);
    }

    #[test]
    fn a_server_that_cannot_be_reached_is_named() {
        let address = ZooKeeperAddress::parse("127.0.0.1:1").unwrap();
        let timeouts = SessionTimeouts { connection: Duration::from_secs(5), session: Duration::from_secs(30) };
        let error = ZooKeeperSession::begin(&address, timeouts).err().unwrap();
        assert!(error.kind() == ErrorKind::Unreachable && error.to_string().contains("127.0.0.1:1"), "{error}");
    }
}
