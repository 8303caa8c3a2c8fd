//! Log file names: `.<fileId>_<instant>.log.<version>[_<writeToken>][.cdc]` (`FSUtils.LOG_FILE_PATTERN`).
//!
//! The instant is the base instant of the file slice up to table version 7, the instant of the writing delta commit
//! from version 8 on. Releases before 1.1 split a file id that contains `_` or `.` at the last underscore; such names
//! are accepted here.
//!
//! From table version 10 on, logs are native: files of the format of base files, with one block each. Their names are
//! `<fileId>_<writeToken>_<instant>_<version>.<log|deletes|cdc>.<format>` (`FileNameParser`). They are parsed in tables
//! of all versions, so that none is passed over: [`LogFileName::check_is_inline`] refuses them where they are not
//! expected.

use std::cmp::Ordering;

use super::instants::RequestedTime;
use crate::error::{Error, Result};

/// The parsed name of a log file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogFileName {
    /// The file name.
    pub name: String,
    /// The id of the file group.
    pub file_id: String,
    /// The base instant or the delta commit, depending on the table version.
    pub instant: RequestedTime,
    /// The number of the file, from 1; a writer increases it when it rolls over to a new file.
    pub version: i64,
    /// `task-stage-attempt`; `None` in very old names.
    pub write_token: Option<String>,
    /// True for a file of the change data capture, which is never merged.
    pub cdc: bool,
    /// What a native log of table version 10 contains; `None` for an inline log, which is a sequence of blocks.
    pub native: Option<NativeLog>,
}

/// The formats of native logs that are read.
const NATIVE_FORMATS: [&str; 3] = ["parquet", "orc", "hfile"];

/// What a native log contains, in the order of the files of one flush (`HoodieLogFile.EXTENSION_PRECEDENCE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NativeLog {
    /// Records (`.log.`).
    Records,
    /// Deleted keys (`.deletes.`).
    Deletes,
    /// Records of the change data capture (`.cdc.`).
    Changes,
}

impl NativeLog {
    const ALL: [Self; 3] = [Self::Records, Self::Deletes, Self::Changes];

    /// The extension before that of the format.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Records => "log",
            Self::Deletes => "deletes",
            Self::Changes => "cdc",
        }
    }
}

