//! What is printed: raw keys, JSON objects, numbers for people.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::exit::Failure;

/// Buffered standard output. What fails on it is a [`Failure::stdout`].
#[derive(Debug)]
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    const BUFFER_BYTES: usize = 64 * 1024;

    pub(crate) fn new() -> Self {
        Self(BufWriter::with_capacity(Self::BUFFER_BYTES, io::stdout().lock()))
    }

    /// These bytes, then LF.
    pub(crate) fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.parts(&[line])
    }

    /// These bytes one after the other, then LF.
    pub(crate) fn parts(&mut self, parts: &[&[u8]]) -> Result<(), Failure> {
        let mut write = || {
            parts.iter().try_for_each(|part| self.0.write_all(part))?;
            self.0.write_all(b"\n")
        };
        write().map_err(|error| Failure::stdout(&error))
    }

    /// One line of a report, [`printable`] whatever names and keys are in it, then LF.
    pub(crate) fn text(&mut self, text: impl std::fmt::Display) -> Result<(), Failure> {
        self.line(printable(&text.to_string()).as_bytes())
    }

    /// One JSON object on one line.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        object
            .serialize(&mut serde_json::Serializer::with_formatter(&mut self.0, PrintableJson))
            .map_err(|error| Failure::stdout(&io::Error::from(error)))?;
        self.line(b"")
    }

    /// Sends out what is buffered. Every command that printed something ends with it: a full disk shows here.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::stdout(&error))
    }
}

/// Compact JSON, of which the strings are printable: what is not comes as `\u` and its UTF-16 units. JSON itself
/// only asks for that below U+0020, and a terminal also obeys U+009B.
struct PrintableJson;

impl serde_json::ser::Formatter for PrintableJson {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, char)) = rest.char_indices().find(|&(_, char)| !is_printable(char)) {
            to.write_all(&rest.as_bytes()[..at])?;
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(to, "\\u{unit:04x}")?;
            }
            rest = &rest[at + char.len_utf8()..];
        }
        to.write_all(rest.as_bytes())
    }
}

/// Prints what a command has to report: one JSON object, or what `human` makes of it.
pub(crate) fn print_report<R: Serialize>(
    json: bool,
    report: &R,
    human: impl FnOnce(&R, &mut Output) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut out = Output::new();
    if json { out.json(report) } else { human(report, &mut out) }?;
    out.flush()
}

/// Bytes as one entry of a JSON object: `"name": "text"` where they are UTF-8, else `"name_hex": "00ff"`, so
/// that every key of every kind survives the trip.
pub(crate) fn json_bytes<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    name_hex: &'static str,
    bytes: &[u8],
) -> Result<(), M::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => map.serialize_entry(name, text),
        Err(_) => map.serialize_entry(name_hex, &hex(bytes)),
    }
}

/// A key and whether it may be present: a line of `query --json`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) maybe: bool,
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        json_bytes(&mut map, "key", "key_hex", self.key)?;
        map.serialize_entry("maybe", &self.maybe)?;
        map.end()
    }
}

/// A key and its value: a line of `get --json`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl Serialize for Pair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        json_bytes(&mut map, "key", "key_hex", self.key)?;
        json_bytes(&mut map, "value", "value_hex", self.value)?;
        map.end()
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key for an error message: quoted, on one line, readable where it can be.
pub(crate) fn quoted(key: &[u8]) -> String {
    /// Longer keys are cut: a message is a line, not a page.
    const SHOWN: usize = 80;
    let shown = key.get(..SHOWN).unwrap_or(key);
    let more = if shown.len() < key.len() { "…" } else { "" };
    match std::str::from_utf8(shown) {
        Ok(text) => format!("\"{}{more}\"", text.escape_debug()),
        Err(_) => format!("\"{}{more}\"", shown.escape_ascii()),
    }
}

