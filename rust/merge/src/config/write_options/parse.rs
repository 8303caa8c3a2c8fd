//! The options of one write, checked.

use std::collections::BTreeMap;

use strsim::osa_distance;

use super::agreement::contradicted;
use super::decisions::{OptionDecision, OptionHandling, decision_for, decisions};
use super::option_names::{self, Text, Word, WriteOption};
use super::options::WriteOptions;
use super::values::{is_own_option, own_options};
use crate::config::TableConfig;
use mortice_base::error::{Error, Result};

/// Options that Hudi passes to Hadoop, Spark or a metrics system, under names that are no fixed list.
const FREE_PREFIXES: [&str; 4] = ["hoodie.metrics.", "hoodie.datasource.hive_sync.", "hoodie.embed.", "hoodie.keygen."];

/// The two options that a writer of several has.
const CONCURRENCY: WriteOption<Word> = option_names::WRITE_CONCURRENCY_MODE;
const LOCK: WriteOption<Text> = option_names::WRITE_LOCK_PROVIDER;

/// Options that were checked against a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedOptions {
    /// The options, resolved.
    pub options: WriteOptions,
    /// Sentences on options that are accepted but have no effect where a user may expect one.
    pub warnings: Vec<String>,
}

impl ParsedOptions {
    /// Checks options for an operation (`upsert`, …) on a table, and resolves them. Older names are replaced by the
    /// newest.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, if it is unknown, has a value that is not of its kind, is given twice
    /// under two names, or contradicts a property of the table or the operation; `Unsupported` for values that are
    /// not followed, with the remedy.
    pub fn new(given: &BTreeMap<String, String>, operation: &str, table: &TableConfig) -> Result<Self> {
        let mut parsed = Self::default();
        for (name, value) in given {
            let Some(option) = decision_for(name)? else {
                if is_own_option(name)? {
                    parsed.options.add(name, value)?;
                    continue;
                }
                if FREE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_commit_metadata(given, name) {
                    continue;
                }
                return Err(unknown(name)?);
            };
            parsed.check(option, value, operation, table)?;
            parsed.options.add(option.name, value)?;
        }
        parsed.warn_of_unused_lock();
        Ok(parsed)
    }

    /// A lock is shared by writers that detect conflicts. One that is the only writer takes no lock of others.
    fn warn_of_unused_lock(&mut self) {
        let is_shared = self.options.text(CONCURRENCY).is_some_and(|mode| !mode.eq_ignore_ascii_case("single_writer"));
        if let (Some(provider), false) = (self.options.text(LOCK), is_shared) {
            self.warnings.push(format!(
                "option {LOCK}={provider} has no effect: a single writer shares no lock; set {CONCURRENCY}=optimistic_concurrency_control"
            ));
        }
    }

    fn check(&mut self, option: &OptionDecision, value: &str, operation: &str, table: &TableConfig) -> Result<()> {
        let OptionDecision { name, reason, .. } = option;
        let is_listed = |listed: &str| listed.split(',').any(|one| one.eq_ignore_ascii_case(value.trim()));
        match option.decision {
            OptionHandling::Taken | OptionHandling::NoEffect => Ok(()),
            OptionHandling::Only(listed) if is_listed(listed) => Ok(()),
            OptionHandling::Only(_) => {
                Err(Error::unsupported(format!("option {name}={value} is not supported: {reason}")))
            }
            OptionHandling::Warn(listed) => {
                if !is_listed(listed) {
                    // A value that can be any text may be a secret.
                    let set = if listed.is_empty() { String::new() } else { format!("={value}") };
                    self.warnings.push(format!("option {name}{set} has no effect: {reason}"));
                }
                Ok(())
            }
            OptionHandling::Operation if value.trim().eq_ignore_ascii_case(operation) => Ok(()),
            OptionHandling::Operation => {
                let message = format!("option {name}={value} contradicts the operation {operation}: leave it out");
                Err(Error::invalid_argument(message))
            }
            OptionHandling::Property(property) => match contradicted(table, property, value) {
                None => Ok(()),
                Some(stored) => Err(Error::invalid_argument(format!(
                    "option {name}={value} contradicts the table, whose {property} is {stored}: leave the option out"
                ))),
            },
        }
    }
}

/// Returns whether an option names a property of the table, which the table keeps: no write changes it.
///
/// # Errors
/// `Internal` for a table of decisions that cannot be read.
pub fn is_table_property(name: &str) -> Result<bool> {
    Ok(decision_for(name)?.is_some_and(|option| matches!(option.decision, OptionHandling::Property(_))))
}

/// Returns whether writes follow an option of Hudi in every table, so that a session may set it for all of its
/// tables.
///
/// # Errors
/// `Internal` for a table of decisions that cannot be read.
pub fn is_followed_option(name: &str) -> Result<bool> {
    Ok(decision_for(name)?.is_some_and(|option| option.decision == OptionHandling::Taken))
}