impl LogFileName {
    /// Parses a file name. Returns `None` if it is not the name of a log file.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let Some(body) = name.strip_prefix('.') else { return Self::parse_native(name) };
        let (body, cdc) = match body.strip_suffix(".cdc") {
            Some(body) => (body, true),
            None => (body, false),
        };
        let (head, tail) = body.rsplit_once(".log.")?;
        let (version, write_token) = match tail.split_once('_') {
            Some((version, token)) => (version, Some(token)),
            None => (tail, None),
        };
        if !is_number(version) || write_token.is_some_and(|token| !is_token(token)) || cdc && write_token.is_none() {
            return None;
        }
        let (file_id, instant) = head.rsplit_once('_')?;
        let instant = RequestedTime::parse(instant)?;
        if file_id.is_empty() {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            file_id: file_id.to_owned(),
            instant,
            version: version.parse().ok()?,
            write_token: write_token.map(str::to_owned),
            cdc,
            native: None,
        })
    }

    fn parse_native(name: &str) -> Option<Self> {
        let (stem, suffix) = name.split_once('.')?;
        let (kind, format) = suffix.split_once('.')?;
        let native = NativeLog::ALL.into_iter().find(|native| native.extension() == kind)?;
        if format.is_empty() || format.contains('.') {
            return None;
        }
        let mut parts = stem.split('_');
        let (file_id, token, instant, version) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || file_id.is_empty() || !is_token(token) || !is_number(version) {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            file_id: file_id.to_owned(),
            instant: RequestedTime::parse(instant)?,
            version: version.parse().ok()?,
            write_token: Some(token.to_owned()),
            cdc: native == NativeLog::Changes,
            native: Some(native),
        })
    }

    /// Returns true for a native log of table version 10.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.native.is_some()
    }

    /// Returns the extension of the format of a native log, such as `parquet`; `None` for an inline log.
    #[must_use]
    pub fn native_format(&self) -> Option<&str> {
        self.native.and(self.name.rsplit_once('.').map(|(_, format)| format))
    }

    /// Refuses native logs of other formats than those of base files. Inline logs pass.
    ///
    /// # Errors
    /// `Unsupported`, with the format, the name and the instant.
    pub fn check_native_format(&self) -> Result<()> {
        match self.native_format() {
            Some(format) if !NATIVE_FORMATS.contains(&format) => {
                let (name, supported) = (&self.name, NATIVE_FORMATS.join(", "));
                let message = format!("unsupported format {format} of native log {name} (supported: {supported})");
                Err(Error::unsupported(message).at_instant(&self.instant))
            }
            _ => Ok(()),
        }
    }

    /// Refuses native logs: in tables of versions up to 9, which have none.
    ///
    /// # Errors
    /// `Unsupported`, with the name and the instant.
    pub fn check_is_inline(&self) -> Result<()> {
        if !self.is_native() {
            return Ok(());
        }
        let message = format!(
            "unsupported log file {}: native logs belong to table version 10; bring the table to that version (upgrade(to=10), `mortice upgrade`)",
            self.name
        );
        Err(Error::unsupported(message).at_instant(&self.instant))
    }

    /// Builds the name of a new data log file. Stricter than [`Self::parse`]: every release since 0.9 accepts the name.
    ///
    /// # Errors
    /// `InvalidArgument` with the name of the part, for a file id that is empty or contains `_`, `.` or `/`, for a
    /// version below 1 or above the maximum of a Java int, and for a write token that is not three numbers joined by
    /// `-`.
    pub fn compose(file_id: &str, instant: &RequestedTime, version: i64, write_token: &str) -> Result<Self> {
        check_parts(file_id, version, write_token)?;
        Ok(Self {
            name: format!(".{file_id}_{instant}.log.{version}_{write_token}"),
            file_id: file_id.to_owned(),
            instant: instant.clone(),
            version,
            write_token: Some(write_token.to_owned()),
            cdc: false,
            native: None,
        })
    }

    /// Builds the name of a new native log, whose format is an extension of base files, such as `parquet`
    /// (`FSUtils.makeNativeLogFileName`).
    ///
    /// # Errors
    /// As for [`Self::compose`]; `Unsupported` for other formats than those of base files.
    pub fn compose_native(
        file_id: &str,
        instant: &RequestedTime,
        version: i64,
        write_token: &str,
        content: NativeLog,
        format: &str,
    ) -> Result<Self> {
        check_parts(file_id, version, write_token)?;
        let composed = Self {
            name: format!("{file_id}_{write_token}_{instant}_{version}.{}.{format}", content.extension()),
            file_id: file_id.to_owned(),
            instant: instant.clone(),
            version,
            write_token: Some(write_token.to_owned()),
            cdc: content == NativeLog::Changes,
            native: Some(content),
        };
        composed.check_native_format()?;
        Ok(composed)
    }

    /// Compares log files in the order of a slice, oldest first (`HoodieLogFile.LogFileComparator`): instant, version
    /// as a number, write token as a string with `None` first, then records, deleted keys and changes, each by its
    /// suffix: none or `.cdc` of an inline log, the format of a native one.
    #[must_use]
    pub fn slice_order(&self, other: &Self) -> Ordering {
        fn key(log: &LogFileName) -> (&RequestedTime, i64, Option<&str>, NativeLog, &str) {
            let suffix = log.native_format().unwrap_or(if log.cdc { ".cdc" } else { "" });
            let content = log.native.unwrap_or(NativeLog::Records);
            (&log.instant, log.version, log.write_token.as_deref(), content, suffix)
        }
        key(self).cmp(&key(other))
    }
}

