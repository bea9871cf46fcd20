//! A policy as text, which is what option strings and OPTIONS files store.
//!
//! ```text
//! policy    = leaf | "levels:" rule { "," rule }
//! rule      = condition { "+" condition } "/" leaf     the last rule's condition is "else"
//! leaf      = "none" | "blocked:" bits [ "k" probes ] | "compact:" rate
//!           | "rocksdb-bloom:" bits | "rocksdb-ribbon:" bits
//! condition = "any" | "L" range | "D" range | "bottom" | "upper"
//!           | "flush" | "compaction" | "recovery" | "other"
//! range     = number [ "-" number ]
//! ```
//!
//! `L` counts levels from the first, `D` from the last. Bits have at most three decimals;
//! a rate is a decimal fraction. None of
//! `;`, `=`, `{`, `}` and `#` occurs, because RocksDB's option syntax gives them a meaning.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::plan::{Blocked, Leaf, Plan, Reason, When, bits, millibits};
use crate::Error;
use crate::compact::Compact;

const BLOCKED: &str = "blocked:";
const COMPACT: &str = "compact:";
const ROCKSDB_BLOOM: &str = "rocksdb-bloom:";
const ROCKSDB_RIBBON: &str = "rocksdb-ribbon:";
const LEVELS: &str = "levels:";
const NONE: &str = "none";
const ELSE: &str = "else";
const ANY: &str = "any";
const BOTTOM: &str = "bottom";
const UPPER: &str = "upper";

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Compaction => "compaction",
            Self::Recovery => "recovery",
            Self::Other => "other",
        }
    }
}

impl Display for Leaf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str(NONE),
            Self::Blocked(Blocked { millibits, probes, fixed: true }) => {
                write!(f, "{BLOCKED}{}k{probes}", bits(millibits))
            }
            Self::Blocked(Blocked { millibits, .. }) => write!(f, "{BLOCKED}{}", bits(millibits)),
            Self::Compact(compact) => write!(f, "{COMPACT}{}", compact.asked()),
            Self::RocksdbBloom { millibits } => write!(f, "{ROCKSDB_BLOOM}{}", bits(millibits)),
            Self::RocksdbRibbon { millibits } => write!(f, "{ROCKSDB_RIBBON}{}", bits(millibits)),
        }
    }
}

impl Display for When {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let range = |letter, range: &RangeInclusive<u32>| match (range.start(), range.end()) {
            (start, end) if start == end => format!("{letter}{start}"),
            (start, end) => format!("{letter}{start}-{end}"),
        };
        let parts = [
            self.levels.as_ref().map(|levels| range('L', levels)),
            self.from_last.as_ref().map(|distance| range('D', distance)),
            self.bottommost.map(|yes| if yes { BOTTOM } else { UPPER }.to_owned()),
            self.reason.map(|reason| reason.word().to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { ANY } else { "" })?;
        f.write_str(&parts.join("+"))
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(leaf) => leaf.fmt(f),
            Self::Levels { rules, otherwise } => {
                f.write_str(LEVELS)?;
                rules.iter().try_for_each(|(when, leaf)| write!(f, "{when}/{leaf},"))?;
                write!(f, "{ELSE}/{otherwise}")
            }
        }
    }
}

fn wrong(text: &str, reason: &'static str) -> Error {
    Error::Parse { text: text.to_owned(), reason }
}

fn parse_bits(text: &str) -> Result<f64, Error> {
    parse_decimal(text, "expected a decimal number of bits per key")
}

fn parse_decimal(text: &str, expected: &'static str) -> Result<f64, Error> {
    let digits = |b: u8| b.is_ascii_digit() || b == b'.';
    if !text.bytes().all(digits) {
        return Err(wrong(text, expected));
    }
    text.parse().map_err(|_| wrong(text, expected))
}

impl FromStr for Leaf {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == NONE {
            return Ok(Self::None);
        }
        if let Some(rest) = text.strip_prefix(BLOCKED) {
            let Some((bits, probes)) = rest.split_once('k') else {
                return Blocked::new(parse_bits(rest)?).map(Self::Blocked);
            };
            let probes = parse_number(probes)?;
            return Blocked::with_probes(parse_bits(bits)?, probes).map(Self::Blocked);
        }
        if let Some(rest) = text.strip_prefix(COMPACT) {
            let rate = parse_decimal(rest, "expected a decimal false-positive rate")?;
            return Compact::new(rate).map(Self::Compact);
        }
        if let Some(rest) = text.strip_prefix(ROCKSDB_BLOOM) {
            return Ok(Self::RocksdbBloom { millibits: millibits(parse_bits(rest)?)? });
        }
        if let Some(rest) = text.strip_prefix(ROCKSDB_RIBBON) {
            return Ok(Self::RocksdbRibbon { millibits: millibits(parse_bits(rest)?)? });
        }
        Err(wrong(text, "expected none, blocked:B, compact:P, rocksdb-bloom:B or rocksdb-ribbon:B"))
    }
}

