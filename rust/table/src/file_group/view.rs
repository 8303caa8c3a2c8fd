//! Selects the file slices that a query reads (`HoodieTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn`,
//! `getLatestBaseFilesBeforeOrOn`).
//!
//! For each file group that no replace commit has replaced, it selects the newest visible slice that begins at or
//! before the query instant. If a pending compaction began that slice, it has no base file yet: then the previous slice
//! and its logs are read together with it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use super::file_slice::{BaseFile, FileSlice, LogFile, SliceDraft, Slices};
use super::partition_files::{ListedBase, ListedLog, PartitionFiles};
use super::{by_completion, by_name};
use crate::timeline::{MetadataPart, Timeline};
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_merge::config::{TableConfig, TableType, TimelineLayout};

/// Instants by file group, i.e. partition and file id.
pub(super) type ByGroup = HashMap<String, HashMap<String, RequestedTime>>;

/// The extensions of base files that can be read.
pub(super) const FORMATS: [&str; 3] = ["parquet", "orc", "hfile"];

/// The state of a table as of an instant.
pub struct FileSystemView<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) layout: TimelineLayout,
    pub(super) has_native_logs: bool,
    query_instant: Option<RequestedTime>,
    kept: Option<Vec<PartitionFiles>>,
    pub(super) pending_compactions: ByGroup,
    replaced: ByGroup,
    /// Paths that commits wrote, by requested time. Read only if retried tasks have left several base files.
    written: Mutex<HashMap<RequestedTime, BTreeSet<String>>>,
}

impl<'a> FileSystemView<'a> {
    /// Returns the view of the latest state, or of the state as of an instant.
    ///
    /// # Errors
    /// Errors of [`Timeline::check_as_of`], and of reading plans and replace commits; `InvalidTable` if two compactions
    /// of one file group are pending.
    pub fn new(timeline: &'a Timeline, config: &TableConfig, as_of: Option<&RequestedTime>) -> Result<Self> {
        let savepoint = as_of.map_or(Ok(None), |as_of| timeline.check_as_of(as_of))?;
        let query_instant = as_of.or(timeline.latest_visible()).cloned();
        if let Some(savepoint) = savepoint {
            // It has chosen the slices. Table services that were planned before it, and have run since, do not count.
            let (compactions, replaced) = (ByGroup::new(), ByGroup::new());
            let mut view = Self::from_parts(timeline, config, query_instant, compactions, replaced);
            let files = timeline.files_of_savepoint(savepoint, config.table_type == TableType::MergeOnRead)?;
            let listed = |(partition, names): (&String, &Vec<String>)| {
                PartitionFiles::new(partition, names.iter().map(|name| (name.as_str(), 0)))
            };
            view.kept = Some(files.iter().map(listed).collect());
            return Ok(view);
        }
        let replaced = match &query_instant {
            Some(instant) => replaced(timeline, instant)?,
            None => ByGroup::new(),
        };
        Ok(Self::from_parts(timeline, config, query_instant, pending_compactions(timeline)?, replaced))
    }

    /// Returns the files that a savepoint keeps, for an instant before the earliest that the cleaner retains. They are
    /// used instead of a listing. Their sizes are unknown: they are 0.
    #[must_use]
    pub fn kept(&self) -> Option<&[PartitionFiles]> {
        self.kept.as_deref()
    }

    /// Returns the view of file groups up to an instant, including replaced ones. It does not check whether the cleaner
    /// has removed files: the caller knows which files it expects.
    ///
    /// # Errors
    /// Errors of reading the plans of pending compactions.
    pub fn with_replaced(timeline: &'a Timeline, config: &TableConfig, until: &RequestedTime) -> Result<Self> {
        Ok(Self::from_parts(timeline, config, Some(until.clone()), pending_compactions(timeline)?, ByGroup::new()))
    }

    pub(super) fn from_parts(
        timeline: &'a Timeline,
        config: &TableConfig,
        query_instant: Option<RequestedTime>,
        pending_compactions: ByGroup,
        replaced: ByGroup,
    ) -> Self {
        Self {
            timeline,
            layout: config.layout(),
            has_native_logs: config.version.has_native_logs(),
            query_instant,
            kept: None,
            pending_compactions,
            replaced,
            written: Mutex::default(),
        }
    }

