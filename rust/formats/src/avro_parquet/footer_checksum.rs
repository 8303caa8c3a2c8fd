//! A checksum of the footer of a Parquet file.
//!
//! The format has none. A changed bit in a footer may turn a column's name into another one, whose values are null
//! then, or hide a key in the Bloom filter. So files that mortice writes have the checksum as an entry of their
//! key-value metadata, which other readers ignore: the CRC-32 of the footer in hexadecimal digits, which were all
//! zeros when it was computed.

use std::io::Write;

use libdeflater::Crc;
use memchr::memmem;
use parquet::file::metadata::KeyValue;

use mortice_base::error::{Error, Result};

const KEY: &str = "mortice.footer.crc32";
/// How `created_by` of the parquet crate begins.
const WRITER: &[u8] = b"parquet-rs version ";
const UNKNOWN: &str = "00000000";
/// Between key and value of an entry (Thrift's compact protocol): the head of the second field, which is a string, and
/// the length of the value.
const VALUE_HEAD: [u8; 2] = [0x18, UNKNOWN.len() as u8];
/// Bytes of the length of the footer and the magic, after it.
const TAIL: usize = 8;

/// The entry before the checksum is known.
pub(super) fn unknown_checksum() -> KeyValue {
    KeyValue::new(KEY.to_owned(), UNKNOWN.to_owned())
}

/// Compares the checksum of a footer, if it has one. Returns true if it has. Programs that copy the key-value metadata
/// of a file to another one (pyarrow does) copy the checksum, too: it says nothing of their footers.
///
/// # Errors
/// `InvalidTable` if the bytes have another one.
pub fn check_footer(footer: &[u8]) -> Result<bool> {
    let Some((before, digits, after)) = parts(footer) else { return Ok(false) };
    let found = checksum(before, after);
    if digits == found.as_bytes() {
        return Ok(true);
    }
    if !is_of_this_writer(after) {
        return Ok(false);
    }
    let stored = String::from_utf8_lossy(digits).escape_debug().to_string();
    let message =
        format!("the checksum of the Parquet footer is {stored}, and its bytes have {found}: the file is damaged");
    Err(Error::invalid_table(message))
}

/// What is before and after the digits of the checksum, and these.
fn parts(footer: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let entry = [KEY.as_bytes(), &VALUE_HEAD].concat();
    let start = memmem::rfind(footer, &entry)?.checked_add(entry.len())?;
    let (before, rest) = footer.split_at_checked(start)?;
    let (digits, after) = rest.split_at_checked(UNKNOWN.len())?;
    Some((before, digits, after))
}

/// Whether the name of the writer, which follows the key-value metadata, is that of the parquet crate, also if a few of
/// its bytes are damaged.
fn is_of_this_writer(after: &[u8]) -> bool {
    let differs = |window: &[u8]| window.iter().zip(WRITER).filter(|(one, two)| one != two).count();
    after.windows(WRITER.len()).any(|window| differs(window) <= 2)
}

fn checksum(before: &[u8], after: &[u8]) -> String {
    let mut sum = Crc::new();
    [before, UNKNOWN.as_bytes(), after].into_iter().for_each(|part| sum.update(part));
    format!("{:08x}", sum.sum())
}

/// An output that keeps the end of a file back, to put the checksum into its footer.
pub(super) struct FooterOutput<W> {
    output: W,
    end: Option<Vec<u8>>,
}

impl<W: Write> FooterOutput<W> {
    pub(super) const fn new(output: W) -> Self {
        Self { output, end: None }
    }

    pub(super) const fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// From here on, bytes are kept back.
    pub(super) fn begin_end(&mut self) {
        self.end = Some(Vec::new());
    }

    /// Writes what was kept back, which is the footer and what comes before and after it.
    pub(super) fn write_end(&mut self) -> std::io::Result<()> {
        let Some(mut end) = self.end.take() else { return Ok(()) };
        add_checksum(&mut end);
        self.output.write_all(&end)?;
        self.output.flush()
    }
}

impl<W: Write> Write for FooterOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.end {
            Some(end) => end.write(bytes),
            None => self.output.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.end.is_some() { Ok(()) } else { self.output.flush() }
    }
}

/// Puts the checksum into the footer at the end of a file.
fn add_checksum(file: &mut [u8]) {
    let Some((rest, tail)) = file.split_last_chunk_mut::<TAIL>() else { return };
    let [a, b, c, d, ..] = *tail;
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    let Some(footer) = rest.len().checked_sub(len).and_then(|start| rest.get_mut(start..)) else { return };
    let Some((at, digits)) = parts(footer).map(|(before, _, after)| (before.len(), checksum(before, after))) else {
        return;
    };
    if let Some(place) = footer.get_mut(at..at.saturating_add(digits.len())) {
        place.copy_from_slice(digits.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer() -> Vec<u8> {
        let mut file = b"values in columns".to_vec();
        file.extend([KEY.as_bytes(), &VALUE_HEAD, UNKNOWN.as_bytes(), b" parquet-rs version 1.2.3, and more"].concat());
        let len = file.len() as u32;
        file.extend(len.to_le_bytes());
        file.extend(b"PAR1");
        let mut output = FooterOutput::new(Vec::new());
        output.write_all(b"pages").unwrap();
        output.begin_end();
        output.write_all(&file).unwrap();
        assert_eq!(output.output(), b"pages");
        output.write_end().unwrap();
        let written = std::mem::take(output.output());
        assert_eq!(written.len(), 5 + file.len());
        written[5..5 + len as usize].to_vec()
    }

    #[test]
    fn every_changed_bit_is_found_but_those_of_the_entrys_name() {
        let sound = footer();
        check_footer(&sound).unwrap();
        let name = memmem::find(&sound, KEY.as_bytes()).unwrap();
        for at in (0..sound.len()).filter(|at| !(name..name + KEY.len() + VALUE_HEAD.len()).contains(at)) {
            for bit in 0..8 {
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << bit;
                let error = check_footer(&damaged).unwrap_err();
                assert!(error.to_string().contains("checksum"), "{error}");
            }
        }
    }

    #[test]
    fn footers_without_a_checksum_are_not_compared() {
        for footer in [&b""[..], b"values in columns", KEY.as_bytes()] {
            assert!(!check_footer(footer).unwrap());
        }
    }

    #[test]
    fn a_checksum_that_another_program_has_copied_is_not_compared() {
        let ours = footer();
        assert!(check_footer(&ours).unwrap());
        let copied =
            String::from_utf8(ours).unwrap().replace("parquet-rs version 1.2.3", "parquet-cpp-arrow version 24");
        assert!(!check_footer(copied.as_bytes()).unwrap());
    }
}
