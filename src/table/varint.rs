//! Lengths in 7-bit groups, lowest first: the high bit of a byte says that another follows (LEB128). At most
//! five bytes, and never more than 32 bits.

/// Appends `value`.
pub(super) fn push(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(0x80 | (value & 0x7F) as u8);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than 0x80")]
    bytes.push(value as u8);
}

/// Reads a value from the start of `bytes` and moves them past it; `None` for a value that does not end, or has
/// more than 32 bits.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u32> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(first.into());
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u64;
    for (group, &byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * group);
        if byte < 0x80 {
            *bytes = bytes.get(group + 1..)?;
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_taken() {
        let edges = (0..32).flat_map(|bit| [(1_u32 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in edges.chain([u32::MAX - 1, u32::MAX]) {
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            bytes.push(0xEE);
            let mut rest = bytes.as_slice();
            assert_eq!(take(&mut rest), Some(value));
            assert_eq!(rest, [0xEE]);
            for cut in 0..bytes.len() - 1 {
                assert_eq!(take(&mut &bytes[..cut]), None, "{value} cut to {cut} bytes");
            }
        }
    }

    #[test]
    fn values_past_32_bits_and_without_end_are_refused() {
        assert_eq!(take(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F][..]), Some(u32::MAX));
        assert_eq!(take(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0x10][..]), None);
        assert_eq!(take(&mut &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..]), None);
        assert_eq!(take(&mut &[0xFF; 20][..]), None);
    }
}
