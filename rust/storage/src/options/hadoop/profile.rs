//! Keys of a profile in an AWS credentials file (`~/.aws/credentials`), found like `ProfileCredentialsProvider`.

use super::conf::Options;
use crate::options::environment::Environment;
use mortice_base::error::{Error, Result};

/// Settings that make a profile more than a pair of keys.
const NOT_KEYS: [&str; 6] =
    ["role_arn", "source_profile", "credential_process", "sso_session", "sso_start_url", "web_identity_token_file"];

/// Returns the keys of the profile `name` in `file`; both default as in the AWS SDK. `None` if there is no such file or
/// profile.
pub(crate) fn keys_of_profile(
    name: Option<&str>,
    file: Option<&str>,
    environment: &Environment,
) -> Result<Option<Options>> {
    let name = name.or_else(|| environment.get("AWS_PROFILE")).unwrap_or("default");
    let file = file.or_else(|| environment.get("AWS_SHARED_CREDENTIALS_FILE")).map(ToOwned::to_owned);
    let Some(file) = file.or_else(|| environment.in_home(".aws/credentials")) else { return Ok(None) };
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    let mut options = Options::new();
    let mut is_in = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let section = section.trim();
            is_in = section.strip_prefix("profile ").map_or(section, str::trim) == name;
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_in) else { continue };
        let (key, value) = (key.trim(), value.trim().to_owned());
        if NOT_KEYS.contains(&key) {
            return Err(Error::unsupported(format!(
                "the AWS profile {name:?} has {key}, which is not supported; give keys, or a callable that supplies them"
            ))
            .in_file(file));
        }
        match key {
            "aws_access_key_id" => options.insert("access_key_id", value),
            "aws_secret_access_key" => options.insert("secret_access_key", value),
            "aws_session_token" => options.insert("session_token", value),
            _ => None,
        };
    }
    let has_keys = options.contains_key("access_key_id") && options.contains_key("secret_access_key");
    Ok(has_keys.then_some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_keys_or_is_refused() {
        let file = std::env::temp_dir().join(format!("mortice profile {}", std::process::id()));
        let text = "[default]\naws_access_key_id = A\naws_secret_access_key=B\n# c\n[profile x]\naws_access_key_id=C\n\
                    aws_secret_access_key = D=\naws_session_token=E\n[r]\nrole_arn = arn:aws:iam::1:role/r\n[empty]\n";
        std::fs::write(&file, text).unwrap();
        let path = file.to_str();
        let none = Environment::default();
        let keys = keys_of_profile(None, path, &none).unwrap().unwrap();
        assert_eq!(keys, Options::from([("access_key_id", "A".to_owned()), ("secret_access_key", "B".to_owned())]));
        let named = Environment::from([("AWS_PROFILE", "x"), ("AWS_SHARED_CREDENTIALS_FILE", path.unwrap())]);
        let keys = keys_of_profile(None, None, &named).unwrap().unwrap();
        assert_eq!((keys["secret_access_key"].as_str(), keys["session_token"].as_str()), ("D=", "E"));
        assert!(keys_of_profile(Some("empty"), path, &none).unwrap().is_none());
        assert!(keys_of_profile(Some("x"), Some("/no/such/file"), &none).unwrap().is_none());
        let error = keys_of_profile(Some("r"), path, &none).unwrap_err().to_string();
        assert!(error.contains("\"r\" has role_arn"), "{error}");
        std::fs::remove_file(file).unwrap();
    }
}
