//! The options of Hudi's sync tools that are followed (`HoodieSyncConfig`, `HiveSyncConfig`).

use std::collections::BTreeMap;

use mortice_base::error::{Error, Result};

use crate::partitions::Extractor;

const PREFIX: &str = "hoodie.datasource.hive_sync.";
const OF_EACH_CATALOG: &str = "hoodie.datasource.meta.sync.enable";
const ENABLED: [&str; 2] = ["hoodie.datasource.hive_sync.enable", OF_EACH_CATALOG];
const TOOLS: &str = "hoodie.meta.sync.client.tool.class";
const HIVE_TOOL: &str = "org.apache.hudi.hive.HiveSyncTool";
const GLUE_TOOL: &str = "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool";
const SNAPSHOT: &str = "hoodie.meta.sync.sync_snapshot_with_table_name";
const DECODE: &str = "hoodie.meta.sync.decode_partition";
const LONGEST_SCHEMA: usize = 4000;

/// After `PREFIX`.
const FOLLOWED: [&str; 18] = [
    "auto_create_database",
    "create_managed_table",
    "database",
    "enable",
    "ignore_exceptions",
    "metastore.uris",
    "mode",
    "omit_metadata_fields",
    "partition_extractor_class",
    "partition_fields",
    "schema_string_length_thresh",
    "serde_properties",
    "skip_ro_suffix",
    "support_timestamp",
    "sync_as_datasource",
    "table",
    "table.strategy",
    "table_properties",
];

/// How Hudi's tool reaches a server or finds partitions; the entries are the same. The first ones are after `PREFIX`.
const WITHOUT_EFFECT: [&str; 9] = [
    "batch_num",
    "bucket_sync_spec",
    "filter_pushdown_enabled",
    "filter_pushdown_max_size",
    "jdbcurl",
    "password",
    "recreate_table_on_error",
    "use_jdbc",
    "username",
];
const WITHOUT_EFFECT_ELSEWHERE: [&str; 5] = [
    "hoodie.datasource.meta_sync.condition.sync",
    "hoodie.meta.sync.incremental",
    "hoodie.meta.sync.metadata_file_listing",
    "hoodie.meta.sync.no_partition_metadata",
    "hoodie.meta_sync.spark.version",
];
const OF_A_HIVE_SERVER: [&str; 4] = ["jdbcurl", "username", "password", "use_jdbc"];

/// What only the default of is supported.
const DEFAULT_ONLY: [(&str, &str); 5] = [
    ("hoodie.datasource.hive_sync.base_file_format", "PARQUET"),
    ("hoodie.datasource.hive_sync.bucket_sync", "false"),
    ("hoodie.datasource.hive_sync.sync_comment", "false"),
    ("hoodie.datasource.hive_sync.use_spark_catalog", "false"),
    ("hoodie.meta.sync.touch.partitions.enabled", "false"),
];

/// Which of the entries of a merge-on-read table are registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Views {
    All,
    ReadOptimized,
    Merged,
}

/// What a sync does, resolved.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)]
pub struct SyncOptions {
    /// Whether the catalog is AWS Glue; a Hive metastore otherwise.
    pub is_glue: bool,
    /// Addresses of the metastore, `thrift://host:port`; the first that answers is used.
    pub metastore_uris: Vec<String>,
    /// The database.
    pub database: String,
    /// Whether a database that is missing is created.
    pub creates_database: bool,
    /// Whether the table is owned by the catalog, which deletes its files when it is dropped.
    pub is_managed: bool,
    /// Whether errors after a write are warnings.
    pub ignores_errors: bool,
    /// Options of a connection that the sync does not make; `mode=hms` and `glue` make none in Hudi, either.
    pub without_effect: Vec<String>,
    /// The table's name in the catalog; none: the name in its properties.
    pub(crate) table: Option<String>,
    /// False registers the read-optimized table by the plain name, in place of the snapshot.
    pub(crate) read_optimized_has_suffix: bool,
    /// False registers the merged table with the suffix `_rt` only.
    pub(crate) snapshot_by_plain_name: bool,
    pub(crate) views: Views,
    pub(crate) partition_fields: Option<Vec<String>>,
    pub(crate) extractor: Option<Extractor>,
    pub(crate) decodes_partitions: Option<bool>,
    /// True registers timestamps as `timestamp`; false, Hudi's default, as `bigint`.
    pub(crate) timestamps: bool,
    pub(crate) meta_columns: bool,
    /// Whether Spark finds the schema in the table's properties.
    pub(crate) spark_properties: bool,
    pub(crate) longest_schema: usize,
    pub(crate) table_properties: BTreeMap<String, String>,
    pub(crate) serde_properties: BTreeMap<String, String>,
}

