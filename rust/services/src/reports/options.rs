//! What is reported, and where to (`HoodieMetricsConfig`, `HoodieWriteCommitCallbackConfig`).

use std::sync::LazyLock;
use std::time::Duration;

use super::labels::Labels;
use mortice_base::error::{Error, Result};
use mortice_merge::config::WriteOptions;
use mortice_merge::config::option_names::{
    METRICS_GRAPHITE_HOST, METRICS_GRAPHITE_METRIC_PREFIX, METRICS_GRAPHITE_PORT, METRICS_ON, METRICS_PROMETHEUS_PORT,
    METRICS_PUSHGATEWAY_HOST, METRICS_PUSHGATEWAY_JOB_NAME, METRICS_PUSHGATEWAY_PORT,
    METRICS_PUSHGATEWAY_RANDOM_JOB_NAME_SUFFIX, METRICS_PUSHGATEWAY_REPORT_LABELS, METRICS_REPORTER_METRICSNAME_PREFIX,
    METRICS_REPORTER_TYPE, WRITE_COMMIT_CALLBACK_HTTP_API_KEY, WRITE_COMMIT_CALLBACK_HTTP_CUSTOM_HEADERS,
    WRITE_COMMIT_CALLBACK_HTTP_TIMEOUT_SECONDS, WRITE_COMMIT_CALLBACK_HTTP_URL, WRITE_COMMIT_CALLBACK_ON,
};

/// A number that is that of no other process, for names of jobs.
static JOB_SUFFIX: LazyLock<u32> = LazyLock::new(|| uuid::Uuid::new_v4().as_fields().0);

/// What a writer reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportOptions {
    pub(super) metrics: Option<MetricsOptions>,
    pub(super) callback: Option<CallbackOptions>,
}

/// Metrics, and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetricsOptions {
    /// What names begin with; empty: nothing.
    pub(super) prefix: String,
    pub(super) reporter: Reporter,
}

/// Where metrics go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reporter {
    /// Nowhere: they are counted in memory alone.
    InMemory,
    Graphite {
        host: String,
        port: u16,
        prefix: String,
    },
    PushGateway {
        host: String,
        port: u16,
        job: String,
        labels: Labels,
    },
    Prometheus {
        port: u16,
        labels: Labels,
    },
}

/// A callback of each commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallbackOptions {
    pub(super) url: String,
    pub(super) api_key: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
}

impl ReportOptions {
    /// Reads the options, for a table of this name.
    ///
    /// # Errors
    /// `InvalidArgument` for options that are missing or of another form; `Unsupported` for reporters that are not
    /// followed, with what to use.
    pub(crate) fn resolve(options: &WriteOptions, table: &str) -> Result<Self> {
        let metrics = options.boolean(METRICS_ON)?.then(|| MetricsOptions::resolve(options, table)).transpose()?;
        let is_called = options.boolean(WRITE_COMMIT_CALLBACK_ON)?;
        let callback = is_called.then(|| CallbackOptions::resolve(options)).transpose()?;
        Ok(Self { metrics, callback })
    }
}

impl MetricsOptions {
    fn resolve(options: &WriteOptions, table: &str) -> Result<Self> {
        let host = |text: &str| text.trim().to_owned();
        let labels = || Labels::parse(options.text(METRICS_PUSHGATEWAY_REPORT_LABELS).unwrap_or_default());
        let reporter = match options.word(METRICS_REPORTER_TYPE)?.to_ascii_uppercase().as_str() {
            "INMEMORY" => Reporter::InMemory,
            "GRAPHITE" => Reporter::Graphite {
                host: host(options.word(METRICS_GRAPHITE_HOST)?),
                port: options.integer(METRICS_GRAPHITE_PORT)?,
                prefix: options.text(METRICS_GRAPHITE_METRIC_PREFIX).unwrap_or_default().to_owned(),
            },
            "PROMETHEUS_PUSHGATEWAY" => Reporter::PushGateway {
                host: host(options.word(METRICS_PUSHGATEWAY_HOST)?),
                port: options.integer(METRICS_PUSHGATEWAY_PORT)?,
                job: job_name(options)?,
                labels: labels()?,
            },
            "PROMETHEUS" => Reporter::Prometheus { port: options.integer(METRICS_PROMETHEUS_PORT)?, labels: labels()? },
            other => {
                return Err(Error::unsupported(format!(
                    "option {METRICS_REPORTER_TYPE}={other} (supported: PROMETHEUS, PROMETHEUS_PUSHGATEWAY, GRAPHITE, \
                     INMEMORY); agents of other systems read one of these"
                )));
            }
        };
        let prefix = options.text(METRICS_REPORTER_METRICSNAME_PREFIX).unwrap_or(table).replace('.', "_");
        Ok(Self { prefix, reporter })
    }
}

