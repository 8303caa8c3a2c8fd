//! Converts `fs.gs.*`: settings of Google's connector for Hadoop. Older names begin with `google.cloud.auth.`.

use super::conf::{HadoopConf, Options, invalid, millis, proxy_url, refused};
use mortice_base::error::Result;

/// Settings that change the data or the identity and that mortice does not support.
const REFUSED: &[&str] = &[
    "fs.gs.auth.access.token.provider",
    "fs.gs.auth.access.token.provider.impl",
    "fs.gs.auth.impersonation.service.account",
    "fs.gs.auth.service.account.keyfile",
    "google.cloud.auth.service.account.keyfile",
    "fs.gs.auth.service.account.private.key",
    "fs.gs.auth.service.account.private.key.id",
    "fs.gs.encryption.key",
];

const KEY_FILES: [&str; 2] =
    ["fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile"];

/// Converts the settings to options; see [`super::s3a::options`] for the bool.
pub(crate) fn options(conf: HadoopConf<'_>, has_credentials: bool) -> Result<(Options, bool)> {
    let mut options = Options::new();
    if let Some(url) = conf.get("fs.gs.storage.root.url") {
        options.insert("base_url", url.trim_end_matches('/').to_owned());
    }
    for (setting, option) in
        [("fs.gs.http.connect-timeout", "connect_timeout"), ("fs.gs.http.read-timeout", "read_timeout")]
    {
        if let Some(value) = conf.get(setting) {
            options.insert(option, millis(setting, value)?);
        }
    }
    if let Some(value) = conf.get("fs.gs.http.max.retry") {
        let count: usize = value.parse().map_err(|_| invalid("fs.gs.http.max.retry", "a whole number", value))?;
        options.insert("max_retries", count.to_string());
    }
    if let Some(address) = conf.get("fs.gs.proxy.address") {
        let address = address.split_once("://").map_or(address, |(_, address)| address);
        let user = conf.get("fs.gs.proxy.username").zip(conf.get("fs.gs.proxy.password"));
        options.insert("proxy_url", proxy_url(false, address, None, user));
    }
    if let Some(mode) = conf.get("fs.gs.requester.pays.mode").filter(|mode| !mode.eq_ignore_ascii_case("DISABLED")) {
        let what = format!("buckets that the requester pays for ({mode}) are not supported");
        return Err(refused("fs.gs.requester.pays.mode", &what, "leave it out"));
    }
    if has_credentials {
        return Ok((options, false));
    }
    let found = credentials(conf)?;
    let is_decided = found.is_some();
    options.extend(found.unwrap_or_default());
    Ok((options, is_decided))
}

fn credentials(conf: HadoopConf<'_>) -> Result<Option<Options>> {
    let by_prefix = |name: &&str| name.starts_with("fs.gs.auth.impersonation.");
    if let Some(name) =
        REFUSED.iter().copied().find(|name| conf.get(name).is_some()).or_else(|| conf.names().find(by_prefix))
    {
        let remedy = "use fs.gs.auth.service.account.json.keyfile, or give credentials as storage options";
        return Err(refused(name, "it is not supported", remedy));
    }
    let key_file = KEY_FILES.into_iter().find_map(|name| conf.get(name));
    let of_file = |path: &str| Some(Options::from([("service_account_path", path.to_owned())]));
    let anonymous = || Some(Options::from([("skip_signature", "true".to_owned())]));
    let setting = "fs.gs.auth.type";
    let Some(kind) = conf.get(setting) else {
        let is_null =
            ["fs.gs.auth.null.enable", "google.cloud.auth.null.enable"].iter().any(|name| conf.get_bool(name, false));
        return Ok(if is_null { anonymous() } else { key_file.and_then(of_file) });
    };
    match kind.to_ascii_uppercase().as_str() {
        "SERVICE_ACCOUNT_JSON_KEYFILE" => match key_file {
            Some(path) => Ok(of_file(path)),
            None => {
                let what = format!("{kind} needs {}, which is missing", KEY_FILES[0]);
                Err(refused(setting, &what, "set it; the file must exist on every executor"))
            }
        },
        "APPLICATION_DEFAULT" => Ok(None),
        "COMPUTE_ENGINE" => Ok(Some(Options::new())),
        "UNAUTHENTICATED" => Ok(anonymous()),
        "ACCESS_TOKEN_PROVIDER" | "USER_CREDENTIALS" | "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE" => {
            let what = format!("the authentication {kind} is not supported");
            Err(refused(setting, &what, "use SERVICE_ACCOUNT_JSON_KEYFILE, APPLICATION_DEFAULT or COMPUTE_ENGINE"))
        }
        _ => Err(invalid(
            setting,
            "SERVICE_ACCOUNT_JSON_KEYFILE, APPLICATION_DEFAULT, COMPUTE_ENGINE or UNAUTHENTICATED",
            kind,
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn translated(settings: &[(&str, &str)]) -> Result<(Options, bool)> {
        let map: BTreeMap<String, String> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        options(HadoopConf::new(&map), false)
    }

    fn shown(options: &Options) -> String {
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn settings_become_options() {
        let file = "fs.gs.auth.service.account.json.keyfile";
        for (settings, expected, decided) in [
            (&[][..], "", false),
            (&[("fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE"), (file, "/k")], "service_account_path=/k", true),
            (&[("google.cloud.auth.service.account.json.keyfile", "/k")], "service_account_path=/k", true),
            (&[("fs.gs.auth.type", "APPLICATION_DEFAULT")], "", false),
            (&[("fs.gs.auth.type", "COMPUTE_ENGINE")], "", true),
            (&[("fs.gs.auth.type", "UNAUTHENTICATED")], "skip_signature=true", true),
            (&[("google.cloud.auth.null.enable", "true")], "skip_signature=true", true),
            (&[("fs.gs.storage.root.url", "http://127.0.0.1:4/")], "base_url=http://127.0.0.1:4", false),
            (
                &[
                    ("fs.gs.proxy.address", "p:3128"),
                    ("fs.gs.http.read-timeout", "7000"),
                    ("fs.gs.http.max.retry", "3"),
                ],
                "max_retries=3 proxy_url=http://p:3128 read_timeout=7000ms",
                false,
            ),
        ] {
            let (options, is_decided) = translated(settings).unwrap();
            assert_eq!((shown(&options).as_str(), is_decided), (expected, decided), "{settings:?}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_by_name() {
        for (settings, part) in [
            (&[("fs.gs.auth.type", "ACCESS_TOKEN_PROVIDER")][..], "ACCESS_TOKEN_PROVIDER"),
            (&[("fs.gs.auth.type", "USER_CREDENTIALS")], "USER_CREDENTIALS"),
            (&[("fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE")], "fs.gs.auth.service.account.json.keyfile"),
            (&[("fs.gs.auth.type", "OPEN_SESAME")], "got \"OPEN_SESAME\""),
            (&[("fs.gs.auth.access.token.provider.impl", "com.acme.T")], "fs.gs.auth.access.token.provider.impl"),
            (
                &[("fs.gs.auth.impersonation.service.account.for.user.x", "a")],
                "fs.gs.auth.impersonation.service.account.for.user.x",
            ),
            (&[("google.cloud.auth.service.account.keyfile", "/k.p12")], "google.cloud.auth.service.account.keyfile"),
            (&[("fs.gs.requester.pays.mode", "AUTO")], "fs.gs.requester.pays.mode"),
        ] {
            let error = translated(settings).unwrap_err().to_string();
            assert!(error.contains(part), "{settings:?}: {error}");
        }
    }
}
