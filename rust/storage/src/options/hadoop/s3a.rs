//! Converts `fs.s3a.*`: settings of Hadoop's S3 connector. `fs.s3a.bucket.B.X` takes precedence over `fs.s3a.X`, for
//! every X except `impl`.

use super::conf::{HadoopConf, Options, invalid, millis, proxy_url, refused};
use super::s3a_providers::KeySources;
use crate::options::environment::Environment;
use mortice_base::error::Result;

/// Settings that change the data or the identity and that mortice does not support.
const REFUSED: &[(&str, &str)] = &[
    ("accesspoint.arn", "give the access point's alias as the bucket of the URI"),
    ("delegation.token.binding", "give credentials as storage options"),
    ("signing-algorithm", "leave it out; requests are signed with Signature Version 4"),
    ("s3.signing-algorithm", "leave it out; requests are signed with Signature Version 4"),
    ("s3.client.factory.impl", "leave it out"),
    ("proxy.domain", "NTLM is not supported; use a proxy with basic authentication"),
    ("proxy.workstation", "NTLM is not supported; use a proxy with basic authentication"),
];

/// The settings of one bucket.
struct BucketConf<'a> {
    conf: HadoopConf<'a>,
    bucket: &'a str,
}

impl<'a> BucketConf<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.conf
            .get(&format!("fs.s3a.bucket.{}.{name}", self.bucket))
            .or_else(|| self.conf.get(&format!("fs.s3a.{name}")))
    }

    fn get_bool(&self, name: &str, default: bool) -> bool {
        let of_bucket = format!("fs.s3a.bucket.{}.{name}", self.bucket);
        self.conf.get_bool(&of_bucket, self.conf.get_bool(&format!("fs.s3a.{name}"), default))
    }
}

/// Converts the settings of `bucket` to options.
///
/// `explicit` are the options that the user gave to mortice: settings for the same decisions are not evaluated, and are
/// no errors. The bool is true if the settings select credentials, so that those of the environment are ignored.
pub(crate) fn options(
    conf: HadoopConf<'_>,
    bucket: &str,
    explicit: ExplicitOptions,
    environment: &Environment,
) -> Result<(Options, bool)> {
    let conf = BucketConf { conf, bucket };
    for (name, remedy) in REFUSED {
        if conf.get(name).is_some() {
            return Err(refused(&format!("fs.s3a.{name}"), "it cannot be followed", remedy));
        }
    }
    let mut options = Options::new();
    if !explicit.has_endpoint {
        endpoint(&conf, &mut options);
    }
    if let Some(region) = conf.get("endpoint.region") {
        options.insert("region", region.to_owned());
    }
    if conf.get_bool("requester.pays.enabled", false) {
        options.insert("request_payer", "true".to_owned());
    }
    encryption(&conf, &mut options)?;
    client(&conf, &mut options)?;
    let mut is_decided = false;
    if !explicit.has_credentials {
        let found = credentials(&conf, environment)?;
        is_decided = found.is_some();
        options.extend(found.unwrap_or_default());
    }
    Ok((options, is_decided))
}

/// The decisions made by the options that were given to mortice.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExplicitOptions {
    /// The credentials.
    pub has_credentials: bool,
    /// The server.
    pub has_endpoint: bool,
}

fn credentials(conf: &BucketConf<'_>, environment: &Environment) -> Result<Option<Options>> {
    let sources = KeySources {
        setting: &|name| conf.get(name),
        environment,
        refuse_keystore: &|| {
            let of_bucket = format!("fs.s3a.bucket.{}.security.credential.provider.path", conf.bucket);
            match conf.conf.get(&of_bucket) {
                Some(_) => Err(refused(
                    &of_bucket,
                    "credentials in a Hadoop keystore cannot be read",
                    "give them as storage options",
                )),
                None => conf.conf.refuse_keystore(),
            }
        },
    };
    match conf.get("aws.credentials.provider") {
        Some(list) => sources.first_of(list).map(Some),
        None => sources.configured(),
    }
}

