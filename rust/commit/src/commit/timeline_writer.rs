//! Files of instants on a timeline: requested, inflight, completed (`HoodieActiveTimeline`).
//!
//! | state | layout 1 | layout 2 |
//! |---|---|---|
//! | requested | `<t>.<action>.requested` | the same |
//! | inflight | `<t>.<action>.inflight`; `<t>.inflight` of a commit | the same |
//! | completed | `<t>.<action>` | `<t>_<c>.<action>` |
//!
//! Each file is created by one `put_if_absent` and never changed. The completed one decides whether the action took
//! place, so its creation has three outcomes ([`CompletionOutcome`]). The timeline of a metadata table is written in
//! the same way ([`TimelineWriter::below`]).

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStatus, FileStore, FolderEntry, PutOutcome, RenameOutcome};
use mortice_table::timeline::metadata::{HoodieRollbackMetadata, HoodieRollbackPlan, TimelineMetadata};
use mortice_table::timeline::{Action, Instant, InstantState, Timeline};

/// Attempts to create a completed file after an answer was lost.
const ATTEMPTS: usize = 3;

/// What a completed file will have.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// All of it.
    pub bytes: &'a Bytes,
    /// The path of a file that has it, to be renamed.
    pub staged: Option<&'a str>,
}

impl<'a> From<&'a Bytes> for Content<'a> {
    fn from(bytes: &'a Bytes) -> Self {
        Self { bytes, staged: None }
    }
}

/// What came of creating a completed file.
#[derive(Debug)]
pub enum CompletionOutcome {
    /// The instant is completed.
    Completed(Instant),
    /// It is not, and will not be: the file does not exist.
    Failed(Error),
    /// The storage does not answer: the file may exist. Nothing may be rolled back.
    Unknown(Error),
}

/// Writes the files of a timeline.
#[derive(Clone)]
pub struct TimelineWriter {
    store: Arc<dyn FileStore>,
    folder: String,
    layout: TimelineLayout,
}

impl TimelineWriter {
    /// The timeline of the table at the store's root.
    #[must_use]
    pub fn new(store: Arc<dyn FileStore>, config: &TableConfig) -> Self {
        Self { store, folder: config.timeline_folder.clone(), layout: config.layout() }
    }

    /// The timeline of the table at `root`, a folder of the store: `.hoodie/metadata`. `config` is that table's own.
    #[must_use]
    pub fn below(store: Arc<dyn FileStore>, root: &str, config: &TableConfig) -> Self {
        Self { store, folder: format!("{root}/{}", config.timeline_folder), layout: config.layout() }
    }

    /// A timeline in a folder of the store: of a table that is about to get another layout.
    #[must_use]
    pub fn in_folder(store: Arc<dyn FileStore>, folder: &str, layout: TimelineLayout) -> Self {
        Self { store, folder: folder.to_owned(), layout }
    }

    /// The layout of the timeline.
    #[must_use]
    pub fn layout(&self) -> TimelineLayout {
        self.layout
    }

    /// Commit metadata in the form of the layout: JSON in layout 1, Avro in layout 2. Plans are Avro in both
    /// ([`TimelineMetadata::to_avro`]).
    ///
    /// # Errors
    /// As for [`TimelineMetadata::to_avro`].
    pub fn commit_content(&self, metadata: &impl TimelineMetadata) -> Result<Bytes> {
        match self.layout {
            TimelineLayout::V1 => Ok(Bytes::from(metadata.to_json())),
            TimelineLayout::V2 => metadata.to_avro().map(Bytes::from),
        }
    }

    /// Creates the requested file. `Refused` if there is one: another writer has the same requested time.
    ///
    /// # Errors
    /// Those of the storage: it is not known whether the file exists.
    pub fn request(&self, time: &RequestedTime, action: Action, content: &Bytes) -> Result<PutOutcome> {
        self.create(&pending_name(time, action, InstantState::Requested), time, content)
    }

    /// The instant that [`Self::request`] has put on the timeline.
    #[must_use]
    pub fn requested_instant(&self, time: &RequestedTime, action: Action) -> Instant {
        let (requested_time, state) = (time.clone(), InstantState::Requested);
        let file_name = pending_name(time, action, state);
        Instant { requested_time, completion_time: None, action, state, file_name }
    }

