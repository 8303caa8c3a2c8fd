//! `storage_options` of an object store: validated, and completed from Hadoop settings and the environment.
//!
//! If several sources have an option, the first of these is used: options given to mortice, Hadoop settings (keys that
//! begin with `fs.`), environment variables as `from_env` of `object_store` reads them. Credentials are taken from one
//! source only. Names are those of `object_store` (see `object_keys`).

use std::collections::BTreeMap;
use std::fmt;

use super::client_settings::ClientSettings;
use super::environment::Environment;
use super::hadoop::conf::Options;
use super::hadoop::keys_of_profile;
use super::hadoop::s3a::{ExplicitOptions, host_of, is_address, is_aws};
use super::hadoop_options::{ConvertedOptions, is_hadoop_setting, is_needed, translate};
use super::hdfs_options;
use super::hdfs_uri::HdfsUri;
use super::object_keys::{self, DEFAULT_REGION, ENDPOINT_OF_S3, ValueType};
use super::object_uri::{ObjectStoreType, ObjectUri};
use super::role_settings::RoleSettings;
use super::secret::Secret;
use super::supplier::{CREDENTIALS, supply};
use mortice_base::error::{Error, Result};

/// The options of one table's store. `Debug` prints no value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectOptions {
    settings: BTreeMap<&'static str, Secret>,
    client: ClientSettings,
    service: ObjectStoreType,
    role: Option<RoleSettings>,
    /// The name of the function that supplies keys and tokens, which the settings do not contain then.
    supplier: Option<String>,
}

impl ObjectOptions {
    /// Reads the options of the table at `uri`, and the environment of this process.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::InvalidArgument`] for invalid names and values, with a suggestion,
    /// [`mortice_base::ErrorKind::Unsupported`] for unsupported Hadoop settings. No message contains a secret.
    pub fn parse(uri: &str, options: &BTreeMap<String, String>) -> Result<Self> {
        let Some(parsed) = ObjectUri::parse(uri)? else {
            return Err(Error::invalid_argument("not a URI of an object store").in_file(uri));
        };
        let environment = Environment::from_process();
        let made = match options.get(CREDENTIALS) {
            Some(name) => Self::with_supplier(name, &parsed, options, &environment),
            None => Self::from_parts(&parsed, options, &environment),
        };
        made.map_err(|error| error.in_file(uri))
    }

    /// Calls the named function for options, which take precedence over `options`.
    fn with_supplier(
        name: &str,
        uri: &ObjectUri,
        options: &BTreeMap<String, String>,
        environment: &Environment,
    ) -> Result<Self> {
        let supplied = own_options(uri.service, &supply(name, None)?.options)?;
        let mut all: BTreeMap<String, String> =
            supplied.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let is_replaced = |name: &str| {
            let key = object_keys::find(uri.service, &name.trim().to_ascii_lowercase());
            key.is_some_and(|key| supplied.contains_key(key.name))
        };
        let others = options.iter().filter(|(name, _)| !is_replaced(name));
        all.extend(others.map(|(name, value)| (name.clone(), value.clone())));
        let mut made = Self::from_parts(uri, &all, environment)?;
        let renewed = renewed(uri.service);
        if supplied.keys().any(|name| renewed.contains(name)) {
            made.settings.retain(|name, _| !renewed.contains(name));
            made.supplier = Some(name.to_owned());
        }
        Ok(made)
    }

    /// Returns the name of the function that supplies keys and tokens, if there is one.
    #[must_use]
    pub fn supplier(&self) -> Option<&str> {
        self.supplier.as_deref()
    }

