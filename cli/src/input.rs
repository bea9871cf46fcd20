//! Reading lines as they are: bytes, of any encoding, each ended by LF.
//!
//! A line is what lies between two LF, without them. Only with [`LineEnds::CrLf`] a CR before the LF goes too.
//! An empty line is the empty key. Bytes after the last LF are a line; no bytes after it are none.
//!
//! Input is read in [`Chunk`]s of whole lines, so that finding line ends, hashing and probing each run over many
//! keys at a time. A line that has come through a pipe is handed out before the next is waited for.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Failure;
use crate::file_id::FileId;
use crate::interrupt;
use crate::progress::Progress;

/// Keys hashed and probed at a time: enough for the prefetching loops, few enough for the first-level cache.
pub(crate) const BATCH: usize = 256;

/// Bytes read at a time; a chunk and what is made of it stay in the second-level cache.
const CHUNK_BYTES: usize = 128 * 1024;

/// The longest line that is taken, without its LF. A longer one is a file that is not of lines, and would eat all memory.
pub(crate) const MAX_LINE_BYTES: usize = 32 << 20;

/// What ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// LF; a CR is part of the key.
    Lf,
    /// LF, with the CR before it where there is one.
    CrLf,
}

/// The flag that every command with line input has.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LineArgs {
    /// Take the CR of a CRLF line end off each line too (by default only the LF is)
    #[arg(long)]
    crlf: bool,
}

impl LineArgs {
    pub(crate) fn ends(self) -> LineEnds {
        if self.crlf { LineEnds::CrLf } else { LineEnds::Lf }
    }
}

/// A file, or standard input for `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

impl From<std::ffi::OsString> for Source {
    fn from(name: std::ffi::OsString) -> Self {
        if name == "-" { Self::Stdin } else { Self::File(name.into()) }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Source {
    /// Whether it can be read twice: a regular file can; a pipe, a terminal or a device can't.
    pub(crate) fn is_regular_file(&self) -> bool {
        self.path().is_some_and(Path::is_file)
    }

    /// The regular file that is read, if it is one.
    pub(crate) fn file_id(&self) -> Result<Option<FileId>, Failure> {
        match self {
            Self::Stdin => FileId::of_stdin(),
            Self::File(path) => FileId::of_path(path),
        }
        .map_err(|error| Failure::input(self, crate::exit::io_text(&error)))
    }

    /// Opens it for one pass. `label` goes beside the progress bar.
    pub(crate) fn open(&self, label: &'static str) -> Result<Lines, Failure> {
        let (reader, total): (Box<dyn Read + Send>, _) = match self {
            Self::Stdin => (Box::new(io::stdin()), None),
            Self::File(path) => {
                let open = || {
                    let file = File::open(path)?;
                    let metadata = file.metadata()?;
                    if metadata.is_dir() {
                        return Err(io::ErrorKind::IsADirectory.into());
                    }
                    let total = metadata.is_file().then_some(metadata.len());
                    Ok((file, total))
                };
                let (file, total) = open().map_err(|error| Failure::file(path, &error))?;
                (Box::new(file), total)
            }
        };
        Ok(Lines {
            source: self.clone(),
            reader,
            carry: Vec::new(),
            read: 0,
            ended: false,
            progress: Progress::new(label, total),
        })
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin => None,
            Self::File(path) => Some(path),
        }
    }
}

/// One pass over the lines of a [`Source`].
pub(crate) struct Lines {
    source: Source,
    reader: Box<dyn Read + Send>,
    /// The beginning of a line whose end hasn't been read yet.
    carry: Vec<u8>,
    read: u64,
    ended: bool,
    progress: Progress,
}

impl Lines {
    /// Reads the next whole lines into `chunk`; false when there are no more.
    pub(crate) fn read(&mut self, chunk: &mut Chunk) -> Result<bool, Failure> {
        interrupt::check()?;
        let Chunk { buffer, end } = chunk;
        let mut filled = self.carry.len();
        buffer.resize(buffer.len().max(filled + CHUNK_BYTES), 0);
        buffer[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        while !self.ended {
            if filled == buffer.len() {
                buffer.resize((filled * 2).min(MAX_LINE_BYTES + CHUNK_BYTES), 0);
            }
            // Never more at a time, however long the buffer has become: all lines but the first are short.
            let room = buffer.len().min(filled + CHUNK_BYTES);
            let got = self.read_some(&mut buffer[filled..room])?;
            if got == 0 {
                break;
            }
            let new = &buffer[filled..filled + got];
            if filled + got > MAX_LINE_BYTES {
                let line_bytes = filled + memchr::memchr(b'\n', new).unwrap_or(got);
                self.check_length(line_bytes, filled + got)?;
            }
            let found = memchr::memrchr(b'\n', new).map(|at| filled + at + 1);
            filled += got;
            if let Some(line_end) = found {
                self.carry.extend_from_slice(&buffer[line_end..filled]);
                *end = line_end;
                return Ok(true);
            }
        }
        *end = filled;
        Ok(filled > 0)
    }

    /// Counts the lines to the end.
    pub(crate) fn count(mut self) -> Result<u64, Failure> {
        let mut chunk = Chunk::default();
        let mut lines = 0;
        while self.read(&mut chunk)? {
            lines += chunk.count();
        }
        Ok(lines)
    }

    /// Whether results should go out as they come: the input may wait for them.
    pub(crate) fn is_interactive(&self) -> bool {
        !self.source.is_regular_file()
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.reader.read(buffer) {
                Ok(got) => {
                    self.ended = got == 0;
                    self.read += got as u64;
                    self.progress.advance(got as u64);
                    return Ok(got);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => interrupt::check()?,
                Err(error) => return Err(Failure::input(&self.source, crate::exit::io_text(&error))),
            }
        }
    }

    /// Refuses a line with more bytes than any may have, which is the first of the last `buffered` bytes read.
    fn check_length(&self, line_bytes: usize, buffered: usize) -> Result<(), Failure> {
        if line_bytes <= MAX_LINE_BYTES {
            return Ok(());
        }
        let start = self.read - buffered as u64;
        let limit = MAX_LINE_BYTES >> 20;
        Err(Failure::input(
            &self.source,
            format_args!("the line at byte {start} is longer than {limit} MiB, expected lines of keys"),
        ))
    }
}

/// Whole lines, as they were read.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    buffer: Vec<u8>,
    /// The lines end here.
    end: usize,
}

impl Chunk {
    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// How many lines it holds.
    fn count(&self) -> u64 {
        let bytes = self.bytes();
        let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
        ends + u64::from(bytes.last().is_some_and(|&byte| byte != b'\n'))
    }

