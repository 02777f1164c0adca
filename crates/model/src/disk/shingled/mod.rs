//! Shingled tracks behind a media cache, as drives that manage them hide them.
//!
//! Tracks of a band overlap, so that a band is written from its beginning. Writes that do not
//! continue one go to a log on the medium, the media cache, from which the drive moves them to
//! their bands when the host is idle, or when the log is full and the host waits. The sequence of a
//! cleaning follows what Aghayev and Desnoyers saw of two drives ("Skylight", FAST 2015): bands in
//! the order of the log, each read, merged, and written in full.

mod bands;
mod cleaning;
mod log;
mod serve;
mod shape;

use drivelab_core::{Rng, Sectors, Time};

pub(in crate::disk) use bands::Bands;
pub(in crate::disk) use cleaning::Job;
pub(in crate::disk) use log::{Log, Piece};
pub(crate) use shape::Shingling;

/// The state of shingled tracks.
#[derive(Debug, Clone)]
pub(crate) struct Shingled {
    pub(in crate::disk) shape: Shingling,
    pub(in crate::disk) log: Log,
    pub(in crate::disk) bands: Bands,
    /// The band that is being cleaned.
    pub(in crate::disk) job: Option<Job>,
    /// The medium is at a step of the job.
    pub(in crate::disk) at_step: bool,
    /// The last access was one of the host's: where both wait they take turns.
    pub(in crate::disk) host_was_served: bool,
    /// The last arrival or end of a request.
    pub(in crate::disk) active: Time,
    /// An event that ends the idle time is on its way.
    pub(in crate::disk) wakes_at: Option<Time>,
    pieces: Vec<Piece>,
}

impl Shingled {
    pub(in crate::disk) fn new(shape: Shingling, capacity: Sectors) -> Self {
        Self {
            shape,
            log: Log::new(shape, capacity),
            bands: Bands::new(shape.band, capacity),
            job: None,
            at_step: false,
            host_was_served: false,
            active: Time::ZERO,
            wakes_at: None,
            pieces: Vec::new(),
        }
    }

    /// Fills the media cache as random writes of 4 KiB do.
    pub(in crate::disk) fn fill(&mut self, capacity: Sectors, seed: u64) {
        const WRITE: Sectors = Sectors::new(8);
        let mut rng = Rng::for_part(seed, 1);
        while self.log.has_room(WRITE, 0) {
            let unit = rng.below(capacity.get() / WRITE.get());
            self.log.append(drivelab_core::Lba::new(unit * WRITE.get()), WRITE);
        }
    }

    /// Begins to clean the band of the oldest data, if any waits.
    pub(in crate::disk) fn begin_job(&mut self) -> bool {
        debug_assert!(self.job.is_none(), "one band at a time");
        let oldest = self.log.oldest_band().or_else(|| self.bands.oldest_left());
        let Some(band) = oldest else { return false };
        let sectors = self.bands.range(band);
        self.job = Some(Job::new(&self.log, self.shape.cache, band, sectors));
        true
    }

    /// Ends the job whose last step is done.
    pub(in crate::disk) fn end_job(&mut self) {
        let job = self.job.take().expect("a step belongs to a job");
        debug_assert!(job.is_done(), "it has steps left");
        let (band, before) = job.cleans();
        self.log.cleaned(band, before);
        self.bands.cleaned(band);
    }

    pub(in crate::disk) fn has_room(&self, sectors: Sectors) -> bool {
        self.log.has_room(sectors, self.bands.unfinished())
    }

    pub(in crate::disk) fn is_clean(&self) -> bool {
        self.log.is_empty() && self.bands.are_finished() && self.job.is_none()
    }
}
