//! Avro's numbers, written: int and long zig-zag, then seven bits a byte, low first (what `Cursor::varint` reads);
//! decimals in two's complement, big-endian.

/// Appends a number.
pub(super) fn write_varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(low_byte(rest) | 0x80);
        rest >>= 7;
    }
    out.push(low_byte(rest));
}

/// Appends a length and as many bytes: Avro's bytes and string.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    // No allocation has more bytes than an i64 counts.
    write_varint(out, bytes.len() as i64);
    out.extend(bytes);
}

/// The fewest bytes of two's complement that mean the same, one at least (`BigInteger.toByteArray`).
pub(super) fn shortest(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0, rest @ ..] if rest.first().is_some_and(|next| *next < 0x80) => shortest(rest),
        [0xff, rest @ ..] if rest.first().is_some_and(|next| *next >= 0x80) => shortest(rest),
        _ => bytes,
    }
}

fn low_byte(bits: u64) -> u8 {
    let [low, ..] = bits.to_le_bytes();
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Cursor;

    #[test]
    fn the_cursor_reads_what_is_written() {
        for value in [0, -1, 1, 63, 64, -64, -65, 8191, 8192, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            let mut cursor = Cursor::new(&out);
            assert_eq!((cursor.varint().unwrap(), cursor.remaining()), (value, 0));
        }
        let mut out = Vec::new();
        write_bytes(&mut out, b"ab");
        assert_eq!(out, [4, b'a', b'b']);
    }
}
