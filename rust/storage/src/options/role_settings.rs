//! The role of AWS for which keys are exchanged (`AssumeRole`).

use std::time::Duration;

use super::client_settings::parse_duration;
use super::hadoop::conf::Options;
use super::hadoop::s3a::{host_of, is_aws};
use super::secret::Secret;
use mortice_base::error::{Error, Result};

/// Options that have no effect without a role.
const OF_ROLES: [&str; 3] = ["role_session_duration", "role_policy", "region_sts"];
/// The durations that STS permits.
const DURATIONS: std::ops::RangeInclusive<Duration> = Duration::from_secs(900)..=Duration::from_secs(43_200);
const DEFAULT_DURATION: Duration = Duration::from_secs(3600);

/// A role, and the parameters of the exchange. The keys are among the store's options.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoleSettings {
    pub(crate) arn: String,
    pub(crate) session_name: String,
    pub(crate) duration: Duration,
    pub(crate) policy: Option<Secret>,
    /// The URL of STS.
    pub(crate) endpoint: String,
    pub(crate) region: String,
}

impl RoleSettings {
    /// Removes the options of a role from those of the store; returns `None` if the store's client itself supports
    /// them. `is_named` is true if the role was given explicitly, and not by an environment variable, which applies to
    /// web identities only.
    pub(crate) fn take_from(options: &mut Options, is_named: bool) -> Result<Option<Self>> {
        let is_of_token = options.contains_key("web_identity_token_file");
        if !options.contains_key("role_arn") || is_of_token || !is_named {
            if let Some(name) = OF_ROLES.into_iter().find(|name| options.contains_key(name)) {
                return Err(Error::invalid_argument(format!(
                    "storage option {name} needs role_arn, and keys to assume it with"
                )));
            }
            return Ok(None);
        }
        if !options.contains_key("access_key_id") {
            return Err(Error::invalid_argument(
                "storage option role_arn needs access_key_id and secret_access_key, or web_identity_token_file",
            ));
        }
        let arn = options.remove("role_arn").unwrap_or_default();
        let duration = match options.remove("role_session_duration") {
            Some(text) => parse_duration(&text, Duration::from_secs(1))
                .filter(|duration| DURATIONS.contains(duration))
                .ok_or_else(|| {
                    Error::invalid_argument(format!(
                        "storage option role_session_duration must be 15m to 12h, got {text:?}"
                    ))
                })?,
            None => DEFAULT_DURATION,
        };
        let host = options.get("endpoint").map(|endpoint| host_of(endpoint).to_owned());
        let region = options.remove("region_sts").or_else(|| options.get("region").cloned());
        let endpoint = match (options.remove("endpoint_url_sts"), &region) {
            (Some(given), _) if given.contains("://") => given,
            (Some(given), _) => format!("https://{given}"),
            (None, _) if host.as_deref().is_some_and(|host| !is_aws(host)) => {
                return Err(Error::invalid_argument(
                    "storage option role_arn needs endpoint_url_sts, the URL of the server that exchanges keys: the endpoint is not \
                     of AWS",
                ));
            }
            (None, Some(region)) if region.starts_with("cn-") => format!("https://sts.{region}.amazonaws.com.cn"),
            (None, Some(region)) => format!("https://sts.{region}.amazonaws.com"),
            (None, None) => "https://sts.amazonaws.com".to_owned(),
        };
        Ok(Some(Self {
            arn,
            session_name: options.remove("role_session_name").unwrap_or_else(|| "mortice".to_owned()),
            duration,
            policy: options.remove("role_policy").map(Secret::new),
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            region: region.unwrap_or_else(|| "us-east-1".to_owned()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(options: &[(&'static str, &str)], is_named: bool) -> Result<Option<RoleSettings>> {
        let mut options: Options = options.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        RoleSettings::take_from(&mut options, is_named)
    }

    const KEYS: [(&str, &str); 2] = [("access_key_id", "A"), ("role_arn", "arn:aws:iam::1:role/r")];

    #[test]
    fn a_role_has_a_server_and_a_duration() {
        let role = taken(&[KEYS[0], KEYS[1], ("region", "eu-west-1"), ("role_session_duration", "30m")], true);
        let role = role.unwrap().unwrap();
        assert_eq!(
            (role.endpoint.as_str(), role.region.as_str()),
            ("https://sts.eu-west-1.amazonaws.com", "eu-west-1")
        );
        assert_eq!((role.duration, role.session_name.as_str()), (Duration::from_secs(1800), "mortice"));
        let role = taken(&[KEYS[0], KEYS[1], ("endpoint", "http://h"), ("endpoint_url_sts", "http://h/")], true);
        assert_eq!(role.unwrap().unwrap().endpoint, "http://h");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (options, part) in [
            (&[KEYS[1]][..], "needs access_key_id"),
            (&[KEYS[0], KEYS[1], ("endpoint", "http://minio")][..], "endpoint_url_sts"),
            (&[KEYS[0], KEYS[1], ("role_session_duration", "1s")][..], "15m to 12h"),
            (&[KEYS[0], ("role_policy", "{}")][..], "needs role_arn"),
        ] {
            let error = taken(options, true).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn web_identities_and_variables_are_left_to_the_client() {
        assert!(taken(&[KEYS[1], ("web_identity_token_file", "/t")], true).unwrap().is_none());
        assert!(taken(&KEYS, false).unwrap().is_none());
    }
}
