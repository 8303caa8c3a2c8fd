//! The audit of locks in the storage of a table (`StorageLockProviderAuditService`): `set_audit_lock`,
//! `show_audit_lock_status`, `validate_audit_lock`, `cleanup_audit_lock`.

use bytes::Bytes;
use chrono::TimeDelta;
use serde_json::Value as Json;

use super::call::Call;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::{FileStatus, FolderEntry};

const CONFIG: &str = ".hoodie/.locks/audit_enabled.json";
const FOLDER: &str = ".hoodie/.locks/audit";
/// The field of the configuration.
const IS_ENABLED: &str = "STORAGE_LOCK_AUDIT_SERVICE_ENABLED";
/// The extension of the files of the audit, one for each transaction.
const EXTENSION: &str = ".jsonl";

/// `set_audit_lock`.
pub(super) fn set(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let state = call.arguments.required("state")?.to_lowercase();
    if !["enabled", "disabled"].contains(&state.as_str()) {
        return Err(Error::invalid_argument(format!("state must be enabled or disabled, got {state:?}")));
    }
    let content = serde_json::json!({ IS_ENABLED: state == "enabled" }).to_string();
    call.location.open_store()?.put(CONFIG, &Bytes::from(content), None)?;
    let message = format!("Lock audit logging successfully {state}");
    Ok(vec![row![call.title(), state, message]])
}

/// `show_audit_lock_status`.
pub(super) fn status(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let content = match call.table.storage.open(CONFIG).and_then(|source| source.read_all()) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => Bytes::new(),
        Err(error) => return Err(error),
    };
    // One that cannot be parsed turns it off, as in Hudi.
    let parsed: Json = serde_json::from_slice(&content).unwrap_or_default();
    let is_enabled = parsed.get(IS_ENABLED).and_then(Json::as_bool).unwrap_or(false);
    Ok(vec![row![call.title(), is_enabled, call.shown_path(CONFIG), call.shown_path(FOLDER)]])
}

/// The files of the audit; `None` if there is no folder of them.
fn files(call: &Call<'_>) -> Result<Option<Vec<FileStatus>>> {
    let entries = call.table.storage.list(FOLDER)?;
    let file = |entry| match entry {
        FolderEntry::File(file) if file.name.ends_with(EXTENSION) => Some(file),
        FolderEntry::File(_) | FolderEntry::Folder(_) => None,
    };
    Ok(entries.map(|entries| entries.into_iter().filter_map(file).collect()))
}

/// `cleanup_audit_lock`.
pub(super) fn clean_up(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (is_dry_run, days) = (call.arguments.boolean("dry_run"), call.arguments.integer("age_days"));
    if days <= 0 {
        return Err(Error::invalid_argument(format!("age_days must be positive, got {days}")));
    }
    let done = |count: usize, message: String| Ok(vec![row![call.title(), count, is_dry_run, days, message]]);
    let Some(files) = files(call)? else {
        return done(0, "No audit folder found - nothing to cleanup".to_owned());
    };
    let store = call.location.open_store()?;
    let age = TimeDelta::try_days(days).ok_or_else(|| Error::invalid_argument("age_days is too large"))?;
    let limit = store.time().now().checked_sub_signed(age).map_or(i64::MIN, |time| time.timestamp_millis());
    let old: Vec<_> = files.into_iter().filter(|file| file.modified_ms < limit).collect();
    if old.is_empty() {
        return done(0, format!("No audit files older than {days} days found"));
    }
    let count = old.len();
    if is_dry_run {
        return done(count, format!("Dry run: Would delete {count} audit files older than {days} days"));
    }
    for file in old {
        store.delete(&format!("{FOLDER}/{}", file.name))?;
    }
    done(count, format!("Successfully deleted {count} audit files older than {days} days"))
}

/// When a transaction had its lock, in milliseconds since 1970.
struct Window {
    file: String,
    begin: i64,
    end: i64,
    was_released: bool,
}

