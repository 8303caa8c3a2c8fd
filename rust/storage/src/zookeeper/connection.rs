//! A connection to one server.

use std::io::{ErrorKind as IoKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::wire::{Reader, Writer, unreadable};
use crate::{POLL, check_cancelled};
use mortice_base::error::{Error, ErrorKind, Result};

/// Servers send no longer packets (`jute.maxbuffer` is 1 MB by default).
const LONGEST_PACKET: usize = 16 << 20;
/// The size in which a packet is read: its length is not trusted.
const PART: usize = 64 << 10;

/// A connection, which is not used any more after an error.
pub(super) struct Connection {
    stream: TcpStream,
    /// How long a response may take.
    patience: Duration,
}

impl Connection {
    /// Connects to a host.
    ///
    /// # Errors
    /// `Unreachable`, naming host and port.
    pub(super) fn open(host: &str, port: u16, limit: Duration) -> Result<Self> {
        let failed = |error| {
            let message = format!("ZooKeeper cannot be reached at {host}:{port}");
            Error::new(ErrorKind::Unreachable, message).caused_by(error)
        };
        let mut last = std::io::Error::new(IoKind::NotFound, "the host has no address");
        for address in (host, port).to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(stream) => {
                    stream.set_nodelay(true).map_err(failed)?;
                    stream.set_read_timeout(Some(POLL)).map_err(failed)?;
                    stream.set_write_timeout(Some(limit)).map_err(failed)?;
                    return Ok(Self { stream, patience: limit });
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Lets responses take no longer than this from now on.
    pub(super) fn limit_patience(&mut self, limit: Duration) {
        self.patience = self.patience.min(limit);
    }

    /// Sends a packet.
    pub(super) fn send(&mut self, request: Writer) -> Result<()> {
        self.stream.write_all(&request.packet()).map_err(lost)
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// `Unreachable` if the connection has ended, or there is no packet in time; `Interrupted` by a signal.
    pub(super) fn receive(&mut self) -> Result<Vec<u8>> {
        let mut waited = Duration::ZERO;
        let len = self.read(4, &mut waited)?;
        let len = usize::try_from(Reader(&len).int()?).ok().filter(|len| *len <= LONGEST_PACKET);
        self.read(len.ok_or_else(unreadable)?, &mut waited)
    }

    fn read(&mut self, len: usize, waited: &mut Duration) -> Result<Vec<u8>> {
        let mut read = Vec::new();
        while read.len() < len {
            let mut part = vec![0; (len - read.len()).min(PART)];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(lost(IoKind::UnexpectedEof.into())),
                Ok(count) => read.extend_from_slice(part.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) if matches!(error.kind(), IoKind::WouldBlock | IoKind::TimedOut) => {
                    check_cancelled()?;
                    *waited += POLL;
                    if *waited >= self.patience {
                        return Err(Error::new(ErrorKind::Unreachable, "ZooKeeper did not answer in time"));
                    }
                }
                Err(error) => return Err(lost(error)),
            }
        }
        Ok(read)
    }
}

fn lost(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unreachable, "the connection to ZooKeeper was lost").caused_by(error)
}
