//! Converts `fs.azure.*`: settings of Hadoop's Azure connector. `X.ACCOUNT.dfs.core.windows.net` takes precedence over
//! `X.ACCOUNT`, and that over `X`.

use super::conf::{HadoopConf, Options, invalid, refused};
use mortice_base::error::Result;

const OAUTH: &str = "org.apache.hadoop.fs.azurebfs.oauth2.";
const SIMPLE_KEYS: [&str; 2] =
    ["org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider", "org.apache.hadoop.fs.azure.SimpleKeyProvider"];
const FIXED_SAS: &str = "org.apache.hadoop.fs.azurebfs.services.FixedSASTokenProvider";

/// The settings of one container.
struct AccountConf<'a> {
    conf: HadoopConf<'a>,
    account: &'a str,
    suffix: &'a str,
    container: &'a str,
}

impl<'a> AccountConf<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let Self { account, suffix, .. } = self;
        let other = match suffix.split_once('.') {
            Some(("dfs", rest)) => format!("blob.{rest}"),
            Some(("blob", rest)) => format!("dfs.{rest}"),
            _ => (*suffix).to_owned(),
        };
        [format!(".{account}.{suffix}"), format!(".{account}.{other}"), format!(".{account}"), String::new()]
            .iter()
            .find_map(|end| self.conf.get(&format!("fs.azure.{name}{end}")))
    }

    /// Returns a setting of the container, otherwise of the account.
    fn get_of_container(&self, name: &str) -> Option<&'a str> {
        self.get(&format!("{name}.{}", self.container)).or_else(|| self.get(name))
    }
}

/// Converts the settings of a container to options; see [`super::s3a::options`] for the bool.
///
/// `suffix` is the domain after the account in the URI's host.
pub(crate) fn options(
    conf: HadoopConf<'_>,
    account: &str,
    suffix: &str,
    container: &str,
    has_credentials: bool,
) -> Result<(Options, bool)> {
    let conf = AccountConf { conf, account, suffix, container };
    let mut options = Options::new();
    if let Some(key) =
        conf.get("client-provided-encryption-key").or_else(|| conf.get("encryption.encoded.client-provided-key"))
    {
        options.insert("encryption_key", key.to_owned());
    }
    if conf.get("encryption.context.provider.type").is_some() {
        let what = "encryption contexts are not supported";
        return Err(refused("fs.azure.encryption.context.provider.type", what, "read the table with Hudi"));
    }
    let found = if has_credentials { None } else { credentials(&conf)? };
    let is_decided = found.is_some();
    options.extend(found.unwrap_or_default());
    Ok((options, is_decided))
}

fn credentials(conf: &AccountConf<'_>) -> Result<Option<Options>> {
    let name = "account.auth.type";
    match conf.get(name).unwrap_or("SharedKey") {
        "SharedKey" => shared_key(conf),
        "SAS" => sas(conf).map(Some),
        "OAuth" => oauth(conf).map(Some),
        other @ ("Custom" | "UserboundSASWithOAuth") => {
            let what = format!("the authentication {other} is not supported");
            Err(refused(&format!("fs.azure.{name}"), &what, "use SharedKey, SAS or OAuth"))
        }
        other => Err(invalid(&format!("fs.azure.{name}"), "SharedKey, SAS or OAuth", other)),
    }
}

fn shared_key(conf: &AccountConf<'_>) -> Result<Option<Options>> {
    if let Some(class) = conf.get("account.keyprovider").filter(|class| !SIMPLE_KEYS.contains(class)) {
        let what = format!("the class {class} is not known");
        return Err(refused("fs.azure.account.keyprovider", &what, "give account_key as a storage option"));
    }
    let Some(key) = conf.get("account.key") else {
        // Shared keys of blob containers, as in `wasb`.
        if let Some(sas) = conf.get(&format!("sas.{}", conf.container)) {
            return Ok(Some(sas_options(sas)));
        }
        conf.conf.refuse_keystore()?;
        return Ok(None);
    };
    Ok(Some(Options::from([("account_key", key.to_owned()), ("credential_type", "access_key".to_owned())])))
}

fn sas(conf: &AccountConf<'_>) -> Result<Options> {
    if let Some(class) = conf.get("sas.token.provider.type").filter(|class| *class != FIXED_SAS) {
        let what = format!("the class {class} is not known");
        return Err(refused("fs.azure.sas.token.provider.type", &what, "give sas_token as a storage option"));
    }
    let token = conf.get_of_container("sas.fixed.token").or_else(|| conf.get(&format!("sas.{}", conf.container)));
    token.map(sas_options).map_or_else(|| missing(conf, "sas.fixed.token", "SAS"), Ok)
}

