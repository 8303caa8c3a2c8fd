//! What processes of a read or a write send each other.

use std::sync::Arc;

use mortice::client::MergePlan;
use mortice::client::distributed::{open_stage, reread_report, reread_stage};
use mortice::split::{ChangeSource, Query, Split, divided};

use super::schemas::text;

/// The first byte selects what was sent: a query, a split, a query and a split without it (the query after its length,
/// 2 bytes), a merge plan. What is read can be sent again, and names no file outside of the table.
pub fn split(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 4 {
        0 => {
            let Ok(query) = Query::from_bytes(data) else { return };
            let sent = query.to_bytes().expect("a query is written");
            let again = Query::from_bytes(&sent).and_then(|query| query.to_bytes());
            assert!(again.is_ok_and(|again| again == sent), "another query");
        }
        1 => {
            let Ok(split) = Split::from_bytes(data) else { return };
            let sent = split.to_bytes().expect("a split is written");
            let again = Split::from_bytes(&sent).and_then(|split| split.to_bytes());
            assert!(again.is_ok_and(|again| again == sent), "another split");
            check_split(&split);
        }
        2 => {
            let Some((query, data)) = text(data) else { return };
            let Ok(query) = Query::from_bytes(query.as_bytes()).map(Arc::new) else { return };
            let Ok(split) = Split::with_query(&query, data) else { return };
            let sent = split.to_bytes_without_query().expect("a split is written");
            let again = Split::with_query(&query, &sent).and_then(|split| split.to_bytes_without_query());
            assert!(again.is_ok_and(|again| again == sent), "another split");
            check_split(&split);
        }
        _ => {
            let Ok(plan) = MergePlan::from_bytes(data) else { return };
            let sent = plan.to_bytes().expect("a merge plan is written");
            assert!(MergePlan::from_bytes(&sent).is_ok_and(|again| again == plan), "another merge plan");
            let _ = plan.check_joined_by_keys();
        }
    }
}

fn check_split(split: &Split) {
    let before = match split.change.as_ref().map(|change| &change.source) {
        Some(ChangeSource::ChangeLogs { before, .. }) => before.as_deref(),
        _ => None,
    };
    let slices = std::iter::once(split.slice.as_ref()).chain(before);
    let sources = slices.filter_map(|slice| slice.base_file.as_ref()?.source.as_ref());
    let sources: Vec<&str> = sources.map(|source| source.path.as_str()).collect();
    for path in split.files() {
        let leads_out = path.starts_with('/') || path.split('/').any(|part| matches!(part, "." | ".."));
        assert!(!leads_out || sources.contains(&path), "a file outside of the table: {path:?}");
    }
    let _ = split.schema();
    let parts = divided(std::slice::from_ref(split), split.bytes() / 3);
    assert!(!parts.is_empty() && (split.can_be_divided() || parts.len() == 1), "{} parts", parts.len());
}

/// The first byte selects what was sent in a write: the state for a stage, or the report of a task. What is read can be
/// sent again, and a state can be opened.
pub fn write_state(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let reread = if kind % 2 == 0 { reread_stage } else { reread_report };
    let Ok(sent) = reread(data) else { return };
    assert!(reread(&sent).is_ok_and(|again| again == sent), "another payload the second time");
    if kind % 2 == 0 {
        open_elsewhere(&sent);
    }
}

/// Opens the table of a state in a folder that is not there: nothing is read until a stage runs.
fn open_elsewhere(state: &[u8]) {
    let mut state: serde_json::Value = serde_json::from_slice(state).expect("JSON");
    let Some(table) = state.pointer_mut("/state/table").and_then(serde_json::Value::as_object_mut) else { return };
    table.insert("uri".into(), "/nowhere/t".into());
    table.insert("storage".into(), serde_json::json!({}));
    let _ = open_stage(state.to_string().as_bytes());
}