/// The properties that options set in a table that a write creates, by the properties' names.
///
/// # Errors
/// `InvalidArgument`, naming the options, for two that set one property to different values.
pub fn table_properties(given: &BTreeMap<String, String>) -> Result<BTreeMap<&'static str, String>> {
    let mut properties: BTreeMap<&'static str, (&str, String)> = BTreeMap::new();
    for (name, value) in given {
        let Some(OptionDecision { decision: OptionHandling::Property(property), .. }) = decision_for(name)? else {
            continue;
        };
        let property =
            if *property == "hoodie.table.precombine.field" { "hoodie.table.ordering.fields" } else { property };
        let value = value.trim().to_owned();
        match properties.get(property) {
            Some((other, known)) if *known != value => {
                let message =
                    format!("options {other}={known} and {name}={value} contradict each other: leave one out");
                return Err(Error::invalid_argument(message));
            }
            _ => {
                properties.insert(property, (name, value));
            }
        }
    }
    Ok(properties.into_iter().map(|(property, (_, value))| (property, value)).collect())
}

/// The prefix of options that are stored in the commit as they are.
const COMMIT_METADATA_PREFIX: &str = "hoodie.datasource.write.commitmeta.key.prefix";

/// Metadata of streams, which a commit has with any prefix: Hudi's (`HoodieStreamingSink.SINK_CHECKPOINT_KEY`), and the
/// query.
const STREAM_METADATA: [&str; 2] = ["_hudi_streaming_sink_checkpoint", "_mortice_streaming_query"];

/// Returns true for an option that is metadata of the user's own for the commit: its name begins with a prefix that the
/// user chooses, `_` by default.
#[must_use]
pub fn is_commit_metadata(options: &BTreeMap<String, String>, name: &str) -> bool {
    let prefix = options.get(COMMIT_METADATA_PREFIX).map_or("_", String::as_str);
    let has_prefix = !prefix.is_empty() && name.starts_with(prefix) && !name.starts_with("hoodie.");
    has_prefix || STREAM_METADATA.contains(&name)
}