    /// Creates the inflight file. `Refused` if there is one.
    ///
    /// # Errors
    /// Those of the storage: it is not known whether the file exists.
    pub fn start(&self, time: &RequestedTime, action: Action, content: &Bytes) -> Result<PutOutcome> {
        self.create(&pending_name(time, action, InstantState::Inflight), time, content)
    }

    /// Writes what the completed file will have under another name beside it, so that [`Self::complete`] has to rename
    /// it alone: who has the instant rolled back meanwhile deletes it ([`Self::delete_unfinished`]). Returns its path;
    /// `None` on storage that cannot rename.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn stage(
        &self,
        time: &RequestedTime,
        action: Action,
        completion: &CompletionTime,
        content: &Bytes,
    ) -> Result<Option<String>> {
        if self.store.is_remote() {
            return Ok(None);
        }
        let name = self.completed_name(time, action, completion);
        let staged = self.path(&format!(".{name}.{}.tmp", Uuid::new_v4().simple()));
        self.store.put_if_absent(&staged, content)?;
        Ok(Some(staged))
    }

    /// Creates the completed file. The action is the one that was requested; the completion time is used in layout 2.
    pub fn complete(
        &self,
        time: &RequestedTime,
        action: Action,
        completion: &CompletionTime,
        content: Content<'_>,
    ) -> CompletionOutcome {
        let completion_time = (self.layout == TimelineLayout::V2).then(|| completion.clone());
        let file_name = self.completed_name(time, action, completion);
        let action = action.completes_as();
        let path = self.path(&file_name);
        match self.create_completed(&path, content) {
            Created::Yes => {
                let requested_time = time.clone();
                let state = InstantState::Completed;
                CompletionOutcome::Completed(Instant { requested_time, completion_time, action, state, file_name })
            }
            Created::No(error) => {
                CompletionOutcome::Failed(error.in_file(self.store.full_path(&path)).at_instant(time))
            }
            Created::Unknown(error) => {
                let message = format!(
                    "the storage failed while {action} {time} was completed, and it is not known whether it is: before the write is \
                     repeated, check whether the instant is on the timeline"
                );
                let unknown = Error::new(error.kind(), message).caused_by(error);
                CompletionOutcome::Unknown(unknown.in_file(self.store.full_path(&path)).at_instant(time))
            }
        }
    }

    /// The folder of the timeline, and the name that the completed file of an instant has in it.
    #[must_use]
    pub fn completed_file(
        &self,
        time: &RequestedTime,
        action: Action,
        completion: &CompletionTime,
    ) -> (String, String) {
        (self.folder.clone(), self.completed_name(time, action, completion))
    }

    fn completed_name(&self, time: &RequestedTime, action: Action, completion: &CompletionTime) -> String {
        let action = action.completes_as();
        match self.layout {
            TimelineLayout::V2 => format!("{time}_{completion}.{action}"),
            TimelineLayout::V1 => format!("{time}.{action}"),
        }
    }

    /// As [`TimelineWriter::complete`], of an instant that may be completed again later: a rollback, or one of the
    /// metadata table.
    ///
    /// # Errors
    /// Those of both outcomes but the first.
    pub fn complete_or_fail(
        &self,
        time: &RequestedTime,
        action: Action,
        completion: &CompletionTime,
        content: &Bytes,
    ) -> Result<Instant> {
        match self.complete(time, action, completion, content.into()) {
            CompletionOutcome::Completed(instant) => Ok(instant),
            CompletionOutcome::Failed(error) | CompletionOutcome::Unknown(error) => Err(error),
        }
    }

    /// All files of instants: one instant for each file, so that of every state there is one.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn files(&self) -> Result<Vec<Instant>> {
        let entries = self.store.list(&self.folder)?.unwrap_or_default();
        let names = entries.iter().filter_map(|entry| match entry {
            FolderEntry::File(status) => Some(status.name.as_str()),
            FolderEntry::Folder(_) => None,
        });
        Ok(names.filter_map(|name| Timeline::parse_file_name(self.layout, name)).collect())
    }

    /// Whether instants have begun, been completed or left the active timeline since it was read: a listing says so,
    /// for less than opening the table again.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn has_other_instants(&self, known: &Timeline) -> Result<bool> {
        let found = self.files()?;
        let is_known = |file: &Instant| {
            // A savepoint has the time of its write.
            let mut known = known.instants_at(&file.requested_time).iter().filter(|one| one.is_same(file));
            known.any(|one| one.is_completed() || !file.is_completed())
        };
        let is_there = |one: &Instant| found.iter().any(|file| file.is_same(one));
        Ok(!found.iter().all(is_known) || !known.instants().iter().all(is_there))
    }

    /// All files of instants, with their sizes and the times at which they were modified.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn files_with_status(&self) -> Result<Vec<(Instant, FileStatus)>> {
        let entries = self.store.list(&self.folder)?.unwrap_or_default();
        let files = entries.into_iter().filter_map(|entry| match entry {
            FolderEntry::File(status) => {
                Timeline::parse_file_name(self.layout, &status.name).map(|instant| (instant, status))
            }
            FolderEntry::Folder(_) => None,
        });
        Ok(files.collect())
    }

    /// Deletes all files of completed instants that have been archived: those of earlier states first, then the
    /// completed ones from the oldest on, so that what is left after a failure are completed instants without a gap.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn delete_archived(&self, archived: &[Instant]) -> Result<()> {
        let key = |instant: &Instant| (instant.requested_time.clone(), instant.action.completes_as());
        let archived: std::collections::BTreeSet<_> = archived.iter().map(key).collect();
        let mut files = self.files()?;
        files.retain(|file| archived.contains(&key(file)));
        files.sort_by_key(|file| (file.state == InstantState::Completed, file.requested_time.clone()));
        files.iter().try_for_each(|file| self.store.delete(&self.path(&file.file_name)))
    }

    /// Reads a file of an instant; none if there is no such file.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn read(&self, file_name: &str) -> Result<Option<Bytes>> {
        match self.store.get(&self.path(file_name)) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the requested file of an instant: its plan.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn read_requested(&self, time: &RequestedTime, action: Action) -> Result<Option<Bytes>> {
        self.read(&pending_name(time, action, InstantState::Requested))
    }

    /// The requested times of the instants that a rollback undoes: by its plan, or by its result if the plan is gone.
    ///
    /// # Errors
    /// Those of the storage; `InvalidTable` for files that cannot be read.
    pub fn rollback_targets(&self, rollback: &Instant) -> Result<Vec<String>> {
        let plan = self.read_requested(&rollback.requested_time, Action::Rollback)?.unwrap_or_default();
        if let Some(plan) = HoodieRollbackPlan::from_bytes(&plan)? {
            return Ok(plan.instant_to_rollback.into_iter().map(|target| target.commit_time).collect());
        }
        if !rollback.is_completed() {
            return Ok(Vec::new());
        }
        let result = self.read(&rollback.file_name)?.unwrap_or_default();
        Ok(HoodieRollbackMetadata::from_bytes(&result)?.unwrap_or_default().commits_rollback)
    }

    /// Deletes the files of an instant: the completed one, then inflight, then requested, so that what is left after a
    /// failure is an earlier state of the instant. `action` is the requested or the completed one.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn delete_instant(&self, time: &RequestedTime, action: Action) -> Result<()> {
        self.delete_files(time, action, |_| true)
    }

    /// Deletes the completed file of an instant, which is inflight then.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn revert_to_inflight(&self, time: &RequestedTime, action: Action) -> Result<()> {
        self.delete_files(time, action, |instant| instant.state == InstantState::Completed)
    }

    /// Deletes the completed and the inflight file of an instant: its plan is to be executed again.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn revert_to_requested(&self, time: &RequestedTime, action: Action) -> Result<()> {
        self.delete_files(time, action, |instant| instant.state != InstantState::Requested)
    }

    /// Deletes the files that an instant's writer has prepared on a local disk and not yet linked into place,
    /// `.NAME.RANDOM.tmp`: a writer that is stopped between the two cannot complete the instant any more. Object stores
    /// have none, and HDFS's are left.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn delete_unfinished(&self, time: &RequestedTime) -> Result<()> {
        if self.store.is_remote() {
            return Ok(());
        }
        self.delete_staged(|name| name.strip_prefix(time.as_str()).is_some_and(|rest| rest.starts_with(['_', '.'])))
    }

    /// Deletes what writers of rows and services have prepared as by [`Self::stage`] and not renamed, but for those of
    /// one instant. The caller holds the table's lock: writers prepare such a file while they hold it, so that these
    /// have lost it or were killed, and cannot complete their instants any more.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn delete_staged_by_others(&self, own: &RequestedTime) -> Result<()> {
        if self.store.is_remote() {
            return Ok(());
        }
        self.delete_staged(|name| {
            // `TIME[_COMPLETION].ACTION.RANDOM.tmp`: files that are put at once have such names without holding the
            // lock, too.
            let mut parts = name.split('.');
            let (times, action) = (parts.next().unwrap_or_default(), parts.next().and_then(Action::named));
            let is_completed = parts.count() == 2 && action.is_some_and(Action::is_write);
            let time = times.split('_').next().and_then(RequestedTime::parse);
            is_completed && time.is_some_and(|time| time != *own)
        })
    }

    /// Deletes files `.NAME.tmp` of the timeline's folder by their names.
    fn delete_staged(&self, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
        let is_staged = |name: &&str| name.ends_with(".tmp") && name.strip_prefix('.').is_some_and(&is_wanted);
        let entries = self.store.list(&self.folder)?.unwrap_or_default();
        let mut names = entries.iter().map(FolderEntry::name).filter(is_staged);
        names.try_for_each(|name| self.store.delete(&self.path(name)))
    }

    fn delete_files(&self, time: &RequestedTime, action: Action, is_wanted: impl Fn(&Instant) -> bool) -> Result<()> {
        let is_same = |instant: &Instant| {
            instant.requested_time == *time && instant.action.completes_as() == action.completes_as()
        };
        let mut files = self.files()?;
        files.retain(|instant| is_same(instant) && is_wanted(instant));
        files.sort_by_key(|instant| std::cmp::Reverse(instant.state));
        files.iter().try_for_each(|instant| self.store.delete(&self.path(&instant.file_name)))
    }

    fn create(&self, file_name: &str, time: &RequestedTime, content: &Bytes) -> Result<PutOutcome> {
        let path = self.path(file_name);
        let put = self.store.put_if_absent(&path, content);
        put.map_err(|error| error.in_file(self.store.full_path(&path)).at_instant(time))
    }

    /// Creates a completed file. After an error it is read back. A request over a network may also arrive after its
    /// error, so that there the creation is repeated until it has an answer.
    fn create_completed(&self, path: &str, content: Content<'_>) -> Created {
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let error = match self.put_completed(path, content) {
                Ok(true) => return Created::Yes,
                Ok(false) => None,
                Err(error) => Some(error),
            };
            match (self.store.get(path), error) {
                (Ok((found, _)), _) if found == *content.bytes => return Created::Yes,
                (Ok(_), _) => {
                    let message = "another writer completed the instant: this write is not part of the table";
                    return Created::No(Error::new(ErrorKind::AlreadyExists, message));
                }
                (Err(read), Some(error)) if read.kind() == ErrorKind::NotFound && is_final(&*self.store, &error) => {
                    return Created::No(error);
                }
                (Err(read), error) => failure = Some(error.unwrap_or(read)),
            }
        }
        Created::Unknown(failure.unwrap_or_else(|| Error::internal("a file was not created without an error")))
    }

    /// Returns false if there is a file of that name.
    fn put_completed(&self, path: &str, content: Content<'_>) -> Result<bool> {
        let Some(staged) = content.staged else {
            return Ok(matches!(self.store.put_if_absent(path, content.bytes)?, PutOutcome::Written(_)));
        };
        match self.store.rename(staged, path) {
            Ok(RenameOutcome::Done) => Ok(true),
            Ok(RenameOutcome::Exists) => Ok(false),
            Ok(RenameOutcome::Unable) => Err(Error::internal("a storage on which files are staged cannot rename")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = "another writer took the lock over, or took this write for dead and has begun to roll it back: the lock or \
                               the heartbeat of this one had expired; write again";
                Err(Error::new(ErrorKind::WriteConflict, message).caused_by(error))
            }
            Err(error) => Err(error),
        }
    }

    /// The path of a file of an instant, from the store's root on.
    #[must_use]
    pub fn path(&self, file_name: &str) -> String {
        format!("{}/{file_name}", self.folder)
    }
}

