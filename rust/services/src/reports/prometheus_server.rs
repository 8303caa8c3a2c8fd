//! A server that Prometheus asks for metrics: one of each port, for all tables of the process that report there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::gauges;
use super::labels::Labels;
use super::text_format::{CONTENT_TYPE, text_of};
use mortice_base::error::{Error, Result};

/// How long a client may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a request that are read.
const MOST: u64 = 16 << 10;

/// The tables of a port, with the process whose thread serves them: a child of a fork has no such thread.
struct Served {
    process: u32,
    tables: BTreeMap<String, Labels>,
}

static PORTS: Mutex<BTreeMap<u16, Served>> = Mutex::new(BTreeMap::new());

fn ports() -> MutexGuard<'static, BTreeMap<u16, Served>> {
    PORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the values of a table served at a port until the process ends.
///
/// # Errors
/// `Io` if another process has the port.
pub(super) fn serve(port: u16, table: &str, labels: &Labels) -> Result<()> {
    let mut ports = ports();
    let process = std::process::id();
    if let Some(served) = ports.get_mut(&port).filter(|served| served.process == process) {
        served.tables.insert(table.to_owned(), labels.clone());
        return Ok(());
    }
    let failed = |error| Error::io(format!("could not serve metrics for Prometheus at port {port}"), error);
    let listener = TcpListener::bind(("0.0.0.0", port)).map_err(failed)?;
    let answer_all = move || {
        for client in listener.incoming().flatten() {
            // A client that fails is not served; the next one is.
            let _ = answer(client, port);
        }
    };
    let _detached = Builder::new().name("mortice-metrics".to_owned()).spawn(answer_all).map_err(failed)?;
    ports.insert(port, Served { process, tables: BTreeMap::from([(table.to_owned(), labels.clone())]) });
    Ok(())
}

/// Answers a request of any path.
fn answer(mut client: TcpStream, port: u16) -> std::io::Result<()> {
    client.set_read_timeout(Some(TIMEOUT))?;
    client.set_write_timeout(Some(TIMEOUT))?;
    for line in BufReader::new((&client).take(MOST)).lines() {
        if line?.is_empty() {
            break;
        }
    }
    let body = text_at(port);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

fn text_at(port: u16) -> String {
    let tables = ports().get(&port).map(|served| served.tables.clone()).unwrap_or_default();
    tables.iter().map(|(table, labels)| text_of(&gauges::of_table(table), labels)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(port: u16) -> String {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn tables_of_a_port_are_served_together() {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        let error = serve(port, "/served/a", &Labels::default()).unwrap_err();
        assert!(error.to_string().contains("port"), "{error}");
        drop(free);
        gauges::set("/served/a", [("a.commit.duration".to_owned(), 1)]);
        serve(port, "/served/a", &Labels::default()).unwrap();
        serve(port, "/served/b", &Labels::parse("env:dev").unwrap()).unwrap();
        gauges::set("/served/b", [("b.commit.duration".to_owned(), 2)]);
        let text = get(port);
        assert!(text.starts_with("HTTP/1.1 200 OK") && text.contains(CONTENT_TYPE), "{text}");
        assert!(
            text.contains("\na_commit_duration 1\n") && text.ends_with("b_commit_duration{env=\"dev\"} 2\n"),
            "{text}"
        );
    }
}
