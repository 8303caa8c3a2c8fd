//! The steps between two table versions, one handler of Hudi each (`UpgradeDowngrade`).

use mortice_base::error::{Error, Result};

/// A step to the next table version. Version 7 differs from 6 in its number alone, and has no step of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionStep {
    /// From 0 to 5: properties that these versions do not store.
    UpTo6,
    /// From 6: another timeline.
    UpTo8,
    /// From 8: payload classes become merge modes.
    UpTo9,
    /// From 9: logs of other formats from then on.
    UpTo10,
    /// From 10.
    DownTo9,
    /// From 9.
    DownTo8,
    /// From 8.
    DownTo6,
}

/// Table versions that a table can be brought to.
const VERSIONS: [u8; 4] = [6, 8, 9, 10];

impl VersionStep {
    const UP: [Self; 3] = [Self::UpTo8, Self::UpTo9, Self::UpTo10];
    const DOWN: [Self; 3] = [Self::DownTo6, Self::DownTo8, Self::DownTo9];

    /// The steps from a version to another, in their order; none between the same.
    ///
    /// # Errors
    /// `Unsupported` for versions that no step leads to.
    pub(super) fn path(from: u8, to: u8) -> Result<Vec<Self>> {
        if to < 6 {
            return Err(Error::unsupported(format!(
                "table version {to} of an upgrade or downgrade (supported: 6, 8, 9, 10): only releases of Hudi before 0.14 write tables \
                 below version 6; bring the table to 6, and from there on with `downgrade table` of the CLI of Hudi 0.15"
            )));
        }
        if from < 6 {
            return Ok([Self::UpTo6].into_iter().chain(Self::path(6, to)?).collect());
        }
        let place = |version: u8| {
            VERSIONS.iter().position(|one| *one == version).ok_or_else(|| {
                Error::unsupported(format!(
                    "unsupported table version {version} of an upgrade or downgrade (supported: 6, 8, 9, 10)"
                ))
            })
        };
        let (from, to) = (place(from)?, place(to)?);
        let between = |steps: [Self; 3], first: usize, last: usize| steps.into_iter().take(last).skip(first).collect();
        Ok(if from <= to {
            between(Self::UP, from, to)
        } else {
            let mut down: Vec<Self> = between(Self::DOWN, to, from);
            down.reverse();
            down
        })
    }

    /// Whether logs are merged into base files first. Up to 9 the rules of merges change; logs of version 10 are not
    /// those of 9.
    pub(super) fn needs_compaction(self) -> bool {
        !matches!(self, Self::UpTo6 | Self::UpTo10)
    }

    /// Whether the timeline gets another layout.
    pub(super) fn changes_layout(self) -> bool {
        matches!(self, Self::UpTo8 | Self::DownTo6)
    }

    /// Whether the metadata table is deleted and built again: its timeline changes with that of the table, and older
    /// releases do not know its newest records.
    /// Before version 4 no property says whether it holds good. Otherwise it gets the number of the version alone.
    pub(super) fn rebuilds_metadata(self) -> bool {
        !matches!(self, Self::UpTo9 | Self::UpTo10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_between_versions() {
        use VersionStep::{DownTo6, DownTo8, DownTo9, UpTo6, UpTo8, UpTo9, UpTo10};
        for (from, to, steps) in [
            (0, 6, vec![UpTo6]),
            (5, 9, vec![UpTo6, UpTo8, UpTo9]),
            (6, 8, vec![UpTo8]),
            (6, 10, vec![UpTo8, UpTo9, UpTo10]),
            (8, 9, vec![UpTo9]),
            (9, 9, vec![]),
            (9, 8, vec![DownTo8]),
            (9, 6, vec![DownTo8, DownTo6]),
            (10, 6, vec![DownTo9, DownTo8, DownTo6]),
        ] {
            assert_eq!(VersionStep::path(from, to).unwrap(), steps, "{from} to {to}");
        }
        for (from, to) in [(6, 5), (2, 4), (6, 7), (9, 11)] {
            assert_eq!(VersionStep::path(from, to).unwrap_err().kind(), mortice_base::ErrorKind::Unsupported);
        }
    }
}
