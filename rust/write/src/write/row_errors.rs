//! Rows that are refused, separated from the others (`hoodie.datasource.write.streaming.ignore.failed.batch`,
//! `hoodie.write.ignore.failed`).

use mortice_base::error::{Error, ErrorKind, Result};

/// Calls `write` with stretches of `0..rows` (start, length) so that all rows are written that can be, and `refused`
/// with each of the others. `write` writes all rows of a stretch, or none of them and fails with `InvalidArgument`.
pub(crate) fn write_accepted(
    rows: usize,
    write: &mut dyn FnMut(usize, usize) -> Result<()>,
    refused: &mut dyn FnMut(usize, &Error),
) -> Result<()> {
    let mut stretches = vec![(0, rows)];
    while let Some((start, len)) = stretches.pop() {
        match write(start, len) {
            Err(error) if error.kind() == ErrorKind::InvalidArgument && len > 1 => {
                let half = len / 2;
                // The first half comes first: rows keep their order.
                stretches.push((start + half, len - half));
                stretches.push((start, half));
            }
            Err(error) if error.kind() == ErrorKind::InvalidArgument && len == 1 => refused(start, &error),
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_written_but_those_that_are_refused() {
        let bad = [0, 7, 8, 99];
        let (mut written, mut refused) = (Vec::new(), Vec::new());
        let mut write = |start: usize, len: usize| {
            if bad.iter().any(|row| (start..start + len).contains(row)) {
                return Err(Error::invalid_argument("bad"));
            }
            written.extend(start..start + len);
            Ok(())
        };
        write_accepted(100, &mut write, &mut |row, _| refused.push(row)).unwrap();
        assert_eq!(refused, bad);
        assert_eq!(written, (0..100).filter(|row| !bad.contains(row)).collect::<Vec<_>>());
        let mut fail = |_, _| Err(Error::not_found("gone"));
        assert!(write_accepted(2, &mut fail, &mut |_, _| ()).is_err());
    }
}
