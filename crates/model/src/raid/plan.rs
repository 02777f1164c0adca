//! The accesses to an array's members for one request.

use drivelab_core::{Op, Request};

use super::layout::{Band, Extent, ExtentList, Layout};
use super::level::Level;

/// Reads, and writes that follow them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) reads: Vec<Extent>,
    pub(super) writes: Vec<Extent>,
}

/// Returns the groups of a request, which are independent of each other.
pub(super) fn plan_groups(layout: &Layout, failed: Option<usize>, request: &Request) -> Vec<Group> {
    match (layout.level, request.op) {
        (Level::Raid5 | Level::Raid6, Op::Write) => writes(layout, failed, request),
        (Level::Raid0, Op::Write | Op::Trim) => {
            let writes = data(layout, None, request);
            vec![Group { reads: Vec::new(), writes }]
        }
        _ => vec![Group { reads: data(layout, failed, request), writes: Vec::new() }],
    }
}

/// Returns the extents of a request's data; a failed member's data needs all the others.
fn data(layout: &Layout, failed: Option<usize>, request: &Request) -> Vec<Extent> {
    let mut joined = ExtentList::default();
    layout.bands(request.lba, request.end(), |band| {
        let wanted = holders(layout, &band);
        // The data of a failed member is the XOR of all others, so all of them are read.
        if failed.is_some_and(|failed| wanted & 1 << failed != 0) {
            each(all(layout) & !bit(failed), |member| joined.add(layout.extent(&band, member)));
        } else {
            // In the order of the data, so that a long read visits the members in turn.
            for chunk in (0..layout.data()).filter(|chunk| band.chunks & 1 << chunk != 0) {
                joined.add(layout.extent(&band, layout.holder(band.row, chunk)));
            }
        }
    });
    joined.extents
}

/// The data and parities to write, and the reads for the parities.
///
/// Rows that need no reads form one group; each of the others is a group, so that it proceeds to
/// its writes as soon as its reads are done.
fn writes(layout: &Layout, failed: Option<usize>, request: &Request) -> Vec<Group> {
    let (mut whole, mut groups) = (ExtentList::default(), Vec::new());
    let mut row: Option<Row> = None;
    layout.bands(request.lba, request.end(), |band| {
        let (reads, writes) = stripe_members(layout, failed, &band);
        // Full rows need no reads; bands of partial rows share a group, since they share a parity.
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

/// The accesses of one row.
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

/// Returns bit masks of the members to read and then to write for one band.
///
/// As md's `handle_stripe_dirtying` with an empty stripe cache: read-modify-write needs the old
/// data and the old parities, reconstruct-write the data that is not written. The one with fewer
/// reads is chosen, reconstruct-write if they are equal. A failed member cannot be read: if it is
/// written, its new data goes into the parities, which need all other data; if it is other data,
/// only read-modify-write works without it; if it is one of two parities, reconstruct-write.
fn stripe_members(layout: &Layout, failed: Option<usize>, band: &Band) -> (u32, u32) {
    let parities = 1 << layout.parity(band.row) | bit(layout.second_parity(band.row));
    let written = holders(layout, band);
    let gone = bit(failed);
    if parities == gone {
        // Without a parity to maintain, data is written alone.
        return (0, written);
    }
    let modify = written | parities;
    let reconstruct = all(layout) & !parities & !written;
    let reads = if modify & gone != 0 {
        reconstruct
    } else if reconstruct & gone != 0 || modify.count_ones() < reconstruct.count_ones() {
        modify
    } else {
        reconstruct
    };
    debug_assert_eq!(reads & gone, 0, "a failed member cannot be read");
    (reads, (written | parities) & !gone)
}

/// Returns the bit mask of members that hold the band's data of the request.
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
