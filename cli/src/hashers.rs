//! The hasher to write with, and the secret key to read or write with.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use bloomline::hash::{Hasher, HasherId, Hashers, SecretKey};
use clap::{Args, ValueEnum};

use crate::exit::Failure;

/// The hashers that a filter can be written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HasherName {
    /// The default: fast, and good for all keys that nobody chooses to harm you
    #[value(name = "xxh3-64")]
    Xxh3,
    /// For files shared with systems that have this hash function
    #[value(name = "murmur3-x64-128")]
    Murmur3,
    /// The simplest to port; takes no seed
    #[value(name = "fnv1a-64")]
    Fnv1a,
    /// For keys that an attacker may choose; needs --key-file
    #[value(name = "siphash-2-4")]
    SipHash,
}

impl HasherName {
    fn id(self) -> HasherId {
        match self {
            Self::Xxh3 => HasherId::XXH3_64,
            Self::Murmur3 => HasherId::MURMUR3_X64_128,
            Self::Fnv1a => HasherId::FNV1A_64,
            Self::SipHash => HasherId::SIPHASH_2_4,
        }
    }
}

/// The secret key, for every command that reads a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct KeyFileArgs {
    /// The file of the secret key of siphash-2-4: 16 bytes, or 32 hexadecimal digits
    #[arg(long, value_name = "K")]
    key_file: Option<PathBuf>,
}

impl KeyFileArgs {
    /// The file that the key is read from.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// The hashers that a file may need.
    pub(crate) fn hashers(&self) -> Result<Hashers, Failure> {
        match &self.key_file {
            Some(path) => Ok(Hashers::new().with_secret_key(read_secret(path)?)),
            None => Ok(Hashers::new()),
        }
    }
}

/// The hasher that a new filter is written with.
#[derive(Debug, Clone, Args)]
pub(crate) struct HasherArgs {
    /// The hash function
    #[arg(long, value_enum, default_value = "xxh3-64", hide_possible_values = false)]
    hasher: HasherName,
    /// The seed of the hash function; murmur3-x64-128 takes 32 bits, fnv1a-64 and siphash-2-4 none
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    pub(crate) secret: KeyFileArgs,
}

impl HasherArgs {
    pub(crate) fn hasher(&self) -> Result<Hasher, Failure> {
        let id = self.hasher.id();
        let refuse = |error| Failure::input("--hasher", error);
        match (&self.secret.key_file, id) {
            (Some(path), HasherId::SIPHASH_2_4) if self.seed == 0 => {
                Ok(Hasher::siphash_2_4(read_secret(path)?))
            }
            (None, HasherId::SIPHASH_2_4) if self.seed == 0 => {
                Err(refuse("siphash-2-4 needs a secret key, expected --key-file".to_owned()))
            }
            (Some(path), other) if other != HasherId::SIPHASH_2_4 => Err(Failure::input(
                path.display(),
                format_args!("a secret key is of no use to {other}, expected --hasher siphash-2-4"),
            )),
            _ => Hasher::from_seed(id, self.seed).map_err(|error| Failure::input("--seed", error)),
        }
    }
}

/// Reads a secret key. No error shows any of it.
fn read_secret(path: &Path) -> Result<SecretKey, Failure> {
    const KEY_BYTES: usize = 16;
    /// More than any key file has; what is longer isn't one.
    const LIMIT: u64 = 256;
    crate::container::refuse_dash(path)?;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LIMIT).read_to_end(&mut bytes))
        .map_err(|error| Failure::file(path, &error))?;
    if let Ok(raw) = <[u8; KEY_BYTES]>::try_from(bytes.as_slice()) {
        return Ok(SecretKey::from_bytes(raw));
    }
    from_hex(bytes.trim_ascii()).map(SecretKey::from_bytes).ok_or_else(|| {
        let got = match bytes.len() {
            length if length as u64 == LIMIT => format!("{length} bytes or more"),
            length if length == KEY_BYTES + 1 && bytes.ends_with(b"\n") => {
                format!("{length} bytes, of which the last is a line end, and no part of a raw key")
            }
            length => format!("{length} bytes"),
        };
        let problem = format!("not a secret key: expected 16 bytes or 32 hexadecimal digits, got {got}");
        Failure::input(path.display(), problem)
    })
}

/// 32 hexadecimal digits as 16 bytes.
fn from_hex(digits: &[u8]) -> Option<[u8; 16]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    if digits.len() != 32 {
        return None;
    }
    let mut key = [0; 16];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_keys_are_read_whole_or_not_at_all() {
        let key = from_hex(b"000102030405060708090A0b0c0D0e0f");
        assert_eq!(key, Some([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
        for wrong in
            [&b""[..], b"00", b"000102030405060708090a0b0c0d0e0", b"000102030405060708090a0b0c0d0e0g"]
        {
            assert_eq!(from_hex(wrong), None);
        }
    }
}