impl SyncOptions {
    /// Resolves the options of a sync by Hudi's names.
    ///
    /// # Errors
    /// `InvalidArgument` for an option that is not known, or has a value that it cannot have; `Unsupported` for one
    /// that Hudi follows.
    pub fn resolve(given: &BTreeMap<String, String>) -> Result<Self> {
        check_names(given)?;
        let given = GivenOptions(given);
        let is_glue = is_glue(&given)?;
        let metastore_uris = list(given.text("metastore.uris").unwrap_or_default());
        if !is_glue && metastore_uris.is_empty() {
            return Err(Error::invalid_argument(format!(
                "a sync needs the address of the metastore: set {PREFIX}metastore.uris=thrift://HOST:9083"
            )));
        }
        let extractor = given.text("partition_extractor_class");
        let decode = given.get(DECODE);
        Ok(Self {
            is_glue,
            metastore_uris,
            database: given.text("database").unwrap_or("default").to_owned(),
            creates_database: given.flag("auto_create_database", true)?,
            is_managed: given.flag("create_managed_table", false)?,
            ignores_errors: given.flag("ignore_exceptions", false)?,
            without_effect: without_effect(&given),
            table: given.text("table").map(str::to_owned),
            read_optimized_has_suffix: !given.flag("skip_ro_suffix", false)?,
            snapshot_by_plain_name: flag(SNAPSHOT, given.get(SNAPSHOT), true)?,
            views: views(given.text("table.strategy"))?,
            partition_fields: given
                .text("partition_fields")
                .map(|fields| fields.split(',').map(|name| name.trim().to_owned()).collect()),
            extractor: extractor
                .map(|class| Extractor::parse(&format!("{PREFIX}partition_extractor_class"), class))
                .transpose()?,
            decodes_partitions: decode.map(|_| flag(DECODE, decode, false)).transpose()?,
            timestamps: given.flag("support_timestamp", false)?,
            meta_columns: !given.flag("omit_metadata_fields", false)?,
            spark_properties: given.flag("sync_as_datasource", true)?,
            longest_schema: given.count("schema_string_length_thresh", LONGEST_SCHEMA)?,
            table_properties: given.pairs("table_properties")?,
            serde_properties: given.pairs("serde_properties")?,
        })
    }

    /// Returns the options of the sync that those of a write ask for; none if they ask for none.
    ///
    /// # Errors
    /// As for [`SyncOptions::resolve`].
    pub fn asked_for(options: &BTreeMap<String, String>) -> Result<Option<Self>> {
        for name in ENABLED {
            if flag(name, options.get(name).map(String::as_str), false)? {
                let own = options.iter().filter(|(name, _)| is_sync_option(name));
                let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
                return Self::resolve(&own).map(Some);
            }
        }
        Ok(None)
    }
}

/// Returns whether an option belongs to a sync, misspelt ones included.
#[must_use]
pub fn is_sync_option(name: &str) -> bool {
    is_known(name) || name.starts_with(PREFIX) || name.starts_with("hoodie.meta.sync.")
}

