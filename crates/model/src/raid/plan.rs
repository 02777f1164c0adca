//! What an array does on its members for one request.

use drivelab_core::{Op, Request};

use super::layout::{Band, Extent, ExtentList, Layout};
use super::level::Level;

/// Reads that must be done, and writes that follow them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) reads: Vec<Extent>,
    pub(super) writes: Vec<Extent>,
}

/// The groups of a request; they do not wait for each other.
pub(super) fn plan(layout: &Layout, failed: Option<usize>, request: &Request) -> Vec<Group> {
    match (layout.level, request.op) {
        (Level::Raid5, Op::Write) => writes(layout, failed, request),
        (Level::Raid0, Op::Write | Op::Trim) => {
            let writes = data(layout, None, request);
            vec![Group { reads: Vec::new(), writes }]
        }
        _ => vec![Group { reads: data(layout, failed, request), writes: Vec::new() }],
    }
}

/// The data of a request where it lies; what a failed member held is worked out from all others.
fn data(layout: &Layout, failed: Option<usize>, request: &Request) -> Vec<Extent> {
    let mut joined = ExtentList::default();
    layout.bands(request.lba, request.end(), |band| {
        let wanted = holders(layout, &band);
        if failed.is_some_and(|failed| wanted & 1 << failed != 0) {
            each(all(layout) & !bit(failed), |member| joined.add(layout.extent(&band, member)));
        } else {
            // In the order of the data, so that a long read goes round the members.
            for chunk in (0..layout.data()).filter(|chunk| band.chunks & 1 << chunk != 0) {
                joined.add(layout.extent(&band, layout.holder(band.row, chunk)));
            }
        }
    });
    joined.extents
}

/// RAID 5: what is written together with its parity, and what must be read for that.
///
/// Rows that need nothing read go together; each of the others goes on as soon as it has read.
fn writes(layout: &Layout, failed: Option<usize>, request: &Request) -> Vec<Group> {
    let (mut whole, mut groups) = (ExtentList::default(), Vec::new());
    let mut row: Option<Row> = None;
    layout.bands(request.lba, request.end(), |band| {
        let (reads, writes) = stripe(layout, failed, &band);
        if reads == 0 {
            each(writes, |member| whole.add(layout.extent(&band, member)));
            return;
        }
        if row.as_ref().is_none_or(|row| row.number != band.row) {
            groups.extend(row.take().map(Row::group));
        }
        let row = row.get_or_insert_with(|| Row { number: band.row, ..Row::default() });
        each(reads, |member| row.reads.add(layout.extent(&band, member)));
        each(writes, |member| row.writes.add(layout.extent(&band, member)));
    });
    groups.extend(row.map(Row::group));
    if !whole.extents.is_empty() {
        groups.push(Group { reads: Vec::new(), writes: whole.extents });
    }
    groups
}

/// What one row needs.
#[derive(Debug, Default)]
struct Row {
    number: u64,
    reads: ExtentList,
    writes: ExtentList,
}

impl Row {
    fn group(self) -> Group {
        Group { reads: self.reads.extents, writes: self.writes.extents }
    }
}

/// The members, by bit, that are read and then written for one band.
///
/// As md's `handle_stripe_dirtying` with nothing in its stripe cache: read-modify-write needs the
/// old data and the old parity, reconstruct-write the data that is not written; the one with fewer
/// reads is taken, and reconstruct-write where they are equal. A failed member cannot be read:
/// where it is written its new data goes into the parity, so all other data must be known; where it
/// is not, only read-modify-write can do without it.
fn stripe(layout: &Layout, failed: Option<usize>, band: &Band) -> (u32, u32) {
    let parity = 1 << layout.parity(band.row);
    let written = holders(layout, band);
    let gone = bit(failed);
    if parity == gone {
        return (0, written);
    }
    let modify = written | parity;
    let reconstruct = all(layout) & !parity & !written;
    let reads = if written & gone != 0 {
        reconstruct
    } else if reconstruct & gone != 0 || modify.count_ones() < reconstruct.count_ones() {
        modify
    } else {
        reconstruct
    };
    debug_assert_eq!(reads & gone, 0, "a failed member cannot be read");
    (reads, (written | parity) & !gone)
}

/// The members that hold the band's data of the request, by bit.
fn holders(layout: &Layout, band: &Band) -> u32 {
    let chunks = (0..layout.data()).filter(|chunk| band.chunks & 1 << chunk != 0);
    chunks.fold(0, |members, chunk| members | 1 << layout.holder(band.row, chunk))
}

fn all(layout: &Layout) -> u32 {
    u32::MAX >> (32 - layout.members)
}

fn bit(member: Option<usize>) -> u32 {
    member.map_or(0, |member| 1 << member)
}

fn each(members: u32, mut visit: impl FnMut(usize)) {
    for member in (0..32).filter(|member| members & 1 << member != 0) {
        visit(member);
    }
}
