//! Characters that are escaped as `%XX` in a path (`PartitionPathEncodeUtils.unescapePathName`, Spark's
//! `PartitioningUtils.unescapePathName`).

/// Decodes each `%XX` to the character with that code. Other `%` are kept.
#[must_use]
pub fn decode_percent_codes(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let digits = after.split_at_checked(2).filter(|(code, _)| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|(code, after)| Some((u8::from_str_radix(code, 16).ok()?, after))) {
            Some((code, after)) => {
                plain.push(char::from(code));
                rest = after;
            }
            None => {
                plain.push('%');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_stands() {
        for (path, plain) in [
            ("50%25 x", "50% x"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("a%e4", "aä"),
            ("%aé", "%aé"),
            ("", ""),
        ] {
            assert_eq!(decode_percent_codes(path), plain);
        }
    }
}
