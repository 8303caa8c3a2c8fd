//! Files that are written whole survive a process that is killed at any time: each is complete or absent.
//!
//! The test kills processes of its own, which run [`writes_until_it_is_killed`].

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use mortice::storage::{FileStore, PutOutcome, RenameOutcome, StorageOptions, open_file_store};

const FOLDER: &str = "MORTICE_CRASH_FOLDER";
const FIRST: &str = "MORTICE_CRASH_FIRST";
const LAST: &str = "MORTICE_CRASH_LAST";
const ROUNDS: u64 = 25;

/// Content that says which write it is of, and that is not to be cut anywhere.
fn content(number: u64) -> Bytes {
    let line = format!("write {number:08}\n");
    let mut all = line.repeat(5000);
    all.push_str("end");
    all.into()
}

fn is_complete(bytes: &[u8]) -> bool {
    let number = bytes.get(6..14).and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
    number.is_some_and(|number| content(number) == bytes)
}

fn write(place: &dyn FileStore, number: u64) {
    let bytes = content(number);
    assert!(matches!(place.put_if_absent(&format!("p/created-{number}"), &bytes).unwrap(), PutOutcome::Written(_)));
    said("created", number);
    place.put("p/replaced", &bytes, None).unwrap();
    said("replaced", number);
    let (_, version) = place.get("p/replaced").unwrap();
    assert!(matches!(place.put("p/replaced", &bytes, Some(&version)).unwrap(), PutOutcome::Written(_)));
    place.put_if_absent(&format!("p/old-{number}"), &bytes).unwrap();
    assert_eq!(place.rename(&format!("p/old-{number}"), &format!("q/renamed-{number}")).unwrap(), RenameOutcome::Done);
    said("renamed", number);
    let mut upload = place.upload(&format!("q/uploaded-{number}")).unwrap();
    let half = bytes.len() / 2;
    upload.write(bytes.slice(..half)).unwrap();
    upload.write(bytes.slice(half..)).unwrap();
    upload.finish().unwrap();
    said("uploaded", number);
}

fn said(what: &str, number: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what} {number}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "run by the other test, in a process that is killed"]
fn writes_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |number| number.parse().unwrap());
    let place = open_file_store(&folder, &StorageOptions::new()).unwrap();
    for number in number(FIRST, 0)..number(LAST, u64::MAX) {
        write(place.as_ref(), number);
    }
}

/// Runs the writer from a number on, kills it after a while, and returns what it said last of each kind.
fn killed_after(folder: &Path, first: u64, while_: Duration) -> BTreeMap<String, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::writes_until_it_is_killed", "--ignored", "--nocapture", "--test-threads=1"])
        .envs([(FOLDER, folder.display().to_string()), (FIRST, first.to_string())])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = BTreeMap::new();
    let mut note = |line: &str| {
        if let Some((what, Ok(number))) = line.split_once(' ').map(|(what, number)| (what.to_owned(), number.parse())) {
            said.insert(what, number);
        }
    };
    // It has begun to write.
    for line in lines.by_ref() {
        let line = line.unwrap();
        note(&line);
        if line.starts_with("created") {
            break;
        }
    }
    std::thread::sleep(while_);
    child.kill().unwrap();
    child.wait().unwrap();
    lines.for_each(|line| note(&line.unwrap()));
    said
}

/// The paths of temporary files. All others have to be complete.
fn check(folder: &Path) -> Vec<String> {
    let mut temporary = Vec::new();
    for below in ["p", "q"] {
        let Ok(entries) = std::fs::read_dir(folder.join(below)) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with('.') && name.ends_with(".tmp") {
                temporary.push(format!("{below}/{name}"));
                continue;
            }
            assert!(is_complete(&std::fs::read(entry.path()).unwrap()), "{below}/{name} is not complete");
        }
    }
    temporary
}

#[test]
fn a_process_that_is_killed_leaves_files_that_are_complete_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let (mut next, mut temporary) = (0, 0);
    for round in 0..ROUNDS {
        // Times that are spread over some writes, another one each round.
        let said = killed_after(folder.path(), next, Duration::from_micros(round * 7919 % 12_000));
        temporary = check(folder.path()).len();
        for (what, number) in &said {
            let path = match what.as_str() {
                "created" => format!("p/created-{number}"),
                "renamed" => format!("q/renamed-{number}"),
                "uploaded" => format!("q/uploaded-{number}"),
                "replaced" => "p/replaced".to_owned(),
                _ => continue,
            };
            let found = std::fs::read(folder.path().join(path)).unwrap();
            assert!(is_complete(&found), "{what} {number}");
        }
        // The last process may have stopped at any point: its numbers are not used again.
        next = said.values().max().unwrap() + 2;
    }
    // A process was killed while it wrote, at least once: else this has shown nothing.
    assert!(temporary > 0);
    // The next writer is not in the way of what was left.
    let place = open_file_store(&folder.path().display().to_string(), &StorageOptions::new()).unwrap();
    write(place.as_ref(), next);
}
