//! A sweep on its modelled drive: its points, and how each is made.

use std::path::Path;

use drivelab_analysis::outcome::validity;
use drivelab_core::StageName;
use drivelab_core::record::{Drawn, RunRecord};
use drivelab_core::units::Span;
use drivelab_guest::kernel::Kernel;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_report::sweep::{Factor, Flawed, Swept};
use drivelab_study::sweep::{Figures, Kept, Of, Parameter, Point, Points, Row, Sweep, digest};

use crate::request::{GuestOptions, Load, Request, Work};
use crate::stage::kernel::{self, Has};
use crate::stage::{self, DriveKeys};
use crate::{input, interrupt, target};
use drivelab_core::Refusal;

/// A sweep on its drive.
#[derive(Debug)]
pub struct Modelled {
    pub(super) sweep: Sweep,
    spec: DriveSpec,
    profile: Profile,
    /// The kernel of the guests, at stage kernel.
    kernel: Option<Kernel>,
    /// A hash that differs wherever the drive does, or the kernel in front of it.
    model: String,
}

/// Points that each thread makes between two looks at the disk.
const POINTS_A_THREAD: usize = 128;
/// The same of guests, each of which takes a second or more.
const GUESTS_A_THREAD: usize = 4;
/// Real time after which the guest of a point is ended.
const LIMIT: Span = Span::from_secs(600);

impl Modelled {
    /// Reads the sweep in `file`, and the profile of its drive.
    pub fn read(file: &Path) -> Result<Self, Refusal> {
        let text = input::text(file, input::SWEEP)?;
        let sweep = Sweep::parse(&file.display().to_string(), &text, &DriveKeys)?;
        let spec = target::drive_spec(&sweep.drive)?;
        let profile = target::profile(&spec)?;
        refuse_guests(&sweep)?;
        let kernel = match sweep.stage {
            StageName::Kernel => Some(kernel::find(&kernel::cache(None)?, None)?),
            _ => None,
        };
        let kernel_sha256 = kernel.as_ref().map(|kernel| kernel.sha256.as_str());
        let model = digest(&identity(&spec, &profile, kernel_sha256));
        Ok(Self { sweep, spec, profile, kernel, model })
    }

    /// The number of points that each thread makes before they are kept, up to `most`.
    pub fn points_a_thread(&self, most: usize) -> usize {
        let each = if self.kernel.is_some() { GUESTS_A_THREAD } else { POINTS_A_THREAD };
        each.min(most)
    }

