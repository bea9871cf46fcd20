//! Memory maps: the one module that talks to `memmap2`. It yields bytes and knows no format.
//!
//! Two kinds are needed. A [`FileMap`] shares a file's pages, read-only, with every process that maps the same
//! file. An anonymous map is private zeroed memory that asks the kernel for huge pages, because a filter larger
//! than the reach of the TLB otherwise pays a page walk for every lookup.
//!
//! **What mapping a file means.** The bytes are the file's, not a copy. A file that another process *replaces*
//! (writes beside and renames over, as this library does) is safe: the mapping keeps the old one. A file that
//! is *truncated* in place takes its pages away, and touching them then ends the process with `SIGBUS`; a file
//! that is *rewritten* in place changes under the reader. Filter and table files are immutable, and this
//! library never writes to one that exists; keep others from doing so, or open a copy that is out of their reach.
//!
//! **File systems without mmap** (some network and user-space ones, with some options) answer `ENODEV`. The file
//! is then read into memory of the process's own. Nothing else changes: the same bytes are checked the same way.
//! But opening takes as long as reading does, the memory is shared with no other process, and what happens to the
//! file afterwards is not seen.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Zeroed, private, page-aligned memory of at least [`AnonMap::HUGE_PAGE`] bytes, on huge pages where the
/// kernel gives them.
#[derive(Debug)]
pub(crate) struct AnonMap {
    map: memmap2::MmapMut,
}

impl AnonMap {
    /// The size from which a huge page can pay for itself (2 MiB on the common machines).
    pub(crate) const HUGE_PAGE: usize = 2 << 20;

    /// Maps `bytes` zeroed bytes.
    pub(crate) fn zeroed(bytes: usize) -> io::Result<Self> {
        let map = memmap2::MmapMut::map_anon(bytes)?;
        // Advice: a kernel without huge pages answers with an error and the map works all the same.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map })
    }

    /// The first byte; valid for the map's length for as long as the map lives.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.map.as_mut_ptr()
    }
}

/// A whole file, mapped shared and read-only, or read where its file system has no mmap. Clones share the one
/// mapping.
#[derive(Debug, Clone)]
pub struct FileMap {
    map: Arc<memmap2::Mmap>,
}

/// How a mapping is about to be read, as a hint to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Point lookups: read-ahead would only evict other pages.
    Random,
    /// A scan from front to back, such as a verification.
    Sequential,
    /// No particular order.
    Normal,
}

impl FileMap {
    /// Maps all of `file` in O(1): no page is read before it is touched. An empty file maps to no bytes. On a file
    /// system without mmap, the file is read.
    ///
    /// # Errors
    /// What the system said: the file is not a regular file, can't be read, or the memory or address space is
    /// full.
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is read-only and shared. That nobody truncates or rewrites the file in place is
        // the documented condition on its owner (see the module's docs); this library only ever replaces files.
        #[expect(unsafe_code, reason = "mapping a file is unsafe because others can change the file")]
        let map = unsafe { memmap2::Mmap::map(file) };
        #[cfg(unix)]
        let map = map.or_else(|error| match error.raw_os_error() {
            Some(ENODEV) => read(file),
            _ => Err(error),
        });
        Ok(Self { map: Arc::new(map?) })
    }

    /// A part of the file, sharing the mapping; `None` where `range` is not within it.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Option<FileSlice> {
        self.map.get(range.clone())?;
        Some(FileSlice { map: self.clone(), range })
    }

    /// Tells the kernel how the mapping is about to be read. A kernel that can't take the hint ignores it.
    pub fn advise(&self, access: Access) {
        #[cfg(unix)]
        {
            let advice = match access {
                Access::Random => memmap2::Advice::Random,
                Access::Sequential => memmap2::Advice::Sequential,
                Access::Normal => memmap2::Advice::Normal,
            };
            let _ = self.map.advise(advice);
        }
        #[cfg(not(unix))]
        let _ = access;
    }
}

impl AsRef<[u8]> for FileMap {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

/// A part of a mapped file, which keeps the mapping alive: see [`FileMap::slice`].
#[derive(Debug, Clone)]
pub struct FileSlice {
    map: FileMap,
    range: Range<usize>,
}

impl AsRef<[u8]> for FileSlice {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        // `slice` has seen that the range is within the mapping.
        self.map.as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

/// What a file system without mmap answers. The number on Linux, macOS and the BSDs.
#[cfg(unix)]
const ENODEV: i32 = 19;

/// The bytes of a file in memory of the process's own, on whole pages as a mapping is.
#[cfg(unix)]
fn read(file: &File) -> io::Result<memmap2::Mmap> {
    use std::os::unix::fs::FileExt as _;
    let length = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut map = memmap2::MmapMut::map_anon(length)?;
    file.read_exact_at(&mut map, 0)?;
    map.make_read_only()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_slice_is_within_the_file_and_keeps_the_mapping() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let map = FileMap::new(&file).unwrap();
        #[expect(clippy::reversed_empty_ranges, reason = "what a hostile file may ask for")]
        for outside in [0..11, 10..11, 11..11, 7..3, 0..usize::MAX] {
            assert!(map.slice(outside).is_none());
        }
        assert_eq!(map.slice(10..10).unwrap().as_ref(), b"");
        let slice = map.slice(2..5).unwrap();
        drop((map, file));
        assert_eq!(slice.as_ref(), b"234");
    }

    #[test]
    fn an_empty_file_maps_to_no_bytes() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(FileMap::new(&file).unwrap().as_ref(), b"");
    }
}