fn endpoint(conf: &BucketConf<'_>, options: &mut Options) {
    let Some(endpoint) = conf.get("endpoint") else {
        // Path style works on AWS, too; virtual hosts do not for buckets with dots over TLS.
        return;
    };
    let is_tls = conf.get_bool("connection.ssl.enabled", true);
    let url = match endpoint.split_once("://") {
        Some(_) => endpoint.to_owned(),
        None => format!("{}://{endpoint}", if is_tls { "https" } else { "http" }),
    };
    let host = host_of(&url);
    if host == "s3.amazonaws.com" {
        return;
    }
    if !is_aws(host) {
        if conf.get("endpoint.region").is_none() {
            options.insert("region", "us-east-1".to_owned());
        }
        let dotted = conf.bucket.contains('.') && url.starts_with("https://");
        let is_path_style = conf.get_bool("path.style.access", false) || is_address(host) || dotted;
        options.insert("virtual_hosted_style_request", (!is_path_style).to_string());
    }
    options.insert("endpoint", url);
}

/// Returns the lower-case host of a URL, without its port.
#[must_use]
pub(crate) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.split(':').next().unwrap_or(authority)
}

/// Returns true if a host belongs to AWS.
#[must_use]
pub(crate) fn is_aws(host: &str) -> bool {
    host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn")
}

/// Returns true if a bucket's name cannot be prepended to a host: an IP address, or `localhost`.
#[must_use]
pub(crate) fn is_address(host: &str) -> bool {
    host == "localhost" || host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok()
}

fn encryption(conf: &BucketConf<'_>, options: &mut Options) -> Result<()> {
    let either = |new: &str, old: &str| conf.get(new).or_else(|| conf.get(old));
    let Some(algorithm) = either("encryption.algorithm", "server-side-encryption-algorithm") else { return Ok(()) };
    let key = either("encryption.key", "server-side-encryption.key");
    match algorithm.to_ascii_uppercase().as_str() {
        "AES256" => {
            options.insert("server_side_encryption", "AES256".to_owned());
        }
        "SSE-KMS" | "DSSE-KMS" => {
            let kind = if algorithm.starts_with(['D', 'd']) { "sse:kms:dsse" } else { "sse:kms" };
            options.insert("server_side_encryption", kind.to_owned());
            options.extend(key.map(|key| ("sse_kms_key_id", key.to_owned())));
        }
        "SSE-C" => {
            let Some(key) = key else {
                return Err(refused(
                    "fs.s3a.encryption.algorithm",
                    "SSE-C needs fs.s3a.encryption.key",
                    "set that key",
                ));
            };
            options.insert("server_side_encryption", "sse-c".to_owned());
            options.insert("sse_customer_key_base64", key.to_owned());
        }
        "CSE-KMS" | "CSE-CUSTOM" => {
            let what = format!("{algorithm} encrypts in the client, which mortice cannot do");
            return Err(refused("fs.s3a.encryption.algorithm", &what, "read the table with Hudi"));
        }
        _ => return Err(invalid("fs.s3a.encryption.algorithm", "AES256, SSE-KMS, DSSE-KMS or SSE-C", algorithm)),
    }
    Ok(())
}

