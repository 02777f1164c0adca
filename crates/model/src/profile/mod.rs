//! Drive profiles: what is known about one model of drive, as data with its sources.

mod base_text;
mod blueprint;
mod embedded;
mod hdd;
mod prior;
mod raw;
mod ssd;
mod values;

use std::sync::Arc;

pub use base_text::BaseText;
pub use blueprint::Blueprint;
pub use embedded::{names, text};
pub use prior::Prior;
pub use values::Interface;

pub(crate) use hdd::{HddProfile, ScsiBus, falling_zones};
pub(crate) use ssd::SsdProfile;

use drivelab_core::config::ConfigError;
use drivelab_core::{Ratio, Sectors, Span};

use raw::{Raw, required};
use values::Kind;

/// A drive as its profile describes it, checked and ready to be built.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The model, as its maker calls it.
    pub model: String,
    /// Where the numbers come from, as the profile says.
    pub sources: Vec<String>,
    /// What the profile knowingly leaves out.
    pub leaves_out: Option<String>,
    /// What the drive writes as one, and is not torn by a power cut: 1 sector of 512 bytes, or 8.
    pub physical_sector: Sectors,
    /// How far the drive may be off what it describes.
    pub uncertainty: Uncertainty,
    pub(crate) body: Body,
}

/// How far a modelled drive may be off, as deviations of logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Uncertainty {
    /// Of everything at depth 1; 0 where nobody has worked it out.
    pub fit_sigma: f64,
    /// Of the gain at depth 32 over depth 1; 0 where there is no queue.
    pub gain_sigma: f64,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Hdd(Box<HddProfile>),
    Ssd(Box<SsdProfile>),
    /// A drive that another crate models.
    Other(Arc<dyn Blueprint>),
    Fixed {
        capacity: Sectors,
        service: Span,
        servers: usize,
    },
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file says something that cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The `base` is not to be found.
    #[error("{file}: unknown base profile `{base}`; {hint}")]
    UnknownBase {
        /// The file that names it.
        file: String,
        /// What it names.
        base: String,
        /// The nearest name, or what a base may be.
        hint: String,
    },
    /// Profiles start from each other without end.
    #[error("{file}: more than {MAX_DEPTH} nested base profiles: check for a cycle")]
    TooDeep {
        /// The file at which it became too many.
        file: String,
    },
    /// Each value could be, but not all of them together.
    #[error("{file}: {message}")]
    Inconsistent {
        /// The file.
        file: String,
        /// What does not fit together, and what would.
        message: String,
    },
}

/// How many profiles may start from one another.
const MAX_DEPTH: usize = 8;

impl Profile {
    /// Whether two drives of this profile differ by their seeds, or are the same in every run.
    pub fn draws(&self) -> bool {
        match &self.body {
            Body::Hdd(hdd) => hdd.parts.retries.share != Ratio::ZERO,
            Body::Ssd(_) => true,
            Body::Other(_) | Body::Fixed { .. } => false,
        }
    }