    /// Returns the instant of the query; `None` for a table without writes.
    #[must_use]
    pub fn query_instant(&self) -> Option<&RequestedTime> {
        self.query_instant.as_ref()
    }

    /// Returns the slices of one partition, by file id.
    ///
    /// # Errors
    /// `Unsupported` if a selected base file has an unsupported format, or if the slice of a log depends on an unknown
    /// completion time.
    pub fn slices(&self, files: &PartitionFiles) -> Result<Vec<FileSlice>> {
        let Some(query_instant) = self.query_instant() else { return Ok(Vec::new()) };
        let mut chosen = Vec::new();
        for (file_id, (bases, logs)) in self.live_groups(files) {
            if self.kept.is_some() {
                if let Some((instant, draft)) = kept_slice(bases, logs, query_instant) {
                    chosen.extend(self.slice(files, file_id, instant, draft)?);
                }
                continue;
            }
            let pending = instant_of_group(&self.pending_compactions, &files.partition, &file_id);
            let slices = match self.layout {
                TimelineLayout::V1 => by_name::build(bases, logs, pending),
                TimelineLayout::V2 => by_completion::build(bases, logs, pending, self.timeline)
                    .map_err(|error| error.in_file(&files.partition))?,
            };
            if let Some((instant, draft)) = self.choose(slices, pending, query_instant) {
                chosen.extend(self.slice(files, file_id, instant, draft)?);
            }
        }
        Ok(chosen)
    }

    /// Returns the newest base files of one partition, by file id, as slices without logs: the input of a
    /// read-optimized query. File groups of logs only are omitted.
    ///
    /// # Errors
    /// As for [`FileSystemView::slices`].
    pub fn base_files(&self, files: &PartitionFiles) -> Result<Vec<FileSlice>> {
        let Some(query_instant) = self.query_instant() else { return Ok(Vec::new()) };
        let mut chosen = Vec::new();
        for (file_id, (mut bases, _)) in self.live_groups(files) {
            bases.retain(|base| base.name.instant <= *query_instant && self.timeline.is_completed(&base.name.instant));
            let Some(newest) = bases.iter().map(|base| base.name.instant.clone()).max() else { continue };
            bases.retain(|base| base.name.instant == newest);
            chosen.extend(self.slice(files, file_id, newest, SliceDraft { bases, logs: Vec::new() })?);
        }
        Ok(chosen)
    }

    /// Returns the files of each file group that is not replaced, without change logs.
    pub(super) fn live_groups(&self, files: &PartitionFiles) -> BTreeMap<String, (Vec<ListedBase>, Vec<ListedLog>)> {
        self.groups(files, |log| !log.name.cdc)
    }

    pub(super) fn groups(
        &self,
        files: &PartitionFiles,
        is_wanted: impl Fn(&&ListedLog) -> bool,
    ) -> BTreeMap<String, (Vec<ListedBase>, Vec<ListedLog>)> {
        let mut groups: BTreeMap<String, (Vec<ListedBase>, Vec<ListedLog>)> = BTreeMap::new();
        for base in &files.base_files {
            groups.entry(base.name.file_id.clone()).or_default().0.push(base.clone());
        }
        for log in files.log_files.iter().filter(is_wanted) {
            groups.entry(log.name.file_id.clone()).or_default().1.push(log.clone());
        }
        groups.retain(|file_id, _| instant_of_group(&self.replaced, &files.partition, file_id).is_none());
        groups
    }

    fn choose(
        &self,
        mut slices: Slices,
        pending: Option<&RequestedTime>,
        query_instant: &RequestedTime,
    ) -> Option<(RequestedTime, SliceDraft)> {
        let newest_before = |slices: &Slices, limit: &RequestedTime, inclusive: bool| {
            let mut keys = slices.keys().rev();
            let within = |key: &RequestedTime| if inclusive { key <= limit } else { key < limit };
            keys.find(|key| within(key) && self.timeline.is_visible(key)).cloned()
        };
        let key = newest_before(&slices, query_instant, true)?;
        let mut draft = slices.remove(&key)?;
        if pending != Some(&key) {
            return Some((key, draft));
        }
        // Files that the pending compaction has written so far are ignored.
        draft.bases.clear();
        let Some(previous) = newest_before(&slices, &key, false) else { return Some((key, draft)) };
        let mut merged = slices.remove(&previous)?;
        merged.logs.append(&mut draft.logs);
        Some((previous, merged))
    }

