//! Table versions and timeline layouts (`HoodieTableVersion`, `TimelineLayoutVersion`).
//!
//! | version | release | layout |
//! |---|---|---|
//! | 0 | before 0.6; it is not stored | 0: an instant changes state by renaming its one file; 1 |
//! | 1 | 0.6 … 0.8 | 1: a file for each state |
//! | 2 … 7 | 0.9 … 0.16 | 1 |
//! | 8, 9 | 1.0 … 1.2 | 2: completion times |
//! | 10 | 1.3 | 2 |
//!
//! What changed with each, by Hudi's upgrade handlers: 1 has markers in another form; 2 stores the key and partition
//! fields and the base file format; 3 the key generator and how partition paths are made; 4 a checksum and which
//! partitions of the metadata table hold good; 5 has another name for the null partition; 6 no copies of compaction
//! plans in `.hoodie/.aux`; 8 another timeline; 10 native logs. A reader of an older table goes without, and takes
//! nothing for granted that such a table does not say.

use std::fmt;

use super::Properties;
use mortice_base::error::{Error, Result};

/// A supported table version, 0 to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct TableVersion(u8);

/// How a timeline names and fills its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum TimelineLayout {
    /// Layout 1, table versions up to 7: requested times only, commit metadata in JSON. Layout 0 reads the same: it has
    /// one file of an instant where this has several, under the same names.
    V1,
    /// Layout 2, from table version 8: completion times, commit metadata in Avro.
    V2,
}

impl TableVersion {
    const NEWEST: u8 = 10;

    /// Reads `hoodie.table.version`, and sees that `hoodie.timeline.layout.version`, where there is one, goes with it.
    ///
    /// # Errors
    /// `Unsupported` for versions above 10, by name; `InvalidTable` for what is no number and for a layout of another
    /// version.
    pub fn from_properties(properties: &Properties) -> Result<Self> {
        let text = properties.first_of(&["hoodie.table.version"]).unwrap_or("0");
        let number: u32 = text
            .parse()
            .map_err(|_| Error::invalid_table(format!("hoodie.table.version must be a number, got {text:?}")))?;
        let version = match u8::try_from(number) {
            Ok(number) if number <= Self::NEWEST => Self(number),
            _ => {
                return Err(Error::unsupported(format!(
                    "unsupported table version {number} (supported: 0 to {}): a release of Hudi after 1.3 wrote the table; use a newer release of mortice, or downgrade the table with `downgrade table` of Hudi's CLI",
                    Self::NEWEST
                )));
            }
        };
        version.check_layout(properties.first_of(&["hoodie.timeline.layout.version"]))?;
        Ok(version)
    }

    fn check_layout(self, stored: Option<&str>) -> Result<()> {
        let expected = if self.layout() == TimelineLayout::V1 { "1" } else { "2" };
        match stored {
            None => Ok(()),
            Some(stored) if stored == expected => Ok(()),
            Some("0") if self.0 < 2 => Ok(()),
            Some(stored) => Err(Error::invalid_table(format!(
                "hoodie.timeline.layout.version is {stored:?}, but table version {self} has layout {expected}: an upgrade or downgrade was interrupted; repeat it with Hudi's CLI"
            ))),
        }
    }

    /// The version of new tables for which none is named: that of the newest release of Hudi. Version 10 is of 1.3,
    /// which is not released.
    pub const DEFAULT: u8 = 9;

    /// Returns the version of a new table.
    ///
    /// # Errors
    /// `Unsupported` for versions other than 6, 8, 9 and 10: those that Hudi releases with support create.
    pub fn for_new_table(number: u8) -> Result<Self> {
        match number {
            6 | 8..=10 => Ok(Self(number)),
            other => {
                Err(Error::unsupported(format!("unsupported version {other} of a new table (supported: 6, 8, 9, 10)")))
            }
        }
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// Returns true if logs are native: files of the format of base files. Those that were written before an upgrade
    /// are inline.
    #[must_use]
    pub fn has_native_logs(self) -> bool {
        self.0 >= 10
    }

    /// The layout of its timeline. It decides how slices are built, too: by the base instant in log names in layout 1,
    /// by completion time in layout 2.
    #[must_use]
    pub fn layout(self) -> TimelineLayout {
        if self.0 < 8 { TimelineLayout::V1 } else { TimelineLayout::V2 }
    }
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn parse(version: &str, layout: &str) -> Result<TableVersion> {
        let entries = [("hoodie.table.version", version), ("hoodie.timeline.layout.version", layout)];
        TableVersion::from_properties(&entries.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }

    #[test]
    fn versions_decide_the_layout() {
        for (version, layout, expected) in [
            ("", "", TimelineLayout::V1),
            ("0", "0", TimelineLayout::V1),
            ("1", "1", TimelineLayout::V1),
            ("2", "1", TimelineLayout::V1),
            ("6", "", TimelineLayout::V1),
            ("7", "1", TimelineLayout::V1),
            ("8", "2", TimelineLayout::V2),
            ("9", "", TimelineLayout::V2),
            ("10", "2", TimelineLayout::V2),
        ] {
            assert_eq!(parse(version, layout).unwrap().layout(), expected, "{version}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (version, layout, kind, word) in [
            ("11", "2", ErrorKind::Unsupported, "version 11"),
            ("1000", "2", ErrorKind::Unsupported, "version 1000"),
            ("six", "1", ErrorKind::InvalidTable, "six"),
            ("-1", "1", ErrorKind::InvalidTable, "-1"),
            ("6", "2", ErrorKind::InvalidTable, "layout"),
            ("9", "1", ErrorKind::InvalidTable, "layout"),
            ("10", "1", ErrorKind::InvalidTable, "layout"),
            ("6", "0", ErrorKind::InvalidTable, "layout"),
        ] {
            let error = parse(version, layout).unwrap_err();
            assert_eq!(error.kind(), kind, "{version}/{layout}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
