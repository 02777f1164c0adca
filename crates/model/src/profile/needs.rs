//! The needs of a load: mechanisms that the model lacks, and limits that no drive of the profile
//! exceeds.

use drivelab_core::numbers::float;
use drivelab_core::workload::Workload;

use super::{Body, Profile};
use crate::about::About;
use crate::controller::Port;
use crate::options::{Options, Precondition};

/// A mechanism that a load needs and the model lacks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missing {
    /// The mechanism, and what follows from its absence.
    pub what: &'static str,
    /// Its share of the error of the model: the standard deviation of the logarithm of a rate.
    pub sigma: f64,
}

impl Missing {
    /// The error of a model with the deviation `known` that also lacks `all`; independent errors,
    /// whose squares add up.
    pub fn add(all: &[Self], known: f64) -> f64 {
        let squares = all.iter().map(|missing| missing.sigma * missing.sigma);
        if all.is_empty() { known } else { squares.fold(known * known, |sum, it| sum + it).sqrt() }
    }
}

// Each deviation is the logarithm of the factor between the model and what was published, and an
// estimate where nothing was (docs/internals/modelled-disks.md).
const SLC_BLOCKS: Missing = Missing {
    what: "blocks written as SLC: real drives of this kind write faster at first, and slower once \
           they are full",
    sigma: 0.4,
};
const MAP_WRITES: Missing = Missing {
    what: "the map that a flush writes: real drives without capacitors flush more slowly",
    sigma: 1.2,
};
const BOTH_SECTORS: Missing = Missing {
    what: "firmware that reads both sectors of a misaligned write in one revolution",
    sigma: 0.25,
};

impl Profile {
    /// The mechanisms that `workload` needs and the model with these options lacks.
    pub fn missing_for(&self, workload: &Workload, options: &Options) -> Vec<Missing> {
        let (rw, block) = (workload.rw, workload.blocks.mean().get());
        let flushes = rw.writes() && (workload.sync || workload.fsync > 0);
        let mut missing = Vec::new();
        match &self.body {
            Body::Ssd(ssd) => {
                // In the steady state such blocks are full.
                let state = options.precondition.unwrap_or(ssd.precondition);
                let fills = !flushes && state != Precondition::Steady;
                if rw.writes() && fills && !ssd.has_slc(state) && !ssd.protected {
                    missing.push(SLC_BLOCKS);
                }
                if flushes && !ssd.protected && !ssd.writes_map() {
                    missing.push(MAP_WRITES);
                }
            }
            Body::Hdd(hdd) => {
                let physical = hdd.parts.physical_sector.bytes().get();
                let first = workload.offset.get() + options.offset.unwrap_or_default().get();
                let both = !first.is_multiple_of(physical) && block >= physical;
                if rw.writes() && both {
                    missing.push(BOTH_SECTORS);
                }
            }
            Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => {}
        }
        missing
    }

    /// The requests a second that no drive of the profile exceeds with this load, as far as that
    /// is known: by its link, and by its rotation where each write waits for the medium in
    /// sequence.
    pub fn most_per_s(&self, about: &About, workload: &Workload, numjobs: u32) -> Option<f64> {
        let attached = about.attached.as_ref()?;
        if about.arrangement.is_some() || about.tier.is_some() {
            return None;
        }
        let rw = workload.rw;
        // Both directions of a duplex link at once make twice the rate.
        let one_way = !(rw.reads() && rw.writes());
        let link = attached.link.filter(|link| one_way || link.is_sata()).map(|link| {
            let port = Port::new(attached.wire_bytes_per_s, link.per_command());
            let framed = matches!(self.body, Body::Ssd(_));
            let port = if framed { port.framed(link.per_frame()) } else { port };
            1e9 / float(port.least_time(workload.blocks.mean()).ns())
        });
        let in_sequence = rw.writes() && !rw.reads() && !rw.is_random();
        let each = workload.sync || workload.fsync == 1;
        let rotation = self.rpm().filter(|_| in_sequence && each).map(|rpm| {
            let writers = u64::from(workload.pace.iodepth()) * u64::from(numjobs);
            float(rpm * writers) / 60.0
        });
        [link, rotation].into_iter().flatten().reduce(f64::min)
    }
}
