//! The names of `storage_options`: those of `object_store`, with or without the prefix of their store.
//!
//! Names are case-insensitive. The prefixes are `aws_`, `azure_storage_`, `azure_` and `google_`.

use strsim::osa_distance;

use super::object_uri::ObjectStoreType;
use mortice_base::error::{Error, Result};

/// The type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// Any string.
    Text,
    /// `true` or `false`.
    Bool,
    /// A duration or count of [`crate::ClientSettings`].
    Client,
}

/// One option.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionKey {
    /// Its name, which `with_config` of `object_store` accepts, too.
    pub name: &'static str,
    /// Aliases.
    pub aliases: &'static [&'static str],
    /// The type of its value.
    pub value: ValueType,
    /// Whether it selects or proves the identity: such options are taken from one source, never mixed.
    pub is_credential: bool,
}

const fn key(name: &'static str, aliases: &'static [&'static str]) -> OptionKey {
    OptionKey { name, aliases, value: ValueType::Text, is_credential: false }
}

const fn flag(name: &'static str) -> OptionKey {
    OptionKey { name, aliases: &[], value: ValueType::Bool, is_credential: false }
}

const fn client(name: &'static str, aliases: &'static [&'static str]) -> OptionKey {
    OptionKey { name, aliases, value: ValueType::Client, is_credential: false }
}

const fn credential(name: &'static str, aliases: &'static [&'static str]) -> OptionKey {
    OptionKey { name, aliases, value: ValueType::Text, is_credential: true }
}

const fn credential_flag(name: &'static str) -> OptionKey {
    OptionKey { name, aliases: &[], value: ValueType::Bool, is_credential: true }
}

/// Options of all stores.
const COMMON: &[OptionKey] = &[
    flag("allow_http"),
    flag("allow_invalid_certificates"),
    flag("disable_system_certificates"),
    flag("http1_only"),
    flag("http2_only"),
    flag("randomize_addresses"),
    key("pool_max_idle_per_host", &[]),
    key("proxy_url", &[]),
    key("proxy_excludes", &[]),
    key("proxy_ca_certificate", &[]),
    key("user_agent", &[]),
    client("connect_timeout", &[]),
    client("read_timeout", &[]),
    client("timeout", &[]),
    client("pool_idle_timeout", &[]),
    client("max_retries", &["client_max_retries"]),
    client("retry_timeout", &["client_retry_timeout"]),
    client("max_requests", &[]),
];

const S3: &[OptionKey] = &[
    credential("access_key_id", &[]),
    credential("secret_access_key", &[]),
    credential("session_token", &["token"]),
    credential_flag("skip_signature"),
    credential("web_identity_token_file", &[]),
    credential("role_arn", &[]),
    key("role_session_name", &[]),
    key("role_session_duration", &[]),
    key("role_policy", &[]),
    credential("container_credentials_relative_uri", &[]),
    credential("container_credentials_full_uri", &[]),
    credential("container_authorization_token_file", &[]),
    key("endpoint", &["endpoint_url"]),
    key(ENDPOINT_OF_S3, &[]),
    key("endpoint_url_sts", &[]),
    key("region_sts", &[]),
    key("region", &[]),
    key(DEFAULT_REGION, &[]),
    key("metadata_endpoint", &[]),
    flag("imdsv1_fallback"),
    flag("virtual_hosted_style_request"),
    flag("unsigned_payload"),
    flag("s3_express"),
    flag("disable_tagging"),
    flag("disable_bulk_delete"),
    key("request_payer", &[]),
    key("checksum_algorithm", &[]),
    key("copy_if_not_exists", &[]),
    key("conditional_put", &[]),
    key("server_side_encryption", &[]),
    key("sse_kms_key_id", &[]),
    key("sse_customer_key_base64", &[]),
    flag("sse_bucket_key_enabled"),
];

const GCS: &[OptionKey] = &[
    credential("service_account_path", &["service_account"]),
    credential("service_account_key", &[]),
    credential("application_credentials", &[]),
    credential("bearer_token", &[]),
    credential_flag("skip_signature"),
    key("base_url", &["endpoint"]),
];

const AZURE: &[OptionKey] = &[
    key("account_name", &[]),
    credential("account_key", &["access_key", "master_key"]),
    credential("sas_token", &["sas_key"]),
    credential("bearer_token", &["token"]),
    credential("client_id", &[]),
    credential("client_secret", &[]),
    credential("tenant_id", &["authority_id"]),
    credential("federated_token_file", &[]),
    credential("credential_type", &[]),
    credential_flag("skip_signature"),
    credential_flag("use_azure_cli"),
    key("authority_host", &[]),
    key("msi_endpoint", &["identity_endpoint"]),
    key("object_id", &[]),
    key("msi_resource_id", &[]),
    key("endpoint", &[]),
    flag("use_emulator"),
    flag("use_fabric_endpoint"),
    flag("disable_tagging"),
    key("fabric_token_service_url", &[]),
    key("fabric_workload_host", &[]),
    key("fabric_session_token", &[]),
    key("fabric_cluster_identifier", &[]),
    key("encryption_key", &[]),
];

/// `AWS_ENDPOINT_URL_S3` takes precedence over `AWS_ENDPOINT_URL`.
pub(crate) const ENDPOINT_OF_S3: &str = "endpoint_url_s3";
/// `AWS_DEFAULT_REGION` is used if there is no `AWS_REGION`.
pub(crate) const DEFAULT_REGION: &str = "default_region";

/// Returns the replacement for a name that is not a storage option.
pub(crate) fn hint(name: &str) -> &'static str {
    if name == "mmap" { "; mmap is an argument of its own" } else { "" }
}

const SERVICES: [ObjectStoreType; 4] =
    [ObjectStoreType::S3, ObjectStoreType::Gcs, ObjectStoreType::Azure, ObjectStoreType::Http];

/// The prefixes of a store's names, longer ones first.
const fn prefixes(service: ObjectStoreType) -> &'static [&'static str] {
    match service {
        ObjectStoreType::S3 => &["aws_"],
        ObjectStoreType::Gcs => &["google_"],
        ObjectStoreType::Azure => &["azure_storage_", "azure_"],
        ObjectStoreType::Http => &[],
    }
}

fn keys(service: ObjectStoreType) -> impl Iterator<Item = &'static OptionKey> {
    let own = match service {
        ObjectStoreType::S3 => S3,
        ObjectStoreType::Gcs => GCS,
        ObjectStoreType::Azure => AZURE,
        ObjectStoreType::Http => &[],
    };
    own.iter().chain(COMMON)
}