    /// Reads the profile `text` of `file`.
    ///
    /// A `base` is looked up among the profiles that come with drivelab, then through
    /// `resolve_base`, which may read files.
    ///
    /// # Errors
    /// Unknown keys, values out of bounds, and values that contradict each other, with file, line
    /// and what would be accepted.
    pub fn parse(
        file: &str,
        text: &str,
        resolve_base: &dyn Fn(&str) -> Option<BaseText>,
    ) -> Result<Self, ProfileError> {
        let (mut raw, mut sources) = Raw::read(file, text)?;
        let mut current = file.to_owned();
        let mut depth = 0;
        while let Some(base) = raw.base.take() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(ProfileError::TooDeep { file: file.to_owned() });
            }
            let found = embedded_base(&base).or_else(|| resolve_base(&base));
            let Some(found) = found else { return Err(unknown_base(current, base)) };
            let (base_raw, base_sources) = Raw::read(&found.file, &found.text)?;
            raw = raw.over(base_raw);
            sources.extend(base_sources);
            current = found.file;
        }
        Self::assemble(&raw, sources)
            .map_err(|message| ProfileError::Inconsistent { file: file.to_owned(), message })
    }

    /// The profile called `name` that comes with drivelab.
    pub fn embedded(name: &str) -> Option<Self> {
        let parsed = Self::parse(&format!("{name}.toml"), text(name)?, &|_| None);
        Some(parsed.expect("a test reads every profile that comes with drivelab"))
    }

    /// Addressable sectors.
    pub fn capacity(&self) -> Sectors {
        match &self.body {
            Body::Hdd(hdd) => hdd.parts.mechanics.geometry.capacity(),
            Body::Ssd(ssd) => ssd.capacity,
            Body::Other(blueprint) => blueprint.capacity(),
            Body::Fixed { capacity, .. } => *capacity,
        }
    }

    /// Whether it has to wait for a platter to come round.
    pub fn rotates(&self) -> bool {
        match &self.body {
            Body::Hdd(_) | Body::Other(_) => true,
            Body::Ssd(_) | Body::Fixed { .. } => false,
        }
    }

    /// Revolutions a minute, rounded up, of a disk whose profile says so.
    pub fn rpm(&self) -> Option<u64> {
        match &self.body {
            Body::Hdd(hdd) => Some(hdd.milli_rpm().div_ceil(1000)),
            Body::Ssd(_) | Body::Other(_) | Body::Fixed { .. } => None,
        }
    }

    /// The profile of a drive that another crate models, with the least that holds for it: it
    /// comes from `source`, and leaves out what `leaves_out` says.
    pub fn of_blueprint(
        model: String,
        source: String,
        leaves_out: String,
        blueprint: Arc<dyn Blueprint>,
    ) -> Self {
        Self {
            model,
            sources: vec![source],
            leaves_out: Some(leaves_out),
            physical_sector: Sectors::new(1),
            uncertainty: Uncertainty::default(),
            body: Body::Other(blueprint),
        }
    }

    fn assemble(raw: &Raw, sources: Vec<String>) -> Result<Self, String> {
        let model = required(raw.model.clone(), "model")?;
        let leaves_out = raw.leaves_out.clone();
        let physical_sector = raw.sector_bytes.map_or(Sectors::new(1), |bytes| bytes.0);
        let fit_sigma = raw.fit_sigma.map_or(0.0, |sigma| sigma.0);
        let mut uncertainty = Uncertainty { fit_sigma, gain_sigma: 0.0 };
        let body = match required(raw.kind, "kind")? {
            Kind::Hdd => {
                let hdd = HddProfile::assemble(raw)?;
                let prior = Prior::of(hdd.rpm()).sigma;
                uncertainty.gain_sigma = raw.gain_sigma.map_or(prior, |sigma| sigma.0);
                Body::Hdd(Box::new(hdd))
            }
            Kind::Ssd => Body::Ssd(Box::new(SsdProfile::assemble(raw)?)),
            Kind::Fixed => Body::Fixed {
                capacity: required(raw.capacity_bytes, "capacity_bytes")?.0,
                service: required(raw.service, "service")?.0,
                servers: raw.servers.map_or(1, |servers| servers.0 as usize),
            },
        };
        Ok(Self { model, sources, leaves_out, physical_sector, uncertainty, body })
    }
}

fn embedded_base(name: &str) -> Option<BaseText> {
    let text = text(name)?.to_owned();
    Some(BaseText { file: format!("{name}.toml"), text })
}

fn unknown_base(file: String, base: String) -> ProfileError {
    let hint = match drivelab_core::config::nearest(&base, names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known: `{}`, or the path of a file", names().join("`, `")),
    };
    ProfileError::UnknownBase { file, base, hint }
}

#[cfg(test)]
mod tests;
