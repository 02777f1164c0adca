//! The names of volumes that span devices, read from a member.
//!
//! A name is for people only: if it is not at its usual position, there is none.

use std::io;

/// Reads bytes of a member: offset and length.
pub(super) type Read<'a> = &'a dyn Fn(u64, usize) -> io::Result<Vec<u8>>;

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    let number = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    usize::try_from(number).ok()
}

/// The text up to the first byte that equals `end`; none if it is empty or not printable.
fn text(bytes: &[u8], end: u8) -> Option<String> {
    let length = bytes.iter().position(|byte| *byte == end)?;
    let plain = bytes[..length].iter().all(u8::is_ascii_graphic);
    (length > 0 && plain).then(|| String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// LVM2, `lib/format_text/layout.h`: the label gives the position of the physical volume's header,
/// which ends in two lists of areas: data and metadata. A metadata area begins with a header that
/// gives the position of the text in it, and the text begins with the name of the group.
pub(super) fn lvm_name(label: &[u8], read: Read<'_>) -> io::Result<Option<String>> {
    // The offset of the header in the label; in the header 32 bytes of identity and 8 of size.
    let Some(mut at) = half(label, 20).map(|offset| offset + 40) else { return Ok(None) };
    while word(label, at).is_some_and(|offset| offset != 0) {
        at += 16;
    }
    let Some(area) = word(label, at + 16).filter(|area| *area != 0) else { return Ok(None) };
    // A checksum, 16 bytes of magic, a version, the position and size of the area, the position of
    // the text.
    let header = read(area, 64)?;
    debug_assert_eq!(header.len(), 64, "as many bytes as were asked for");
    let text_at = word(&header, 40).filter(|at| *at != 0);
    let Some(text_at) = text_at.filter(|_| header[4..].starts_with(b" LVM2 x[5A%r0N*>")) else {
        return Ok(None);
    };
    // Names have at most 127 characters.
    Ok(text(&read(area.saturating_add(text_at), 128)?, b' '))
}

/// Linux, `include/uapi/linux/raid/md_p.h`: version 1 has a name of 32 bytes at offset 32.
pub(super) fn md_name(superblock: &[u8]) -> Option<String> {
    let versioned = half(superblock, 4) == Some(1);
    // A name that fills all 32 bytes has no terminator.
    let padded = [superblock.get(32..64)?, &[0]].concat();
    text(&padded, 0).filter(|_| versioned)
}

/// Linux, `include/uapi/linux/btrfs_tree.h`: the label, otherwise the UUID.
pub(super) fn btrfs_name(superblock: &[u8]) -> Option<String> {
    if let Some(label) = text(superblock.get(299..299 + 256)?, 0) {
        return Some(label);
    }
    let identity = u128::from_be_bytes(superblock.get(32..48)?.try_into().ok()?);
    let hex = format!("{identity:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(parts.join("-"))
}

/// ZFS, `include/sys/vdev_impl.h`: a list of names and values at 16 KiB of a label, in XDR: the
/// name's length and text, the type of value (9 is a string), the count, the value's length and
/// text.
pub(super) fn zfs_name(label: u64, read: Read<'_>) -> io::Result<Option<String>> {
    const NAME: &[u8] = b"\0\0\0\x04name\0\0\0\x09\0\0\0\x01";
    let list = read(label + 16 * 1024, 16 * 1024)?;
    let Some(found) = list.windows(NAME.len()).position(|bytes| bytes == NAME) else {
        return Ok(None);
    };
    let value = &list[found + NAME.len()..];
    let length = value.get(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let length = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    // Text in XDR has a length and no terminator.
    let padded = value.get(4..4 + length).map(|name| [name, &[0]].concat());
    Ok(padded.and_then(|name| text(&name, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(image: Vec<u8>) -> impl Fn(u64, usize) -> io::Result<Vec<u8>> {
        move |at, length| {
            let at = usize::try_from(at).unwrap();
            Ok(image[at..at + length].to_vec())
        }
    }

    fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
        image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    fn a_volume_group_is_named() {
        let mut image = vec![0; 16384];
        put(&mut image, 512, b"LABELONE");
        put(&mut image, 512 + 20, &32_u32.to_le_bytes());
        // One area of data, none more, one of metadata at 4096.
        put(&mut image, 512 + 32 + 40, &(1_u64 << 20).to_le_bytes());
        put(&mut image, 512 + 32 + 72, &4096_u64.to_le_bytes());
        put(&mut image, 4096 + 4, b" LVM2 x[5A%r0N*>");
        let label = image[512..8192].to_vec();
        assert_eq!(lvm_name(&label, &reader(image.clone())).unwrap(), None, "no text yet");
        put(&mut image, 4096 + 40, &512_u64.to_le_bytes());
        put(&mut image, 4096 + 512, b"vg-data {\nid = ");
        let name = lvm_name(&label, &reader(image)).unwrap();
        assert_eq!(name.as_deref(), Some("vg-data"));
        assert_eq!(lvm_name(&[], &reader(vec![0; 16384])).unwrap(), None);
        assert_eq!(lvm_name(&[0xFF; 512], &reader(vec![0; 16384])).unwrap(), None);
    }

    #[test]
    fn arrays_and_file_systems_are_named() {
        let mut md = vec![0; 64];
        put(&mut md, 32, b"host:0");
        assert_eq!(md_name(&md), None, "version 0.90 has no name");
        put(&mut md, 4, &1_u32.to_le_bytes());
        assert_eq!(md_name(&md).as_deref(), Some("host:0"));
        let mut btrfs = vec![0; 1024];
        put(&mut btrfs, 32, &[0xAB; 16]);
        let identity = "abababab-abab-abab-abab-abababababab";
        assert_eq!(btrfs_name(&btrfs).as_deref(), Some(identity));
        put(&mut btrfs, 299, b"photos");
        assert_eq!(btrfs_name(&btrfs).as_deref(), Some("photos"));
    }

    #[test]
    fn a_pool_is_named() {
        let mut image = vec![0; 65536];
        assert_eq!(zfs_name(0, &reader(image.clone())).unwrap(), None);
        put(&mut image, 16384 + 100, b"\0\0\0\x04name\0\0\0\x09\0\0\0\x01\0\0\0\x04tank");
        assert_eq!(zfs_name(0, &reader(image)).unwrap().as_deref(), Some("tank"));
    }
}