fn parse_number(text: &str) -> Result<u32, Error> {
    let expected = "expected a whole number";
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong(text, expected));
    }
    text.parse().map_err(|_| wrong(text, expected))
}

fn parse_range(text: &str) -> Result<RangeInclusive<u32>, Error> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    let (start, end) = (parse_number(start)?, parse_number(end)?);
    if start > end {
        return Err(wrong(text, "expected a range from low to high"));
    }
    Ok(start..=end)
}

impl FromStr for When {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == ANY {
            return Ok(Self::any());
        }
        let mut when = Self::any();
        for part in text.split('+') {
            let reason = Reason::ALL.into_iter().find(|reason| reason.word() == part);
            let repeated = if let Some(range) = part.strip_prefix('L') {
                when.levels.replace(parse_range(range)?).is_some()
            } else if let Some(range) = part.strip_prefix('D') {
                when.from_last.replace(parse_range(range)?).is_some()
            } else if part == BOTTOM || part == UPPER {
                when.bottommost.replace(part == BOTTOM).is_some()
            } else if let Some(reason) = reason {
                when.reason.replace(reason).is_some()
            } else {
                return Err(wrong(part, "expected a condition"));
            };
            if repeated {
                return Err(wrong(text, "expected each condition once"));
            }
        }
        Ok(when)
    }
}

impl FromStr for Plan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some(rest) = text.strip_prefix(LEVELS) else {
            return text.parse().map(Self::One);
        };
        let mut rules = Vec::new();
        let mut otherwise = None;
        for rule in rest.split(',') {
            if otherwise.is_some() {
                return Err(wrong(rule, "expected nothing after else"));
            }
            let Some((when, leaf)) = rule.split_once('/') else {
                return Err(wrong(rule, "expected condition/policy"));
            };
            let leaf = leaf.parse()?;
            if when == ELSE {
                otherwise = Some(leaf);
            } else {
                rules.push((when.parse()?, leaf));
            }
        }
        let otherwise = otherwise.ok_or_else(|| wrong(text, "expected a last rule else/policy"))?;
        Ok(Self::Levels { rules, otherwise })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "none",
            "blocked:10",
            "blocked:9.5k7",
            "blocked:9.875",
            "compact:0.01",
            "compact:0.0078125",
            "compact:0.0000152587890625",
            "compact:0.9",
            "rocksdb-bloom:12",
            "rocksdb-ribbon:1.001",
            "levels:else/none",
            "levels:L0+flush/blocked:14,L1-3/blocked:12.25,D0-1+upper/rocksdb-ribbon:9,\
             flush/compact:0.001,bottom/none,recovery/none,else/blocked:8",
            "levels:any/blocked:10,other/none,compaction/none,else/none",
        ] {
            let plan: Plan = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(plan.to_string(), text);
        }
    }

    #[test]
    fn wrong_text_is_refused_with_the_part_that_is_wrong() {
        for text in [
            "",
            "blocked",
            "blocked:",
            "blocked:-1",
            "blocked:1e1",
            "blocked:NaN",
            "blocked:10k",
            "blocked:10kx",
            "blocked:1.2.3",
            "bloom:10",
            "compact",
            "compact:",
            "compact:1e-2",
            "compact:-0.1",
            "compact:0.01k7",
            "compact:0.0.1",
            "blocked:10 ",
            "levels:",
            "levels:L0/blocked:10",
            "levels:else/none,L0/none",
            "levels:L3-1/none,else/none",
            "levels:L0+L1/none,else/none",
            "levels:L/none,else/none",
            "levels:X0/none,else/none",
            "levels:else/levels:else/none",
            "levels:any+L0/none,else/none",
        ] {
            let error = text.parse::<Plan>().expect_err(text);
            assert!(matches!(error, Error::Parse { .. }), "{text}: {error}");
        }
        assert_eq!("blocked:0.5".parse::<Plan>(), Err(Error::BitsPerKey { got: 0.5 }));
        assert_eq!("rocksdb-ribbon:101".parse::<Plan>(), Err(Error::BitsPerKey { got: 101.0 }));
        for got in [0.0, 0.000_015, 1.0, 100.0] {
            assert_eq!(format!("compact:{got}").parse::<Plan>(), Err(Error::FalsePositiveRate { got }));
        }
        assert_eq!("blocked:10k31".parse::<Plan>(), Err(Error::Probes { got: 31 }));
        assert_eq!("blocked:10k0".parse::<Plan>(), Err(Error::Probes { got: 0 }));
    }
}