    /// The points, in the order of their numbers.
    pub fn points(&self) -> Result<Points<'_>, Refusal> {
        let unknowns = self.profile.unknowns().len();
        if self.sweep.draws_specimens && unknowns > self.sweep.unknowns_max() {
            let message = format!("{} leaves {unknowns} numbers open", self.spec.profile);
            return Err(Refusal::request(format!("{message}, too many for Sobol' points"))
                .hint("write design = \"latin-hypercube\""));
        }
        Ok(Points::new(&self.sweep, unknowns))
    }

    /// Refuses points whose options exclude one another, before any is made.
    pub fn check(&self, points: &Points<'_>) -> Result<(), Refusal> {
        for number in 0..points.len() {
            let point = points.point(number);
            self.check_one(&point).map_err(|failure| {
                let context = format!("point {number} ({}) cannot be run", self.words(&point));
                failure.context(context)
            })?;
        }
        Ok(())
    }

    fn check_one(&self, point: &Point) -> Result<(), Refusal> {
        let workload = self.sweep.load(point).check()?;
        if self.kernel.is_none() {
            return Ok(());
        }
        let has = Has::of(std::iter::once(&stage::typed(&self.sweep.settings(point))?))?;
        kernel::check_load(&workload, has.mounted.is_some())
    }

    /// The value of each parameter of a row, in the order of the file.
    fn words_of(&self, row: &Row) -> Vec<String> {
        let names = self.sweep.parameters.iter().map(|parameter| &parameter.name);
        names.map(|name| row.parameters[name].clone()).collect()
    }

    fn words(&self, point: &Point) -> String {
        let pairs = self.sweep.parameters.iter().zip(&point.values);
        let words = pairs.map(|(parameter, value)| format!("{} = {value}", parameter.name));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The rows of these points in `folder`.
    pub fn rows(&self, folder: &Path, points: &Points<'_>) -> Result<Kept, Refusal> {
        Kept::read(folder, |number| {
            let is_point = number < points.len();
            is_point.then(|| self.sweep.key(&points.point(number), &self.model))
        })
    }

    /// Makes a point, as a whole run.
    pub fn run(&self, point: &Point) -> Result<RunRecord, Refusal> {
        self.made(point).map(|(record, _)| record)
    }

    fn made(&self, point: &Point) -> Result<(RunRecord, Vec<Drawn>), Refusal> {
        let settings = stage::typed(&self.sweep.settings(point))?;
        let options = self.spec.options.overlaid_with(&stage::options(&settings));
        let spec = DriveSpec { options, ..self.spec.clone() };
        let (profile, drawn) = self.specimen(point);
        let load = Load::new(self.sweep.load(point).check()?);
        let request = Request::on_drive(spec, Work::Load(Box::new(load)), point.seed);
        let request = request.with_profile(profile);
        let request = match &self.kernel {
            Some(kernel) => request.in_guest(GuestOptions {
                kernel: Some(kernel.clone()),
                has: Has::of(std::iter::once(&settings))?,
                limit: LIMIT,
                trace: None,
                console: None,
            }),
            None => request,
        };
        let record = crate::run(&request, &interrupt::silent());
        let record = record.map_err(|failure| {
            let context = format!("point {} ({})", point.number, self.words(point));
            failure.context(context)
        })?;
        Ok((record, drawn))
    }

    /// Makes a point, as it is kept.
    pub fn row(&self, point: &Point) -> Result<Row, Refusal> {
        let (record, drawn) = self.made(point)?;
        let flaws = validity::flaws(&record);
        let names = self.sweep.parameters.iter().map(|parameter| parameter.name.clone());
        Ok(Row {
            point: point.number,
            key: self.sweep.key(point, &self.model),
            parameters: names.zip(point.values.clone()).collect(),
            unknowns: drawn.into_iter().map(|drawn| (drawn.name, drawn.value)).collect(),
            figures: Figures::of(&record.total.expect("a load has a total")),
            flaws,
        })
    }

    fn specimen(&self, point: &Point) -> (Profile, Vec<Drawn>) {
        if self.sweep.draws_specimens && !point.quantiles.is_empty() {
            return self.profile.specimen(&point.quantiles);
        }
        (self.profile.median(), Vec::new())
    }

    /// The result of the rows, as it is shown.
    pub fn swept(&self, kept: &Kept) -> Swept {
        // A figure of flawed runs is not that of its settings: it is listed and not ranked.
        let (rows, flawed): (Vec<&Row>, Vec<&Row>) =
            kept.rows.values().partition(|row| validity::counts(&row.flaws));
        let parameters = self.sweep.parameters.iter().map(|parameter| {
            let words = rows.iter().map(|row| row.parameters[&parameter.name].clone());
            let words: Vec<String> = words.collect();
            let values = words.iter().map(|word| parameter.number(word)).collect();
            Factor { name: parameter.name.clone(), is_unknown: false, values, words }
        });
        let open =
            kept.rows.values().next().map(|row| row.unknowns.keys().cloned().collect::<Vec<_>>());
        let open = open.unwrap_or_default();
        let unknowns = open.iter().map(|name| {
            let values: Vec<f64> = rows.iter().map(|row| unknown(row, name)).collect();
            let words = values.iter().map(f64::to_string).collect();
            Factor { name: name.clone(), is_unknown: true, values, words }
        });
        let flawed = flawed.into_iter().map(|row| {
            let unknowns = open.iter().map(|name| unknown(row, name).to_string());
            Flawed {
                point: row.point,
                why: validity::in_words(&row.flaws),
                value: row.figures.get(self.sweep.figure),
                words: self.words_of(row).into_iter().chain(unknowns).collect(),
            }
        });
        Swept {
            title: self.sweep.title.clone(),
            drive: match &self.kernel {
                Some(kernel) => format!("{} under Linux {}", self.spec, kernel.release),
                None => self.spec.to_string(),
            },
            design: self.sweep.design.name(),
            figure: self.sweep.figure,
            points: self.sweep.points,
            factors: parameters.chain(unknowns).collect(),
            made: rows.iter().map(|row| (row.point, row.figures.get(self.sweep.figure))).collect(),
            remarks: rows.iter().map(|row| validity::in_words(&row.flaws)).collect(),
            flawed: flawed.collect(),
            rows_sha256: kept.sha256(),
        }
    }
}

/// The number of a row that its profile leaves open.
fn unknown(row: &Row, name: &str) -> f64 {
    row.unknowns.get(name).copied().unwrap_or(f64::NAN)
}

/// Words that differ wherever the drive does, the kernel in front of it, or the sources of the
/// model: those decide the figures, and the number of the version stays while they change.
fn identity(spec: &DriveSpec, profile: &Profile, kernel: Option<&str>) -> String {
    let mut words = vec![env!("DRIVELAB_MODEL").to_owned()];
    words.extend(spec.options.entries().into_iter().map(|(key, value)| format!("{key} = {value}")));
    words.push(profile.canonical().to_owned());
    words.extend(kernel.map(|kernel| format!("under {kernel}")));
    words.join("\n")
}

fn is_of_guest(parameter: &Parameter) -> bool {
    matches!(parameter.of, Of::Drive(key) if Has::KEYS.contains(&key))
}

/// Refuses parameters that only a guest has.
fn refuse_guests(sweep: &Sweep) -> Result<(), Refusal> {
    match sweep.parameters.iter().find(|it| is_of_guest(it)) {
        Some(parameter) if sweep.stage != StageName::Kernel => {
            let message = format!("stage {} has no `{}`", sweep.stage, parameter.name);
            Err(Refusal::request(message)
                .hint("under a real kernel: stage = \"kernel\" in the sweep file"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_knows_its_drive_by_what_its_profile_says_and_by_the_model() {
        let spec: DriveSpec = "generic-5400,write-cache=off".parse().unwrap();
        let of = |text: &str| {
            let profile = Profile::parse("x.toml", text, &|_| None).unwrap();
            identity(&spec, &profile, None)
        };
        let text = "base = \"generic-5400\" # a drive\n[drive]\nrpm = 7200\n";
        let known = of(text);
        assert_eq!(known, of("base = 'generic-5400'\n\n[drive]\n rpm = 7_200\n"));
        assert_ne!(known, of(&text.replace("7200", "7201")));
        assert!(known.starts_with(env!("DRIVELAB_MODEL")), "{known}");
        assert!(known.contains("write-cache = off"), "{known}");
    }
}