    /// Like [`Self::parse`], with a parsed URI and a custom environment.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn from_parts(uri: &ObjectUri, options: &BTreeMap<String, String>, environment: &Environment) -> Result<Self> {
        let (own, hadoop) = split(uri.service, options)?;
        let own = folded(own);
        let account = account(uri, &own)?;
        let explicit = ExplicitOptions {
            has_credentials: has_credentials(uri.service, &own),
            has_endpoint: own.contains_key("endpoint"),
        };
        let hadoop = translate(&hadoop, uri, account.as_deref(), explicit, environment)?;
        let names_role = own.contains_key("role_arn") || hadoop.options.contains_key("role_arn");
        let mut role = None;
        let mut merged = merge(uri.service, own, hadoop, &environment_options(uri.service, environment), explicit);
        if uri.service == ObjectStoreType::S3 {
            if !merged.is_decided
                && !has_credentials(uri.service, &merged.options)
                && environment.get("AWS_PROFILE").is_some()
            {
                merged.options.extend(keys_of_profile(None, None, environment)?.unwrap_or_default());
            }
            finish_s3(&uri.bucket, &mut merged.options)?;
            role = RoleSettings::take_from(&mut merged.options, names_role)?;
        }
        if uri.service == ObjectStoreType::Azure {
            check_azure(uri, account, &mut merged.options)?;
        }
        if uri.service == ObjectStoreType::Gcs {
            check_gcs(&merged.options)?;
        }
        allow_http(uri, &mut merged.options)?;
        let mut client = ClientSettings::default();
        let mut settings = BTreeMap::new();
        for (name, value) in merged.options {
            if !client.set(name, &value)? {
                settings.insert(name, Secret::new(value));
            }
        }
        Ok(Self { settings, client, service: uri.service, role, supplier: None })
    }

    /// Returns the names of `object_store`'s configuration keys, without prefix, and their values, for `with_config`.
    /// Timeouts and retries are in [`Self::client`].
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().map(|(name, value)| (*name, value.reveal()))
    }

    /// Returns timeouts, retries and the request limit.
    #[must_use]
    pub const fn client(&self) -> &ClientSettings {
        &self.client
    }

    /// Returns the role for which the keys are exchanged.
    pub(crate) fn role(&self) -> Option<&RoleSettings> {
        self.role.as_ref()
    }

    /// Returns true if the bucket is on AWS and its region is not configured: a request to the bucket returns it.
    #[must_use]
    pub fn needs_region(&self) -> bool {
        self.service == ObjectStoreType::S3
            && !self.settings.contains_key("region")
            && !self.settings.contains_key("endpoint")
    }
}

/// Prints names only: any value may be a secret.
impl fmt::Debug for ObjectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectOptions").field("settings", &self.settings).field("client", &self.client).finish()
    }
}

/// Returns the options that another process needs to read the table at `uri`: without Hadoop settings of other stores,
/// buckets and accounts, and without variables of this process. For a local path, all options are returned.
///
/// # Errors
/// As for [`ObjectOptions::parse`].
pub fn needed_options(uri: &str, options: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let kept = |is_kept: &dyn Fn(&str) -> bool| -> BTreeMap<String, String> {
        let kept = options.iter().filter(|(name, _)| is_kept(name));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    if HdfsUri::parse(uri)?.is_some() {
        return Ok(kept(&|name| !is_hadoop_setting(name) || hdfs_options::is_needed(name)));
    }
    let Some(parsed) = ObjectUri::parse(uri)? else {
        return Ok(kept(&|name| !is_hadoop_setting(name)));
    };
    let (own, _) = split(parsed.service, options).map_err(|error| error.in_file(uri))?;
    let account = account(&parsed, &own).map_err(|error| error.in_file(uri))?;
    Ok(kept(&|name| !is_hadoop_setting(name) || is_needed(name, &parsed, account.as_deref())))
}

/// Returns the options that a function has supplied, by name.
pub(crate) fn own_options(service: ObjectStoreType, options: &BTreeMap<String, String>) -> Result<Options> {
    let (own, hadoop) = split(service, options)?;
    match hadoop.keys().next() {
        None => Ok(folded(own)),
        Some(name) => Err(Error::invalid_argument(format!(
            "the function in the storage option credentials has returned the Hadoop setting {name:?}; it must return options \
             such as access_key_id"
        ))),
    }
}

/// The options for which a function is called again.
const fn renewed(service: ObjectStoreType) -> &'static [&'static str] {
    match service {
        ObjectStoreType::S3 => &["access_key_id", "secret_access_key", "session_token"],
        ObjectStoreType::Gcs => &["bearer_token"],
        ObjectStoreType::Azure => &["account_key", "sas_token", "bearer_token"],
        ObjectStoreType::Http => &[],
    }
}

