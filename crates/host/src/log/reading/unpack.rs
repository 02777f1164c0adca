//! Compressed logs: gzip, xz and zstd, in bounded memory.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read};

use lzma_rust2::XzReader;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Size limit of the window of a decoder. The strongest usual settings, `xz -9` and `zstd -19`,
/// need 64 and 8 MiB; `zstd --ultra -22` needs 128 MiB.
const WINDOW_BYTES_MAX: u32 = 128 << 20;
/// Size of the buffer between a decoder and the lines.
const BUFFER_BYTES: usize = 64 << 10;

/// Returns the content of a compressed file; `None` if it is not compressed.
pub(crate) fn unpacked<R: BufRead>(
    mut file: R,
    bytes_max: u64,
) -> std::io::Result<Result<impl BufRead, R>> {
    let start = file.fill_buf()?;
    let inner: Inner<R> = match start {
        [0x1f, 0x8b, ..] => Inner::Gzip(flate2::bufread::MultiGzDecoder::new(file)),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            let limit = WINDOW_BYTES_MAX / 1024;
            Inner::Xz(Box::new(XzReader::new_mem_limit(file, true, limit)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Inner::Zstd(Box::new(Frames { frame: Some(frame(file)?) })),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            let message = "is compressed with bzip2; unpack it first: `bzip2 -dc FILE > log`";
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        _ => return Ok(Err(file)),
    };
    Ok(Ok(BufReader::with_capacity(BUFFER_BYTES, inner.take(bytes_max))))
}

/// A decoder.
enum Inner<R: BufRead> {
    Gzip(flate2::bufread::MultiGzDecoder<R>),
    Xz(Box<XzReader<R>>),
    Zstd(Box<Frames<R>>),
}

impl<R: BufRead> Read for Inner<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(bytes),
            Self::Xz(decoder) => decoder.read(bytes),
            Self::Zstd(frames) => frames.read(bytes),
        }
    }
}

/// The frames of zstd in a file, one after the other.
struct Frames<R: Read> {
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

fn frame<R: Read>(file: R) -> std::io::Result<StreamingDecoder<R, FrameDecoder>> {
    let window = u64::from(WINDOW_BYTES_MAX);
    StreamingDecoder::new_with_max_window_size(file, window).map_err(unreadable)
}

fn unreadable(error: impl std::error::Error) -> Error {
    Error::new(ErrorKind::InvalidData, format!("cannot be unpacked: {error}"))
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        while let Some(decoder) = self.frame.as_mut() {
            let count = decoder.read(bytes)?;
            if count > 0 || bytes.is_empty() {
                return Ok(count);
            }
            let mut file = self.frame.take().expect("it was just read").into_inner();
            if !file.fill_buf()?.is_empty() {
                self.frame = Some(frame(file)?);
            }
        }
        Ok(0)
    }
}
