//! What writers report by Hudi's options: metrics (`hoodie.metrics.on`), and commits by HTTP
//! (`hoodie.write.commit.callback.on`).
//!
//! A report comes after the commit, and one that fails is a warning of the write.
//!
//! | file | job |
//! |---|---|
//! | `options` | what is reported, and where to |
//! | `labels` | labels of metrics |
//! | `metrics` | names and values of metrics |
//! | `gauges` | the last values of the tables of this process |
//! | `text_format` | metrics in the text format of Prometheus |
//! | `push_gateway`, `graphite` | reporters that send them |
//! | `prometheus_server` | a server that Prometheus asks |
//! | `callback` | the HTTP callback of a commit |
//! | `report` | the entry points: a commit, a clean, an archival |

mod callback;
mod gauges;
mod graphite;
mod labels;
mod metrics;
mod options;
mod prometheus_server;
mod push_gateway;
mod report;
mod text_format;

pub(crate) use options::ReportOptions;
pub(crate) use report::{report_archival, report_clean, report_commit};