/// Splits the user's options into storage options by name, and Hadoop settings.
fn split(service: ObjectStoreType, options: &BTreeMap<String, String>) -> Result<(Options, BTreeMap<String, String>)> {
    let (mut own, mut hadoop) = (Options::new(), BTreeMap::new());
    for (given, value) in options {
        if is_hadoop_setting(given) {
            hadoop.insert(given.clone(), value.clone());
            continue;
        }
        let lower = given.trim().to_ascii_lowercase();
        if given == CREDENTIALS {
            continue;
        }
        let Some(key) = object_keys::find(service, &lower) else { return Err(object_keys::unknown(service, &lower)) };
        let value = match key.value {
            ValueType::Bool => object_keys::parse_bool(key.name, value)?.to_string(),
            ValueType::Text | ValueType::Client => value.trim().to_owned(),
        };
        if own.get(key.name).is_some_and(|known| *known != value) {
            let message =
                format!("storage option {} is given twice, by several names, with different values", key.name);
            return Err(Error::invalid_argument(message));
        }
        own.insert(key.name, value);
    }
    Ok((own, hadoop))
}

/// Returns options from environment variables. Invalid values are errors of the store's client, as in `object_store`.
fn environment_options(service: ObjectStoreType, environment: &Environment) -> Options {
    let found = environment.iter().filter(|(_, value)| !value.is_empty());
    folded(
        found
            .filter_map(|(name, value)| Some((object_keys::key_of_variable(service, name)?.name, value.to_owned())))
            .collect(),
    )
}

/// Merges aliases of which one takes precedence over the other.
fn folded(mut options: Options) -> Options {
    if let Some(endpoint) = options.remove(ENDPOINT_OF_S3) {
        options.insert("endpoint", endpoint);
    }
    if let Some(region) = options.remove(DEFAULT_REGION) {
        options.entry("region").or_insert(region);
    }
    options
}

fn is_credential(service: ObjectStoreType, name: &str) -> bool {
    object_keys::find(service, name).is_some_and(|key| key.is_credential)
}

/// Returns true if options select credentials. `skip_signature=false` does not.
fn has_credentials(service: ObjectStoreType, options: &Options) -> bool {
    options.iter().any(|(name, value)| is_credential(service, name) && value != "false")
}

struct MergedOptions {
    options: Options,
    /// Whether credentials are selected, including those of the machine.
    is_decided: bool,
}

fn merge(
    service: ObjectStoreType,
    own: Options,
    hadoop: ConvertedOptions,
    environment: &Options,
    explicit: ExplicitOptions,
) -> MergedOptions {
    let is_decided = explicit.has_credentials || hadoop.has_credentials;
    // The tenant and client of the account may be the user's, and the secret the environment's: only complete sources
    // are used.
    let from_process = environment.iter().filter(|(name, _)| !(is_decided && is_credential(service, name)));
    let from_process = from_process.filter(|(name, _)| !(**name == "endpoint" && explicit.has_endpoint));
    let mut options: Options = from_process.map(|(name, value)| (*name, value.clone())).collect();
    options.extend(hadoop.options);
    options.extend(own);
    MergedOptions { options, is_decided }
}

/// Returns the storage account: that of the URI, or the option `account_name`.
fn account(uri: &ObjectUri, own: &Options) -> Result<Option<String>> {
    let named = uri.account.as_ref().map(|(account, _)| account.clone());
    match (named, own.get("account_name")) {
        (Some(named), Some(given)) if !named.eq_ignore_ascii_case(given) => Err(Error::invalid_argument(format!(
            "storage option account_name is {given:?}, but the URI names the account {named:?}"
        ))),
        (named, given) => Ok(named.or_else(|| given.cloned())),
    }
}