fn sas_options(token: &str) -> Options {
    let token = token.trim_start_matches('?').to_owned();
    Options::from([("sas_token", token), ("credential_type", "sas_token".to_owned())])
}

fn missing<T>(conf: &AccountConf<'_>, name: &str, why: &str) -> Result<T> {
    conf.conf.refuse_keystore()?;
    Err(refused("fs.azure.account.auth.type", &format!("{why} needs fs.azure.{name}, which is missing"), "set it"))
}

fn oauth(conf: &AccountConf<'_>) -> Result<Options> {
    let setting = "account.oauth.provider.type";
    let Some(class) = conf.get(setting) else { return missing(conf, setting, "OAuth") };
    let need = |name: &str| conf.get(name).map_or_else(|| missing(conf, name, class), |value| Ok(value.to_owned()));
    let mut options = Options::new();
    match class.strip_prefix(OAUTH) {
        Some("ClientCredsTokenProvider") => {
            options.insert("client_id", need("account.oauth2.client.id")?);
            options.insert("client_secret", need("account.oauth2.client.secret")?);
            let endpoint = need("account.oauth2.client.endpoint")?;
            let Some((host, tenant)) = tenant_of(&endpoint) else {
                let expected = "https://HOST/TENANT/oauth2/token";
                return Err(invalid("fs.azure.account.oauth2.client.endpoint", expected, &endpoint));
            };
            options.insert("authority_host", host);
            options.insert("tenant_id", tenant);
            options.insert("credential_type", "client_secret".to_owned());
        }
        Some("MsiTokenProvider") => {
            for (name, option) in [
                ("account.oauth2.msi.endpoint", "msi_endpoint"),
                ("account.oauth2.msi.tenant", "tenant_id"),
                ("account.oauth2.msi.authority", "authority_host"),
                ("account.oauth2.client.id", "client_id"),
            ] {
                options.extend(conf.get(name).map(|value| (option, value.trim_end_matches('/').to_owned())));
            }
            options.insert("credential_type", "managed_identity".to_owned());
        }
        Some("WorkloadIdentityTokenProvider") => {
            for (name, option) in [
                ("account.oauth2.token.file", "federated_token_file"),
                ("account.oauth2.msi.tenant", "tenant_id"),
                ("account.oauth2.msi.authority", "authority_host"),
                ("account.oauth2.client.id", "client_id"),
            ] {
                options.extend(conf.get(name).map(|value| (option, value.trim_end_matches('/').to_owned())));
            }
            options.insert("credential_type", "workload_identity".to_owned());
        }
        _ => {
            let what = format!("the class {class} is not supported");
            let remedy = "use client credentials, a managed identity or a workload identity";
            return Err(refused(&format!("fs.azure.{setting}"), &what, remedy));
        }
    }
    Ok(options)
}