/// `validate_audit_lock`: whether transactions had their locks at the same time.
pub(super) fn validate(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let done = |result: &str, count: usize, issues: usize, details: String| {
        Ok(vec![row![call.title(), result, count, issues, details]])
    };
    let Some(files) = files(call)? else {
        return done("PASSED", 0, 0, "No audit folder found - nothing to validate".to_owned());
    };
    if files.is_empty() {
        return done("PASSED", 0, 0, "No audit files found - nothing to validate".to_owned());
    }
    let (mut windows, mut unreadable) = (Vec::new(), Vec::new());
    for file in &files {
        let content = call.table.storage.open(&format!("{FOLDER}/{}", file.name))?.read_all()?;
        match window(&file.name, &content) {
            Some(window) => windows.push(window),
            None => unreadable.push(format!("[ERROR] Failed to parse audit file: {}", file.name)),
        }
    }
    if windows.is_empty() {
        return done("FAILED", 0, files.len(), "Failed to parse any audit files".to_owned());
    }
    let failed = unreadable.len();
    let (mut errors, warnings) = (overlaps(&mut windows), unreleased(&windows));
    errors.extend(unreadable);
    let (total, parsed) = (files.len(), windows.len());
    let counts = format!("Audit Files: {total} total, {parsed} parsed successfully, {failed} failed to parse");
    let result = match (errors.is_empty(), warnings.is_empty()) {
        (true, true) => {
            let details = format!("All audit lock transactions validated successfully. {counts}");
            return done("PASSED", parsed, 0, details);
        }
        (false, _) => "FAILED",
        (true, false) => "WARNING",
    };
    let issues: Vec<_> = errors.into_iter().chain(warnings).collect();
    done(result, parsed, issues.len(), format!("{counts}. {}", issues.join(", ")))
}

fn overlaps(windows: &mut [Window]) -> Vec<String> {
    windows.sort_by_key(|one| one.begin);
    let mut found = Vec::new();
    for (at, one) in windows.iter().enumerate() {
        let later = windows.iter().skip(at.saturating_add(1)).filter(|other| other.begin < one.end);
        found.extend(later.map(|other| format!("[ERROR] {} => overlaps with {}", one.file, other.file)));
    }
    found
}

fn unreleased(windows: &[Window]) -> Vec<String> {
    let message = |one: &Window| {
        format!(
            "[WARNING] {} => transaction did not end gracefully. This could be due to driver OOM or non-graceful shutdown.",
            one.file
        )
    };
    windows.iter().filter(|one| !one.was_released).map(message).collect()
}

/// The window of a file, a line of JSON for each state; `None` if it cannot be parsed.
fn window(file: &str, content: &[u8]) -> Option<Window> {
    let text = std::str::from_utf8(content).ok()?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let states = lines.map(|line| serde_json::from_str(line).ok()).collect::<Option<Vec<Json>>>()?;
    let is_in = |one: &&Json, state: &str| one.get("state").and_then(Json::as_str) == Some(state);
    let number = |one: &Json, field: &str| one.get(field).and_then(Json::as_i64);
    let created = number(states.first()?, "transactionStartTime")?;
    let begin = match states.iter().find(|one| is_in(one, "START")) {
        Some(start) => number(start, "timestamp")?,
        None => created,
    };
    let released = states.iter().rfind(|one| is_in(one, "END")).and_then(|end| number(end, "timestamp"));
    let end = released.or_else(|| number(states.last()?, "lockExpiration")).unwrap_or(begin);
    Some(Window { file: file.to_owned(), begin, end, was_released: released.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_locks_overlap_or_are_not_released() {
        let state = |state: &str, at: i64| {
            format!(r#"{{"transactionStartTime":1,"state":"{state}","timestamp":{at},"lockExpiration":50}}"#)
        };
        let file = |name: &str, states: &[String]| window(name, states.join("\n").as_bytes());
        let mut windows = [
            file("a", &[state("START", 10), state("END", 20)]).unwrap(),
            file("b", &[state("START", 15), state("RENEW", 18)]).unwrap(),
        ];
        assert_eq!(overlaps(&mut windows), ["[ERROR] a => overlaps with b"]);
        assert_eq!(windows.map(|one| (one.begin, one.end, one.was_released)), [(10, 20, true), (15, 50, false)]);
        assert!(file("c", &["nothing".to_owned()]).is_none());
    }
}
