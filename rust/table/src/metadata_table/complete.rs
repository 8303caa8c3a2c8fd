//! Whether a metadata table has all writes of its table.
//!
//! A writer commits to the metadata table before it completes an instant in the table. A metadata table without a write
//! is one that another tool has copied, restored or damaged, and files that it does not list are rows that a query
//! loses. Hudi does not notice (`HoodieBackedTableMetadata` validates instants of the metadata table only).
//!
//! | write of the table's active timeline | is there if |
//! |---|---|
//! | any | the metadata table has completed its instant, or the list of files was initialised after it |
//! | before the first one of a metadata table whose initialisation of the list of files is archived | always |
//!
//! Those of the last row are archived, or the initialisation that has them is. The newest write is looked for in the
//! archive.

use std::collections::HashSet;

use super::init_instant::{INIT_SUFFIX, INIT_TIME, is_bootstrap, is_init_instant};
use crate::timeline::{Instant, Timeline};
use mortice_base::error::{Error, Result};

/// Makes sure that all completed writes of the table's active timeline have reached the metadata table.
///
/// The initialisation that has the newest write may be archived: services of the metadata table run before the next
/// write reaches it.
///
/// # Errors
/// `InvalidTable`, with the newest write that is missing, and what to do.
pub fn check_complete(table: &Timeline, metadata: &Timeline) -> Result<()> {
    let Some(newest) = table.completed_writes().next_back() else { return Ok(()) };
    let written: HashSet<&str> = metadata.completed_writes().map(|write| write.requested_time.as_str()).collect();
    let listings: Vec<&Instant> = metadata.completed_writes().filter(|write| is_listing(write)).collect();
    let is_there = |write: &Instant| {
        written.contains(write.requested_time.as_str()) || listings.iter().any(|listing| lists(listing, write))
    };
    if !is_there(newest) && !metadata.archived()?.iter().any(|instant| has(instant, newest)) {
        return Err(behind(newest));
    }
    let first = metadata.completed_writes().find(|write| !is_init_instant(&write.requested_time));
    let is_archived =
        |write: &Instant| listings.is_empty() && first.is_none_or(|first| write.requested_time < first.requested_time);
    match table.completed_writes().rev().skip(1).find(|write| !is_there(write) && !is_archived(write)) {
        Some(missing) => Err(behind(missing)),
        None => Ok(()),
    }
}

fn behind(missing: &Instant) -> Error {
    let message = format!(
        "the metadata table is behind the data timeline: the completed write {} is missing; build it again, with \
         Table.build_metadata(rebuild=True) or `mortice metadata build --rebuild`",
        missing.requested_time
    );
    Error::invalid_table(message).at_instant(&missing.requested_time)
}

/// Whether the active timeline of the metadata table has a completed write of the table, or the listing that it was
/// built from.
#[must_use]
pub fn has_write(metadata: &Timeline, write: &Instant) -> bool {
    metadata.completed_writes().any(|instant| has(instant, write))
}

fn has(instant: &Instant, write: &Instant) -> bool {
    instant.is_completed_write() && (instant.requested_time == write.requested_time || lists(instant, write))
}

/// Whether an instant of the metadata table is the initialisation of its list of files, from a listing that has those
/// of `write`. Metadata tables of version 8 that were upgraded have the times of earlier versions.
fn lists(instant: &Instant, write: &Instant) -> bool {
    let (time, written) = (instant.requested_time.as_str(), write.requested_time.as_str());
    let is_after = |last: &str| (last.len() == written.len() || is_bootstrap(written)) && last >= written;
    time.strip_suffix(INIT_SUFFIX).is_some_and(is_after)
        || time == INIT_TIME && instant.completion_time.is_some() && instant.completion_time > write.completion_time
}

/// Whether an instant of the metadata table is the initialisation of its list of files.
fn is_listing(instant: &Instant) -> bool {
    let time = instant.requested_time.as_str();
    is_init_instant(&instant.requested_time) && (time == INIT_TIME || time.ends_with(INIT_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;

    fn is_complete(table: &[&str], metadata: &[&str]) -> bool {
        check_complete(&timeline(table), &timeline(metadata)).is_ok()
    }

    #[test]
    fn a_metadata_table_without_the_newest_write_is_behind() {
        let table = ["1.deltacommit", "2.deltacommit", "3.deltacommit.inflight", "4.clean"];
        assert!(is_complete(&table, &["0.deltacommit", "1.deltacommit", "2.deltacommit"]));
        for metadata in [&["1.deltacommit"][..], &["1.deltacommit", "2.deltacommit.inflight"], &[]] {
            assert!(!is_complete(&table, metadata), "{metadata:?}");
        }
        assert!(is_complete(&["3.deltacommit.inflight"], &[]));
    }

    #[test]
    fn a_metadata_table_without_an_older_write_is_behind() {
        let table = ["1.deltacommit", "2.commit", "3.replacecommit"];
        assert!(!is_complete(&table, &["0.deltacommit", "1.deltacommit", "3.deltacommit"]));
        let error = check_complete(&timeline(&table), &timeline(&["0.deltacommit", "3.deltacommit"])).unwrap_err();
        assert_eq!(error.location().instant.as_deref(), Some("2"));
        assert!(error.to_string().contains("--rebuild"), "{error}");
        assert!(!is_complete(&table, &["00000000000000010.deltacommit", "2.deltacommit", "3.deltacommit"]));
        let table = ["1_2.deltacommit", "3_4.deltacommit", "5_6.deltacommit"];
        assert!(!is_complete(&table, &["00000000000000000_0.deltacommit", "1_2.deltacommit", "5_6.deltacommit"]));
        assert!(is_complete(&table, &["00000000000000000_3.deltacommit", "3_4.deltacommit", "5_6.deltacommit"]));
    }

    #[test]
    fn writes_before_the_first_one_are_archived_with_the_initialisation() {
        let table = ["1.deltacommit", "2.commit", "3.replacecommit"];
        for metadata in [&["2.deltacommit", "3.deltacommit"][..], &["3.deltacommit"]] {
            assert!(is_complete(&table, metadata), "{metadata:?}");
            assert!(is_complete(&table, &[&["00000000000000011.deltacommit"], metadata].concat()), "{metadata:?}");
        }
    }

    #[test]
    fn an_initialisation_has_the_writes_that_were_completed_before_it() {
        let old = ["20240101000000000.deltacommit", "20240102000000000.commit"];
        assert!(is_complete(&old, &["20240102000000000010.deltacommit"]));
        assert!(!is_complete(&old, &["20240101000000000010.deltacommit"]));
        assert!(!is_complete(&old, &["20240102000000010.deltacommit"]), "one that has this time to the millisecond");
        let bootstrapped = ["00000000000001.commit", "20240102000000000.commit"];
        assert!(is_complete(&bootstrapped, &["00000000000001010.deltacommit", "20240102000000000.deltacommit"]));
        assert!(is_complete(&bootstrapped, &["20240102000000000010.deltacommit"]));
        assert!(!is_complete(&bootstrapped, &["00000000000001010.deltacommit"]));
        let upgraded = ["20240102000000000_20240102000000001.commit", "20240103000000000_20240103000000001.commit"];
        let metadata = ["20240102000000000010_5.deltacommit", "20240103000000000_6.deltacommit"];
        assert!(is_complete(&upgraded, &metadata));
        let new = ["20240102000000000_20240102000001000.deltacommit"];
        let initialised = |completed| format!("00000000000000000_{completed}.deltacommit");
        assert!(is_complete(&new, &[&initialised("20240102000001001")]));
        assert!(!is_complete(&new, &[&initialised("20240102000000999")]));
    }
}
