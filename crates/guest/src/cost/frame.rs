//! The stack of a system call, as strace prints it.

/// An instruction that a system call came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// The path of its program or library in the guest.
    pub file: String,
    /// Its offset in that file, in bytes.
    pub offset: u64,
}

/// The beginning of a line of a stack.
const BEFORE: &str = " > ";

/// Returns whether a line of strace belongs to the stack of the call above it.
pub(super) fn is_of_stack(line: &str) -> bool {
    line.starts_with(BEFORE)
}

impl Frame {
    /// Reads ` > /usr/lib/libc.so.6(fsync+0x17) [0x10f2a7]`. The name of the function is left out:
    /// the nearest one before the instruction is often another one, as the guest has no symbols but
    /// those that libraries offer.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (named, offset) = line.strip_prefix(BEFORE)?.trim_end().rsplit_once(" [0x")?;
        let offset = u64::from_str_radix(offset.strip_suffix(']')?, 16).ok()?;
        let (file, _) = named.strip_suffix(')')?.rsplit_once('(')?;
        file.starts_with('/').then(|| Self { file: file.to_owned(), offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_file_and_an_offset() {
        fn check(line: &str, expected: Option<(&str, u64)>) {
            let found = Frame::parse(line);
            let found = found.as_ref().map(|frame| (frame.file.as_str(), frame.offset));
            assert_eq!(found, expected, "{line}");
        }
        check(
            " > /usr/lib/libc.so.6(fsync+0x17) [0xf22a7]",
            Some(("/usr/lib/libc.so.6", 0x000f_22a7)),
        );
        check(" > /bin/app() [0x1f]", Some(("/bin/app", 0x1f)));
        check(" > /bin/a (b)(f+0x1) [0x2]", Some(("/bin/a (b)", 2)));
        check(" > unexpected_backtracing_error [0x7ffd]", None);
        check(" > [vdso]() [0x7ffd]", None);
        check(" > /bin/app(main+0x1) [0xzz]", None);
        check("7<app> 1735689600.000000001 fsync(3</mnt/db>) = 0 <0.1>", None);
    }
}
