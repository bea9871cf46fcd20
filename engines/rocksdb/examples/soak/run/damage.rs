//! Bits flipped in filter blocks on disk.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bloomline_rocksdb::{Kind, inspect};

/// What was damaged so far.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// Damaged files, of which compactions remove one after the other.
    files: Vec<File>,
    pub(crate) blocks: u64,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    sound: Vec<u8>,
    compact_only: bool,
}

/// Which filter blocks may have wrong bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    None,
    /// Only compact ones, which have a checksum of their own.
    Compact,
    Any,
}

impl Damage {
    /// The damage of the files that are still there.
    pub(crate) fn extent(&mut self) -> Extent {
        self.files.retain(|file| file.path.exists());
        match &self.files[..] {
            [] => Extent::None,
            files if files.iter().all(|file| file.compact_only) => Extent::Compact,
            _ => Extent::Any,
        }
    }

    /// Takes back the damage of the files that are still there.
    pub(crate) fn mend(&mut self) -> Result<(), String> {
        self.extent();
        for file in self.files.drain(..) {
            fs::write(&file.path, &file.sound)
                .map_err(|error| format!("{}: {error}", file.path.display()))?;
        }
        Ok(())
    }

    /// Flips bits in some filter blocks of some files, in place: the database may be open, if not mapped. Files that
    /// are just being written or removed are passed over.
    pub(crate) fn strike(
        &mut self,
        folder: &Path,
        extent: Extent,
        random: &mut fastrand::Rng,
    ) -> Result<(), String> {
        for path in inspect::files(folder).map_err(|error| error.to_string())? {
            if random.bool() {
                continue;
            }
            let (Ok(table), Ok(sound)) = (inspect::table(&path), fs::read(&path)) else { continue };
            let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
            let mut struck = 0;
            for block in &table.blocks {
                let is_compact = matches!(block.kind, Kind::Compact { .. });
                if extent == Extent::Compact && !is_compact || random.bool() {
                    continue;
                }
                let offset = block.offset.unwrap_or(u64::MAX);
                // In the trailer, in the header, or anywhere; one bit, or a few bytes.
                let at = match random.u8(0..3) {
                    0 => block.bytes - 1 - random.u64(..block.bytes.min(5)),
                    1 => random.u64(..block.bytes.min(48)),
                    _ => random.u64(..block.bytes),
                };
                let length = if random.bool() { 1 } else { random.u64(1..9).min(block.bytes - at) };
                let place = usize::try_from(offset + at).ok().zip(usize::try_from(length).ok());
                let Some(old) = place.and_then(|(at, length)| sound.get(at..at.checked_add(length)?)) else {
                    return Err(format!("{} has no such block: {block:?}", path.display()));
                };
                let flip = |byte: &u8| byte ^ if length == 1 { 1 << random.u8(0..8) } else { random.u8(1..) };
                let new: Vec<u8> = old.iter().map(flip).collect();
                file.write_all_at(&new, offset + at).map_err(|error| error.to_string())?;
                struck += 1;
            }
            if struck > 0 {
                self.blocks += struck;
                match inspect::table(&path) {
                    Err(error) if error.is_damage() || !path.exists() => {}
                    other => {
                        return Err(format!("the inspector sees no damage in {}: {other:?}", path.display()));
                    }
                }
                self.files.push(File { path, sound, compact_only: extent == Extent::Compact });
            }
        }
        Ok(())
    }
}