fn is_known(name: &str) -> bool {
    let own = name.strip_prefix(PREFIX);
    own.is_some_and(|own| FOLLOWED.contains(&own) || WITHOUT_EFFECT.contains(&own))
        || name == OF_EACH_CATALOG
        || [TOOLS, SNAPSHOT, DECODE].contains(&name)
        || WITHOUT_EFFECT_ELSEWHERE.contains(&name)
        || default_of(name).is_some()
}

fn default_of(name: &str) -> Option<&'static str> {
    DEFAULT_ONLY.iter().find(|(known, _)| *known == name).map(|(_, default)| *default)
}

fn check_names(given: &BTreeMap<String, String>) -> Result<()> {
    for (name, value) in given {
        if !is_known(name) {
            let known = FOLLOWED.iter().map(|own| format!("{PREFIX}{own}"));
            let known = known.chain([OF_EACH_CATALOG, TOOLS, SNAPSHOT, DECODE].map(str::to_owned));
            let nearest = known.min_by_key(|known| strsim::osa_distance(name, known));
            let is_near = |one: &String| strsim::normalized_levenshtein(name, one) >= 0.6;
            let hint = nearest.filter(is_near).map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            return Err(Error::invalid_argument(format!("unknown option '{name}' of a sync{hint}")));
        }
        if let Some(default) = default_of(name).filter(|default| !value.trim().eq_ignore_ascii_case(default)) {
            return Err(Error::unsupported(format!(
                "{name}={} is not supported by the sync of mortice, only {default}",
                value.trim()
            )));
        }
    }
    Ok(())
}

fn without_effect(given: &GivenOptions<'_>) -> Vec<String> {
    let names = OF_A_HIVE_SERVER.map(|own| format!("{PREFIX}{own}"));
    let is_set =
        |name: &String| given.get(name).is_some_and(|value| !value.is_empty() && !value.eq_ignore_ascii_case("false"));
    if given.text("mode").is_some() { Vec::new() } else { names.into_iter().filter(is_set).collect() }
}

fn is_glue(given: &GivenOptions<'_>) -> Result<bool> {
    let tools = list(given.get(TOOLS).unwrap_or(HIVE_TOOL));
    let mode = given.text("mode").unwrap_or_default().to_lowercase();
    if tools == [GLUE_TOOL] || mode == "glue" {
        return Ok(true);
    }
    if tools != [HIVE_TOOL] {
        let tools = tools.join(",");
        return Err(Error::unsupported(format!("{TOOLS}={tools} is not supported; use {HIVE_TOOL} or {GLUE_TOOL}")));
    }
    if !matches!(mode.as_str(), "" | "hms") {
        return Err(Error::unsupported(format!(
            "{PREFIX}mode={mode} needs a Hive server; set {PREFIX}mode=hms, which speaks to the metastore itself"
        )));
    }
    Ok(false)
}

fn views(given: Option<&str>) -> Result<Views> {
    match given.map(str::to_uppercase).as_deref() {
        None | Some("ALL") => Ok(Views::All),
        Some("RO") => Ok(Views::ReadOptimized),
        Some("RT") => Ok(Views::Merged),
        Some(_) => {
            let given = given.unwrap_or_default();
            Err(Error::invalid_argument(format!("{PREFIX}table.strategy must be ALL, RO or RT, got '{given}'")))
        }
    }
}

fn flag(name: &str, value: Option<&str>, default: bool) -> Result<bool> {
    match value.map(|value| value.trim().to_lowercase()).as_deref() {
        None | Some("") => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => {
            let value = value.unwrap_or_default();
            Err(Error::invalid_argument(format!("{name} must be true or false, got '{value}'")))
        }
    }
}

/// Returns the parts of a text that are separated by commas, without empty ones.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The values of options, as they were given.
struct GivenOptions<'a>(&'a BTreeMap<String, String>);