/// Returns the option with this lower-case name; `None` if the store has no such option.
#[must_use]
pub(crate) fn find(service: ObjectStoreType, name: &str) -> Option<&'static OptionKey> {
    let named = |name: &str| keys(service).find(|key| key.name == name || key.aliases.contains(&name));
    named(name).or_else(|| prefixes(service).iter().find_map(|prefix| named(name.strip_prefix(prefix)?)))
}

/// Returns the option that an environment variable sets, like `from_env` of `object_store`.
#[must_use]
pub(crate) fn key_of_variable(service: ObjectStoreType, variable: &str) -> Option<&'static OptionKey> {
    let name = variable.to_ascii_lowercase();
    if variable != variable.to_ascii_uppercase() || !prefixes(service).iter().any(|prefix| name.starts_with(prefix)) {
        return match (service, variable) {
            (ObjectStoreType::Azure, "IDENTITY_ENDPOINT") => find(service, "msi_endpoint"),
            (ObjectStoreType::Gcs, "SERVICE_ACCOUNT") => find(service, "service_account_path"),
            _ => None,
        };
    }
    find(service, &name)
}

/// Returns the error for an option that the store does not have, with a suggestion.
#[must_use]
pub(crate) fn unknown(service: ObjectStoreType, name: &str) -> Error {
    let store = service.name();
    if name == "mmap" {
        return Error::invalid_argument(format!("unknown storage option {name:?} for {store}{}", hint(name)));
    }
    if matches!(name, "bucket" | "bucket_name" | "container_name" | "container") {
        return Error::invalid_argument(format!("no storage option {name:?}: the table's URI names the bucket"));
    }
    if let Some(other) = SERVICES.into_iter().find(|other| *other != service && find(*other, name).is_some()) {
        let other = other.name();
        return Error::invalid_argument(format!("storage option {name:?} is for {other}, but the table is on {store}"));
    }
    let mut names: Vec<&str> = keys(service).map(|key| key.name).collect();
    let bare = prefixes(service).iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let nearest = keys(service)
        .flat_map(|key| key.aliases.iter().map(move |alias| (key, *alias)).chain([(key, key.name)]))
        .map(|(key, alias)| (extra_words(bare, alias).unwrap_or_else(|| osa_distance(bare, alias)), key.name))
        .min();
    match nearest {
        Some((distance, nearest)) if distance <= bare.len().max(6) / 3 => {
            Error::invalid_argument(format!("unknown storage option {name:?} for {store}; did you mean {nearest:?}?"))
        }
        _ => {
            names.sort_unstable();
            Error::invalid_argument(format!(
                "unknown storage option {name:?} for {store} (known: {})",
                names.join(", ")
            ))
        }
    }
}

