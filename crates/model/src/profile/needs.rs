//! The needs of a load: mechanisms that the model lacks, and limits that no drive of the profile
//! exceeds.

use drivelab_core::numbers::float;
use drivelab_core::workload::Workload;
use drivelab_core::{Ratio, Span};

use super::{Body, Profile};
use crate::about::About;
use crate::controller::{Link, Port};
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

    /// The requests a second that this drive never exceeds with this load, as far as that is known:
    /// by its link or bus, by its rotation where each write waits for the medium in sequence, by
    /// its dies where nothing else can answer (`lasting`: the write buffer is full), and by what a
    /// cloud allows.
    pub fn most_per_s(&self, about: &About, workload: &Workload, lasting: bool) -> Option<f64> {
        if about.arrangement.is_some() || about.tier.is_some() {
            return None;
        }
        let medium = match &self.body {
            Body::Ssd(ssd) => {
                let flash = about.attached.as_ref()?.flash?;
                let is_whole = flash.trimmed == Ratio::ZERO;
                let state = flash.precondition;
                is_whole.then(|| ssd.dies_per_s(workload, state, lasting)).flatten()
            }
            Body::Volume(volume) => Some(volume.most_per_s(workload)),
            Body::Hdd(_) => self.turns_per_s(workload),
            Body::Other(_) | Body::Fixed { .. } => None,
        };
        [self.link_per_s(about, workload), medium].into_iter().flatten().reduce(f64::min)
    }

    fn link_per_s(&self, about: &About, workload: &Workload) -> Option<f64> {
        let attached = about.attached.as_ref()?;
        let rw = workload.rw;
        let bus = match &self.body {
            Body::Ssd(ssd) => ssd.bus,
            Body::Hdd(hdd) => hdd.bus,
            Body::Other(_) | Body::Volume(_) | Body::Fixed { .. } => return None,
        };
        // Both directions of a duplex link at once make twice the rate.
        let both_ways = rw.reads() && rw.writes();
        if both_ways && attached.link.is_some_and(|link| !link.is_sata()) {
            return None;
        }
        let per_command = attached.link.map_or(bus.per_command, Link::per_command);
        let port = Port::new(attached.wire_bytes_per_s, per_command);
        // Disks do not reach the rate of the link.
        let link = attached.link.filter(|_| matches!(self.body, Body::Ssd(_)));
        let port = port.framed(link.map_or(Span::ZERO, Link::per_frame));
        Some(1e9 / float(port.least_time(workload.blocks.mean()).ns()))
    }

    fn turns_per_s(&self, workload: &Workload) -> Option<f64> {
        let rw = workload.rw;
        let in_sequence = rw.writes() && !rw.reads() && !rw.is_random();
        let each = workload.sync || workload.fsync == 1;
        let turns = self.rpm().filter(|_| in_sequence && each)?;
        Some(float(turns * u64::from(workload.pace.iodepth())) / 60.0)
    }
}
