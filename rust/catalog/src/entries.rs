//! The entries of a table: one for copy-on-write; for merge-on-read the merged one by its own name and with the suffix
//! `_rt`, and the read-optimized one with the suffix `_ro` (`HiveSyncTool.syncHoodieTable`).

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::{DataType, Field, Fields};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_merge::config::TableType;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Instant;

use crate::columns::{hive_type, spark_schema};
use crate::nullability::with_nullability;
use crate::options::{SyncOptions, Views};
use crate::partitions::{Extractor, Partition};

/// The class that reads and writes rows.
pub const SERDE: &str = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe";
/// The class of files that Hive would write.
pub const OUTPUT_FORMAT: &str = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat";
const BASE_FILES: &str = "org.apache.hudi.hadoop.HoodieParquetInputFormat";
const MERGED: &str = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat";

/// A table as a catalog has it.
#[derive(Debug, Clone)]
pub struct CatalogTable {
    /// Its name.
    pub name: String,
    /// Where its files are.
    pub location: String,
    /// Name and Hive type, without partition columns.
    pub columns: Vec<(String, String)>,
    /// Name and Hive type.
    pub partition_columns: Vec<(String, String)>,
    /// The class that reads its files.
    pub input_format: &'static str,
    /// Parameters of the class that reads rows.
    pub serde_properties: BTreeMap<String, String>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
    /// Whether its files are the catalog's.
    pub is_managed: bool,
}

/// What a sync registers of a table.
#[derive(Debug)]
pub struct Entries {
    /// The tables of the catalog.
    pub tables: Vec<CatalogTable>,
    /// The partitions of each of them.
    pub partitions: Vec<Partition>,
}

/// What of a table all its entries have.
struct Described<'a> {
    table: &'a OpenTable,
    options: &'a SyncOptions,
    fields: Fields,
    partition_fields: Vec<String>,
    last_instant: String,
    /// The greatest completion time; none below table version 8.
    last_completion: Option<String>,
    /// The version of Spark that writes; none without Spark.
    spark: Option<&'a str>,
}

/// Returns what a sync registers of a table.
///
/// `spark` is the version of Spark that writes; none without Spark.
///
/// # Errors
/// `InvalidArgument` if the table has no commit, or a partition path has another form than the options say;
/// `Unsupported` for a column of a type that Hive has not; and as the timeline and file slices are read.
pub fn entries(table: &OpenTable, options: &SyncOptions, spark: Option<&str>) -> Result<Entries> {
    let writes = completed_writes(table)?;
    let newest = writes.iter().max_by_key(|one| &one.requested_time);
    let newest = newest.ok_or_else(|| {
        Error::invalid_argument(format!("{} has no commit, and so no columns to register", table.uri))
    })?;
    let metadata = table.timeline.metadata(newest)?;
    let avro = metadata.as_ref().and_then(|json| json.get("extraMetadata")?.get("schema")?.as_str());
    let fields = with_nullability(&table.schema_at(None)?.1, avro.filter(|text| !text.is_empty()))?;
    let partition_fields = options.partition_fields.as_ref().unwrap_or(&table.config.partition_fields);
    let described = Described {
        table,
        options,
        fields,
        partition_fields: partition_fields.iter().map(|field| plain_name(field).to_owned()).collect(),
        last_instant: newest.requested_time.to_string(),
        last_completion: writes.iter().filter_map(|one| one.completion_time.as_ref().map(String::from)).max(),
        spark,
    };
    let tables = described.views().into_iter().map(|(name, format, base)| described.entry(&name, format, base));
    Ok(Entries { tables: tables.collect::<Result<_>>()?, partitions: described.partitions()? })
}

/// Returns the completed writes of the active timeline; those of the archive if it has none.
fn completed_writes(table: &OpenTable) -> Result<Vec<Instant>> {
    let timeline = &table.timeline;
    let active: Vec<_> = timeline.instants().iter().filter(|one| one.is_completed_write()).cloned().collect();
    if !active.is_empty() {
        return Ok(active);
    }
    Ok(timeline.archived()?.iter().filter(|one| one.is_completed_write()).cloned().collect())
}

/// The name of a partition field, without the type of its key generator (`ts:timestamp`).
fn plain_name(field: &str) -> &str {
    field.split_once(':').map_or(field, |(name, _)| name)
}

