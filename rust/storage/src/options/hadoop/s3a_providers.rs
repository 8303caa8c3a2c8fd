//! The classes of `fs.s3a.aws.credentials.provider`, and the keys that each of them would find.
//!
//! They are tried in order, as in `AWSCredentialProviderList`. An unknown class is an error when it is reached:
//! skipping it would select another identity.

use super::conf::{Options, refused};
use super::profile::keys_of_profile;
use crate::options::environment::Environment;
use mortice_base::error::{Error, Result};

const PROVIDERS: &str = "fs.s3a.aws.credentials.provider";

/// The sources of keys of one class of the list.
#[derive(Clone, Copy)]
enum Provider {
    Temporary,
    Simple,
    Variables,
    WebIdentity,
    Container,
    Instance,
    ContainerOrInstance,
    Default,
    Anonymous,
    Profile,
    AssumedRole,
}

/// The class that assumes a role with the keys of another class.
const INNER: &str = "assumed.role.credentials.provider";
/// Hadoop's default for that class.
const DEFAULT_INNER: &str = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,\
                             software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider";
/// The settings of a role, and their options.
const OF_ROLE: [(&str, &str); 6] = [
    ("assumed.role.arn", "role_arn"),
    ("assumed.role.session.name", "role_session_name"),
    ("assumed.role.session.duration", "role_session_duration"),
    ("assumed.role.policy", "role_policy"),
    ("assumed.role.sts.endpoint", "endpoint_url_sts"),
    ("assumed.role.sts.endpoint.region", "region_sts"),
];

const HADOOP: &str = "org.apache.hadoop.fs.s3a.";
const HADOOP_AUTH: &str = "org.apache.hadoop.fs.s3a.auth.";
const SDK_1: &str = "com.amazonaws.auth.";
const SDK_1_PROFILE: &str = "com.amazonaws.auth.profile.";
const SDK_2: &str = "software.amazon.awssdk.auth.credentials.";

fn provider(class: &str) -> Option<Provider> {
    let (package, name) = class.rfind('.').map(|dot| class.split_at(dot + 1))?;
    Some(match (package, name) {
        (HADOOP, "TemporaryAWSCredentialsProvider") => Provider::Temporary,
        (HADOOP, "SimpleAWSCredentialsProvider" | "BasicAWSCredentialsProvider") => Provider::Simple,
        (SDK_1 | SDK_2, "EnvironmentVariableCredentialsProvider") => Provider::Variables,
        (SDK_2, "WebIdentityTokenFileCredentialsProvider") | (SDK_1, "WebIdentityTokenCredentialsProvider") => {
            Provider::WebIdentity
        }
        (SDK_1 | SDK_2, "ContainerCredentialsProvider") => Provider::Container,
        (SDK_1 | SDK_2, "InstanceProfileCredentialsProvider") => Provider::Instance,
        (HADOOP_AUTH, "IAMInstanceCredentialsProvider")
        | (HADOOP, "SharedInstanceCredentialProvider")
        | (SDK_1, "EC2ContainerCredentialsProviderWrapper") => Provider::ContainerOrInstance,
        (SDK_2, "DefaultCredentialsProvider") | (SDK_1, "DefaultAWSCredentialsProviderChain") => Provider::Default,
        (HADOOP, "AnonymousAWSCredentialsProvider")
        | (SDK_1, "AnonymousAWSCredentials")
        | (SDK_2, "AnonymousCredentialsProvider") => Provider::Anonymous,
        (HADOOP_AUTH, "AssumedRoleCredentialProvider") => Provider::AssumedRole,
        (SDK_1_PROFILE | SDK_2, "ProfileCredentialsProvider") | (HADOOP_AUTH, "ProfileAWSCredentialsProvider") => {
            Provider::Profile
        }
        _ => return None,
    })
}

/// The sources that classes read.
pub(crate) struct KeySources<'a> {
    /// Reads `fs.s3a.NAME`, with precedence for that of the bucket.
    pub setting: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The environment variables of this process.
    pub environment: &'a Environment,
    /// Returns an error for keys in a keystore.
    pub refuse_keystore: &'a dyn Fn() -> Result<()>,
}