enum Created {
    Yes,
    No(Error),
    Unknown(Error),
}

/// Returns true if the failed request has no effect later: on local disks, and where the storage refused it.
fn is_final(store: &dyn FileStore, error: &Error) -> bool {
    !store.is_remote() || error.kind() == ErrorKind::Forbidden
}

/// The name of a pending instant's file. A commit under way leaves its action out.
fn pending_name(time: &RequestedTime, action: Action, state: InstantState) -> String {
    match (state, action) {
        (InstantState::Inflight, Action::Commit) => format!("{time}.inflight"),
        (InstantState::Inflight, _) => format!("{time}.{action}.inflight"),
        _ => format!("{time}.{action}.requested"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_merge::config::Properties;
    use mortice_storage::{LocalStorage, Storage};
    use mortice_table::timeline::metadata::HoodieCommitMetadata;

    struct Table {
        folder: tempfile::TempDir,
        config: TableConfig,
    }

    impl Table {
        fn new(version: &str) -> Self {
            let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", version)];
            let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
            Self { folder: tempfile::tempdir().unwrap(), config }
        }

        fn store(&self) -> Arc<LocalStorage> {
            Arc::new(LocalStorage::new(&self.folder.path().to_string_lossy(), true))
        }

        fn writer(&self) -> TimelineWriter {
            TimelineWriter::new(self.store(), &self.config)
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let entries = self.store().list(folder).unwrap().unwrap_or_default();
            entries.iter().map(|entry| entry.name().to_owned()).collect()
        }
    }

    fn run(writer: &TimelineWriter, time: &str, action: Action) {
        let content = writer.commit_content(&HoodieCommitMetadata::default()).unwrap();
        assert!(matches!(writer.request(&time.into(), action, &Bytes::new()).unwrap(), PutOutcome::Written(_)));
        assert!(matches!(writer.start(&time.into(), action, &content).unwrap(), PutOutcome::Written(_)));
        let completed = writer.complete(&time.into(), action, &"9".into(), (&content).into());
        let CompletionOutcome::Completed(instant) = completed else { panic!("{completed:?}") };
        let names: Vec<String> = writer.files().unwrap().into_iter().map(|instant| instant.file_name).collect();
        assert!(names.contains(&instant.file_name), "{names:?}");
    }

    #[test]
    fn files_of_both_layouts() {
        let old = Table::new("6");
        run(&old.writer(), "1", Action::DeltaCommit);
        run(&old.writer(), "2", Action::Commit);
        let names = ["1.deltacommit", "1.deltacommit.inflight", "1.deltacommit.requested"];
        assert_eq!(old.names(".hoodie")[..3], names);
        assert_eq!(old.names(".hoodie")[3..], ["2.commit", "2.commit.requested", "2.inflight"]);
        let content = old.store().get(".hoodie/2.commit").unwrap().0;
        assert!(content.starts_with(b"{"), "{content:?}");
        let new = Table::new("9");
        run(&new.writer(), "3", Action::Clustering);
        let names = ["3.clustering.inflight", "3.clustering.requested", "3_9.replacecommit"];
        assert_eq!(new.names(".hoodie/timeline"), names);
        assert!(new.store().get(".hoodie/timeline/3_9.replacecommit").unwrap().0.starts_with(b"Obj"));
    }

    #[test]
    fn a_metadata_table_has_its_own_timeline() {
        let table = Table::new("9");
        let writer = TimelineWriter::below(table.store(), ".hoodie/metadata", &table.config);
        run(&writer, "1", Action::DeltaCommit);
        let names = ["1.deltacommit.inflight", "1.deltacommit.requested", "1_9.deltacommit"];
        assert_eq!(table.names(".hoodie/metadata/.hoodie/timeline"), names);
        assert_eq!(table.names(".hoodie/timeline"), [""; 0]);
    }

    #[test]
    fn a_state_is_reached_once() {
        let table = Table::new("9");
        let writer = table.writer();
        run(&writer, "1", Action::DeltaCommit);
        assert_eq!(writer.request(&"1".into(), Action::DeltaCommit, &Bytes::new()).unwrap(), PutOutcome::Refused);
        assert_eq!(writer.start(&"1".into(), Action::DeltaCommit, &Bytes::new()).unwrap(), PutOutcome::Refused);
        let again =
            writer.complete(&"1".into(), Action::DeltaCommit, &"9".into(), (&Bytes::from_static(b"other")).into());
        let CompletionOutcome::Failed(error) = again else { panic!("{again:?}") };
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        let content = writer.commit_content(&HoodieCommitMetadata::default()).unwrap();
        writer.complete_or_fail(&"1".into(), Action::DeltaCommit, &"9".into(), &content).unwrap();
    }

    #[test]
    fn files_that_are_not_yet_in_place_are_deleted() {
        let table = Table::new("9");
        let folder = ".hoodie/timeline";
        for name in [".1_9.deltacommit.x1.tmp", ".1.deltacommit.x2.tmp", ".12_9.deltacommit.x3.tmp", ".1_9.crc"] {
            table.store().put(&format!("{folder}/{name}"), &"x".into(), None).unwrap();
        }
        table.writer().delete_unfinished(&"1".into()).unwrap();
        assert_eq!(table.names(folder), [".12_9.deltacommit.x3.tmp", ".1_9.crc"]);
    }

    #[test]
    fn files_that_others_have_prepared_are_deleted_and_what_they_put_is_not() {
        let table = Table::new("9");
        let (folder, own, other) = (".hoodie/timeline", "20240101000000001", "20240101000000002");
        let names = [
            format!(".{own}_20240101000000003.deltacommit.x1.tmp"),
            format!(".{other}.commit.requested.x2.tmp"),
            format!(".{other}.deltacommit.inflight.x3.tmp"),
            format!(".{other}.inflight.x4.tmp"),
            format!(".{other}_20240101000000003.rollback.x5.tmp"),
        ];
        let staged = [format!(".{other}_20240101000000003.deltacommit.x6.tmp"), format!(".{other}.commit.x7.tmp")];
        for name in names.iter().chain(&staged) {
            table.store().put(&format!("{folder}/{name}"), &"x".into(), None).unwrap();
        }
        table.writer().delete_staged_by_others(&own.into()).unwrap();
        assert_eq!(table.names(folder), names);
    }

    #[test]
    fn a_prepared_file_that_a_rollback_has_deleted_does_not_complete_its_instant() {
        for version in ["6", "9"] {
            let table = Table::new(version);
            let (writer, folder) = (table.writer(), &table.config.timeline_folder);
            let (time, action, completion) = (&"1".into(), Action::DeltaCommit, &"9".into());
            let bytes = &Bytes::from_static(b"{}");
            let stage = || writer.stage(time, action, completion, bytes).unwrap();
            let complete = |staged: &Option<String>| {
                writer.complete(time, action, completion, Content { bytes, staged: staged.as_deref() })
            };
            let staged = stage();
            assert_eq!(table.names(folder).len(), 1);
            writer.delete_unfinished(time).unwrap();
            let CompletionOutcome::Failed(error) = complete(&staged) else { panic!("it was completed") };
            assert_eq!(error.kind(), ErrorKind::WriteConflict);
            assert_eq!(table.names(folder), [""; 0]);
            let staged = stage();
            assert!(matches!(complete(&staged), CompletionOutcome::Completed(_)));
            // Its answer was lost.
            assert!(matches!(complete(&staged), CompletionOutcome::Completed(_)));
            assert_eq!(table.names(folder).len(), 1);
        }
    }

    #[test]
    fn files_are_deleted_from_the_completed_one_on() {
        let table = Table::new("9");
        let writer = table.writer();
        run(&writer, "1", Action::DeltaCommit);
        run(&writer, "1", Action::Clean);
        table.store().put(".hoodie/timeline/.1_9.deltacommit.crc", &"crc".into(), None).unwrap();
        writer.revert_to_inflight(&"1".into(), Action::DeltaCommit).unwrap();
        let left = ["1.clean.inflight", "1.clean.requested", "1.deltacommit.inflight", "1.deltacommit.requested"];
        assert_eq!(table.names(".hoodie/timeline"), [left.as_slice(), &["1_9.clean"]].concat());
        writer.delete_instant(&"1".into(), Action::DeltaCommit).unwrap();
        writer.delete_instant(&"1".into(), Action::DeltaCommit).unwrap();
        assert_eq!(table.names(".hoodie/timeline"), ["1.clean.inflight", "1.clean.requested", "1_9.clean"]);
        assert!(writer.read_requested(&"1".into(), Action::Clean).unwrap().unwrap().is_empty());
        assert_eq!(writer.read_requested(&"2".into(), Action::Clean).unwrap(), None);
    }
}