impl<'a> GivenOptions<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.trim())
    }

    /// Returns the value of an option after `PREFIX`; none if it is empty.
    fn text(&self, own: &str) -> Option<&'a str> {
        self.get(&format!("{PREFIX}{own}")).filter(|value| !value.is_empty())
    }

    fn flag(&self, own: &str, default: bool) -> Result<bool> {
        flag(&format!("{PREFIX}{own}"), self.text(own), default)
    }

    fn count(&self, own: &str, default: usize) -> Result<usize> {
        let Some(value) = self.text(own) else { return Ok(default) };
        let number = value.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| Error::invalid_argument(format!("{PREFIX}{own} must be a positive number, got '{value}'")))
    }

    /// Returns the properties of a text with a line `KEY=VALUE` for each.
    fn pairs(&self, own: &str) -> Result<BTreeMap<String, String>> {
        let lines = self.text(own).unwrap_or_default().lines().filter(|line| !line.trim().is_empty());
        let pair = |line: &str| match line.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(Error::invalid_argument(format!("{PREFIX}{own} must have lines KEY=VALUE, got '{line}'"))),
        };
        lines.map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(given: &[(&str, &str)]) -> Result<SyncOptions> {
        let uris = ("metastore.uris", "thrift://a:1, thrift://b:2");
        let named = |(name, value): &(&str, &str)| {
            let name = if name.starts_with("hoodie.") { (*name).to_owned() } else { format!("{PREFIX}{name}") };
            (name, (*value).to_owned())
        };
        SyncOptions::resolve(&[uris].iter().chain(given).map(named).collect())
    }

    #[test]
    fn options_have_the_defaults_of_hudi() {
        let plain = resolved(&[]).unwrap();
        assert!(!plain.is_glue && plain.creates_database && plain.spark_properties && plain.meta_columns);
        assert_eq!(plain.metastore_uris, ["thrift://a:1", "thrift://b:2"]);
        assert_eq!((plain.database.as_str(), plain.longest_schema), ("default", 4000));
        let given = [("mode", "glue"), ("table_properties", "a=1\n\n b = x=y "), ("partition_fields", "a, b")];
        let given = resolved(&given).unwrap();
        assert!(given.is_glue);
        assert_eq!(
            given.table_properties.into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "x=y".to_owned())]
        );
        assert_eq!(given.partition_fields.unwrap(), ["a", "b"]);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for (name, value, message) in [
            ("databse", "x", "unknown option 'hoodie.datasource.hive_sync.databse' of a sync; did you mean"),
            ("mode", "jdbc", "set hoodie.datasource.hive_sync.mode=hms"),
            ("bucket_sync", "true", "only false"),
            ("table.strategy", "x", "must be ALL, RO or RT, got 'x'"),
            ("partition_extractor_class", "my.Own", "my.Own is not supported; use one of MultiPartKeys"),
            ("skip_ro_suffix", "yes", "must be true or false, got 'yes'"),
            ("schema_string_length_thresh", "0", "must be a positive number"),
            ("serde_properties", "a", "must have lines KEY=VALUE, got 'a'"),
            (TOOLS, "a.B", "a.B is not supported"),
        ] {
            let error = resolved(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_server_that_is_not_asked_has_options_without_effect() {
        let given = [("jdbcurl", "jdbc:hive2://h"), ("use_jdbc", "false"), ("username", "")];
        assert_eq!(resolved(&given).unwrap().without_effect, ["hoodie.datasource.hive_sync.jdbcurl"]);
        assert!(resolved(&[("jdbcurl", "x"), ("mode", "hms")]).unwrap().without_effect.is_empty());
    }

    #[test]
    fn a_write_asks_for_a_sync_by_either_name() {
        let of = |given: &[(&str, &str)]| {
            let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            SyncOptions::asked_for(&given)
        };
        let uris = ("hoodie.datasource.hive_sync.metastore.uris", "thrift://h:1");
        assert!(of(&[uris]).unwrap().is_none());
        assert!(of(&[uris, (OF_EACH_CATALOG, "True"), ("hoodie.index.type", "BLOOM")]).unwrap().is_some());
        assert!(of(&[(ENABLED[0], "true"), ("hoodie.meta.sync.x", "1"), uris]).is_err());
    }
}