/// Returns the host and the tenant of a token endpoint.
fn tenant_of(endpoint: &str) -> Option<(String, String)> {
    let (scheme, rest) = endpoint.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let (tenant, _) = path.split_once("/oauth2/")?;
    (!host.is_empty() && !tenant.is_empty() && !tenant.contains('/'))
        .then(|| (format!("{scheme}://{host}"), tenant.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn translated(settings: &[(&str, &str)]) -> Result<(Options, bool)> {
        let map: BTreeMap<String, String> =
            settings.iter().map(|(name, value)| (format!("fs.azure.{name}"), (*value).to_owned())).collect();
        options(HadoopConf::new(&map), "acc", "dfs.core.windows.net", "c", false)
    }

    fn shown(options: &Options) -> String {
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn settings_become_options() {
        let creds = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider";
        let msi = "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider";
        let workload = "org.apache.hadoop.fs.azurebfs.oauth2.WorkloadIdentityTokenProvider";
        for (settings, expected) in [
            (&[][..], ""),
            (&[("account.key", "a"), ("account.key.acc", "b")], "account_key=b credential_type=access_key"),
            (
                &[("account.key.acc", "b"), ("account.key.acc.dfs.core.windows.net", "d"), ("account.key.x", "x")],
                "account_key=d credential_type=access_key",
            ),
            (&[("account.key.acc.blob.core.windows.net", "e")], "account_key=e credential_type=access_key"),
            (
                &[("account.auth.type.acc.dfs.core.windows.net", "SAS"), ("sas.fixed.token.acc", "?sv=1&sig=x")],
                "credential_type=sas_token sas_token=sv=1&sig=x",
            ),
            (
                &[("account.auth.type", "SAS"), ("sas.fixed.token.c.acc", "s=1"), ("sas.fixed.token.acc", "s=2")],
                "credential_type=sas_token sas_token=s=1",
            ),
            (&[("sas.c.acc.blob.core.windows.net", "s=3")], "credential_type=sas_token sas_token=s=3"),
            (
                &[
                    ("account.auth.type", "OAuth"),
                    ("account.oauth.provider.type", creds),
                    ("account.oauth2.client.id", "i"),
                    ("account.oauth2.client.secret", "s"),
                    ("account.oauth2.client.endpoint", "https://login.microsoftonline.com/t-1/oauth2/v2.0/token"),
                ],
                "authority_host=https://login.microsoftonline.com client_id=i client_secret=s \
                 credential_type=client_secret tenant_id=t-1",
            ),
            (
                &[
                    ("account.auth.type", "OAuth"),
                    ("account.oauth.provider.type", msi),
                    ("account.oauth2.client.id", "i"),
                    ("account.oauth2.msi.endpoint", "http://169.254.169.254/metadata/identity/oauth2/token"),
                ],
                "client_id=i credential_type=managed_identity msi_endpoint=http://169.254.169.254/metadata/identity/oauth2/token",
            ),
            (
                &[
                    ("account.auth.type", "OAuth"),
                    ("account.oauth.provider.type", workload),
                    ("account.oauth2.token.file", "/t"),
                    ("account.oauth2.msi.tenant", "t"),
                ],
                "credential_type=workload_identity federated_token_file=/t tenant_id=t",
            ),
        ] {
            let (options, is_decided) = translated(settings).unwrap();
            assert_eq!(shown(&options), expected, "{settings:?}");
            assert_eq!(is_decided, !expected.is_empty(), "{settings:?}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_by_name() {
        let password = "org.apache.hadoop.fs.azurebfs.oauth2.UserPasswordTokenProvider";
        let refresh = "org.apache.hadoop.fs.azurebfs.oauth2.RefreshTokenBasedTokenProvider";
        let creds = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider";
        for (settings, part) in [
            (&[("account.auth.type", "Custom")][..], "Custom is not supported"),
            (&[("account.auth.type", "UserboundSASWithOAuth")], "UserboundSASWithOAuth"),
            (&[("account.auth.type", "Magic")], "must be SharedKey, SAS or OAuth, got \"Magic\""),
            (&[("account.auth.type", "OAuth"), ("account.oauth.provider.type", password)], password),
            (&[("account.auth.type", "OAuth"), ("account.oauth.provider.type", refresh)], refresh),
            (&[("account.auth.type", "OAuth"), ("account.oauth.provider.type", "com.acme.X")], "com.acme.X"),
            (&[("account.auth.type", "OAuth")], "needs fs.azure.account.oauth.provider.type"),
            (
                &[("account.auth.type", "OAuth"), ("account.oauth.provider.type", creds)],
                "fs.azure.account.oauth2.client.id",
            ),
            (&[("account.auth.type", "SAS")], "needs fs.azure.sas.fixed.token"),
            (&[("account.auth.type", "SAS"), ("sas.token.provider.type", "com.acme.Sas")], "com.acme.Sas"),
            (&[("account.keyprovider", "com.acme.Keys")], "com.acme.Keys"),
            (&[("encryption.context.provider.type", "x")], "fs.azure.encryption.context.provider.type"),
        ] {
            let error = translated(settings).unwrap_err().to_string();
            assert!(error.contains(part), "{settings:?}: {error}");
        }
    }

    #[test]
    fn keys_in_a_keystore_are_refused() {
        let map = BTreeMap::from([("hadoop.security.credential.provider.path".to_owned(), "jceks://x".to_owned())]);
        let error = options(HadoopConf::new(&map), "acc", "dfs.core.windows.net", "c", false).unwrap_err().to_string();
        assert!(error.contains("hadoop.security.credential.provider.path"), "{error}");
        assert!(options(HadoopConf::new(&map), "acc", "dfs.core.windows.net", "c", true).unwrap().0.is_empty());
    }
}
