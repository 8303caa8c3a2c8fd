//! Exchanges keys of AWS for those of a role with the STS request `AssumeRole`, and again before they expire.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{CredentialProvider, HttpClient, HttpRequest, HttpRequestBody};
use object_store::{Error as StoreError, HeaderValue};
use tokio::sync::Mutex;

use crate::options::hadoop::conf::encoded;
use crate::options::role_settings::RoleSettings;

/// Keys are exchanged again when they expire within this time.
const EARLY: chrono::TimeDelta = chrono::TimeDelta::minutes(5);
/// The number of attempts for a request that fails for other reasons than its keys.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);

/// The keys of a role.
pub(crate) struct AssumeRole {
    role: RoleSettings,
    keys: AwsCredential,
    client: HttpClient,
    known: Mutex<Option<(Arc<AwsCredential>, DateTime<Utc>)>>,
}

impl AssumeRole {
    /// Returns the provider of keys for `role`, which `keys` may assume. No request is sent.
    pub(crate) fn new(role: RoleSettings, keys: AwsCredential, client: HttpClient) -> Self {
        Self { role, keys, client, known: Mutex::default() }
    }

    fn request(&self) -> object_store::Result<HttpRequest> {
        let RoleSettings { arn, session_name, duration, policy, endpoint, region } = &self.role;
        let mut form = format!(
            "Action=AssumeRole&Version=2011-06-15&RoleArn={}&RoleSessionName={}&DurationSeconds={}",
            encoded(arn),
            encoded(session_name),
            duration.as_secs()
        );
        if let Some(policy) = policy {
            form.push_str("&Policy=");
            form.push_str(&encoded(policy.reveal()));
        }
        let mut request = HttpRequest::new(HttpRequestBody::from(form));
        *request.method_mut() = "POST".parse().map_err(failed)?;
        *request.uri_mut() = format!("{endpoint}/").parse().map_err(failed)?;
        let of_form = HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8");
        request.headers_mut().insert("content-type", of_form);
        AwsAuthorizer::new(&self.keys, "sts", region).try_authorize(&mut request, None)?;
        Ok(request)
    }

    async fn exchange(&self) -> object_store::Result<(AwsCredential, DateTime<Utc>)> {
        let mut tries = 1;
        let text = loop {
            let answer = match self.client.execute(self.request()?).await {
                Ok(answer) => {
                    let status = answer.status();
                    answer.into_body().bytes().await.map(|body| (status.as_u16(), body))
                }
                Err(error) => Err(error),
            };
            match answer {
                Ok((200, body)) => break String::from_utf8_lossy(&body).into_owned(),
                Ok((status @ 400..500, body)) if status != 429 => {
                    return Err(refused(&String::from_utf8_lossy(&body)));
                }
                Ok((status, _)) if tries == TRIES => return Err(failed(format!("STS answered HTTP {status}"))),
                Err(error) if tries == TRIES => return Err(failed(error)),
                Ok(_) | Err(_) => {}
            }
            tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
            tries += 1;
        };
        let named = |name: &str| element(&text, name).ok_or_else(|| failed(format!("the answer of STS has no {name}")));
        let expires = DateTime::parse_from_rfc3339(named("Expiration")?).map_err(failed)?;
        let keys = AwsCredential {
            key_id: named("AccessKeyId")?.to_owned(),
            secret_key: named("SecretAccessKey")?.to_owned(),
            token: Some(named("SessionToken")?.to_owned()),
        };
        Ok((keys, expires.with_timezone(&Utc)))
    }
}

#[async_trait]
impl CredentialProvider for AssumeRole {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut known = self.known.lock().await;
        if let Some((keys, expires)) = known.as_ref()
            && *expires - Utc::now() > EARLY
        {
            return Ok(Arc::clone(keys));
        }
        let (keys, expires) = self.exchange().await?;
        let keys = Arc::new(keys);
        *known = Some((Arc::clone(&keys), expires));
        Ok(keys)
    }
}

/// Prints the role only: the other fields are secrets.
impl fmt::Debug for AssumeRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssumeRole").field("arn", &self.role.arn).finish_non_exhaustive()
    }
}

/// Only the code and the message of the response are kept (see `object_error`).
fn refused(answer: &str) -> StoreError {
    StoreError::PermissionDenied { path: "AssumeRole".to_owned(), source: answer.to_owned().into() }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Generic { store: "STS", source: error.into() }
}

/// Returns the text of the first element with a name.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(text, _)| text.trim())
}
