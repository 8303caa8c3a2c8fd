//! The one door: a table, its queries, and their streams.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};

use crate::avro::{self, Types};
use crate::config::{MergeConfig, ReadOptions, Semantics, TableConfig, TimelineLayout};
use crate::error::{Error, Kind, Result};
use crate::file_group::{FileSlice, PartitionFiles, View};
use crate::filter::{Filter, KeyFilter};
use crate::metadata_table::{Lister, Listing, RECORD_INDEX};
use crate::names::{instant_time, meta_columns};
use crate::plan::{CommitRange, Deletes, MergerHandle, PartitionFilter, Query, Skip, Split, Written, splits};
use crate::read::{Stream, newest_schema};
use crate::schema::Evolution;
use crate::schema::table_schema::{self, TableSchema};
use crate::storage::{self, Place, StorageOptions};
use crate::timeline::{Holes, InstantFilter, Span, Timeline};

const SNAPSHOT: &str = "snapshot";

/// One Hudi table. Its timeline is read once, when it is opened; open it again to see newer commits.
pub struct Table {
    uri: String,
    storage: StorageOptions,
    place: Arc<dyn Place>,
    config: TableConfig,
    merge: MergeConfig,
    timeline: Timeline,
    options: ReadOptions,
}

/// What a query asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Top-level columns in the order wanted; `None` is all, meta columns first.
    pub columns: Option<Vec<String>>,
    /// Rows.
    pub filter: Filter,
    /// The instant to look from, in any form that Hudi takes; `None` is the latest.
    pub as_of: Option<String>,
    /// Whether base and log rows of a key become one.
    pub merge: bool,
    /// Whether deleted keys are delivered, too.
    pub emit_deletes: bool,
    /// What merges records where the table asks for a payload class or a merger that is not Hudi's own.
    pub merger: Option<MergerHandle>,
}

impl Default for Ask {
    fn default() -> Self {
        Self { columns: None, filter: Filter::default(), as_of: None, merge: true, emit_deletes: false, merger: None }
    }
}

/// Which commits an incremental query is about, and what of them counts.
#[derive(Debug, Clone, Default)]
pub struct Between {
    /// An instant in any form that Hudi takes, or `earliest`. Itself outside.
    pub begin: String,
    /// Itself inside; `None` is the latest.
    pub end: Option<String>,
    /// What is done about pending commits that later ones have overtaken, below table version 8.
    pub holes: Holes,
    /// Table services to leave out.
    pub skip: Skip,
    /// Whether, where a file of the range has been cleaned away, the rows of the range are sought in all files.
    pub fall_back_to_full_scan: bool,
    /// Whether the schema is that of the range's last commit, and not the table's.
    pub schema_at_end: bool,
    /// Whether nothing is merged: each log record is a row, deletes too, and of base files those that their commit wrote.
    pub changelog: bool,
}

/// A planned query: its splits are fixed.
pub struct Scan {
    schema: SchemaRef,
    query: Arc<Query>,
    splits: Vec<Split>,
    kind: &'static str,
    as_of: Option<String>,
    between: Option<Span>,
    partitions: Partitions,
    listing: Listing,
    /// What the record index told, where it was asked.
    record_index: Option<String>,
}

/// The slices that a query reads.
#[derive(Default)]
struct Slices {
    slices: Vec<FileSlice>,
    instants: InstantFilter,
    range: Option<CommitRange>,
    partitions: Partitions,
    listing: Listing,
}

/// How many partitions a query reads, and how many it need not.
#[derive(Debug, Clone, Copy, Default)]
struct Partitions {
    read: usize,
    pruned: usize,
}

impl Table {
    /// Opens the table at a path or URI. [`crate::Kind::NotFound`] where there is none,
    /// [`crate::Kind::Unsupported`] for tables that this release cannot read.
    pub fn open(uri: &str, storage: &StorageOptions, options: ReadOptions) -> Result<Self> {
        let place = storage::open(uri, storage)?;
        let config = TableConfig::load(place.as_ref())?;
        let merge = config.merge_by(options.semantics).map_err(|error| error.in_file(uri))?;
        let timeline = Timeline::load(&place, &config)?;
        Ok(Self { uri: uri.to_owned(), storage: storage.clone(), place, config, merge, timeline, options })
    }