    /// The lines, one by one.
    pub(crate) fn lines(&self, ends: LineEnds) -> impl Iterator<Item = &[u8]> {
        let bytes = self.bytes();
        let mut start = 0;
        let line_ends = memchr::memchr_iter(b'\n', bytes);
        let last = bytes.last().filter(|&&byte| byte != b'\n').map(|_| bytes.len());
        line_ends.chain(last).map(move |end| {
            let line = &bytes[start..end];
            start = end + 1;
            match ends {
                LineEnds::Lf => line,
                LineEnds::CrLf => line.strip_suffix(b"\r").unwrap_or(line),
            }
        })
    }

    /// Hands out the lines by up to [`BATCH`].
    pub(crate) fn batches<E>(
        &self,
        ends: LineEnds,
        mut use_batch: impl FnMut(&[&[u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        let mut filled = 0;
        for line in self.lines(ends) {
            batch[filled] = line;
            filled += 1;
            if filled == BATCH {
                use_batch(&batch)?;
                filled = 0;
            }
        }
        if filled > 0 { use_batch(&batch[..filled]) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out its bytes a few at a time, as a pipe may.
    struct Trickle {
        bytes: Vec<u8>,
        at: usize,
        step: usize,
    }

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let rest = &self.bytes[self.at..];
            let got = rest.len().min(self.step).min(buffer.len());
            buffer[..got].copy_from_slice(&rest[..got]);
            self.at += got;
            Ok(got)
        }
    }

    fn lines_over(bytes: &[u8], step: usize) -> Lines {
        Lines {
            source: Source::Stdin,
            reader: Box::new(Trickle { bytes: bytes.to_vec(), at: 0, step }),
            carry: Vec::new(),
            read: 0,
            ended: false,
            progress: Progress::new("test", None),
        }
    }

    fn all_lines(bytes: &[u8], step: usize, ends: LineEnds) -> Vec<Vec<u8>> {
        let (mut lines, mut chunk, mut got) = (lines_over(bytes, step), Chunk::default(), Vec::new());
        while lines.read(&mut chunk).unwrap() {
            got.extend(chunk.lines(ends).map(<[u8]>::to_vec));
        }
        got
    }

    #[test]
    fn lines_are_the_bytes_between_line_feeds() {
        let cases: [(&[u8], &[&[u8]]); 8] = [
            (b"", &[]),
            (b"\n", &[b""]),
            (b"a", &[b"a"]),
            (b"a\n", &[b"a"]),
            (b"a\n\nb", &[b"a", b"", b"b"]),
            (b"\n\n", &[b"", b""]),
            (b"a\r\nb\r", &[b"a\r", b"b\r"]),
            (b"\xff\x00\n\r\r\n", &[b"\xff\x00", b"\r\r"]),
        ];
        for (bytes, expected) in cases {
            for step in 1..=bytes.len().max(1) {
                assert_eq!(all_lines(bytes, step, LineEnds::Lf), expected, "{bytes:?} by {step}");
                assert_eq!(lines_over(bytes, step).count().unwrap(), expected.len() as u64);
            }
        }
    }

    #[test]
    fn crlf_takes_one_carriage_return_off() {
        let lines = all_lines(b"a\r\nb\n\r\nc\rd\r\r\ne\r", 3, LineEnds::CrLf);
        assert_eq!(lines, [&b"a"[..], b"b", b"", b"c\rd\r", b"e"]);
    }

    #[test]
    fn lines_longer_than_a_chunk_come_whole() {
        let long = vec![b'x'; 5 * CHUNK_BYTES + 17];
        let text = [b"short", &long[..], b"", &long[..CHUNK_BYTES], b"end"].join(&b'\n');
        for step in [CHUNK_BYTES, 1000, usize::MAX] {
            let lines = all_lines(&text, step, LineEnds::Lf);
            assert_eq!(lines, [b"short", &long[..], b"", &long[..CHUNK_BYTES], b"end"], "by {step}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_and_not_read_into_memory() {
        let mut lines =
            lines_over(&[&b"ok\n"[..], &vec![0; MAX_LINE_BYTES * 2 + CHUNK_BYTES]].concat(), 1 << 16);
        let mut chunk = Chunk::default();
        assert!(lines.read(&mut chunk).unwrap());
        let Err(Failure::Input(message)) = lines.read(&mut chunk) else { panic!("it was taken") };
        assert!(message.contains("the line at byte 3 is longer than 32 MiB"), "{message}");
        assert!(chunk.buffer.len() <= MAX_LINE_BYTES + CHUNK_BYTES);
    }

    /// The limit once was where the buffer happened to be full: up to twice as much, depending on how much of the
    /// line came with the lines before it.
    #[test]
    fn the_limit_is_of_the_line_and_not_of_the_buffer() {
        let longest = vec![b'x'; MAX_LINE_BYTES];
        for before in [1, CHUNK_BYTES - 3, 5_000_000] {
            let before = vec![b'y'; before];
            for step in [99_991, usize::MAX] {
                for end in [&b""[..], b"\nz\n"] {
                    let fits = [&before[..], b"\n", &longest, end].concat();
                    let rest = usize::from(end.len() > 1);
                    assert_eq!(lines_over(&fits, step).count().unwrap(), 2 + rest as u64);
                    let too_long = [&before[..], b"\n", &longest, b"x", end].concat();
                    let failure = lines_over(&too_long, step).count().unwrap_err();
                    let Failure::Input(message) = failure else { panic!("{failure:?}") };
                    let says = format!("the line at byte {} is longer than 32 MiB", before.len() + 1);
                    assert!(message.contains(&says), "{message}");
                }
            }
        }
    }

    #[test]
    fn batches_hold_every_line_once_in_order() {
        for count in [0, 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH] {
            let text: String = (0..count).map(|number| format!("{number}\n")).collect();
            let chunk = Chunk { end: text.len(), buffer: text.into_bytes() };
            let mut got = Vec::new();
            let done: Result<(), ()> = chunk.batches(LineEnds::Lf, |batch| {
                assert!(!batch.is_empty() && batch.len() <= BATCH);
                got.extend(batch.iter().map(|line| line.to_vec()));
                Ok(())
            });
            done.unwrap();
            assert_eq!(got, (0..count).map(|number| number.to_string().into_bytes()).collect::<Vec<_>>());
        }
    }
}