    /// Returns the selected slice, `None` if it has no files.
    pub(super) fn slice(
        &self,
        files: &PartitionFiles,
        file_id: String,
        base_instant: RequestedTime,
        mut draft: SliceDraft,
    ) -> Result<Option<FileSlice>> {
        draft.bases.retain(|base| self.timeline.is_completed(&base.name.instant));
        if let (TimelineLayout::V2, Some(query_instant)) = (self.layout, &self.query_instant) {
            // Later delta commits write to separate log files.
            draft.logs.retain(|log| log.name.instant <= *query_instant);
        }
        draft.logs.sort_by(|one, other| one.name.slice_order(&other.name));
        self.check_are_read(files, &draft.logs)?;
        let base_file = self.base_file(files, draft.bases)?;
        let log_file = |log: ListedLog| {
            let path = files.path(&log.name.name);
            LogFile { path, len: log.len, etag: log.etag }
        };
        // `collect` would reuse the larger allocation of the listing.
        let mut log_files = Vec::with_capacity(draft.logs.len());
        log_files.extend(draft.logs.into_iter().map(log_file));
        if base_file.is_none() && log_files.is_empty() {
            return Ok(None);
        }
        Ok(Some(FileSlice { partition: files.partition.clone(), file_id, base_instant, base_file, log_files }))
    }

    /// Refuses native logs in a table of an older version, and those of unknown formats. Without them a slice would
    /// have other rows.
    fn check_are_read(&self, files: &PartitionFiles, logs: &[ListedLog]) -> Result<()> {
        let check = if self.has_native_logs { LogFileName::check_native_format } else { LogFileName::check_is_inline };
        logs.iter().try_for_each(|log| check(&log.name).map_err(|error| error.in_file(files.path(&log.name.name))))
    }

    fn base_file(&self, files: &PartitionFiles, mut bases: Vec<ListedBase>) -> Result<Option<BaseFile>> {
        if bases.len() > 1 {
            self.prefer_committed(files, &mut bases)?;
        }
        // Without more information Hudi uses the last one in its listing.
        let Some(base) = bases.into_iter().max_by(|one, other| one.name.name.cmp(&other.name.name)) else {
            return Ok(None);
        };
        let path = files.path(base.name.path_in_partition());
        // A table may have changed its format, or be configured to have several.
        if !FORMATS.contains(&base.name.extension.as_str()) {
            let message =
                format!("unsupported base file format {} (supported: {})", base.name.extension, FORMATS.join(", "));
            return Err(Error::unsupported(message).in_file(path).at_instant(base.name.instant));
        }
        let ListedBase { name, len, etag } = base;
        let registered_name = name.is_registered().then(|| name.name.into());
        Ok(Some(BaseFile { path, len, etag, instant: name.instant, source: None, registered_name }))
    }

    /// Of several files written by attempts of one task, keeps the one that was committed.
    fn prefer_committed(&self, files: &PartitionFiles, bases: &mut Vec<ListedBase>) -> Result<()> {
        let Some(instant) = bases.first().map(|base| base.name.instant.clone()) else { return Ok(()) };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !written.contains_key(&instant) {
            let mut paths = BTreeSet::new();
            for write in self.timeline.writes_at(&instant).filter(|write| write.is_completed()) {
                let metadata = self.timeline.commit_metadata(write, MetadataPart::All)?;
                paths.extend(metadata.iter().flat_map(|metadata| metadata.paths()).map(str::to_owned));
            }
            written.insert(instant.clone(), paths);
        }
        let Some(paths) = written.get(&instant) else { return Ok(()) };
        let committed = |base: &ListedBase| paths.contains(&files.path(&base.name.name));
        if bases.iter().any(committed) {
            bases.retain(committed);
        }
        Ok(())
    }
}