/// The error for a name that no option has, with the nearest one.
fn unknown(name: &str) -> Result<Error> {
    let known = decisions()?.iter().map(|one| one.name).chain(own_options()?);
    let nearest = known.map(|known| (osa_distance(name, known), known)).min();
    let hint = match nearest {
        Some((distance, nearest)) if distance <= name.len() / 6 => format!("did you mean {nearest}?"),
        _ => "docs/write-options.md describes the options".to_owned(),
    };
    Ok(Error::invalid_argument(format!("unknown write option {name:?}; {hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Properties;

    fn table() -> TableConfig {
        let text = b"hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=9\n\
            hoodie.table.recordkey.fields=id,sub\nhoodie.table.partition.fields=day\nhoodie.table.ordering.fields=ts\n\
            hoodie.record.merge.mode=EVENT_TIME_ORDERING\nhoodie.table.keygenerator.type=COMPLEX\n\
            hoodie.timeline.layout.version=2\n";
        TableConfig::from_properties(Properties::parse(text).unwrap()).unwrap()
    }

    fn parse(options: &[(&str, &str)]) -> Result<ParsedOptions> {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ParsedOptions::new(&options, "upsert", &table())
    }

    #[test]
    fn options_that_agree_with_the_table_are_accepted() {
        parse(&[
            ("hoodie.table.name", "t"),
            ("hoodie.datasource.write.recordkey.field", "id, sub"),
            ("hoodie.datasource.write.partitionpath.field", "day:SIMPLE"),
            ("hoodie.datasource.write.precombine.field", "ts"),
            ("hoodie.datasource.write.table.type", "merge_on_read"),
            ("hoodie.datasource.write.keygenerator.class", "org.apache.hudi.keygen.ComplexKeyGenerator"),
            ("hoodie.datasource.write.payload.class", "org.apache.hudi.common.model.DefaultHoodieRecordPayload"),
            ("hoodie.write.table.version", "9"),
            ("hoodie.datasource.write.operation", "UPSERT"),
        ])
        .unwrap();
    }

    #[test]
    fn contradictions_name_the_option_and_the_value_of_the_table() {
        for (name, value, stored) in [
            ("hoodie.table.name", "u", "is t"),
            ("hoodie.datasource.write.recordkey.field", "id", "id,sub"),
            ("hoodie.datasource.write.table.type", "COPY_ON_WRITE", "MERGE_ON_READ"),
            ("hoodie.datasource.write.keygenerator.class", "org.apache.hudi.keygen.SimpleKeyGenerator", "COMPLEX"),
            (
                "hoodie.datasource.write.payload.class",
                "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
                "EVENT",
            ),
            ("hoodie.datasource.write.payload.class", "org.acme.DefaultHoodieRecordPayload", "EVENT"),
            ("hoodie.write.record.merge.mode", "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"),
            ("hoodie.write.table.version", "8", "is 9"),
            ("hoodie.datasource.write.operation", "delete", "upsert"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(stored), "{error}");
        }
    }

    #[test]
    fn values_that_are_not_followed_are_refused_or_warned_of() {
        let error = parse(&[("hoodie.datasource.hive_sync.enable", "true")]).unwrap_err().to_string();
        assert!(error.contains("mortice.sync"), "{error}");
        parse(&[("hoodie.datasource.hive_sync.enable", "false")]).unwrap();
        let warned = parse(&[("hoodie.metadata.metrics.enable", "true"), ("hoodie.clean.automatic", "false")]).unwrap();
        assert_eq!(warned.warnings.len(), 1);
    }

    /// Switches of what Hudi does besides the write: each is followed, refused, or warned of by its name.
    #[test]
    fn switches_without_an_effect_are_named() {
        for (name, value) in [
            ("hoodie.metadata.metrics.enable", "true"),
            ("hoodie.datasource.hive_sync.jdbcurl", "jdbc:hive2://u:secret@h:10000"),
            ("hoodie.datasource.hive_sync.use_jdbc", "true"),
            ("hoodie.datasource.compaction.async.enable", "true"),
            ("hoodie.clustering.async.enabled", "true"),
            ("hoodie.clustering.enable.expirations", "true"),
            ("hoodie.layout.optimize.enable", "true"),
            ("hoodie.table.service.manager.enabled", "true"),
            ("hoodie.log.compaction.enable", "true"),
            ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"),
        ] {
            let warned = parse(&[(name, value)]).unwrap().warnings.concat();
            assert!(warned.contains(name) && !warned.contains("secret"), "{name}: {warned}");
        }
        for (name, value) in [("hoodie.metadata.metrics.enable", "false"), ("hoodie.datasource.hive_sync.jdbcurl", "")]
        {
            assert!(parse(&[(name, value)]).unwrap().warnings.is_empty(), "{name}");
        }
        let lock = ("hoodie.write.lock.provider", "InProcessLockProvider");
        let shared = ("hoodie.write.concurrency.mode", "optimistic_concurrency_control");
        assert!(parse(&[lock, shared]).unwrap().warnings.is_empty());
        assert_eq!(parse(&[lock, (shared.0, "SINGLE_WRITER")]).unwrap().warnings.len(), 1);
        for name in ["hoodie.write.commit.callback.class", "hoodie.errortable.enable", "hoodie.metaserver.enabled"] {
            assert!(parse(&[(name, "true")]).unwrap_err().to_string().contains(name));
        }
    }

    #[test]
    fn unknown_options_are_refused_with_the_nearest_name() {
        let error = parse(&[("hoodie.idnex.type", "BLOOM")]).unwrap_err().to_string();
        assert!(error.contains("did you mean hoodie.index.type?"), "{error}");
        let error = parse(&[("mortice.write.shcema", "add")]).unwrap_err().to_string();
        assert!(error.contains("did you mean mortice.write.schema?"), "{error}");
        assert!(parse(&[("path", "x")]).is_err());
    }

    #[test]
    fn metadata_for_the_commit_has_a_prefix() {
        parse(&[("_checkpoint", "1")]).unwrap();
        parse(&[("hoodie.datasource.write.commitmeta.key.prefix", "my."), ("my.checkpoint", "1")]).unwrap();
        assert!(parse(&[("my.checkpoint", "1")]).is_err());
        // Those of streams are metadata with any prefix.
        let checkpoint = ("_hudi_streaming_sink_checkpoint", "{}");
        parse(&[("hoodie.datasource.write.commitmeta.key.prefix", "my."), checkpoint]).unwrap();
    }

    #[test]
    fn own_options_are_accepted() {
        let name = option_names::METADATA_DROP_UNSUPPORTED;
        assert!(parse(&[(name.name(), "true")]).unwrap().options.boolean(name).unwrap());
        let error = parse(&[(name.name(), "maybe")]).unwrap_err().to_string();
        assert!(error.contains(name.name()), "{error}");
    }

    #[test]
    fn older_names_are_replaced() {
        let merged = parse(&[("hoodie.datasource.clustering.inline.enable", "false")]).unwrap();
        assert!(merged.options.is_given(option_names::CLUSTERING_INLINE));
        assert!(!merged.options.boolean(option_names::CLUSTERING_INLINE).unwrap());
        let twice =
            parse(&[("hoodie.datasource.clustering.inline.enable", "false"), ("hoodie.clustering.inline", "true")]);
        assert!(twice.unwrap_err().to_string().contains("two names"));
    }
}
