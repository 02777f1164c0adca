//! Trims on their way: what they free, and what later writes have taken back from them.

use std::io;

use drivelab_core::{Lba, Sectors};

use super::under_way::{Trim, TrimId};
use super::{Choose, Store};

/// The piece of a trim on its way that is done or not done as one; whole physical sectors.
const TRIM_PIECE: Sectors = Sectors::new(2048);

impl Store {
    /// A trim is submitted.
    pub fn begin_trim(&mut self, lba: Lba, sectors: Sectors) -> TrimId {
        self.sequence += 1;
        let sequence = self.sequence;
        self.trims.push(Trim { lba, sectors, sequence, spared: Vec::new() });
        TrimId(sequence)
    }

    /// A trim completed. It is durable then: a drive of ours promises that much more than it must.
    pub fn complete_trim(&mut self, trim: TrimId) -> io::Result<()> {
        let place = self.trims.iter().position(|other| other.sequence == trim.0);
        let trim = self.trims.remove(place.expect("the trim is on its way"));
        self.carry_out(&trim)
    }

    /// A trim is given up before anything of it was done.
    pub(crate) fn forget_trim(&mut self, trim: TrimId) {
        self.trims.retain(|other| other.sequence != trim.0);
    }

    /// Frees what a trim covers, except what was written after it was submitted.
    pub(super) fn carry_out(&mut self, trim: &Trim) -> io::Result<()> {
        let (mut at, end) = (trim.lba.get(), (trim.lba + trim.sectors).get());
        let mut spared = trim.spared.clone();
        spared.sort_unstable();
        self.volatile.retain(|sector, versions| {
            if at <= *sector && *sector < end {
                versions.drop_up_to(trim.sequence);
            }
            !versions.is_empty()
        });
        for (spared, until) in spared.into_iter().chain([(end, end)]) {
            let until_spared = spared.min(end);
            if at < until_spared {
                self.medium.free(Lba::new(at), Sectors::new(until_spared - at))?;
            }
            at = at.max(until);
        }
        Ok(())
    }

    /// Some pieces of a trim on its way are done and some are not. Pieces meet where physical
    /// sectors meet, wherever the trim begins: of none a part is trimmed and a part is not.
    pub(super) fn cut_trim(&mut self, trim: &Trim, choose: &mut dyn Choose) -> io::Result<()> {
        let (mut at, end) = (trim.lba, trim.lba + trim.sectors);
        let small = trim.sectors <= TRIM_PIECE;
        let piece = if small { self.physical_sector } else { TRIM_PIECE }.get();
        while at < end {
            let next = Lba::new((at.get() / piece + 1) * piece).min(end);
            if choose.choose(2) == 1 {
                self.carry_out(&Trim { lba: at, sectors: next - at, ..trim.clone() })?;
            }
            at = next;
        }
        Ok(())
    }
}