/// Returns the slice of all files that a savepoint keeps of a file group. A compaction that was pending then began a
/// slice of its own, whose logs are merged with the slice before, whether the compaction was executed or not.
fn kept_slice(
    mut bases: Vec<ListedBase>,
    mut logs: Vec<ListedLog>,
    query_instant: &RequestedTime,
) -> Option<(RequestedTime, SliceDraft)> {
    // Savepoints keep later logs, too.
    logs.retain(|log| log.name.instant <= *query_instant);
    let newest = bases.iter().map(|base| &base.name.instant).max();
    let instant = newest.or(logs.iter().map(|log| &log.name.instant).min())?.clone();
    bases.retain(|base| base.name.instant == instant);
    Some((instant, SliceDraft { bases, logs }))
}

pub(super) fn instant_of_group<'a>(groups: &'a ByGroup, partition: &str, file_id: &str) -> Option<&'a RequestedTime> {
    groups.get(partition)?.get(file_id)
}

pub(super) fn pending_compactions(timeline: &Timeline) -> Result<ByGroup> {
    let mut groups = ByGroup::new();
    for plan in timeline.pending_compactions()? {
        for operation in plan.operations {
            let group = groups.entry(operation.partition).or_default();
            let other = group.insert(operation.file_id.clone(), plan.instant.clone());
            if let Some(other) = other.filter(|other| *other != plan.instant) {
                let message = format!(
                    "invalid timeline: file group {} is in two pending compactions, also in {other}",
                    operation.file_id
                );
                return Err(Error::invalid_table(message).at_instant(plan.instant));
            }
        }
    }
    Ok(groups)
}