/// A text as one line that does nothing to a terminal. A name, a key or what a file says of its writer may hold
/// anything: escape sequences, line feeds, marks that turn the direction of writing.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match is_printable(char) {
            true => shown.push(char),
            false => shown.extend(char.escape_unicode()),
        }
    }
    shown
}

/// Whether a character shows as itself, alone or on the one before it.
fn is_printable(char: char) -> bool {
    match char {
        ' '..='~' => true,
        // Only after another character does `str::escape_debug` leave combining marks as they are.
        _ => ["a", char.encode_utf8(&mut [0; 4])].concat().escape_debug().nth(2).is_none(),
    }
}

/// A number with its thousands set apart: `1,234,567`.
pub(crate) fn count(number: u64) -> impl std::fmt::Display {
    indicatif::HumanCount(number)
}

/// A number of bytes in a unit that fits: `1.18 MiB`.
pub(crate) fn bytes(number: u64) -> impl std::fmt::Display {
    indicatif::BinaryBytes(number)
}

/// A rate as a percentage of three significant digits: `0.955%`, `1.00%`, `3.21e-7%`.
pub(crate) fn percent(rate: f64) -> String {
    let percent = rate * 100.0;
    if percent == 0.0 {
        return "0%".to_owned();
    }
    let rounded = format!("{percent:.2e}");
    if percent < 1e-4 {
        return format!("{rounded}%");
    }
    // Digits after the point: two for 1 to 10, one more for each power of ten below.
    let magnitude = rounded.parse().unwrap_or(percent).log10().floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=7 first")]
    let digits = (2.0 - magnitude).clamp(0.0, 7.0) as usize;
    format!("{percent:.digits$}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_keep_three_digits() {
        for (rate, text) in [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.1234, "12.3%"),
            (0.00955, "0.955%"),
            (0.01, "1.00%"),
            (0.009_999_9, "1.00%"),
            (0.009_994, "0.999%"),
            (0.000_012_3, "0.00123%"),
            (1.5e-9, "1.50e-7%"),
        ] {
            assert_eq!(percent(rate), text);
        }
    }

    #[test]
    fn keys_are_quoted_on_one_line() {
        assert_eq!(quoted("Ångström\n".as_bytes()), "\"Ångström\\n\"");
        assert_eq!(quoted(b"\xff\x00"), "\"\\xff\\x00\"");
        assert_eq!(quoted(&[b'a'; 100]).chars().count(), 83);
    }

    #[test]
    fn only_what_is_printable_is_printed() {
        for text in ["a \"quoted\" \\x1b 'name'", "Ångström", "e\u{301}", "\u{301}", "日本語 😀 \u{FFFD} …"]
        {
            assert_eq!(printable(text), text);
            let json = format!("[{}]", serde_json::to_string(text).unwrap());
            assert_eq!(json_of([text]), json);
        }
        let hidden = "\u{1b}[2J\r\n\t\0\u{7f}\u{9b}2J\u{202e}\u{2028}\u{e0001}";
        let shown = r"\u{1b}[2J\u{d}\u{a}\u{9}\u{0}\u{7f}\u{9b}2J\u{202e}\u{2028}\u{e0001}";
        assert_eq!(printable(hidden), shown);
        let json = json_of([hidden]);
        assert_eq!(json, r#"["\u001b[2J\r\n\t\u0000\u007f\u009b2J\u202e\u2028\udb40\udc01"]"#);
        assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [hidden]);
    }

    fn json_of(value: impl Serialize) -> String {
        let mut json = Vec::new();
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut json, PrintableJson)).unwrap();
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn bytes_that_are_not_utf8_are_written_as_hex() {
        let pair = Pair { key: b"\xff\0", value: "ü\"".as_bytes() };
        assert_eq!(serde_json::to_string(&pair).unwrap(), r#"{"key_hex":"ff00","value":"ü\""}"#);
        let pair = Pair { key: b"", value: b"\x80" };
        assert_eq!(serde_json::to_string(&pair).unwrap(), r#"{"key":"","value_hex":"80"}"#);
    }
}