    /// As it was given.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What `hoodie.properties` says.
    #[must_use]
    pub fn config(&self) -> &TableConfig {
        &self.config
    }

    /// How records of one key are merged.
    #[must_use]
    pub fn merge(&self) -> &MergeConfig {
        &self.merge
    }

    /// The timeline as it was when the table was opened.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The schema of the newest commit, meta columns first.
    pub fn schema(&self) -> Result<SchemaRef> {
        let (_, types) = self.schema_at(None)?;
        Ok(types)
    }

    /// The file slices that a snapshot reads, without those of partitions that hold no row of the filter.
    pub fn file_slices(&self, as_of: Option<&str>, filter: &Filter) -> Result<Vec<FileSlice>> {
        let as_of = as_of.map(instant_time::of_query).transpose()?;
        let wanted = if filter.is_empty() {
            None
        } else {
            let (_, types) = self.schema_at(as_of.as_deref())?;
            self.partition_filter(&types, filter)?
        };
        Ok(self.slices(as_of.as_deref(), View::slices, wanted.as_ref())?.slices)
    }

    /// The rows as of an instant, base files and logs merged.
    pub fn snapshot(&self, ask: &Ask) -> Result<Scan> {
        if ask.emit_deletes && !ask.merge {
            let message =
                "emit_deletes with merge=False: which keys are deleted is told by merging; leave one of them out";
            return Err(Error::invalid_argument(message));
        }
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_deref(), View::slices, wanted);
        let scan = self.scan(SNAPSHOT, ask, as_of.clone(), &[], find)?;
        let merging = ask.merge || self.options.semantics == Semantics::V0x;
        if merging && ask.merger.is_none() && scan.splits.iter().any(|split| !split.slice.log_files.is_empty()) {
            self.merge().check_supported().map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(scan)
    }

