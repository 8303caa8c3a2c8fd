//! Avro's own bytes, written: what the cursor and the columns read.

/// Appends an int or a long: zig-zag, then seven bits a byte, low first.
pub fn write_long(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(low_byte(rest) | 0x80);
        rest >>= 7;
    }
    out.push(low_byte(rest));
}

/// Appends a length and as many bytes: bytes, and text.
pub fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    // No slice is longer than an i64 counts.
    write_long(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

/// The fewest bytes of big-endian two's complement that mean the same, one at least (`BigInteger.toByteArray`): a
/// decimal's bytes.
#[must_use]
pub fn shortest(bytes: &[u8]) -> &[u8] {
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
    use mortice_base::cursor::Cursor;

    #[test]
    fn the_cursor_reads_what_is_written() {
        for value in [0, -1, 1, 63, 64, -64, -65, 8191, 8192, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_long(value, &mut out);
            let mut cursor = Cursor::new(&out);
            assert_eq!((cursor.varint().unwrap(), cursor.remaining()), (value, 0));
        }
        let mut out = Vec::new();
        write_bytes(b"ab", &mut out);
        assert_eq!(out, [4, b'a', b'b']);
    }

    #[test]
    fn numbers_lose_their_leading_signs_but_one() {
        for (value, bytes) in
            [(0_i32, &[0_u8][..]), (127, &[127]), (128, &[0, 128]), (-1, &[255]), (-128, &[128]), (-129, &[255, 127])]
        {
            assert_eq!(shortest(&value.to_be_bytes()), bytes);
        }
    }
}