/// Checks the parts of a new name.
fn check_parts(file_id: &str, version: i64, write_token: &str) -> Result<()> {
    if file_id.is_empty() || file_id.contains(['_', '.', '/', '\0']) {
        let message = format!(
            "invalid file id {file_id:?}: it must not be empty or contain '_', '.' or '/' (Hudi 1.1 and later would not find the file)"
        );
        return Err(Error::invalid_argument(message));
    }
    if version < 1 || i32::try_from(version).is_err() {
        return Err(Error::invalid_argument(format!("invalid log version {version}: expected 1 to {}", i32::MAX)));
    }
    if !is_token(write_token) {
        let message =
            format!("invalid write token {write_token:?}: expected task-stage-attempt as numbers, such as 1-0-1");
        return Err(Error::invalid_argument(message));
    }
    Ok(())
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_token(text: &str) -> bool {
    let mut parts = text.split('-');
    parts.by_ref().take(3).filter(|part| is_number(part)).count() == 3 && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> LogFileName {
        LogFileName::parse(name).unwrap()
    }

    #[test]
    fn names_of_all_releases_are_parsed() {
        let name = parse(".afb7-0_20261121022548701.log.1_0-45-49");
        assert_eq!((name.file_id.as_str(), name.instant.as_str(), name.version), ("afb7-0", "20261121022548701", 1));
        assert_eq!(name.write_token.as_deref(), Some("0-45-49"));
        assert!(parse(".afb7-0_2026.log.1_0-45-49.cdc").cdc);
        assert_eq!(parse(".f_2026.log.3").write_token, None);
        assert_eq!(parse(".a_b.c_2020.log.1_1-0-1").file_id, "a_b.c");
    }

    #[test]
    fn native_names_are_parsed() {
        let native = "136281f3-0_1-0-1_20250409161256974_2";
        for (suffix, content) in [
            ("log.parquet", NativeLog::Records),
            ("deletes.parquet", NativeLog::Deletes),
            ("cdc.orc", NativeLog::Changes),
            ("log.new", NativeLog::Records),
        ] {
            let name = parse(&format!("{native}.{suffix}"));
            assert_eq!((name.file_id.as_str(), name.instant.as_str()), ("136281f3-0", "20250409161256974"));
            assert_eq!((name.write_token.as_deref(), name.version), (Some("1-0-1"), 2));
            assert_eq!((name.cdc, name.native), (content == NativeLog::Changes, Some(content)));
            assert_eq!(name.native_format(), suffix.split('.').next_back());
            let error = name.check_is_inline().unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
            assert!(error.to_string().contains(&name.name) && error.to_string().contains("version 10"), "{error}");
        }
        assert!(parse(".f_2026.log.1_0-1-2").check_is_inline().is_ok());
        for other in ["parquet", "log", "log.", "logs.parquet", "log.parquet.crc", "log.parquet.tmp"] {
            assert_eq!(LogFileName::parse(&format!("{native}.{other}")), None, "{other}");
        }
        for other in [
            "f_1-0_20250409161256974_2",
            "f_1-0-1_20250409161256974",
            "f_1-0-1_x_2",
            "f_g_1-0-1_2025_2",
            "_1-0-1_2025_1",
        ] {
            assert_eq!(LogFileName::parse(&format!("{other}.log.parquet")), None, "{other}");
        }
    }

    #[test]
    fn other_files_are_not_logs() {
        for name in [
            "..f_2026.log.1_0-1-2.crc",
            ".f_2026.log.1_0-1-2.crc",
            "f_0-1-2_2026.parquet",
            ".hoodie_partition_metadata",
            ".f_2026.log.x_0-1-2",
            ".f_2026.log.1_0-1",
            ".f_2026.log.1_0-1-2-3",
            ".f2026.log.1_0-1-2",
            ".f_.log.1_0-1-2",
            ".f_x.log.1_0-1-2",
            ".commits_.archive.7_1-0-1",
            ".f_2026.log.1_0-1-2.tmp",
            ".f_1.log.99999999999999999999",
        ] {
            assert_eq!(LogFileName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn composed_names_are_parsed() {
        let name = LogFileName::compose("afb7-0", &"20261121022548701".into(), 12, "0-45-49").unwrap();
        assert_eq!(name.name, ".afb7-0_20261121022548701.log.12_0-45-49");
        assert_eq!(parse(&name.name), name);
        let instant = RequestedTime::from("20261121022548701");
        for content in NativeLog::ALL {
            let name = LogFileName::compose_native("afb7-0", &instant, 3, "0-45-49", content, "parquet").unwrap();
            assert_eq!(name.name, format!("afb7-0_0-45-49_20261121022548701_3.{}.parquet", content.extension()));
            assert_eq!(parse(&name.name), name);
        }
        let lance = LogFileName::compose_native("f", &instant, 1, "1-0-1", NativeLog::Records, "lance");
        assert_eq!(lance.unwrap_err().kind(), crate::ErrorKind::Unsupported);
    }

    #[test]
    fn names_that_a_release_would_not_find_are_rejected() {
        for (file_id, instant, version, token, word) in [
            ("", "1", 1, "1-0-1", "file id"),
            ("a_b", "1", 1, "1-0-1", "file id"),
            ("a.b", "1", 1, "1-0-1", "file id"),
            ("../a", "1", 1, "1-0-1", "file id"),
            ("f", "", 1, "1-0-1", "instant"),
            ("f", "1.2", 1, "1-0-1", "instant"),
            ("f", "1", 0, "1-0-1", "version"),
            ("f", "1", 1 << 31, "1-0-1", "version"),
            ("f", "1", 1, "1-0", "write token"),
            ("f", "1", 1, "1-0-x", "write token"),
        ] {
            let instant = instant.parse::<RequestedTime>();
            let error =
                instant.and_then(|instant| LogFileName::compose(file_id, &instant, version, token)).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn order_is_instant_version_token_suffix() {
        let ascending = [
            ".f_1.log.1",
            ".f_1.log.1_10-1-1",
            ".f_1.log.1_9-1-1",
            ".f_1.log.1_9-1-1.cdc",
            ".f_1.log.2_0-0-0",
            ".f_1.log.10_0-0-0",
            ".f_2.log.1_0-0-0",
            "f_0-0-0_3_1.log.orc",
            "f_0-0-0_3_1.log.parquet",
            "f_0-0-0_3_1.deletes.parquet",
            "f_0-0-0_3_1.cdc.parquet",
            "f_0-0-0_3_2.log.parquet",
        ];
        let mut names: Vec<_> = ascending.iter().rev().map(|name| parse(name)).collect();
        names.sort_by(LogFileName::slice_order);
        assert_eq!(names.iter().map(|name| name.name.as_str()).collect::<Vec<_>>(), ascending);
    }
}
