//! Archived instants, of either layout. They are read when they are first asked for, once; their metadata at each asking.
//!
//! A timeline is as of its listing. What the archive has taken in since, or takes in meanwhile, stands in both: an instant that
//! is active is not given as archived, nor is one that was not there yet.

use serde_json::Value as Json;

use super::avro_value::{Record, is_container};
use super::commit_metadata::{CommitMetadata, Part};
use super::instant::{Action, Instant, State};
use super::timeline::Timeline;
use super::{archived_v1, history_v2};
use crate::config::TimelineLayout;
use crate::error::{Error, Result};
use crate::names::RequestedTime;

impl Timeline {
    /// Archived instants, sorted by requested time.
    ///
    /// # Errors
    /// What reading the archive may fail with.
    pub fn archived(&self) -> Result<&[Instant]> {
        if let Some(archived) = self.archived.get() {
            return Ok(archived);
        }
        let mut archived = match (&self.archive_folder, self.layout) {
            (None, _) => Vec::new(),
            (Some(folder), TimelineLayout::V1) => archived_v1::instants(&*self.place, folder)?,
            (Some(folder), TimelineLayout::V2) => history_v2::instants(&*self.place, folder)?,
        };
        archived.retain(|instant| self.was_archived(instant));
        archived.sort_by(Instant::timeline_order);
        Ok(self.archived.get_or_init(|| archived))
    }

    /// Whether an instant of the archive was there already when the timeline was listed. Archiving leaves some writes behind: of a
    /// timeline without any, nothing had been archived.
    pub(super) fn was_archived(&self, instant: &Instant) -> bool {
        let time = &instant.requested_time;
        let newest = self.instants().last().map(|newest| &newest.requested_time);
        let limit = if instant.action.is_write() { self.start() } else { newest };
        limit.is_some_and(|limit| time < limit) && !self.instants_at(time).iter().any(|one| one.is_same(instant))
    }

    /// The archived instants of a requested time.
    pub(super) fn archived_at(&self, requested_time: &RequestedTime) -> Result<impl Iterator<Item = &Instant>> {
        let archived = self.archived()?;
        let from = archived.partition_point(|instant| instant.requested_time < *requested_time);
        let same = archived.get(from..).unwrap_or_default().iter();
        Ok(same.take_while(move |instant| instant.requested_time == *requested_time))
    }

    /// What an instant's file holds, as JSON, be it active or archived: metadata of completed ones, else what their writers noted
    /// down; none where the file is empty or not there.
    ///
    /// # Errors
    /// `InvalidTable` or `CorruptLog` where it cannot be read; what reading the archive may fail with.
    pub fn metadata(&self, instant: &Instant) -> Result<Option<Json>> {
        self.told(instant, &instant.file_name, instant.state)
    }

    /// The plan that an instant was requested with, as JSON; none where it had none.
    ///
    /// # Errors
    /// As for [`Timeline::metadata`].
    pub fn plan(&self, instant: &Instant) -> Result<Option<Json>> {
        let mut pending = vec![instant.action];
        if instant.is_completed() {
            pending = Action::ALL.into_iter().filter(|action| action.completes_as() == instant.action).collect();
        }
        for action in pending {
            let found =
                self.told(instant, &format!("{}.{action}.requested", instant.requested_time), State::Requested)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn told(&self, instant: &Instant, file_name: &str, state: State) -> Result<Option<Json>> {
        let active = if instant.file_name.is_empty() { None } else { self.bytes_of(instant, file_name)? };
        if let Some(bytes) = active {
            return json(&bytes).map_err(|error| self.placed(error, instant, file_name));
        }
        let Some(folder) = &self.archive_folder else { return Ok(None) };
        match (self.layout, state) {
            (TimelineLayout::V1, _) => archived_v1::metadata(&*self.place, folder, instant, state),
            (TimelineLayout::V2, State::Inflight) => Ok(None),
            (TimelineLayout::V2, _) => {
                let bytes = history_v2::metadata(&*self.place, folder, instant, state == State::Requested)?;
                bytes.map_or(Ok(None), |bytes| json(&bytes)).map_err(|error| error.at_instant(&instant.requested_time))
            }
        }
    }

    /// What was archived of a completed write; none where it was not archived.
    pub(super) fn archived_commit_metadata(&self, instant: &Instant, part: Part) -> Result<Option<CommitMetadata>> {
        let Some(folder) = &self.archive_folder else { return Ok(None) };
        match self.layout {
            TimelineLayout::V1 => archived_v1::commit_metadata(&*self.place, folder, instant),
            TimelineLayout::V2 => {
                let bytes = history_v2::metadata(&*self.place, folder, instant, false)?;
                bytes.map_or(Ok(None), |bytes| CommitMetadata::parse(&bytes, part))
            }
        }
    }
}

/// The bytes of a metadata file: an Avro container of one record, or JSON.
fn json(bytes: &[u8]) -> Result<Option<Json>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    if is_container(bytes) {
        return Record::read_whole(bytes)?.root().json().map(Some);
    }
    let parsed = serde_json::from_slice(bytes);
    parsed.map(Some).map_err(|error| Error::invalid_table("metadata that is neither JSON nor Avro").caused_by(error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::TableConfig;
    use crate::storage::Place;
    use crate::timeline::memory_place::MemoryPlace;

    fn table(files: &[(&str, &str)]) -> Timeline {
        let properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n";
        let files = files.iter().copied().chain([(".hoodie/hoodie.properties", properties)]);
        let place: Arc<dyn Place> = MemoryPlace::holding(files.map(|(path, text)| (path, text.as_bytes())));
        let config = TableConfig::load(&*place).unwrap();
        Timeline::load(&place, &config).unwrap()
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
        assert_eq!(error.place().instant.as_deref(), Some("4"));
        assert!(error.place().path.as_deref().is_some_and(|path| path.ends_with(".hoodie/4.commit")));
    }

    #[test]
    fn no_archive_is_an_empty_one() {
        let timeline = table(&[(".hoodie/1.deltacommit", "")]);
        assert!(timeline.archived().unwrap().is_empty());
    }
}
