//! Graphite: a line for each metric, by the plaintext protocol.

use std::io::Write as _;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use super::gauges::Gauges;
use mortice_base::error::{Error, Result};

/// How long a connection may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends the values of a table.
///
/// # Errors
/// `Io` if the server cannot be reached.
pub(super) fn send(host: &str, port: u16, prefix: &str, gauges: &Gauges, now_seconds: i64) -> Result<()> {
    let failed = |error| Error::io(format!("could not send metrics to Graphite at {host}:{port}"), error);
    let lines: String = gauges.iter().map(|(name, value)| line_of(prefix, name, *value, now_seconds)).collect();
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs().map_err(failed)? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(mut stream) => {
                stream.set_write_timeout(Some(TIMEOUT)).map_err(failed)?;
                return stream.write_all(lines.as_bytes()).and_then(|()| stream.flush()).map_err(failed);
            }
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// `prefix.name value seconds`. White space in names would end them.
fn line_of(prefix: &str, name: &str, value: i64, now_seconds: i64) -> String {
    let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    let name: String = name.chars().map(|letter| if letter.is_whitespace() { '-' } else { letter }).collect();
    format!("{name} {value} {now_seconds}\n")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn values_are_lines() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = server.local_addr().unwrap().port();
        let gauges = Gauges::from([("my trips.commit.duration".to_owned(), 5)]);
        send("127.0.0.1", port, "eu", &gauges, 1000).unwrap();
        let mut text = String::new();
        server.accept().unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "eu.my-trips.commit.duration 5 1000\n");
        drop(server);
        let error = send("127.0.0.1", port, "", &gauges, 1000).unwrap_err();
        assert!(error.to_string().contains("Graphite"), "{error}");
    }
}