impl KeySources<'_> {
    /// Returns the credentials of the first class of `list` that has any.
    pub(crate) fn first_of(&self, list: &str) -> Result<Options> {
        for class in list.split(',').map(str::trim).filter(|class| !class.is_empty()) {
            let Some(provider) = provider(class) else {
                let remedy = "give credentials as storage options, or a callable that supplies them";
                return Err(refused(PROVIDERS, &format!("the class {class} is not known"), remedy));
            };
            if let Some(options) = self.credentials(provider)? {
                return Ok(options);
            }
        }
        Err(Error::invalid_argument(format!("no class of the Hadoop setting {PROVIDERS} has credentials: {list}")))
    }

    /// Returns the keys of the configuration, with or without their token; `None` if there are none.
    pub(crate) fn configured(&self) -> Result<Option<Options>> {
        match self.temporary()? {
            Some(keys) => Ok(Some(keys)),
            None => self.simple(),
        }
    }

    fn credentials(&self, provider: Provider) -> Result<Option<Options>> {
        let instance = || Some(Options::new());
        match provider {
            Provider::Temporary => self.temporary(),
            Provider::Simple => self.simple(),
            Provider::Variables => Ok(self.variables()),
            Provider::WebIdentity => Ok(self.web_identity()),
            Provider::Container => Ok(self.container()),
            // Without a key, object_store requests them from the instance metadata service.
            Provider::Instance => Ok(instance()),
            Provider::ContainerOrInstance => Ok(self.container().or_else(instance)),
            Provider::Default => {
                let found = self.variables().or_else(|| self.web_identity());
                let found = if found.is_some() { found } else { self.profile()? };
                Ok(found.or_else(|| self.container()).or_else(instance))
            }
            Provider::Anonymous => Ok(Some(Options::from([("skip_signature", "true".to_owned())]))),
            Provider::Profile => self.profile(),
            Provider::AssumedRole => self.assumed_role().map(Some),
        }
    }

    /// Returns the keys of the inner list, and the role for which they are exchanged.
    fn assumed_role(&self) -> Result<Options> {
        let get = self.setting;
        if get("assumed.role.arn").is_none() {
            return Err(Error::invalid_argument(format!(
                "the Hadoop setting fs.s3a.assumed.role.arn is missing, which a class of {PROVIDERS} needs"
            )));
        }
        let list = get(INNER).unwrap_or(DEFAULT_INNER);
        if list.contains("AssumedRoleCredentialProvider") {
            let why = "a role cannot be assumed with a role";
            return Err(refused(&format!("fs.s3a.{INNER}"), why, "name a class that has keys"));
        }
        let mut options = self.first_of(list)?;
        if !options.contains_key("access_key_id") {
            let why = "a role can be assumed with keys alone";
            return Err(refused(
                &format!("fs.s3a.{INNER}"),
                why,
                "name a class that has keys, or give a callable that supplies them",
            ));
        }
        let found = OF_ROLE.into_iter().filter_map(|(setting, option)| Some((option, get(setting)?.to_owned())));
        options.extend(found);
        Ok(options)
    }

    fn temporary(&self) -> Result<Option<Options>> {
        (self.refuse_keystore)()?;
        let get = self.setting;
        match (get("access.key"), get("secret.key"), get("session.token")) {
            (Some(key), Some(secret), Some(token)) => Ok(Some(keys(key, secret, Some(token)))),
            (None, _, Some(_)) | (_, None, Some(_)) => Err(Error::invalid_argument(
                "Hadoop setting fs.s3a.session.token needs fs.s3a.access.key and fs.s3a.secret.key",
            )),
            _ => Ok(None),
        }
    }

    fn simple(&self) -> Result<Option<Options>> {
        (self.refuse_keystore)()?;
        let get = self.setting;
        match (get("access.key"), get("secret.key")) {
            (Some(key), Some(secret)) => Ok(Some(keys(key, secret, None))),
            (None, None) => Ok(None),
            _ => Err(Error::invalid_argument(
                "one of the Hadoop settings fs.s3a.access.key and fs.s3a.secret.key is missing",
            )),
        }
    }

    fn variables(&self) -> Option<Options> {
        let get = |name| self.environment.get(name);
        let key = get("AWS_ACCESS_KEY_ID").or_else(|| get("AWS_ACCESS_KEY"))?;
        let secret = get("AWS_SECRET_ACCESS_KEY").or_else(|| get("AWS_SECRET_KEY"))?;
        Some(keys(key, secret, get("AWS_SESSION_TOKEN")))
    }

    fn web_identity(&self) -> Option<Options> {
        self.named([
            ("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE", true),
            ("role_arn", "AWS_ROLE_ARN", true),
            ("role_session_name", "AWS_ROLE_SESSION_NAME", false),
        ])
    }

    fn container(&self) -> Option<Options> {
        self.named([("container_credentials_relative_uri", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", true)]).or_else(
            || {
                self.named([
                    ("container_credentials_full_uri", "AWS_CONTAINER_CREDENTIALS_FULL_URI", true),
                    ("container_authorization_token_file", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", true),
                ])
            },
        )
    }

    /// Returns options from variables; `None` if a required one is missing.
    fn named<const N: usize>(&self, names: [(&'static str, &str, bool); N]) -> Option<Options> {
        let mut options = Options::new();
        for (option, variable, is_needed) in names {
            match self.environment.get(variable) {
                Some(value) => options.insert(option, value.to_owned()),
                None if is_needed => return None,
                None => None,
            };
        }
        Some(options)
    }

    fn profile(&self) -> Result<Option<Options>> {
        let get = self.setting;
        keys_of_profile(get("auth.profile.name"), get("auth.profile.file"), self.environment)
    }
}

fn keys(key: &str, secret: &str, token: Option<&str>) -> Options {
    let mut options = Options::from([("access_key_id", key.to_owned()), ("secret_access_key", secret.to_owned())]);
    options.extend(token.map(|token| ("session_token", token.to_owned())));
    options
}