/// Applies rules of S3: the endpoint's scheme and region, and the position of the bucket's name.
fn finish_s3(bucket: &str, options: &mut Options) -> Result<()> {
    match (options.contains_key("access_key_id"), options.contains_key("secret_access_key")) {
        (true, false) => return Err(missing("access_key_id", "secret_access_key")),
        (false, true) => return Err(missing("secret_access_key", "access_key_id")),
        (false, false) if options.contains_key("session_token") => {
            return Err(missing("session_token", "access_key_id"));
        }
        _ => {}
    }
    let Some(endpoint) = options.remove("endpoint").filter(|endpoint| !endpoint.is_empty()) else { return Ok(()) };
    let url = if endpoint.contains("://") { endpoint } else { format!("https://{endpoint}") };
    let url = url.trim_end_matches('/').to_owned();
    let host = host_of(&url).to_ascii_lowercase();
    if let Some(region) = region_of(&host) {
        options.entry("region").or_insert_with(|| region.to_owned());
    }
    if host == "s3.amazonaws.com" || is_regional(&host) {
        return Ok(());
    }
    if !is_aws(&host) {
        options.entry("region").or_insert_with(|| "us-east-1".to_owned());
    }
    let is_virtual = options.get("virtual_hosted_style_request").is_some_and(|value| value == "true");
    let url = if is_virtual { with_bucket(&url, &host, bucket)? } else { url };
    options.insert("endpoint", url);
    Ok(())
}

fn missing(given: &str, missing: &str) -> Error {
    Error::invalid_argument(format!("storage option {given} needs {missing}, which is missing"))
}

/// `s3.REGION.amazonaws.com`: the default endpoint of `object_store`.
fn is_regional(host: &str) -> bool {
    host.strip_prefix("s3.")
        .and_then(|rest| rest.strip_suffix(".amazonaws.com"))
        .is_some_and(|region| !region.contains('.'))
}

/// The region in a host of AWS: `s3.REGION`, `s3-REGION`, `s3.dualstack.REGION`, `s3-fips.REGION`, a VPC endpoint.
fn region_of(host: &str) -> Option<&str> {
    let name = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    let last = name.rsplit('.').find(|part| *part != "vpce")?;
    let region = last.strip_prefix("s3-").unwrap_or(last);
    // eu-west-1, us-gov-east-1
    let is_region = region.matches('-').count() >= 2 && region.ends_with(|c: char| c.is_ascii_digit());
    is_region.then_some(region)
}

/// `object_store` uses a virtual-hosted endpoint unchanged, with the bucket in its host.
fn with_bucket(url: &str, host: &str, bucket: &str) -> Result<String> {
    if host.starts_with(&format!("{bucket}.")) {
        return Ok(url.to_owned());
    }
    if is_address(host) {
        return Err(Error::invalid_argument(format!(
            "storage option virtual_hosted_style_request needs an endpoint with a domain name, got {host}; leave it out"
        )));
    }
    Ok(url.replacen("://", &format!("://{bucket}."), 1))
}

fn check_azure(uri: &ObjectUri, account: Option<String>, options: &mut Options) -> Result<()> {
    if let Some(key) = options.get("account_key") {
        // Without this check `object_store` would panic later (polars#11392).
        use base64::Engine as _;
        if base64::engine::general_purpose::STANDARD.decode(key).is_err() {
            return Err(Error::invalid_argument("storage option account_key must be base64"));
        }
    }
    if let Some(token) = options.get_mut("sas_token") {
        *token = token.trim_start_matches('?').to_owned();
    }
    if let Some(account) = account {
        options.insert("account_name", account);
    }
    let is_emulator = options.get("use_emulator").is_some_and(|value| value == "true");
    if !options.contains_key("account_name") && !is_emulator {
        return Err(Error::invalid_argument(format!(
            "the URI names no storage account; write {}://{}@ACCOUNT.dfs.core.windows.net/PATH, or give account_name as a \
             storage option",
            uri.scheme, uri.bucket
        )));
    }
    Ok(())
}

