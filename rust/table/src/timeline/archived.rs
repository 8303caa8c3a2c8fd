//! Archived instants of both layouts. The list of instants is read on first use and kept; their metadata is read for
//! each request.
//!
//! A timeline reflects the time at which it was listed. An instant that was archived after that is in both the active
//! timeline and the archive; it is reported as active only. Archived instants that did not exist at that time are not
//! reported.

use serde_json::Value as Json;

use super::avro_value::{AvroRecord, is_container};
use super::commit_metadata::{CommitMetadata, MetadataPart};
use super::instant::{Action, Instant, InstantState};
use super::timeline::Timeline;
use super::{archived_v1, history_v2};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;

impl Timeline {
    /// Returns the archived instants, sorted by requested time.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn archived(&self) -> Result<&[Instant]> {
        if let Some(archived) = self.archived.get() {
            return Ok(archived);
        }
        let mut archived = match (&self.archive_folder, self.layout) {
            (None, _) => Vec::new(),
            (Some(folder), TimelineLayout::V1) => archived_v1::instants(&*self.storage, folder)?,
            (Some(folder), TimelineLayout::V2) => history_v2::instants(&*self.storage, folder)?,
        };
        archived.retain(|instant| self.was_archived(instant));
        archived.sort_by(Instant::timeline_order);
        Ok(self.archived.get_or_init(|| archived))
    }

    /// Returns true if an instant of the archive had been archived when the timeline was listed. Archiving always
    /// leaves some writes on the active timeline: if it has none, nothing had been archived.
    pub(super) fn was_archived(&self, instant: &Instant) -> bool {
        let time = &instant.requested_time;
        let newest = self.instants().last().map(|newest| &newest.requested_time);
        let limit = if instant.action.is_write() { self.start() } else { newest };
        limit.is_some_and(|limit| time < limit) && !self.instants_at(time).iter().any(|one| one.is_same(instant))
    }

    /// Returns the archived instants of a requested time.
    pub(super) fn archived_at(&self, requested_time: &RequestedTime) -> Result<impl Iterator<Item = &Instant>> {
        let archived = self.archived()?;
        let from = archived.partition_point(|instant| instant.requested_time < *requested_time);
        let after = archived.get(from..).unwrap_or_default().iter();
        Ok(after.take_while(move |instant| instant.requested_time == *requested_time))
    }

    /// Returns the contents of an active or archived instant's file as JSON: the metadata of a completed instant, or
    /// what the writer of a pending one has stored. Returns `None` if the file is empty or missing.
    ///
    /// # Errors
    /// `InvalidTable` or `CorruptLog` if the file cannot be parsed; errors of reading the archive.
    pub fn metadata(&self, instant: &Instant) -> Result<Option<Json>> {
        self.read_json(instant, &instant.file_name, instant.state)
    }

    /// Returns the plan of an instant as JSON, `None` if it has none.
    ///
    /// # Errors
    /// As for [`Timeline::metadata`].
    pub fn plan(&self, instant: &Instant) -> Result<Option<Json>> {
        let mut pending = vec![instant.action];
        if instant.is_completed() {
            pending = Action::ALL.into_iter().filter(|action| action.completes_as() == instant.action).collect();
        }
        for action in pending {
            let found = self.read_json(
                instant,
                &format!("{}.{action}.requested", instant.requested_time),
                InstantState::Requested,
            )?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn read_json(&self, instant: &Instant, file_name: &str, state: InstantState) -> Result<Option<Json>> {
        let active = if instant.file_name.is_empty() { None } else { self.read_file(instant, file_name)? };
        if let Some(bytes) = active {
            return parse_json(&bytes).map_err(|error| self.at_instant_file(error, instant, file_name));
        }
        let Some(folder) = &self.archive_folder else { return Ok(None) };
        match (self.layout, state) {
            (TimelineLayout::V1, _) => archived_v1::metadata(&*self.storage, folder, instant, state),
            (TimelineLayout::V2, InstantState::Inflight) => Ok(None),
            (TimelineLayout::V2, _) => {
                let bytes = history_v2::metadata(&*self.storage, folder, instant, state == InstantState::Requested)?;
                bytes
                    .map_or(Ok(None), |bytes| parse_json(&bytes))
                    .map_err(|error| error.at_instant(&instant.requested_time))
            }
        }
    }

    /// Returns the archived metadata of a completed write, `None` if it is not in the archive.
    pub(super) fn archived_commit_metadata(
        &self,
        instant: &Instant,
        part: MetadataPart,
    ) -> Result<Option<CommitMetadata>> {
        let Some(folder) = &self.archive_folder else { return Ok(None) };
        match self.layout {
            TimelineLayout::V1 => archived_v1::commit_metadata(&*self.storage, folder, instant),
            TimelineLayout::V2 => {
                let bytes = history_v2::metadata(&*self.storage, folder, instant, false)?;
                bytes.map_or(Ok(None), |bytes| CommitMetadata::parse(&bytes, part))
            }
        }
    }
}

/// Parses a metadata file: an Avro container of one record, or JSON.
fn parse_json(bytes: &[u8]) -> Result<Option<Json>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    if is_container(bytes) {
        return AvroRecord::read_whole(bytes)?.root().json().map(Some);
    }
    let parsed = serde_json::from_slice(bytes);
    parsed.map(Some).map_err(|error| Error::invalid_table("metadata is neither JSON nor Avro").caused_by(error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::timeline::MemoryStorage;
    use mortice_merge::config::TableConfig;
    use mortice_storage::Storage;

    fn table(files: &[(&str, &str)]) -> Timeline {
        let properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n";
        let files = files.iter().copied().chain([(".hoodie/hoodie.properties", properties)]);
        let storage: Arc<dyn Storage> = MemoryStorage::holding(files.map(|(path, text)| (path, text.as_bytes())));
        let config = TableConfig::load(&*storage).unwrap();
        Timeline::load(&storage, &config).unwrap()
    }

    #[test]
    fn metadata_and_plans_of_active_instants_are_read_from_their_files() {
        let timeline = table(&[
            (".hoodie/1.deltacommit", r#"{"operationType":"UPSERT"}"#),
            (".hoodie/2.compaction.requested", ""),
            (".hoodie/3.inflight", r#"{"a":[1,null]}"#),
            (".hoodie/4.commit", "torn"),
        ]);
        let [delta, compaction, inflight, torn] = timeline.instants() else { panic!() };
        assert_eq!(timeline.metadata(delta).unwrap().unwrap().to_string(), r#"{"operationType":"UPSERT"}"#);
        assert_eq!(timeline.metadata(compaction).unwrap(), None);
        assert_eq!(timeline.plan(compaction).unwrap(), None);
        assert_eq!(timeline.metadata(inflight).unwrap().unwrap().to_string(), r#"{"a":[1,null]}"#);
        let error = timeline.metadata(torn).unwrap_err();
        assert_eq!(error.location().instant.as_deref(), Some("4"));
        assert!(error.location().path.as_deref().is_some_and(|path| path.ends_with(".hoodie/4.commit")));
    }

    #[test]
    fn no_archive_is_an_empty_one() {
        let timeline = table(&[(".hoodie/1.deltacommit", "")]);
        assert!(timeline.archived().unwrap().is_empty());
    }
}
