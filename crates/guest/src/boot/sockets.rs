//! Messages with files, over the sockets between a guest and its machine.

use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use zerocopy::FromBytes as _;

use crate::vhost::{FILES_MAX, HEADER_BYTES, Header, PAYLOAD_MAX};

/// A received message.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
    pub(super) files: Vec<OwnedFd>,
}

/// Receives a vhost-user message; `None` if the guest closed the connection.
pub(super) fn receive(socket: &mut UnixStream) -> io::Result<Option<Received>> {
    let mut bytes = [0; HEADER_BYTES + PAYLOAD_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    // Only the header: some messages have no answer, and the next one may follow at once.
    let mut buffers = [IoSliceMut::new(&mut bytes[..HEADER_BYTES])];
    let got = recvmsg(&*socket, &mut buffers, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if got == 0 {
        return Ok(None);
    }
    let files = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    });
    let files: Vec<OwnedFd> = files.collect();
    let got = complete(socket, &mut bytes, got, HEADER_BYTES)?;
    let header = Header::read_from_bytes(&bytes[..HEADER_BYTES]).expect("it has its length");
    // The length comes from the guest, and the buffer has a fixed size.
    let Some(length) = header.payload_bytes() else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    };
    complete(socket, &mut bytes, got, HEADER_BYTES + length)?;
    let payload = bytes[HEADER_BYTES..HEADER_BYTES + length].to_vec();
    Ok(Some(Received { header, payload, files }))
}

/// Reads until `wanted` bytes have arrived.
fn complete(
    socket: &mut UnixStream,
    bytes: &mut [u8],
    got: usize,
    wanted: usize,
) -> io::Result<usize> {
    debug_assert!(wanted <= bytes.len(), "the length of a payload was checked");
    if got < wanted {
        socket.read_exact(&mut bytes[got..wanted])?;
    }
    Ok(got.max(wanted))
}

/// Sends `bytes` together with a file, twice.
pub(super) fn send_with_file_twice(
    socket: &UnixStream,
    bytes: &[u8],
    file: &impl AsFd,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    // The kernel expects the descriptors of its memory and of its log; see `Calendar::take`.
    let files = [file.as_fd(), file.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)), "the space is for two files");
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent < bytes.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_message_may_arrive_in_pieces_and_with_files() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let header = [[1_u32, 9, 8].map(u32::to_ne_bytes).concat(), vec![5; 8]].concat();
        send_with_file_twice(&theirs, &header[..4], &file).unwrap();
        theirs.write_all(&header[4..]).unwrap();
        let message = receive(&mut ours).unwrap().unwrap();
        assert_eq!((message.payload, message.files.len()), (vec![5; 8], 2));
        drop(theirs);
        assert!(receive(&mut ours).unwrap().is_none());
    }

    #[test]
    fn two_messages_that_arrive_together_are_two() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let both = [[3_u32, 1, 0], [1, 1, 0]].concat();
        theirs.write_all(&both.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>()).unwrap();
        drop(theirs);
        assert!(receive(&mut ours).unwrap().is_some());
        assert!(receive(&mut ours).unwrap().is_some(), "the second message was lost");
        assert!(receive(&mut ours).unwrap().is_none());
    }

    #[test]
    fn a_message_that_is_too_long_is_refused() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[1_u32, 9, 1 << 20].map(u32::to_ne_bytes).concat()).unwrap();
        assert_eq!(receive(&mut ours).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