fn check_gcs(options: &Options) -> Result<()> {
    if options.contains_key("service_account_path") && options.contains_key("service_account_key") {
        return Err(Error::invalid_argument(
            "give one of the storage options service_account_path and service_account_key",
        ));
    }
    // Reports what object_store cannot use, instead of a missing field of JSON.
    let Some(path) = options.get("application_credentials") else { return Ok(()) };
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
    let kind = serde_json::from_str::<serde_json::Value>(&text).ok();
    let kind = kind.as_ref().and_then(|file| file.get("type")).and_then(|kind| kind.as_str());
    match kind {
        Some(kind) if kind != "service_account" && kind != "authorized_user" => Err(Error::unsupported(format!(
            "Google credentials of type {kind} are not supported (supported: service_account, authorized_user); give \
             bearer_token, or a callable that supplies it"
        ))
        .in_file(path.clone())),
        _ => Ok(()),
    }
}

/// An endpoint with `http://` is used without TLS; no option is needed.
fn allow_http(uri: &ObjectUri, options: &mut Options) -> Result<()> {
    let is_plain = uri.scheme == "http"
        || ["endpoint", "base_url"].iter().any(|name| {
            options
                .get(*name)
                .is_some_and(|url| url.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("http://")))
        });
    match (is_plain, options.get("allow_http").map(String::as_str)) {
        (true, Some("false")) => {
            Err(Error::invalid_argument("storage option allow_http is false, but the endpoint begins with http://"))
        }
        (true, _) => {
            options.insert("allow_http", "true".to_owned());
            Ok(())
        }
        (false, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    fn parsed<const N: usize>(uri: &str, options: Pairs<'_>, environment: [(&str, &str); N]) -> Result<ObjectOptions> {
        let uri = ObjectUri::parse(uri).unwrap().unwrap();
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ObjectOptions::from_parts(&uri, &options, &Environment::from(environment))
    }

    fn shown(options: &ObjectOptions) -> String {
        options.settings().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_have_the_names_of_object_store() {
        for (uri, options, expected) in [
            (
                "s3://b/t",
                &[("AWS_ACCESS_KEY_ID", "A"), ("secret_access_key", "B")][..],
                "access_key_id=A secret_access_key=B",
            ),
            (
                "s3://b/t",
                &[("endpoint", "http://127.0.0.1:9")],
                "allow_http=true endpoint=http://127.0.0.1:9 region=us-east-1",
            ),
            ("s3://b/t", &[("endpoint_url", "minio.x"), ("region", "r")], "endpoint=https://minio.x region=r"),
            ("s3://b/t", &[("endpoint", "https://s3.amazonaws.com")], ""),
            ("s3://b/t", &[("endpoint", "s3.eu-west-1.amazonaws.com")], "region=eu-west-1"),
            (
                "s3://b/t",
                &[("endpoint", "https://s3.dualstack.us-gov-east-1.amazonaws.com")],
                "endpoint=https://s3.dualstack.us-gov-east-1.amazonaws.com region=us-gov-east-1",
            ),
            (
                "s3://b/t",
                &[("endpoint", "https://vpce-1-2.s3.eu-west-1.vpce.amazonaws.com")],
                "endpoint=https://vpce-1-2.s3.eu-west-1.vpce.amazonaws.com region=eu-west-1",
            ),
            (
                "s3://b/t",
                &[("endpoint", "http://h:9"), ("virtual_hosted_style_request", "yes")],
                "allow_http=true endpoint=http://b.h:9 region=us-east-1 virtual_hosted_style_request=true",
            ),
            (
                "s3://b/t",
                &[("endpoint", "https://b.h"), ("aws_virtual_hosted_style_request", "1")],
                "endpoint=https://b.h region=us-east-1 virtual_hosted_style_request=true",
            ),
            (
                "gs://b/t",
                &[("google_base_url", "http://h"), ("skip_signature", "TRUE")],
                "allow_http=true base_url=http://h skip_signature=true",
            ),
            ("abfss://c@acc.dfs.core.windows.net/t", &[("sas_token", "?sv=1")], "account_name=acc sas_token=sv=1"),
            (
                "az://c/t",
                &[("azure_storage_account_name", "acc"), ("account_key", "YQ==")],
                "account_key=YQ== account_name=acc",
            ),
            ("az://c/t", &[("use_emulator", "true")], "use_emulator=true"),
            ("http://h/t", &[("user_agent", "x")], "allow_http=true user_agent=x"),
        ] {
            assert_eq!(shown(&parsed(uri, options, []).unwrap()), expected, "{uri} {options:?}");
        }
    }

    #[test]
    fn wrong_options_are_errors() {
        for (uri, options, part) in [
            ("s3://b/t", &[("acces_key_id", "A")][..], "did you mean \"access_key_id\"?"),
            ("s3://b/t", &[("access_key_id", "A")], "access_key_id needs secret_access_key"),
            ("s3://b/t", &[("session_token", "A")], "session_token needs access_key_id"),
            ("s3://b/t", &[("token", "A"), ("session_token", "B")], "given twice"),
            ("s3://b/t", &[("allow_http", "perhaps")], "allow_http must be true or false"),
            ("s3://b/t", &[("endpoint", "http://h"), ("allow_http", "false")], "allow_http is false"),
            ("s3://b/t", &[("endpoint", "http://10.0.0.1"), ("virtual_hosted_style_request", "true")], "domain name"),
            ("s3://b/t", &[("timeout", "soon")], "timeout must be a duration"),
            ("az://c/t", &[("account_key", "YQ==")], "names no storage account"),
            ("az://c/t", &[("account_name", "a"), ("account_key", "%%%")], "account_key must be base64"),
            ("abfss://c@acc.dfs.core.windows.net/t", &[("account_name", "other")], "names the account \"acc\""),
            ("gs://b/t", &[("service_account_key", "{}"), ("service_account_path", "x")], "give one of"),
        ] {
            let error = parsed(uri, options, []).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.to_string().contains(part), "{options:?}: {error}");
        }
    }

    #[test]
    fn given_options_come_before_hadoop_settings_and_these_before_the_environment() {
        let environment = [("AWS_REGION", "env"), ("AWS_TIMEOUT", "7s"), ("AWS_ENDPOINT_URL", "http://env")];
        let hadoop = [
            ("fs.s3a.endpoint", "http://hadoop"),
            ("fs.s3a.path.style.access", "true"),
            ("fs.s3a.endpoint.region", "h"),
        ];
        let own = [hadoop[0], hadoop[1], hadoop[2], ("endpoint", "http://own")];
        for (options, expected) in [
            (&[][..], "allow_http=true endpoint=http://env region=env"),
            (&hadoop, "allow_http=true endpoint=http://hadoop region=h virtual_hosted_style_request=false"),
            (&own, "allow_http=true endpoint=http://own region=h"),
        ] {
            let parsed = parsed("s3a://b/t", options, environment).unwrap();
            assert_eq!(shown(&parsed), expected);
            assert_eq!(parsed.client().timeout.as_secs(), 7);
        }
    }

    #[test]
    fn credentials_are_of_one_source() {
        let environment = [("AWS_ACCESS_KEY_ID", "EA"), ("AWS_SECRET_ACCESS_KEY", "ES"), ("AWS_SESSION_TOKEN", "ET")];
        let instance = "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider";
        for (options, expected) in [
            (&[][..], "access_key_id=EA secret_access_key=ES session_token=ET"),
            (&[("access_key_id", "A"), ("secret_access_key", "B")], "access_key_id=A secret_access_key=B"),
            (&[("fs.s3a.access.key", "H"), ("fs.s3a.secret.key", "S")], "access_key_id=H secret_access_key=S"),
            (&[("skip_signature", "true")], "skip_signature=true"),
            (&[("fs.s3a.aws.credentials.provider", instance)], ""),
            (
                &[
                    ("fs.s3a.aws.credentials.provider", "com.acme.X"),
                    ("access_key_id", "A"),
                    ("secret_access_key", "B"),
                ],
                "access_key_id=A secret_access_key=B",
            ),
        ] {
            assert_eq!(shown(&parsed("s3a://b/t", options, environment).unwrap()), expected, "{options:?}");
        }
    }

    #[test]
    fn the_region_is_looked_up_on_aws_alone() {
        assert!(parsed("s3://b/t", &[], []).unwrap().needs_region());
        assert!(parsed("s3://b/t", &[("endpoint", "s3.amazonaws.com")], []).unwrap().needs_region());
        for options in
            [&[("region", "r")][..], &[("endpoint", "http://h")], &[("endpoint", "s3.eu-west-1.amazonaws.com")]]
        {
            assert!(!parsed("s3://b/t", options, []).unwrap().needs_region(), "{options:?}");
        }
        assert!(!parsed("s3://b/t", &[], [("AWS_DEFAULT_REGION", "r")]).unwrap().needs_region());
        assert!(!parsed("gs://b/t", &[], []).unwrap().needs_region());
    }

    #[test]
    fn no_secret_is_printed() {
        let secrets = [
            ("s3://b/t", &[("access_key_id", "hunter2"), ("secret_access_key", "hunter2")][..]),
            (
                "s3://b/t",
                &[
                    ("fs.s3a.access.key", "hunter2"),
                    ("fs.s3a.secret.key", "hunter2"),
                    ("fs.s3a.session.token", "hunter2"),
                ],
            ),
            ("s3://b/t", &[("proxy_url", "http://me:hunter2@p")]),
            ("gs://b/t", &[("bearer_token", "hunter2")]),
            ("az://c/t", &[("account_name", "a"), ("client_secret", "hunter2")]),
        ];
        for (uri, options) in secrets {
            let shown = format!("{:?}", parsed(uri, options, []).unwrap());
            assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        }
        for (uri, options) in [
            ("s3://b/t", &[("secret_access_key", "hunter2")][..]),
            ("s3://b/t", &[("token", "hunter2"), ("session_token", "hunter2!")]),
            ("s3://b/t", &[("fs.s3a.session.token", "hunter2")]),
            ("s3://b/t", &[("acess_key", "hunter2")]),
            ("az://c/t", &[("account_name", "a"), ("account_key", "hunter2")]),
            ("az://c/t", &[("sas_token", "hunter2")]),
        ] {
            let error = parsed(uri, options, []).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn another_process_gets_what_it_needs() {
        let options: BTreeMap<String, String> = [
            "region",
            "fs.s3a.access.key",
            "fs.s3a.bucket.other.access.key",
            "fs.s3a.bucket.b.secret.key",
            "fs.azure.account.key",
        ]
        .map(|name| (name.to_owned(), "x".to_owned()))
        .into();
        let needed = needed_options("s3a://b/t", &options).unwrap();
        assert_eq!(needed.keys().collect::<Vec<_>>(), ["fs.s3a.access.key", "fs.s3a.bucket.b.secret.key", "region"]);
        let local = needed_options("/t", &options).unwrap();
        assert_eq!(local.keys().collect::<Vec<_>>(), ["region"]);
        assert!(needed_options("s3a://b/t", &BTreeMap::from([("regoin".to_owned(), "x".to_owned())])).is_err());
    }

    #[test]
    fn google_credentials_of_other_types_are_refused_by_name() {
        let file = std::env::temp_dir().join(format!("mortice google {}", std::process::id()));
        std::fs::write(&file, r#"{"type": "external_account", "audience": "x"}"#).unwrap();
        let error = parsed("gs://b/t", &[("application_credentials", file.to_str().unwrap())], []).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("external_account"), "{error}");
        std::fs::remove_file(file).unwrap();
    }
}
