//! Trims in flight: the ranges they free, and the ranges that later writes have taken back.

use std::io;

use drivelab_core::{Lba, Sectors};

use super::in_flight_trim::{Trim, TrimId};
use super::{Choose, Step, Store};

/// The unit in which a trim in flight is done or not done; whole physical sectors.
const TRIM_PIECE: Sectors = Sectors::new(2048);

impl Store {
    /// Submits a trim.
    pub fn begin_trim(&mut self, lba: Lba, sectors: Sectors) -> io::Result<TrimId> {
        self.note(|| Step::Trim { lba, sectors })?;
        self.sequence += 1;
        let sequence = self.sequence;
        self.trims.push(Trim { lba, sectors, sequence, spared: Vec::new() });
        Ok(TrimId(sequence))
    }

    /// Completes a trim. It is then durable, which the modelled drives guarantee beyond their
    /// obligations.
    pub fn complete_trim(&mut self, trim: TrimId) -> io::Result<()> {
        self.note(|| Step::Trimmed(trim))?;
        let index = self.trims.iter().position(|other| other.sequence == trim.0);
        let trim = self.trims.remove(index.expect("the trim is in flight"));
        self.carry_out(&trim)
    }

    /// Drops a trim of which nothing was done.
    pub(crate) fn forget_trim(&mut self, trim: TrimId) -> io::Result<()> {
        self.note(|| Step::TrimForgotten(trim))?;
        self.trims.retain(|other| other.sequence != trim.0);
        Ok(())
    }

    /// Frees the range of a trim, except what was written after it was submitted.
    pub(super) fn carry_out(&mut self, trim: &Trim) -> io::Result<()> {
        let (mut at, end) = (trim.lba.get(), (trim.lba + trim.sectors).get());
        debug_assert!(at <= end, "a range of sectors");
        let mut spared = trim.spared.clone();
        spared.sort_unstable();
        // Values that are newer than the trim survive it, in the cache as on the medium.
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

    /// Carries out some pieces of a trim in flight, as chosen. Pieces meet at physical sectors
    /// wherever the trim begins: no sector is trimmed in part.
    pub(super) fn cut_trim(&mut self, trim: &Trim, choose: &mut dyn Choose) -> io::Result<()> {
        let (mut at, end) = (trim.lba, trim.lba + trim.sectors);
        let small = trim.sectors <= TRIM_PIECE;
        let piece = if small { self.physical_sector } else { TRIM_PIECE }.get();
        while at < end {
            let next = Lba::new((at.get() / piece + 1) * piece).min(end);
            debug_assert!(at < next, "every piece has a sector");
            if choose.choose(2) == 1 {
                self.carry_out(&Trim { lba: at, sectors: next - at, ..trim.clone() })?;
            }
            at = next;
        }
        Ok(())
    }
}