fn job_name(options: &WriteOptions) -> Result<String> {
    let name = options.text(METRICS_PUSHGATEWAY_JOB_NAME).unwrap_or_default();
    let is_random = options.boolean(METRICS_PUSHGATEWAY_RANDOM_JOB_NAME_SUFFIX)?;
    let job = if is_random { format!("{name}{}", *JOB_SUFFIX) } else { name.to_owned() };
    match job.is_empty() {
        false => Ok(job),
        true => Err(Error::invalid_argument(format!(
            "option {METRICS_PUSHGATEWAY_JOB_NAME} must be a name where \
             {METRICS_PUSHGATEWAY_RANDOM_JOB_NAME_SUFFIX}=false"
        ))),
    }
}

impl CallbackOptions {
    fn resolve(options: &WriteOptions) -> Result<Self> {
        let url = options.text(WRITE_COMMIT_CALLBACK_HTTP_URL).unwrap_or_default().trim();
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Error::invalid_argument(format!(
                "option {WRITE_COMMIT_CALLBACK_HTTP_URL} must be a URL where {WRITE_COMMIT_CALLBACK_ON}=true, got {url:?}"
            )));
        }
        let given = options.text(WRITE_COMMIT_CALLBACK_HTTP_CUSTOM_HEADERS).unwrap_or_default();
        let headers = given.split(';').map(str::trim).filter(|header| !header.is_empty()).map(|header| {
            let (name, value) = header.split_once(':').unwrap_or((header, ""));
            match (name.trim(), value.trim()) {
                // The values of headers may be secrets.
                (name, value) if name.is_empty() || value.is_empty() => Err(Error::invalid_argument(format!(
                    "option {WRITE_COMMIT_CALLBACK_HTTP_CUSTOM_HEADERS} must be name:value;name:value"
                ))),
                (name, value) => Ok((name.to_owned(), value.to_owned())),
            }
        });
        Ok(Self {
            url: url.to_owned(),
            api_key: options.word(WRITE_COMMIT_CALLBACK_HTTP_API_KEY)?.to_owned(),
            headers: headers.collect::<Result<_>>()?,
            timeout: Duration::from_secs(options.integer(WRITE_COMMIT_CALLBACK_HTTP_TIMEOUT_SECONDS)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn resolve(given: &[(&str, &str)]) -> Result<ReportOptions> {
        ReportOptions::resolve(&WriteOptions::resolve(given.iter().copied())?, "shop.trips")
    }

    #[test]
    fn nothing_is_reported_by_default() {
        assert_eq!(resolve(&[]).unwrap(), ReportOptions { metrics: None, callback: None });
        assert!(resolve(&[("hoodie.metrics.reporter.type", "JMX")]).unwrap().metrics.is_none());
    }

    #[test]
    fn reporters_have_hudis_options_and_defaults() {
        let on = ("hoodie.metrics.on", "true");
        let graphite = resolve(&[on]).unwrap().metrics.unwrap();
        let reporter = Reporter::Graphite { host: "localhost".into(), port: 4756, prefix: String::new() };
        assert_eq!(graphite, MetricsOptions { prefix: "shop_trips".into(), reporter });
        let pushed = resolve(&[
            on,
            ("hoodie.metrics.reporter.type", "PROMETHEUS_PUSHGATEWAY"),
            ("hoodie.metrics.pushgateway.job.name", "nightly"),
            ("hoodie.metrics.pushgateway.random.job.name.suffix", "false"),
            ("hoodie.metrics.pushgateway.report.labels", "env:dev, team:a b"),
        ]);
        let Reporter::PushGateway { host, port, job, .. } = pushed.unwrap().metrics.unwrap().reporter else {
            panic!("another reporter")
        };
        assert_eq!((host.as_str(), port, job.as_str()), ("localhost", 9091, "nightly"));
    }

    #[test]
    fn other_reporters_are_refused_by_name() {
        for reporter in ["JMX", "DATADOG", "CLOUDWATCH", "CONSOLE", "M3", "SLF4J"] {
            let error = resolve(&[("hoodie.metrics.on", "true"), ("hoodie.metrics.reporter.type", reporter)]);
            let error = error.unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(reporter), "{error}");
        }
    }

    #[test]
    fn a_callback_needs_a_url() {
        let on = ("hoodie.write.commit.callback.on", "true");
        assert_eq!(resolve(&[on]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let url = ("hoodie.write.commit.callback.http.url", "http://127.0.0.1/x");
        let headers = ("hoodie.write.commit.callback.http.custom.headers", "a: b; c:d");
        let callback = resolve(&[on, url, headers]).unwrap().callback.unwrap();
        assert_eq!(callback.api_key, "hudi_write_commit_http_callback");
        assert_eq!(callback.headers, [("a".to_owned(), "b".to_owned()), ("c".to_owned(), "d".to_owned())]);
        let secret = ("hoodie.write.commit.callback.http.custom.headers", "secret");
        let error = resolve(&[on, url, secret]).unwrap_err().to_string();
        assert!(error.contains("custom.headers") && !error.contains("secret"), "{error}");
    }
}