/// Reads a bool as `object_store` does.
pub(crate) fn parse_bool(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(Error::invalid_argument(format!("storage option {name} must be true or false, got {value:?}"))),
    }
}

/// Returns the number of words of `whole` that `name` lacks, if it has two or more of them and no others: `secret_key`
/// lacks one of `secret_access_key`.
fn extra_words(name: &str, whole: &str) -> Option<usize> {
    let (words, all): (Vec<&str>, Vec<&str>) = (name.split('_').collect(), whole.split('_').collect());
    (words.len() > 1 && words.iter().all(|word| all.contains(word))).then(|| all.len().saturating_sub(words.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_prefixes_and_aliases() {
        for (service, given, name) in [
            (ObjectStoreType::S3, "access_key_id", "access_key_id"),
            (ObjectStoreType::S3, "aws_access_key_id", "access_key_id"),
            (ObjectStoreType::S3, "aws_endpoint_url", "endpoint"),
            (ObjectStoreType::S3, "aws_session_token", "session_token"),
            (ObjectStoreType::S3, "token", "session_token"),
            (ObjectStoreType::S3, "aws_allow_http", "allow_http"),
            (ObjectStoreType::Azure, "azure_storage_account_key", "account_key"),
            (ObjectStoreType::Azure, "azure_storage_access_key", "account_key"),
            (ObjectStoreType::Azure, "azure_tenant_id", "tenant_id"),
            (ObjectStoreType::Azure, "azure_authority_id", "tenant_id"),
            (ObjectStoreType::Gcs, "google_service_account", "service_account_path"),
            (ObjectStoreType::Gcs, "google_application_credentials", "application_credentials"),
            (ObjectStoreType::Http, "timeout", "timeout"),
        ] {
            assert_eq!(find(service, given).map(|key| key.name), Some(name), "{given}");
        }
        assert_eq!(find(ObjectStoreType::Gcs, "access_key_id"), None);
    }

    #[test]
    fn a_misspelt_name_is_an_error_that_suggests_the_right_one() {
        for (service, given, part) in [
            (ObjectStoreType::S3, "acess_key_id", "did you mean \"access_key_id\"?"),
            (ObjectStoreType::S3, "aws_secret_acces_key", "did you mean \"secret_access_key\"?"),
            (ObjectStoreType::S3, "aws_secret_key", "did you mean \"secret_access_key\"?"),
            (ObjectStoreType::S3, "end_point", "did you mean \"endpoint\"?"),
            (ObjectStoreType::S3, "regoin", "did you mean \"region\"?"),
            (ObjectStoreType::S3, "wibble", "known: access_key_id, allow_http"),
            (ObjectStoreType::S3, "account_key", "is for Azure, but the table is on S3"),
            (ObjectStoreType::Gcs, "aws_access_key_id", "is for S3, but the table is on GCS"),
            (ObjectStoreType::Azure, "acount_name", "did you mean \"account_name\"?"),
            (ObjectStoreType::S3, "bucket_name", "the table's URI names the bucket"),
        ] {
            let error = unknown(service, given).to_string();
            assert!(error.contains(part), "{given}: {error}");
        }
    }

    #[test]
    fn variables_are_those_of_object_store() {
        for (service, variable, name) in [
            (ObjectStoreType::S3, "AWS_ACCESS_KEY_ID", Some("access_key_id")),
            (ObjectStoreType::S3, "AWS_ENDPOINT_URL_S3", Some(ENDPOINT_OF_S3)),
            (ObjectStoreType::S3, "AWS_PROFILE", None),
            (ObjectStoreType::S3, "ACCESS_KEY_ID", None),
            (ObjectStoreType::S3, "aws_access_key_id", None),
            (ObjectStoreType::Azure, "AZURE_STORAGE_ACCOUNT_NAME", Some("account_name")),
            (ObjectStoreType::Azure, "IDENTITY_ENDPOINT", Some("msi_endpoint")),
            (ObjectStoreType::Gcs, "SERVICE_ACCOUNT", Some("service_account_path")),
            (ObjectStoreType::Gcs, "GOOGLE_SERVICE_ACCOUNT_KEY", Some("service_account_key")),
        ] {
            assert_eq!(key_of_variable(service, variable).map(|key| key.name), name, "{variable}");
        }
    }

    #[test]
    fn a_swap_is_one_change() {
        assert_eq!(osa_distance("regoin", "region"), 1);
        assert_eq!(osa_distance("", "ab"), 2);
        assert_eq!(osa_distance("kitten", "sitting"), 3);
    }
}
