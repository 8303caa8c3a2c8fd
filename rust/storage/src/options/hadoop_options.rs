//! Converts settings of Hadoop's file systems, as in a Spark session, to options of a table.
//!
//! A pure function: the environment of the process is passed as an [`Environment`].

use std::collections::BTreeMap;

use super::environment::Environment;
use super::hadoop::conf::{HadoopConf, Options};
use super::hadoop::s3a::ExplicitOptions;
use super::hadoop::{abfs, gs, s3a};
use super::object_uri::{ObjectStoreType, ObjectUri};
use mortice_base::error::Result;

/// The prefixes of Hadoop settings, including those other than `fs.`.
const PREFIXES: [&str; 4] = ["fs.", "dfs.", "hadoop.security.", "google.cloud.auth."];

/// Returns true if `name` is a Hadoop setting, not an option of mortice.
#[must_use]
pub(crate) fn is_hadoop_setting(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns true if the setting `name` may apply to the table at `uri`. Settings of other stores, buckets and accounts
/// do not, nor do settings that only writers and the JVM's file systems use.
#[must_use]
pub(crate) fn is_needed(name: &str, uri: &ObjectUri, account: Option<&str>) -> bool {
    if name.starts_with("hadoop.security.credential.") {
        return true;
    }
    match uri.service {
        ObjectStoreType::S3 => name.strip_prefix("fs.s3a.").is_some_and(|rest| match rest.strip_prefix("bucket.") {
            // Bucket names may have dots.
            Some(of_bucket) => of_bucket.strip_prefix(uri.bucket.as_str()).is_some_and(|rest| rest.starts_with('.')),
            None => !rest.starts_with("fast.upload.") && !rest.starts_with("committer.") && rest != "impl",
        }),
        ObjectStoreType::Azure => name.strip_prefix("fs.azure.").is_some_and(|rest| is_of_account(rest, account)),
        ObjectStoreType::Gcs => name.starts_with("fs.gs.") || name.starts_with("google.cloud.auth."),
        ObjectStoreType::Http => false,
    }
}

/// Returns true unless the name of an Azure setting ends with another account. A name without a host has no account.
fn is_of_account(name: &str, account: Option<&str>) -> bool {
    let host = ["dfs.", "blob."].iter().find_map(|service| name.find(&format!(".{service}")));
    let named = host.map(|at| name.get(..at).unwrap_or(name)).and_then(|before| before.rsplit('.').next());
    match (named, account) {
        (Some(named), Some(account)) => named.eq_ignore_ascii_case(account),
        _ => true,
    }
}

/// The result of the conversion.
pub(crate) struct ConvertedOptions {
    /// Options by their names in `storage_options`.
    pub options: Options,
    /// Whether the settings select credentials: then those of the environment are ignored.
    pub has_credentials: bool,
}

/// Returns the options for Hadoop settings at `uri`.
///
/// `account` is the storage account on Azure, which the URI may omit. Settings for options in `explicit`, which the
/// user gave to mortice, are not looked up.
pub(crate) fn translate(
    settings: &BTreeMap<String, String>,
    uri: &ObjectUri,
    account: Option<&str>,
    explicit: ExplicitOptions,
    environment: &Environment,
) -> Result<ConvertedOptions> {
    let conf = HadoopConf::new(settings);
    let (options, has_credentials) = match uri.service {
        ObjectStoreType::S3 => s3a::options(conf, &uri.bucket, explicit, environment)?,
        ObjectStoreType::Azure => {
            let domain = uri.account.as_ref().map_or("dfs.core.windows.net", |(_, domain)| domain.as_str());
            abfs::options(conf, account.unwrap_or_default(), domain, &uri.bucket, explicit.has_credentials)?
        }
        ObjectStoreType::Gcs => gs::options(conf, explicit.has_credentials)?,
        ObjectStoreType::Http => (Options::new(), false),
    };
    Ok(ConvertedOptions { options, has_credentials })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_other_stores_buckets_and_accounts_are_not_needed() {
        for (uri, account, name, needed) in [
            ("s3a://b/t", None, "fs.s3a.access.key", true),
            ("s3a://b/t", None, "fs.s3a.bucket.b.access.key", true),
            ("s3a://b/t", None, "fs.s3a.bucket.other.access.key", false),
            ("s3a://b/t", None, "fs.s3a.bucket.b2.access.key", false),
            ("s3a://a.b/t", None, "fs.s3a.bucket.a.b.access.key", true),
            ("s3a://b/t", None, "fs.azure.account.key", false),
            ("s3a://b/t", None, "fs.s3a.committer.name", false),
            ("s3a://b/t", None, "hadoop.security.credential.provider.path", true),
            ("gs://b/t", None, "fs.gs.auth.type", true),
            ("gs://b/t", None, "google.cloud.auth.service.account.json.keyfile", true),
            ("gs://b/t", None, "fs.s3a.access.key", false),
            ("az://c/t", Some("acc"), "fs.azure.account.key.acc.dfs.core.windows.net", true),
            ("az://c/t", Some("acc"), "fs.azure.account.key.other.dfs.core.windows.net", false),
            ("az://c/t", Some("acc"), "fs.azure.account.auth.type", true),
            ("az://c/t", Some("acc"), "fs.azure.sas.c.other.blob.core.windows.net", false),
            ("http://h/t", None, "fs.s3a.access.key", false),
        ] {
            let parsed = ObjectUri::parse(uri).unwrap().unwrap();
            assert_eq!(is_needed(name, &parsed, account), needed, "{uri} {name}");
        }
    }
}
