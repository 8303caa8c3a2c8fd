//! Runs one operation of a file store, for the tests in Python that have a server:
//! `file_store OPERATION URI OPTIONS [ARGUMENTS]`.
//!
//! `OPTIONS` is a JSON object. The answer is a line of JSON: what came of it, or the code of the error with its
//! message.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::sync::Barrier;

use bytes::Bytes;
use mortice::storage::{FileStore, FileVersion, KnownFile, PutOutcome, StorageOptions, open_file_store};
use serde_json::{Value, json};

/// The longest piece of a large file.
const PIECE: usize = 3 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [operation, uri, options, rest @ ..] = arguments.as_slice() else {
        panic!("file_store OPERATION URI OPTIONS [ARGUMENTS]");
    };
    let options: StorageOptions = serde_json::from_str(options).unwrap();
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let answer = open_file_store(uri, &options).and_then(|store| run(store.as_ref(), operation, &rest));
    let answer = answer.unwrap_or_else(|error| json!({"error": error.kind().code(), "message": error.to_string()}));
    println!("{answer}");
}

fn run(store: &dyn FileStore, operation: &str, arguments: &[&str]) -> mortice::Result<Value> {
    let text = |text: &str| Bytes::from(text.to_owned());
    Ok(match (operation, arguments) {
        ("put_if_absent", [path, content]) => put(&store.put_if_absent(path, &text(content))?),
        ("put", [path, content]) => put(&store.put(path, &text(content), None)?),
        ("put", [path, content, etag]) => {
            let expected = FileVersion { etag: Some((*etag).to_owned()), version: None };
            put(&store.put(path, &text(content), Some(&expected))?)
        }
        ("get", [path]) => {
            let (bytes, version) = store.get(path)?;
            json!({"text": String::from_utf8_lossy(&bytes), "etag": version.etag})
        }
        ("delete", [path]) => {
            store.delete(path)?;
            json!({"deleted": path})
        }
        ("rename", [from, to]) => json!({"renamed": format!("{:?}", store.rename(from, to)?)}),
        ("list", [folder]) => {
            let found = store.list_recursively(folder)?;
            json!({"files": found.iter().map(|(path, _)| path).collect::<Vec<_>>()})
        }
        ("upload", [path, len, end]) => upload(store, path, len.parse().unwrap(), end)?,
        ("read", [path, len]) => {
            let file = KnownFile { len: len.parse().unwrap(), ..KnownFile::default() };
            let bytes = store.open_known(path, &file)?.read_all()?;
            json!({"bytes": bytes.len(), "sum": sum(&bytes)})
        }
        ("race", [path, rounds, writers]) => race(store, path, rounds.parse().unwrap(), writers.parse().unwrap())?,
        _ => panic!("no operation {operation} with {} arguments", arguments.len()),
    })
}

fn put(put: &PutOutcome) -> Value {
    match put {
        PutOutcome::Written(version) => json!({"put": "written", "etag": version.etag}),
        PutOutcome::Refused => json!({"put": "refused"}),
    }
}

/// The content of large files: no two pieces are alike.
fn piece(from: usize, len: usize) -> Bytes {
    (from..from + len).map(|at| u8::try_from((at / 1000 + at) % 251).unwrap()).collect::<Vec<u8>>().into()
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}

fn upload(store: &dyn FileStore, path: &str, len: usize, end: &str) -> mortice::Result<Value> {
    let mut upload = store.upload(path)?;
    let mut all = Vec::new();
    while all.len() < len {
        let piece = piece(all.len(), PIECE.min(len - all.len()));
        all.extend_from_slice(&piece);
        upload.write(piece)?;
    }
    if end == "drop" {
        drop(upload);
        return Ok(json!({"dropped": len}));
    }
    upload.finish()?;
    Ok(json!({"bytes": len, "sum": sum(&all)}))
}

/// How many of several writers create a file, and how many replace the version that all of them know, in each round.
fn race(store: &dyn FileStore, path: &str, rounds: usize, writers: usize) -> mortice::Result<Value> {
    let (mut created, mut replaced, mut kept) = (Vec::new(), Vec::new(), true);
    for round in 0..rounds {
        let path = format!("{path}-{round}");
        let successes = at_once(writers, |writer| store.put_if_absent(&path, &format!("writer {writer}").into()))?;
        let (content, version) = store.get(&path)?;
        kept &= successes.iter().all(|winner| content == format!("writer {winner}"));
        created.push(successes.len());
        let replace = |writer: usize| store.put(&path, &format!("replaced by {writer}").into(), Some(&version));
        match at_once(writers, replace) {
            Ok(successes) => {
                let (content, _) = store.get(&path)?;
                kept &= successes.iter().all(|winner| content == format!("replaced by {winner}"));
                replaced.push(successes.len());
            }
            Err(error) if error.kind() == mortice::ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
    }
    Ok(json!({"created": created, "replaced": replaced, "kept": kept}))
}

/// The writers that succeeded.
fn at_once(writers: usize, write: impl Fn(usize) -> mortice::Result<PutOutcome> + Sync) -> mortice::Result<Vec<usize>> {
    let barrier = Barrier::new(writers);
    std::thread::scope(|scope| {
        let (write, barrier) = (&write, &barrier);
        let start = |writer: usize| {
            scope.spawn(move || {
                barrier.wait();
                write(writer)
            })
        };
        let threads: Vec<_> = (0..writers).map(start).collect();
        let mut successes = Vec::new();
        for (writer, thread) in threads.into_iter().enumerate() {
            if thread.join().unwrap()? != PutOutcome::Refused {
                successes.push(writer);
            }
        }
        Ok(successes)
    })
}
