//! A sweep on its modelled drive: its points, and how each is made.

use std::path::{Path, PathBuf};

use drivelab_core::record::{Drawn, RunRecord};
use drivelab_engine::RunPlan;
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::Profile;
use drivelab_report::sweep::{Factor, Swept};
use drivelab_study::sweep::{Figures, Kept, Point, Points, Row, Sweep, digest};

use crate::failure::Failure;
use crate::input;
use crate::stage::DriveKeys;
use crate::target;

/// A sweep on its drive.
pub(crate) struct Modelled {
    pub(crate) sweep: Sweep,
    spec: DriveSpec,
    profile: Profile,
    /// A hash that differs wherever the drive does.
    model: String,
}

impl Modelled {
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let text = input::text(file, input::SWEEP)?;
        let sweep = Sweep::parse(&file.display().to_string(), &text, &DriveKeys)?;
        let spec = target::drive_spec(&sweep.drive)?;
        let profile = target::profile(&spec)?;
        let model = digest(&format!("{:?} {profile:?}", spec.options.entries()));
        Ok(Self { sweep, spec, profile, model })
    }

    pub(crate) fn points(&self) -> Result<Points<'_>, Failure> {
        let unknowns = self.profile.unknowns().len();
        if self.sweep.draws_specimens && unknowns > self.sweep.unknowns_max() {
            let message = format!("{} leaves {unknowns} numbers open", self.spec.profile);
            return Err(Failure::bad_words(format!("{message}, too many for Sobol' points"))
                .hint("write design = \"latin-hypercube\""));
        }
        Ok(Points::new(&self.sweep, unknowns))
    }

    /// Refuses points whose options exclude one another, before any is made.
    pub(crate) fn check(&self, points: &Points<'_>) -> Result<(), Failure> {
        for number in 0..points.len() {
            let point = points.point(number);
            self.sweep.load(&point).check().map_err(|error| {
                let failure = Failure::from(error);
                let context = format!("point {number} ({}) cannot be run", self.words(&point));
                Failure { error: failure.error.context(context), ..failure }
            })?;
        }
        Ok(())
    }

    fn words(&self, point: &Point) -> String {
        let pairs = self.sweep.parameters.iter().zip(&point.values);
        let words = pairs.map(|(parameter, value)| format!("{} = {value}", parameter.name));
        words.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn kept(&self, folder: &Path, points: &Points<'_>) -> Result<Kept, Failure> {
        let key = |number| {
            let is_there = number < points.len();
            is_there.then(|| self.sweep.key(&points.point(number), &self.model))
        };
        Ok(Kept::read(folder, key)?)
    }

    /// Makes a point, as a whole run.
    pub(crate) fn run(&self, point: &Point) -> Result<RunRecord, Failure> {
        self.made(point).map(|(record, _)| record)
    }

    fn made(&self, point: &Point) -> Result<(RunRecord, Vec<Drawn>), Failure> {
        let mut options = Options::default();
        for (key, value) in self.sweep.settings(point) {
            options.set(key, &value).expect("its values were checked");
        }
        let options = self.spec.options.overlaid_with(&options);
        let spec = DriveSpec { options, ..self.spec.clone() };
        let (profile, drawn) = self.specimen(point);
        let workload = self.sweep.load(point).check()?;
        let plan = RunPlan { seed: point.seed, ..RunPlan::new(PathBuf::new(), workload) };
        let record = target::simulate(&spec, &profile, &plan, &|_| ()).map_err(|failure| {
            let context = format!("point {} ({})", point.number, self.words(point));
            Failure { error: failure.error.context(context), ..failure }
        })?;
        Ok((record, drawn))
    }

    /// Makes a point, as it is kept.
    pub(crate) fn row(&self, point: &Point) -> Result<Row, Failure> {
        let (record, drawn) = self.made(point)?;
        let names = self.sweep.parameters.iter().map(|parameter| parameter.name.clone());
        Ok(Row {
            point: point.number,
            key: self.sweep.key(point, &self.model),
            parameters: names.zip(point.values.clone()).collect(),
            unknowns: drawn.into_iter().map(|drawn| (drawn.name, drawn.value)).collect(),
            figures: Figures::of(&record.total.expect("a load has a total")),
        })
    }

    fn specimen(&self, point: &Point) -> (Profile, Vec<Drawn>) {
        if self.sweep.draws_specimens && !point.quantiles.is_empty() {
            return self.profile.specimen(&point.quantiles);
        }
        (self.profile.median(), Vec::new())
    }

    pub(crate) fn swept(&self, kept: &Kept) -> Swept {
        let rows: Vec<&Row> = kept.rows.values().collect();
        let parameters = self.sweep.parameters.iter().map(|parameter| {
            let words = rows.iter().map(|row| row.parameters[&parameter.name].clone());
            let words: Vec<String> = words.collect();
            let values = words.iter().map(|word| parameter.number(word)).collect();
            Factor { name: parameter.name.clone(), is_unknown: false, values, words }
        });
        let open = rows.first().map(|row| row.unknowns.keys().cloned().collect::<Vec<_>>());
        let unknowns = open.unwrap_or_default().into_iter().map(|name| {
            let value = |row: &&Row| row.unknowns.get(&name).copied().unwrap_or(f64::NAN);
            let values: Vec<f64> = rows.iter().map(value).collect();
            let words = values.iter().map(f64::to_string).collect();
            Factor { name, is_unknown: true, values, words }
        });
        Swept {
            title: self.sweep.title.clone(),
            drive: self.spec.to_string(),
            design: self.sweep.design.name(),
            figure: self.sweep.figure,
            points: self.sweep.points,
            factors: parameters.chain(unknowns).collect(),
            made: rows.iter().map(|row| (row.point, row.figures.get(self.sweep.figure))).collect(),
            rows_sha256: kept.sha256(),
        }
    }
}