/// Returns the file groups that were replaced at or before the query instant.
fn replaced(timeline: &Timeline, query_instant: &RequestedTime) -> Result<ByGroup> {
    let mut groups = ByGroup::new();
    for group in timeline.replaced_file_groups()? {
        if group.instant <= *query_instant {
            groups.entry(group.partition).or_default().insert(group.file_id, group.instant);
        }
    }
    Ok(groups)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::timeline::MemoryStorage;
    use crate::timeline::metadata::{
        HoodieCleanMetadata, HoodieSavepointMetadata, HoodieSavepointPartitionMetadata, OrderedMap, TimelineMetadata,
    };
    use mortice_base::ErrorKind;
    use mortice_merge::config::Properties;

    pub(in crate::file_group) fn listed(names: &[&str]) -> PartitionFiles {
        PartitionFiles::new("p", names.iter().map(|name| (*name, 1)))
    }

    pub(in crate::file_group) fn describe(slices: &Slices) -> Vec<String> {
        let one = |(key, draft): (&RequestedTime, &SliceDraft)| {
            let base = if draft.bases.is_empty() { "" } else { "base " };
            format!("{key}: {base}{} logs", draft.logs.len())
        };
        slices.iter().map(one).collect()
    }

    pub(in crate::file_group) struct Table {
        pub(in crate::file_group) timeline: Timeline,
        pub(in crate::file_group) config: TableConfig,
    }

    impl Table {
        fn with(version: &str, instants: &[(&str, &str)]) -> Self {
            let files = instants.iter().map(|(name, text)| (*name, text.as_bytes()));
            Self::with_files(version, &files.collect::<Vec<_>>())
        }

        fn with_files(version: &str, instants: &[(&str, &[u8])]) -> Self {
            let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", version)];
            let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
            let path = |name: &str| format!("{}/{name}", config.timeline_folder);
            let files: Vec<_> = instants.iter().map(|(name, bytes)| (path(name), *bytes)).collect();
            let empty = [path("kept"), path("20.compaction.requested")];
            let kept = if instants.iter().any(|(name, _)| name.contains("compaction")) { 2 } else { 1 };
            let files = files.iter().map(|(path, bytes)| (path.as_str(), *bytes));
            let empty = empty.iter().take(kept).map(|path| (path.as_str(), b"".as_slice()));
            let storage = MemoryStorage::holding(files.chain(empty));
            Self { timeline: Timeline::load(&storage, &config).unwrap(), config }
        }

        pub(in crate::file_group) fn new(version: &str, instants: &[&str]) -> Self {
            Self::with(version, &instants.iter().map(|name| (*name, "")).collect::<Vec<_>>())
        }

        fn view(&self, as_of: Option<&str>, pending_compaction: Option<&str>) -> FileSystemView<'_> {
            let mut view =
                FileSystemView::new(&self.timeline, &self.config, as_of.map(RequestedTime::from).as_ref()).unwrap();
            if let Some(instant) = pending_compaction {
                view.pending_compactions.entry("p".into()).or_default().insert("f".into(), instant.into());
            }
            view
        }

        fn chosen(&self, as_of: Option<&str>, pending_compaction: Option<&str>, names: &[&str]) -> Vec<String> {
            shown(&self.view(as_of, pending_compaction).slices(&listed(names)).unwrap())
        }
    }

    /// `base instant: files`.
    pub(in crate::file_group) fn shown(slices: &[FileSlice]) -> Vec<String> {
        let one = |slice: &FileSlice| {
            let names: Vec<&str> = slice.names().collect();
            format!("{}: {}", slice.base_instant, names.join(" "))
        };
        slices.iter().map(one).collect()
    }

    const BASE: &str = "f_0-1-2_10.parquet";

    #[test]
    fn the_newest_slice_at_the_query_instant() {
        let table = Table::new("6", &["10.commit", "15.deltacommit", "20.commit", "25.deltacommit"]);
        let names = [BASE, ".f_10.log.1_0-1-2", "f_0-1-2_20.parquet", ".f_20.log.1_0-1-2", ".f_20.log.1_0-1-2.cdc"];
        assert_eq!(table.chosen(None, None, &names), ["20: f_0-1-2_20.parquet .f_20.log.1_0-1-2"]);
        assert_eq!(table.chosen(Some("19"), None, &names), ["10: f_0-1-2_10.parquet .f_10.log.1_0-1-2"]);
        assert!(table.chosen(Some("09"), None, &names).is_empty());
    }

    #[test]
    fn native_logs_of_a_chosen_slice_are_refused() {
        let table = Table::new("9", &["10_11.commit", "20_21.deltacommit", "30_31.commit", "40.deltacommit.inflight"]);
        let slices = |names: &[&str]| table.view(None, None).slices(&listed(names));
        for native in ["f_0-1-2_20_1.log.parquet", "f_0-1-2_20_1.deletes.parquet", "g_0-1-2_20_1.log.new"] {
            let error = slices(&[BASE, native]).unwrap_err();
            assert_eq!(
                (error.kind(), error.location().path.as_deref()),
                (ErrorKind::Unsupported, Some(&*format!("p/{native}")))
            );
        }
        // Compacted, not completed, without rows of a snapshot.
        let compacted = slices(&[BASE, "f_0-1-2_20_1.log.parquet", "f_0-1-2_30.parquet"]).unwrap();
        assert_eq!(shown(&compacted), ["30: f_0-1-2_30.parquet"]);
        let others = slices(&[BASE, "f_0-1-2_40_1.log.parquet", "f_0-1-2_20_1.cdc.parquet"]).unwrap();
        assert_eq!(shown(&others), [format!("10: {BASE}")]);
    }

    #[test]
    fn a_pending_compaction_is_read_with_the_slice_before() {
        for (version, instants, later) in [
            ("6", ["10.commit", "12.deltacommit", "20.compaction.inflight", "25.deltacommit"], ".f_20.log.1_0-1-2"),
            (
                "9",
                ["10_11.commit", "12_13.deltacommit", "20.compaction.inflight", "25_26.deltacommit"],
                ".f_25.log.1_0-1-2",
            ),
        ] {
            let earlier = if version == "6" { ".f_10.log.1_0-1-2" } else { ".f_12.log.1_0-1-2" };
            let names = [BASE, earlier, "f_0-9-9_20.parquet", later];
            let table = Table::new(version, &instants);
            assert_eq!(table.chosen(None, Some("20"), &names), [format!("10: {BASE} {earlier} {later}")], "{version}");
            assert_eq!(table.chosen(Some("12"), Some("20"), &names), [format!("10: {BASE} {earlier}")], "{version}");
            let log_only = table.chosen(None, Some("20"), &names[2..]);
            assert_eq!(log_only, [format!("20: {later}")], "{version}");
        }
    }

    #[test]
    fn a_delta_commit_that_overlaps_a_compaction_is_not_lost() {
        let table = Table::new("9", &["10_11.commit", "18_25.deltacommit", "20_30.commit"]);
        let names = [BASE, ".f_18.log.1_0-1-2", "f_0-1-2_20.parquet"];
        assert_eq!(table.chosen(None, None, &names), ["20: f_0-1-2_20.parquet .f_18.log.1_0-1-2"]);
    }

    #[test]
    fn uncommitted_files_do_not_count() {
        let table = Table::new("6", &["10.commit", "12.deltacommit.inflight", "15.deltacommit"]);
        assert_eq!(
            table.chosen(None, None, &[BASE, "f_0-1-2_12.parquet", "f_0-1-2_14.parquet"]),
            [format!("10: {BASE}")]
        );
        assert!(table.chosen(None, None, &[".f_12.log.1_0-1-2"]).is_empty());
        let table = Table::new("9", &["10_11.commit", "12.deltacommit.inflight", "15_16.deltacommit"]);
        let names = [BASE, ".f_12.log.1_0-1-2", "f_0-1-2_12.parquet", ".f_15.log.1_0-1-2"];
        assert_eq!(table.chosen(None, None, &names), [format!("10: {BASE} .f_15.log.1_0-1-2")]);
    }

    #[test]
    fn logs_after_the_query_instant_are_left_out_where_they_have_files_of_their_own() {
        let names = [BASE, ".f_12.log.1_0-1-2", ".f_15.log.1_0-1-2"];
        let table = Table::new("9", &["10_11.commit", "12_13.deltacommit", "15_16.deltacommit"]);
        assert_eq!(table.chosen(Some("12"), None, &names), [format!("10: {BASE} .f_12.log.1_0-1-2")]);
    }

    #[test]
    fn replaced_groups_are_gone_from_then_on() {
        let replace = r#"{"operationType":"CLUSTER","partitionToReplaceFileIds":{"p":["f"],"q":["h"]}}"#;
        let table = Table::with("6", &[("10.commit", ""), ("20.replacecommit", replace)]);
        let names = [BASE, "g_0-1-2_20.parquet", "h_0-1-2_10.parquet"];
        assert_eq!(table.chosen(None, None, &names), ["20: g_0-1-2_20.parquet", "10: h_0-1-2_10.parquet"]);
        assert_eq!(table.chosen(Some("19"), None, &names), [format!("10: {BASE}"), "10: h_0-1-2_10.parquet".into()]);
    }

    #[test]
    fn read_optimized_knows_base_files_alone() {
        let table = Table::new("6", &["10.deltacommit", "20.compaction.inflight", "25.deltacommit"]);
        let files =
            listed(&[BASE, ".f_10.log.1_0-1-2", "f_0-1-2_20.parquet", ".f_20.log.1_0-1-2", ".g_10.log.1_0-1-2"]);
        let view = table.view(None, Some("20"));
        assert_eq!(shown(&view.base_files(&files).unwrap()), [format!("10: {BASE}")]);
        assert_eq!(view.slices(&files).unwrap().len(), 2);
    }

    /// What is read of a savepoint of 20 that keeps these files, if a clean has retained nothing from before 40.
    fn kept(version: &str, instants: &[(&str, &str)], names: &[&str]) -> Vec<String> {
        let partition = HoodieSavepointPartitionMetadata {
            partition_path: "p".into(),
            savepoint_data_file: names.iter().map(|name| (*name).into()).collect(),
            ..HoodieSavepointPartitionMetadata::default()
        };
        let savepoint = HoodieSavepointMetadata {
            partition_metadata: OrderedMap::from_iter([("p", partition)]),
            ..HoodieSavepointMetadata::default()
        };
        let clean = HoodieCleanMetadata { earliest_commit_to_retain: "40".into(), ..HoodieCleanMetadata::default() };
        let (savepoint, clean) = (savepoint.to_avro().unwrap(), clean.to_avro().unwrap());
        let suffix = if version == "6" { "" } else { "_51" };
        let (savepointed, cleaned) = (format!("20{suffix}.savepoint"), format!("50{suffix}.clean"));
        let files = instants.iter().map(|(name, text)| (*name, text.as_bytes()));
        let files = files.chain([(savepointed.as_str(), savepoint.as_slice()), (cleaned.as_str(), clean.as_slice())]);
        let table = Table::with_files(version, &files.collect::<Vec<_>>());
        let view = FileSystemView::new(&table.timeline, &table.config, Some(&"20".into())).unwrap();
        shown(&view.slices(&view.kept().unwrap()[0]).unwrap())
    }

    #[test]
    fn services_that_ran_after_a_savepoint_do_not_change_what_it_keeps() {
        // Clustering was pending.
        let replace = r#"{"operationType":"CLUSTER","partitionToReplaceFileIds":{"p":["f"]}}"#;
        let instants = [("10.commit", ""), ("15.replacecommit", replace), ("20.commit", ""), ("40.commit", "")];
        assert_eq!(kept("6", &instants, &[BASE]), [format!("10: {BASE}")]);
        // A compaction was pending, whose slice has a log already.
        let instants = [("10.deltacommit", ""), ("15.commit", ""), ("20.deltacommit", ""), ("40.commit", "")];
        let (log, later) = (".f_15.log.1_0-1-2", ".f_30.log.1_0-1-2");
        assert_eq!(kept("6", &instants, &[BASE, log, later]), [format!("10: {BASE} {log}")]);
        let instants = [("10_11.commit", ""), ("15_45.commit", ""), ("20_21.deltacommit", ""), ("40_41.commit", "")];
        let log = ".f_20.log.1_0-1-2";
        assert_eq!(kept("9", &instants, &[BASE, log, later]), [format!("10: {BASE} {log}")]);
        assert_eq!(kept("9", &instants, &[log, later]), [format!("20: {log}")]);
    }

    #[test]
    fn of_retried_files_the_committed_one_is_read() {
        let commit = r#"{"partitionToWriteStats":{"p":[{"fileId":"f","path":"p/f_0-1-1_10.parquet"}]}}"#;
        let names = ["f_0-1-1_10.parquet", "f_0-1-2_10.parquet"];
        let committed = Table::with("6", &[("10.commit", commit)]);
        assert_eq!(committed.chosen(None, None, &names), ["10: f_0-1-1_10.parquet"]);
        let unreported = Table::with("6", &[("20.commit", commit)]);
        assert_eq!(unreported.chosen(None, None, &names), ["10: f_0-1-2_10.parquet"]);
    }

    #[test]
    fn a_table_without_commits_is_empty() {
        for version in ["6", "9"] {
            assert!(Table::new(version, &[]).chosen(None, None, &[BASE, ".f_10.log.1_0-1-2"]).is_empty());
        }
    }

    #[test]
    fn base_files_of_another_format_are_refused_by_name() {
        let table = Table::new("6", &["10.commit"]);
        let error = table.view(None, None).slices(&listed(&["f_0-1-2_10.lance"])).unwrap_err();
        assert_eq!(
            (error.kind(), error.location().path.as_deref()),
            (ErrorKind::Unsupported, Some("p/f_0-1-2_10.lance"))
        );
        assert_eq!(table.chosen(None, None, &["f_0-1-2_10.orc"]), ["10: f_0-1-2_10.orc"]);
    }

    #[test]
    fn slices_travel_as_json() {
        let table = Table::new("6", &["10.commit"]);
        let slices = table.view(None, None).slices(&listed(&[BASE, ".f_10.log.1_0-1-2"])).unwrap();
        let json = serde_json::to_string(&slices).unwrap();
        assert_eq!(serde_json::from_str::<Vec<FileSlice>>(&json).unwrap(), slices);
        assert_eq!(slices[0].total_len(), 2);
        assert_eq!(slices[0].log_files[0].path, "p/.f_10.log.1_0-1-2");
    }
}