    /// The rows of base files alone: what compactions have merged, and no log.
    pub fn read_optimized(&self, ask: &Ask) -> Result<Scan> {
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_deref(), View::base_files, wanted);
        self.scan("read_optimized", ask, as_of.clone(), &[], find)
    }

    /// The rows that the commits of a range wrote, as they were at its end: blocks and base rows of other commits are left
    /// out, and what is left is merged. Of `ask`, `as_of` and `merge` say nothing here. Bounds are completion times from table
    /// version 8 on, requested times before.
    ///
    /// # Errors
    /// `Unsupported` for tables without meta columns; `InvalidArgument` for bounds that are no instants, and where holes fail
    /// for a range with one.
    pub fn incremental(&self, ask: &Ask, between: &Between) -> Result<Scan> {
        if !self.config.populate_meta_fields {
            let message = "an incremental query of a table without meta columns (hoodie.populate.meta.fields=false), whose rows do not tell what commit wrote them";
            return Err(Error::unsupported(message).in_file(&self.uri));
        }
        let span = Span::of_query(&between.begin, between.end.as_deref())?;
        let span = self.timeline.without_holes(span, between.holes).map_err(|error| error.in_file(&self.uri))?;
        let skip = if between.changelog { Skip { compaction: true, clustering: true } } else { between.skip };
        let written = Written::of(&self.timeline, &span, skip)?;
        let mut ask = ask.clone();
        (ask.merge, ask.emit_deletes) = (!between.changelog, ask.emit_deletes || between.changelog);
        let schema_at = written.latest().filter(|_| between.schema_at_end).map(str::to_owned);
        // Hudi 1.x gives partition values as they stand in the path; where that is encoded, or tells them alone, it makes a difference.
        let from_path = (self.config.url_encode_partitions || self.config.drop_partition_columns)
            && self.options.semantics == Semantics::V1x;
        let path_columns = if from_path { self.config.partition_fields.as_slice() } else { &[] };
        let find = |wanted: Option<&_>| self.slices_in(&written, &span, between, wanted.filter(|_| !from_path));
        let mut scan = self.scan("incremental", &ask, schema_at, path_columns, find)?;
        let merging = ask.merge && ask.merger.is_none();
        if merging && scan.splits.iter().any(|split| !split.slice.log_files.is_empty()) {
            self.merge().check_supported().map_err(|error| error.in_file(&self.uri))?;
        }
        scan.between = Some(span);
        Ok(scan)
    }

    /// The slices of the files that commits have written in wanted partitions.
    fn slices_in(
        &self,
        written: &Written,
        span: &Span,
        between: &Between,
        wanted: Option<&PartitionFilter>,
    ) -> Result<Slices> {
        // What was replaced later was a change all the same.
        let replaced = if between.changelog { Vec::new() } else { written.replaced.clone() };
        let view = View::of_range(&self.timeline, &self.config, replaced).map_err(|error| error.in_file(&self.uri))?;
        let listed = written.files();
        let paths: Vec<&str> = listed.iter().map(|files| files.partition.as_str()).collect();
        let kept = wanted.map_or_else(|| Ok(vec![true; paths.len()]), |wanted| wanted.may_match(&paths))?;
        let mut found = Slices::default();
        for (files, _) in listed.iter().zip(&kept).filter(|(_, kept)| **kept) {
            let some = if between.changelog { view.all_slices_in_range(files)? } else { view.slices_in_range(files)? };
            found.slices.extend(some);
            found.partitions.read += 1;
        }
        found.partitions.pruned = kept.len() - found.partitions.read;
        self.measure(&mut found.slices)?;
        let is_cleaned = between.fall_back_to_full_scan && self.is_cleaned(&found.slices)?;
        if is_cleaned {
            found = self.slices(None, View::slices, wanted)?;
        }
        found.instants = self.timeline.instant_filter(self.timeline.latest_visible().unwrap_or_default());
        found.range = Some(if between.changelog {
            written.range_of_changes(!is_cleaned)
        } else {
            written.range(self.config.layout(), span)
        });
        Ok(found)
    }

    /// Asks the storage for the lengths of files that commits do not tell. A file that has gone is told when it is read.
    fn measure(&self, slices: &mut [FileSlice]) -> Result<()> {
        for slice in slices {
            let bases = slice.base_file.iter_mut().map(|base| (&base.path, &mut base.len));
            let logs = slice.log_files.iter_mut().map(|log| (&log.path, &mut log.len));
            for (path, len) in bases.chain(logs).filter(|(_, len)| **len == 0) {
                match self.place.open(path) {
                    Ok(source) => *len = source.len(),
                    Err(error) if error.kind() == Kind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Whether any file of the slices has gone.
    fn is_cleaned(&self, slices: &[FileSlice]) -> Result<bool> {
        let bases = slices.iter().filter_map(|slice| slice.base_file.as_ref()).map(|base| &base.path);
        for path in bases.chain(slices.iter().flat_map(|slice| &slice.log_files).map(|log| &log.path)) {
            match self.place.open(path) {
                Err(error) if error.kind() == Kind::NotFound => return Ok(true),
                opened => drop(opened?),
            }
        }
        Ok(false)
    }

    /// The slices that a view chooses of every wanted partition, and which instants count in it.
    fn slices<'t>(
        &'t self,
        as_of: Option<&str>,
        choose: fn(&View<'t>, &PartitionFiles) -> Result<Vec<FileSlice>>,
        wanted: Option<&PartitionFilter>,
    ) -> Result<Slices> {
        let view = View::of(&self.timeline, &self.config, as_of).map_err(|error| error.in_file(&self.uri))?;
        let Some(latest) = view.query_instant() else { return Ok(Slices::default()) };
        let mut found = Slices { instants: self.timeline.instant_filter(latest), ..Slices::default() };
        let (listed, listing) = self.lister().list(wanted)?;
        for files in &listed.files {
            found.slices.extend(choose(&view, files)?);
        }
        found.partitions = Partitions { read: listed.files.len(), pruned: listed.left_out };
        found.listing = listing;
        Ok(found)
    }

    fn lister(&self) -> Lister<'_> {
        let Self { uri, storage, place, config, timeline, options, .. } = self;
        Lister { uri, storage, place: place.as_ref(), config, timeline, options }
    }

    /// Leaves out slices that hold no row of the keys that a filter names, as far as the record index tells; what it told.
    fn by_record_index(&self, slices: &mut Vec<FileSlice>, types: &Schema, filter: &Filter) -> Option<String> {
        let lister = self.lister();
        if !self.options.record_index || !lister.has(RECORD_INDEX) {
            return None;
        }
        let key_field = self.key_field(types);
        let columns = [Some(meta_columns::RECORD_KEY), key_field.as_deref()];
        let of_column = |column: &str| match KeyFilter::of(filter, column) {
            KeyFilter::Keys(keys) => keys.into_iter().map(String::from_utf8).collect::<Result<_, _>>().ok(),
            KeyFilter::All | KeyFilter::Prefixes(_) => None,
        };
        let keys = columns.into_iter().flatten().find_map(of_column)?;
        match lister.metadata_table().and_then(|metadata| metadata.slices_of_keys(&keys, slices)) {
            Ok(Ok(groups)) => {
                slices.retain(|slice| groups.contains(&slice.file_id));
                Some(format!("{} keys in {} file groups", keys.len(), groups.len()))
            }
            Ok(Err(why)) => Some(format!("not used: {why}")),
            Err(error) => Some(format!("not used: {error}")),
        }
    }

    /// What partition paths tell of a filter; none where everything is to be read.
    fn partition_filter(&self, types: &Schema, filter: &Filter) -> Result<Option<PartitionFilter>> {
        let found = PartitionFilter::of(&self.config, types, filter)?;
        Ok(Some(found).filter(|_| self.options.prune && !filter.is_empty()))
    }

    /// The column that stored keys are made of, of a type whose values and their texts tell each other.
    fn key_field(&self, types: &Schema) -> Option<String> {
        let (_, field) = types.fields().find(self.config.key_field()?)?;
        let is_exact = matches!(field.data_type(), DataType::Utf8 | DataType::Int32 | DataType::Int64);
        is_exact.then(|| field.name().clone())
    }

    fn schema_at(&self, as_of: Option<&str>) -> Result<(TableSchema, SchemaRef)> {
        let found = match table_schema::at(&self.timeline, &self.config, as_of)? {
            Some(found) => found,
            None => TableSchema { schema: self.schema_of_files(as_of)?, internal: None },
        };
        let types = avro::arrow_schema(&found.schema, Types::Table).map_err(|error| error.in_file(&self.uri))?;
        Ok((found, Arc::new(types)))
    }

    /// What the files of a table call its columns, where those are told by ids.
    fn evolution(&self, found: &TableSchema) -> Result<Option<Evolution>> {
        let load = |internal| Evolution::load(self.place.as_ref(), &self.timeline, internal);
        found.internal.as_ref().map(load).transpose().map_err(|error| error.in_file(&self.uri))
    }

    /// Where no commit holds a schema: that of a file; of a table without any, the meta columns alone.
    fn schema_of_files(&self, as_of: Option<&str>) -> Result<avro::Schema> {
        let Slices { slices, instants, .. } = self.slices(as_of, View::slices, None)?;
        let schema = match newest_schema(&slices, &instants, self.place.as_ref())? {
            Some(text) => avro::Schema::parse(&text)?,
            None if slices.is_empty() => avro::Schema::record("empty", Vec::new()),
            None => {
                let message = "no commit, base file or log block holds the table's schema";
                return Err(Error::unsupported(message).in_file(&self.uri));
            }
        };
        table_schema::with_table_columns(&schema, &self.config)
    }

    /// A query with the schema as of an instant, over the slices that `find` finds in wanted partitions. The text of
    /// `path_columns` is taken from the path.
    fn scan(
        &self,
        kind: &'static str,
        ask: &Ask,
        as_of: Option<String>,
        path_columns: &[String],
        find: impl FnOnce(Option<&PartitionFilter>) -> Result<Slices>,
    ) -> Result<Scan> {
        let path_as_it_stands = !path_columns.is_empty();
        let path_alone = self.config.drop_partition_columns;
        let path_columns = if path_alone { self.config.partition_fields.as_slice() } else { path_columns };
        let (found, types) = self.schema_at(as_of.as_deref())?;
        let evolution = self.evolution(&found)?;
        let (schema, types, deletes) =
            if ask.emit_deletes { marking(found.schema)? } else { (found.schema, types, Deletes::LeftOut) };
        let mut columns = columns(&types, ask.columns.as_deref())?;
        if ask.emit_deletes && !columns.iter().any(|name| name == meta_columns::OPERATION) {
            columns.push(meta_columns::OPERATION.to_owned());
        }
        let wanted = self.partition_filter(&types, &ask.filter)?;
        let Slices { mut slices, instants, range, partitions, listing } = find(wanted.as_ref())?;
        // The index knows where the merged row of a key lies now.
        let is_of_now = kind == SNAPSHOT && ask.merge && !ask.emit_deletes && as_of.is_none();
        let record_index = if is_of_now { self.by_record_index(&mut slices, &types, &ask.filter) } else { None };
        let output = columns.iter().filter_map(|name| types.fields().find(name)).map(|(_, field)| Arc::clone(field));
        let output = Arc::new(Schema::new(output.collect::<Vec<_>>()));
        let query = Arc::new(Query {
            uri: self.uri.clone(),
            storage: self.storage.clone(),
            schema: schema.json().to_owned(),
            evolution,
            virtual_key: (!self.config.populate_meta_fields).then(|| self.config.record_key_fields.clone()),
            key_fields: self.config.record_key_fields.clone(),
            key_field: self.key_field(&types).filter(|name| !path_columns.contains(name)),
            merge: self.merge().clone(),
            over_base: ask.merge,
            changelog: range.is_some() && !ask.merge,
            deletes,
            commits_by_block: self.config.layout() == TimelineLayout::V1,
            instants,
            range,
            path_columns: path_columns.to_vec(),
            path_as_it_stands,
            path_alone,
            columns,
            filter: ask.filter.clone(),
            options: self.options.clone(),
        });
        let splits = splits(&query, slices, ask.merger.as_ref());
        Ok(Scan { schema: output, query, splits, kind, as_of, between: None, partitions, listing, record_index })
    }
}

impl Scan {
    /// The schema of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The parts that can be read apart.
    #[must_use]
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Reads all splits.
    #[must_use]
    pub fn stream(&self) -> Stream {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Stream::new(self.schema(), self.splits.clone(), self.query.options.threads.unwrap_or(cores))
    }

    /// What will be read, and how it is merged, for a person.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = format!("{} of {}", self.kind, self.query.uri);
        let (mut base, mut logs, mut bytes) = (0_usize, 0_usize, 0_u64);
        for split in &self.splits {
            base += usize::from(split.slice.base_file.is_some());
            logs += split.slice.log_files.len();
            bytes = bytes.saturating_add(split.bytes());
        }
        let Partitions { read, pruned } = self.partitions;
        let columns = if self.query.columns.is_empty() { "none".to_owned() } else { self.query.columns.join(", ") };
        let lines = [
            self.when(),
            ("merge", self.query.merge.mode.name().to_owned()),
            ("partitions", format!("{read} ({pruned} pruned)")),
            ("listing", self.listing.to_string()),
            ("splits", format!("{} ({base} base files, {logs} log files, {bytes} bytes)", self.splits.len())),
            ("columns", columns),
            ("filter", self.query.filter.to_string()),
        ];
        for (name, value) in lines {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n  {name:<10} {value}");
        }
        if let Some(told) = &self.record_index {
            let _ = write!(text, "\n  {:<10} {told}", "record index");
        }
        text
    }

    /// The instants that rows are of.
    fn when(&self) -> (&'static str, String) {
        let Some(span) = &self.between else {
            let latest = || format!("latest ({})", self.query.instants.latest);
            return ("as of", self.as_of.clone().unwrap_or_else(latest));
        };
        let begin = span.begin.as_deref().unwrap_or("nothing");
        ("after", format!("{begin}, up to {}", span.end.as_deref().unwrap_or("the latest commit")))
    }
}

/// The schema of rows among which are deletes: every column may be null, and one tells which they are.
fn marking(schema: avro::Schema) -> Result<(avro::Schema, SchemaRef, Deletes)> {
    let has_column = schema.field(meta_columns::OPERATION).is_some();
    let mut fields: Vec<avro::Field> = schema.fields().iter().cloned().map(avro::Field::nullable).collect();
    if !has_column {
        fields.push(avro::Field::nullable_string(meta_columns::OPERATION));
    }
    let schema = schema.with_fields(fields)?;
    let types = Arc::new(avro::arrow_schema(&schema, Types::Table)?);
    Ok((schema, types, if has_column { Deletes::InTablesColumn } else { Deletes::InAddedColumn }))
}

/// The columns asked for, checked against the schema; all of them where none were named.
fn columns(types: &Schema, asked: Option<&[String]>) -> Result<Vec<String>> {
    let Some(asked) = asked else {
        return Ok(types.fields().iter().map(|field| field.name().clone()).collect());
    };
    let known = || types.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    for (index, name) in asked.iter().enumerate() {
        if types.fields().find(name).is_none() {
            let nested = if name.contains('.') { "; nested fields cannot be asked for alone" } else { "" };
            return Err(Error::invalid_argument(format!(
                "no column {name:?} in the table{nested}; it has: {}",
                known()
            )));
        }
        if asked.iter().take(index).any(|earlier| earlier == name) {
            return Err(Error::invalid_argument(format!("column {name:?} is asked for twice")));
        }
    }
    Ok(asked.to_vec())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::storage::{Entry, Source};
    use crate::timeline::memory_place::MemoryPlace;

    /// Counts what is asked of a place.
    struct Counting {
        place: Arc<dyn Place>,
        listed: AtomicUsize,
        opened: AtomicUsize,
    }

    impl Place for Counting {
        fn root(&self) -> &str {
            self.place.root()
        }

        fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>> {
            self.listed.fetch_add(1, Ordering::Relaxed);
            self.place.list(folder)
        }

        fn open(&self, path: &str) -> Result<Arc<dyn Source>> {
            self.opened.fetch_add(1, Ordering::Relaxed);
            self.place.open(path)
        }
    }

    const SCHEMA: &str = r#"{\"type\":\"record\",\"name\":\"t\",\"fields\":[]}"#;

    /// Requests of an incremental query's plan, and its splits, in a table where each of `commits` wrote to one partition of
    /// its own, and `others` are not touched.
    fn planned(commits: usize, others: usize) -> (usize, usize, usize) {
        let properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n";
        let mut files = vec![(".hoodie/hoodie.properties".to_owned(), properties.to_owned())];
        for at in 0..commits + others {
            let (name, instant) = (format!("p{at}/f_0-1-2_{at:03}.parquet"), format!(".hoodie/{at:03}.deltacommit"));
            let commit = format!(
                r#"{{"partitionToWriteStats":{{"p{at}":[{{"path":"{name}","fileSizeInBytes":1}}]}},"extraMetadata":{{"schema":"{SCHEMA}"}}}}"#
            );
            files.extend([(name, "x".to_owned()), (format!("p{at}/.hoodie_partition_metadata"), String::new())]);
            files.push((instant, commit));
        }
        let place = MemoryPlace::holding(files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())));
        let counting = Arc::new(Counting { place, listed: AtomicUsize::default(), opened: AtomicUsize::default() });
        let place: Arc<dyn Place> = counting.clone();
        let config = TableConfig::load(&*place).unwrap();
        let merge = config.merge_by(Semantics::V1x).unwrap();
        let timeline = Timeline::load(&place, &config).unwrap();
        let (uri, storage, options) = (String::new(), StorageOptions::default(), ReadOptions::default());
        let table = Table { uri, storage, place, config, merge, timeline, options };
        counting.listed.store(0, Ordering::Relaxed);
        counting.opened.store(0, Ordering::Relaxed);
        // Instants are zero-padded; the last `commits` of them are asked for.
        let between = Between { begin: format!("{:03}", others - 1), ..Between::default() };
        let scan = table.incremental(&Ask::default(), &between).unwrap();
        let requests = (counting.listed.load(Ordering::Relaxed), counting.opened.load(Ordering::Relaxed));
        (requests.0, requests.1, scan.splits().len())
    }

    #[test]
    fn planning_a_range_depends_on_its_commits_alone() {
        let (listed, opened, splits) = planned(2, 3);
        assert_eq!((listed, splits), (0, 2));
        assert_eq!(planned(2, 300), (listed, opened, splits));
        let (_, more, _) = planned(4, 300);
        assert_eq!(more, opened + 2);
    }
}
