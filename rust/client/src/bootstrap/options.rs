//! What Hudi's options of bootstraps ask for.

use std::collections::BTreeMap;

use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names;

const BASE_PATH: &str = "hoodie.bootstrap.base.path";
const SELECTOR: &str = "hoodie.bootstrap.mode.selector";
const TRANSLATOR: &str = "hoodie.bootstrap.partitionpath.translator.class";
const INDEX_CLASS: &str = "hoodie.bootstrap.index.class";
const INDEX_TYPE: &str = "hoodie.bootstrap.index.type";
const INDEX_ENABLE: &str = "hoodie.bootstrap.index.enable";
/// Options that say how a bootstrap is made, and nothing of the table.
const OF_BOOTSTRAP: &str = "hoodie.bootstrap.";
const OPERATION: &str = option_names::OPERATION.name();

/// Where the rows of a bootstrapped table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootstrapMode {
    /// In the source files, with skeletons beside them.
    MetadataOnly,
    /// In files of the table.
    FullRecord,
}

/// The options of a bootstrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BootstrapOptions {
    /// The folder of the source, a path or a URI.
    pub(super) source: String,
    /// Where the rows will be.
    pub(super) mode: BootstrapMode,
    /// Whether percent codes in folders of the source are decoded in partition paths.
    pub(super) decodes_folders: bool,
    /// The options of the table and of its first commit.
    pub(super) write: BTreeMap<String, String>,
}

impl BootstrapOptions {
    /// Reads the options of a bootstrap; those of the table and the write are left.
    ///
    /// # Errors
    /// `InvalidArgument` if the source is missing; `Unsupported`, by name, for classes that are not followed.
    pub(super) fn resolve(given: &BTreeMap<String, String>) -> Result<Self> {
        let value = |name: &str| given.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let class = |name: &str| value(name).map(|class| class.rsplit(['.', '$']).next().unwrap_or(class));
        let source = value(BASE_PATH).ok_or_else(|| {
            Error::invalid_argument(format!("option {BASE_PATH} is missing: it names the folder to bootstrap from"))
        })?;
        let mode = match class(SELECTOR) {
            None | Some("MetadataOnlyBootstrapModeSelector" | "METADATA_ONLY") => BootstrapMode::MetadataOnly,
            Some("FullRecordBootstrapModeSelector" | "FULL_RECORD") => BootstrapMode::FullRecord,
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "option {SELECTOR}={other} (supported: MetadataOnlyBootstrapModeSelector, \
                     FullRecordBootstrapModeSelector); all partitions of a table are bootstrapped in one mode"
                )));
            }
        };
        let decodes_folders = match class(TRANSLATOR) {
            None | Some("IdentityBootstrapPartitionPathTranslator") => false,
            Some("DecodedBootstrapPartitionPathTranslator") => true,
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "option {TRANSLATOR}={other} (supported: IdentityBootstrapPartitionPathTranslator, \
                     DecodedBootstrapPartitionPathTranslator)"
                )));
            }
        };
        let is_index = class(INDEX_CLASS).is_none_or(|class| class == "HFileBootstrapIndex")
            && class(INDEX_TYPE).is_none_or(|kind| kind.eq_ignore_ascii_case("HFILE"))
            && value(INDEX_ENABLE).is_none_or(|on| on.eq_ignore_ascii_case("true"));
        if mode == BootstrapMode::MetadataOnly && !is_index {
            return Err(Error::unsupported(format!(
                "a metadata-only bootstrap without the index HFileBootstrapIndex: leave {INDEX_CLASS}, {INDEX_TYPE} \
                 and {INDEX_ENABLE} out"
            )));
        }
        let is_of_write = |name: &str| !name.starts_with(OF_BOOTSTRAP) && name != OPERATION;
        let write = given.iter().filter(|(name, _)| is_of_write(name));
        let write = write.map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Self { source: source.to_owned(), mode, decodes_folders, write })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn resolve(given: &[(&str, &str)]) -> Result<BootstrapOptions> {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        BootstrapOptions::resolve(&given)
    }

    #[test]
    fn classes_have_hudis_names() {
        let selector = "org.apache.hudi.client.bootstrap.selector.";
        let metadata = resolve(&[(BASE_PATH, "/a"), ("hoodie.table.name", "t"), (OPERATION, "bootstrap")]).unwrap();
        assert_eq!((metadata.mode, metadata.write.len()), (BootstrapMode::MetadataOnly, 1));
        let full = format!("{selector}FullRecordBootstrapModeSelector");
        assert_eq!(resolve(&[(BASE_PATH, "/a"), (SELECTOR, &full)]).unwrap().mode, BootstrapMode::FullRecord);
        let decoded = "org.apache.hudi.client.bootstrap.translator.DecodedBootstrapPartitionPathTranslator";
        assert!(resolve(&[(BASE_PATH, "/a"), (TRANSLATOR, decoded)]).unwrap().decodes_folders);
    }

    #[test]
    fn what_is_not_followed_is_refused_by_name() {
        assert_eq!(resolve(&[]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        for (name, value) in [
            (SELECTOR, "org.apache.hudi.client.bootstrap.selector.BootstrapRegexModeSelector"),
            (TRANSLATOR, "com.acme.Translator"),
            (INDEX_CLASS, "org.apache.hudi.common.bootstrap.index.NoOpBootstrapIndex"),
            (INDEX_ENABLE, "false"),
        ] {
            let error = resolve(&[(BASE_PATH, "/a"), (name, value)]).unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(name), "{error}");
        }
    }
}