fn client(conf: &BucketConf<'_>, options: &mut Options) -> Result<()> {
    for (setting, option) in [
        ("connection.establish.timeout", "connect_timeout"),
        ("connection.timeout", "read_timeout"),
        ("connection.request.timeout", "timeout"),
    ] {
        if let Some(value) = conf.get(setting) {
            options.insert(option, millis(&format!("fs.s3a.{setting}"), value)?);
        }
    }
    if let Some(value) = conf.get("connection.idle.time") {
        let idle = millis("fs.s3a.connection.idle.time", value)?;
        let is_short =
            idle.strip_suffix("ms").and_then(|millis| millis.parse::<u64>().ok()).is_some_and(|ms| ms <= 15_000);
        // S3 closes connections that were unused for some 20 s.
        options.insert("pool_idle_timeout", if is_short { idle } else { "15s".to_owned() });
    }
    for (settings, option) in
        [(&["retry.limit", "attempts.maximum"][..], "max_retries"), (&["connection.maximum"], "max_requests")]
    {
        let Some((setting, value)) = settings.iter().find_map(|name| Some((*name, conf.get(name)?))) else { continue };
        let count: usize = value.parse().map_err(|_| invalid(&format!("fs.s3a.{setting}"), "a whole number", value))?;
        options.insert(option, count.to_string());
    }
    if let Some(host) = conf.get("proxy.host") {
        let user = conf.get("proxy.username").zip(conf.get("proxy.password"));
        let url = proxy_url(conf.get_bool("proxy.ssl.enabled", false), host, conf.get("proxy.port"), user);
        options.insert("proxy_url", url);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SIMPLE: &str = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider";

    fn translated(settings: &[(&str, &str)], bucket: &str) -> Result<(Options, bool)> {
        let environment = Environment::from([
            ("AWS_ACCESS_KEY_ID", "EK"),
            ("AWS_SECRET_ACCESS_KEY", "ES"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/tok"),
            ("AWS_ROLE_ARN", "arn:r"),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"),
        ]);
        let map: BTreeMap<String, String> =
            settings.iter().map(|(name, value)| (format!("fs.s3a.{name}"), (*value).to_owned())).collect();
        options(HadoopConf::new(&map), bucket, ExplicitOptions::default(), &environment)
    }

    fn shown(options: &Options) -> String {
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    fn check(cases: &[(&[(&str, &str)], &str)]) {
        for (settings, expected) in cases {
            let (options, _) = translated(settings, "b").unwrap();
            assert_eq!(shown(&options), *expected, "{settings:?}");
        }
    }

    #[test]
    fn keys_and_endpoints_become_options() {
        check(&[
            (&[], ""),
            (&[("access.key", " A "), ("secret.key", "B")], "access_key_id=A secret_access_key=B"),
            (
                &[("access.key", "A"), ("secret.key", "B"), ("session.token", "C")],
                "access_key_id=A secret_access_key=B session_token=C",
            ),
            (&[("endpoint", "s3.amazonaws.com")], ""),
            (&[("endpoint", "")], ""),
            (&[("endpoint", "s3.eu-west-1.amazonaws.com")], "endpoint=https://s3.eu-west-1.amazonaws.com"),
            (
                &[("endpoint", "minio.x:9000")],
                "endpoint=https://minio.x:9000 region=us-east-1 virtual_hosted_style_request=true",
            ),
            (
                &[("endpoint", "minio.x:9000"), ("connection.ssl.enabled", "false"), ("path.style.access", "TRUE")],
                "endpoint=http://minio.x:9000 region=us-east-1 virtual_hosted_style_request=false",
            ),
            (
                &[("endpoint", "https://minio.x"), ("connection.ssl.enabled", "false"), ("endpoint.region", "r")],
                "endpoint=https://minio.x region=r virtual_hosted_style_request=true",
            ),
            (
                &[("endpoint", "http://127.0.0.1:9000")],
                "endpoint=http://127.0.0.1:9000 region=us-east-1 virtual_hosted_style_request=false",
            ),
            (
                &[("endpoint", "http://[::1]:9000")],
                "endpoint=http://[::1]:9000 region=us-east-1 virtual_hosted_style_request=false",
            ),
            (
                &[("endpoint", "http://localhost")],
                "endpoint=http://localhost region=us-east-1 virtual_hosted_style_request=false",
            ),
        ]);
    }

    #[test]
    fn settings_of_requests_become_options() {
        check(&[
            (&[("requester.pays.enabled", "true")], "request_payer=true"),
            (
                &[("encryption.algorithm", "SSE-C"), ("encryption.key", "K")],
                "server_side_encryption=sse-c sse_customer_key_base64=K",
            ),
            (
                &[("server-side-encryption-algorithm", "SSE-KMS"), ("server-side-encryption.key", "K")],
                "server_side_encryption=sse:kms sse_kms_key_id=K",
            ),
            (
                &[("proxy.host", "p"), ("proxy.port", "8"), ("proxy.username", "u"), ("proxy.password", "p/w")],
                "proxy_url=http://u:p%2Fw@p:8",
            ),
            (
                &[
                    ("connection.establish.timeout", "5000"),
                    ("connection.timeout", "200s"),
                    ("connection.request.timeout", "0"),
                ],
                "connect_timeout=5000ms read_timeout=200000ms timeout=0ms",
            ),
            (&[("connection.idle.time", "60s")], "pool_idle_timeout=15s"),
            (&[("connection.idle.time", "9s")], "pool_idle_timeout=9000ms"),
            (&[("attempts.maximum", "5"), ("retry.limit", "7")], "max_retries=7"),
            (&[("attempts.maximum", "5"), ("connection.maximum", "96")], "max_requests=96 max_retries=5"),
            (&[("fast.upload.buffer", "disk"), ("aws.credentials.provider", "")], ""),
        ]);
    }

    #[test]
    fn settings_of_the_bucket_win() {
        let settings = [
            ("access.key", "A"),
            ("secret.key", "B"),
            ("bucket.b.access.key", "C"),
            ("bucket.b.secret.key", "D"),
            ("bucket.b.path.style.access", "true"),
            ("bucket.b.endpoint", "http://h"),
            ("bucket.other.endpoint", "http://o"),
        ];
        let (options, _) = translated(&settings, "b").unwrap();
        assert_eq!(
            shown(&options),
            "access_key_id=C endpoint=http://h region=us-east-1 secret_access_key=D virtual_hosted_style_request=false"
        );
        let (options, _) = translated(&settings, "x.y").unwrap();
        assert_eq!(shown(&options), "access_key_id=A secret_access_key=B");
    }

    #[test]
    fn a_dotted_bucket_over_tls_is_in_the_path() {
        for (endpoint, is_virtual) in [("https://minio.x", "false"), ("http://minio.x", "true")] {
            let (options, _) = translated(&[("endpoint", endpoint)], "a.b").unwrap();
            assert_eq!(options["virtual_hosted_style_request"], is_virtual, "{endpoint}");
        }
    }

    #[test]
    fn credentials_come_from_the_first_class_that_has_some() {
        let hadoop = "org.apache.hadoop.fs.s3a.";
        let sdk = "software.amazon.awssdk.auth.credentials.";
        for (list, expected) in [
            (SIMPLE.to_owned(), "access_key_id=A secret_access_key=B"),
            (format!("{hadoop}TemporaryAWSCredentialsProvider, {SIMPLE}"), "access_key_id=A secret_access_key=B"),
            (format!("{sdk}EnvironmentVariableCredentialsProvider"), "access_key_id=EK secret_access_key=ES"),
            (
                "com.amazonaws.auth.EnvironmentVariableCredentialsProvider".to_owned(),
                "access_key_id=EK secret_access_key=ES",
            ),
            (format!("{sdk}WebIdentityTokenFileCredentialsProvider"), "role_arn=arn:r web_identity_token_file=/tok"),
            (format!("{hadoop}auth.IAMInstanceCredentialsProvider"), "container_credentials_relative_uri=/v2/x"),
            (format!("{sdk}InstanceProfileCredentialsProvider"), ""),
            (format!("{sdk}DefaultCredentialsProvider"), "access_key_id=EK secret_access_key=ES"),
            (format!("{hadoop}AnonymousAWSCredentialsProvider"), "skip_signature=true"),
            (format!("{SIMPLE},com.acme.Vault"), "access_key_id=A secret_access_key=B"),
        ] {
            let settings = [("access.key", "A"), ("secret.key", "B"), ("aws.credentials.provider", &list)];
            let (options, is_decided) = translated(&settings, "b").unwrap();
            assert_eq!((shown(&options).as_str(), is_decided), (expected, true), "{list}");
        }
    }

    #[test]
    fn a_role_is_assumed_with_the_keys_of_another_class() {
        let settings = [
            ("aws.credentials.provider", "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"),
            ("access.key", "A"),
            ("secret.key", "B"),
            ("assumed.role.arn", "arn:r"),
            ("assumed.role.session.duration", "30m"),
            ("assumed.role.sts.endpoint", "sts.eu-west-1.amazonaws.com"),
        ];
        let (options, is_decided) = translated(&settings, "b").unwrap();
        let expected = "access_key_id=A endpoint_url_sts=sts.eu-west-1.amazonaws.com role_arn=arn:r \
                        role_session_duration=30m secret_access_key=B";
        assert_eq!((shown(&options).as_str(), is_decided), (expected, true));
    }

    #[test]
    fn what_cannot_be_followed_is_refused_by_name() {
        let role = "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider";
        for (settings, parts) in [
            (&[("aws.credentials.provider", "com.acme.Vault")][..], ["aws.credentials.provider", "com.acme.Vault"]),
            (&[("aws.credentials.provider", role)], ["fs.s3a.assumed.role.arn", "missing"]),
            (
                &[
                    ("aws.credentials.provider", role),
                    ("assumed.role.arn", "arn:r"),
                    ("assumed.role.credentials.provider", role),
                ],
                ["fs.s3a.assumed.role.credentials.provider", "with a role"],
            ),
            (
                &[
                    ("aws.credentials.provider", role),
                    ("assumed.role.arn", "arn:r"),
                    (
                        "assumed.role.credentials.provider",
                        "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider",
                    ),
                ],
                ["fs.s3a.assumed.role.credentials.provider", "keys alone"],
            ),
            (&[("aws.credentials.provider", SIMPLE)], ["no class", SIMPLE]),
            (&[("session.token", "T")], ["fs.s3a.session.token", "fs.s3a.access.key"]),
            (&[("access.key", "A")], ["fs.s3a.secret.key", "missing"]),
            (
                &[("security.credential.provider.path", "jceks://x")],
                ["fs.s3a.security.credential.provider.path", "keystore"],
            ),
            (&[("bucket.b.security.credential.provider.path", "jceks://x")], ["fs.s3a.bucket.b.security", "keystore"]),
            (&[("accesspoint.arn", "arn:x")], ["fs.s3a.accesspoint.arn", "alias"]),
            (&[("delegation.token.binding", "x")], ["fs.s3a.delegation.token.binding", "cannot"]),
            (&[("signing-algorithm", "x")], ["fs.s3a.signing-algorithm", "leave it out"]),
            (&[("proxy.domain", "x")], ["fs.s3a.proxy.domain", "NTLM"]),
            (&[("encryption.algorithm", "CSE-KMS")], ["fs.s3a.encryption.algorithm", "CSE-KMS"]),
            (&[("encryption.algorithm", "ROT13")], ["fs.s3a.encryption.algorithm", "ROT13"]),
            (&[("encryption.algorithm", "SSE-C")], ["fs.s3a.encryption.key", "SSE-C"]),
            (&[("connection.timeout", "soon")], ["fs.s3a.connection.timeout", "soon"]),
            (&[("retry.limit", "many")], ["fs.s3a.retry.limit", "many"]),
        ] {
            let error = translated(settings, "b").unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{settings:?}: {error}");
        }
    }

    #[test]
    fn what_the_user_gave_is_not_looked_up() {
        let map = BTreeMap::from([
            ("fs.s3a.aws.credentials.provider".to_owned(), "com.acme.Vault".to_owned()),
            ("fs.s3a.endpoint".to_owned(), "http://h".to_owned()),
        ]);
        let explicit = ExplicitOptions { has_credentials: true, has_endpoint: true };
        let (options, is_decided) = options(HadoopConf::new(&map), "b", explicit, &Environment::default()).unwrap();
        assert_eq!((shown(&options).as_str(), is_decided), ("", false));
    }
}