impl Described<'_> {
    /// Returns name, input format and whether only base files are read; none for tables without logs.
    fn views(&self) -> Vec<(String, &'static str, Option<bool>)> {
        let (config, options) = (&self.table.config, self.options);
        let name = options.table.as_ref().unwrap_or(&config.name);
        if config.table_type != TableType::MergeOnRead {
            return vec![(name.clone(), BASE_FILES, (options.views == Views::ReadOptimized).then_some(true))];
        }
        let mut views = Vec::new();
        if options.views != Views::Merged {
            let suffix = if options.read_optimized_has_suffix { "_ro" } else { "" };
            views.push((format!("{name}{suffix}"), BASE_FILES, Some(true)));
        }
        if options.views != Views::ReadOptimized {
            views.push((format!("{name}_rt"), MERGED, Some(false)));
            let is_taken = options.views == Views::All && !options.read_optimized_has_suffix;
            if options.snapshot_by_plain_name && !is_taken {
                views.push((name.clone(), MERGED, Some(false)));
            }
        }
        views
    }

    fn entry(&self, name: &str, input_format: &'static str, base_files_only: Option<bool>) -> Result<CatalogTable> {
        let options = self.options;
        let is_shown = |one: &&Field| options.meta_columns || !meta_columns::ALL.contains(&one.name().as_str());
        let fields: Vec<&Field> = self.fields.iter().map(AsRef::as_ref).filter(is_shown).collect();
        let columns: Vec<&Field> =
            fields.iter().filter(|one| !self.partition_fields.contains(one.name())).copied().collect();
        let partition_fields: Vec<Field> = (self.partition_fields.iter())
            .map(|name| {
                let found = fields.iter().find(|one| one.name() == name);
                found.map_or_else(|| Field::new(name, DataType::Utf8, true), |one| (*one).clone())
            })
            .collect();
        let typed = |one: &Field| Ok((one.name().to_lowercase(), hive_type(one.data_type(), options.timestamps)?));
        let mut serde_properties = options.serde_properties.clone();
        if options.spark_properties || base_files_only.is_some() {
            let is_read_optimized = base_files_only.unwrap_or_default().to_string();
            serde_properties.insert("hoodie.query.as.ro.table".to_owned(), is_read_optimized);
        }
        serde_properties.insert("path".to_owned(), self.table.uri.clone());
        serde_properties.insert("serialization.format".to_owned(), "1".to_owned());
        Ok(CatalogTable {
            name: name.to_lowercase(),
            location: self.table.uri.clone(),
            columns: columns.iter().map(|one| typed(one)).collect::<Result<_>>()?,
            partition_columns: partition_fields.iter().map(typed).collect::<Result<_>>()?,
            input_format,
            serde_properties,
            properties: self.properties(&columns, &partition_fields)?,
            is_managed: options.is_managed,
        })
    }

    fn properties(&self, columns: &[&Field], partition_fields: &[Field]) -> Result<BTreeMap<String, String>> {
        let options = self.options;
        let mut properties = options.table_properties.clone();
        let mut set = |name: &str, value: String| properties.insert(name.to_owned(), value);
        set("EXTERNAL", (!options.is_managed).to_string().to_uppercase());
        set("hudi_writer_version", format!("mortice {}", env!("CARGO_PKG_VERSION")));
        set("last_commit_time_sync", self.last_instant.clone());
        if let Some(completion) = &self.last_completion {
            set("last_commit_completion_time_sync", completion.clone());
        }
        if !options.spark_properties {
            return Ok(properties);
        }
        let document = spark_schema(columns.iter().copied().chain(partition_fields))?;
        let characters: Vec<char> = document.chars().collect();
        let pieces = characters.chunks(options.longest_schema);
        set("spark.sql.sources.provider", "hudi".to_owned());
        set("spark.sql.sources.schema.numParts", pieces.len().to_string());
        for (number, piece) in pieces.enumerate() {
            set(&format!("spark.sql.sources.schema.part.{number}"), piece.iter().collect());
        }
        if !partition_fields.is_empty() {
            set("spark.sql.sources.schema.numPartCols", partition_fields.len().to_string());
            for (number, field) in partition_fields.iter().enumerate() {
                set(&format!("spark.sql.sources.schema.partCol.{number}"), field.name().clone());
            }
        }
        if let Some(version) = self.spark {
            set("spark.sql.create.version", version.to_owned());
        }
        Ok(properties)
    }

    fn partitions(&self) -> Result<Vec<Partition>> {
        let (config, fields) = (&self.table.config, self.partition_fields.len());
        if fields == 0 {
            return Ok(Vec::new());
        }
        let extractor = self.options.extractor;
        let extractor = extractor.unwrap_or_else(|| Extractor::inferred(fields, config.hive_style_partitioning));
        let decodes = self.options.decodes_partitions.unwrap_or(config.url_encode_partitions);
        let slices = self.table.file_slices(None, &Filter::default())?;
        let paths: BTreeSet<_> = slices.into_iter().map(|slice| slice.partition).collect();
        let base = self.table.uri.trim_end_matches('/');
        let partition = |path: String| {
            Ok(Partition { values: extractor.values(&path, fields, decodes)?, location: format!("{base}/{path}") })
        };
        paths.into_iter().map(partition).collect()
    }
}
