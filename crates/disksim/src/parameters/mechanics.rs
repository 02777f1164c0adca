//! The block `dm_mech_g1`: speed, seek curve, head switch and settling.

use drivelab_core::Span;
use drivelab_model::mechanics::{SeekTable, Spindle};
use drivelab_model::profile::BaseText;

use super::error::{At, DiskSimResult};
use super::fields::{Fields, nanoseconds};
use super::include::{Resolve, include};
use crate::disk::Layout;
use crate::disk::params::Mechanics;

pub(super) fn read(
    mut fields: Fields,
    layout: Layout,
    cylinders: u32,
    shortest_write_seek: Span,
    resolve: Resolve,
) -> DiskSimResult<Mechanics> {
    let access = fields.value("Access time type")?;
    let kind = access.words("Access time type")?;
    if kind != "trackSwitchPlusRotation" {
        return Err(access.at.error(format!(
            "`Access time type = {kind}` is not modelled; only `trackSwitchPlusRotation` is"
        )));
    }
    fields.only("Percent error in rpms", 0.0)?;
    let rpm = fields.number("Rotation speed (in rpms)", 100.0..=100_000.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 10^5 and 10^8"
    )]
    let spindle = Spindle::new((rpm * 1000.0 + 0.5) as u64);
    let points = read_seeks(&mut fields, cylinders, resolve)?;
    let mechanics = Mechanics {
        spindle,
        layout,
        seeks: SeekTable::interpolated(&points, cylinders.max(2)),
        head_switch: Span::from_ns(fields.time("Head switch time")?),
        write_settle: fields.residual("Add. write settling delay")?,
        shortest_write_seek,
    };
    // Alternatives to the seek curve that the file uses.
    fields.ignore(&[
        "Single cylinder seek time",
        "Average seek time",
        "Full strobe seek time",
        "Full seek curve",
        "HPL seek equation values",
        "First ten seek times",
        "Constant access time",
        "Constant seek time",
    ]);
    fields.finish()?;
    Ok(mechanics)
}

type Points = Vec<(u32, Span)>;

fn read_seeks(fields: &mut Fields, cylinders: u32, resolve: Resolve) -> DiskSimResult<Points> {
    let kind = fields.value("Seek type")?;
    match kind.words("Seek type")? {
        "extracted" => {
            let value = fields.value("Full seek curve")?;
            let name = value.words("Full seek curve")?;
            let Some(found) = include(&value.at.file, name, resolve) else {
                return Err(value.at.error(format!(
                    "there is no seek curve file `{name}`; put it next to this file"
                )));
            };
            read_seek_file(&found)
        }
        "hpl" => Ok(Equation::read(fields, false)?.points(cylinders, &[])),
        "hplplus10" => {
            let equation = Equation::read(fields, true)?;
            let value = fields.value("First ten seek times")?;
            let at = value.at.clone();
            let times = value.list("First ten seek times")?;
            if times.len() != 10 {
                return Err(at.error("`First ten seek times`: expected ten times in ms"));
            }
            let first = times
                .iter()
                .map(|time| time.number("First ten seek times", 0.0..=1000.0))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(equation.points(cylinders, &first))
        }
        "linear" => Ok(ThreePoints::read(fields)?.line(cylinders)),
        "curve" => Ok(ThreePoints::read(fields)?.curve(cylinders)),
        "constant" => {
            let key = "Constant seek time";
            let time = Span::from_ns(fields.time(key)?);
            Ok(vec![(1, time), (2, time)])
        }
        other => Err(kind.at.error(format!(
            "`Seek type = {other}` is not modelled; there are `extracted`, `hpl`, `hplplus10`, \
             `linear`, `curve` and `constant`"
        ))),
    }
}

/// The seeks in data sheets, in ms.
struct ThreePoints {
    single: f64,
    average: f64,
    full: f64,
}

impl ThreePoints {
    fn read(fields: &mut Fields) -> DiskSimResult<Self> {
        let at = fields.block.at.clone();
        let single = fields.number("Single cylinder seek time", 0.0..=1000.0)?;
        let average = fields.number("Average seek time", 0.0..=1000.0)?;
        let full = fields.number("Full strobe seek time", 0.0..=1000.0)?;
        if !(single <= average && average <= full) {
            return Err(at.error(
                "`Single cylinder seek time`, `Average seek time` and `Full strobe seek time`: \
                 expected times that increase in this order",
            ));
        }
        Ok(Self { single, average, full })
    }

    /// Straight lines; a random seek covers a third of the stroke on average.
    fn line(&self, cylinders: u32) -> Points {
        // Ascending even for a disk of a few cylinders.
        let (third, last) = ((cylinders / 3).max(2), (cylinders - 1).max(3));
        let points = [(1, self.single), (third, self.average), (last, self.full)];
        points.map(|(distance, time)| (distance, milliseconds(time))).into()
    }

    /// A square root and a line, such that random seeks take the average (Lee and Katz 1993, "An
    /// analytic performance model of disk arrays").
    fn curve(&self, cylinders: u32) -> Points {
        let Self { single, average, full } = self;
        let all = f64::from(cylinders.max(2));
        let root = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * all.sqrt());
        let line = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * all);
        (1..=cylinders.max(2))
            .map(|distance| {
                let x = f64::from(distance - 1);
                (distance, milliseconds((single + root * x.sqrt() + line * x).max(0.0)))
            })
            .collect()
    }
}

fn milliseconds(time: f64) -> Span {
    Span::from_ns(nanoseconds(time).unsigned_abs())
}

/// The seek equation of Ruemmler and Wilkes (IEEE Computer, March 1994): a square root up to a
/// distance, a line beyond it. Times in ms.
struct Equation {
    line_from: f64,
    root: (f64, f64),
    line: (f64, f64),
    /// The seek to the adjacent cylinder, if it is given separately.
    single: Option<f64>,
}

impl Equation {
    fn read(fields: &mut Fields, ten_more: bool) -> DiskSimResult<Self> {
        let key = "HPL seek equation values";
        let value = fields.value(key)?;
        let at = value.at.clone();
        let numbers = value
            .list(key)?
            .iter()
            .map(|number| number.number(key, -1.0..=1e6))
            .collect::<Result<Vec<_>, _>>()?;
        let [line_from, root_at, root_by, line_at, line_by, single] = numbers[..] else {
            return Err(at.error(format!("`{key}`: expected six numbers")));
        };
        Ok(Self {
            line_from,
            root: (root_at, root_by),
            line: (line_at, line_by),
            // -1 is no separate time; with ten separate times it is the first of them.
            single: (single >= 0.0 && !ten_more).then_some(single),
        })
    }

    fn points(&self, cylinders: u32, first: &[f64]) -> Points {
        let mut points = Vec::new();
        for distance in 1..=cylinders.max(2) {
            let x = f64::from(distance);
            let time = match (first.get(distance as usize - 1), self.single) {
                (Some(time), _) => *time,
                (None, Some(time)) if distance == 1 => time,
                _ if x < self.line_from => self.root.0 + self.root.1 * x.sqrt(),
                _ => self.line.0 + self.line.1 * x,
            };
            points.push((distance, Span::from_ns(nanoseconds(time).max(0).unsigned_abs())));
        }
        points
    }
}

/// A `.seek` file: a heading, then `distance, ms` with ascending distances.
fn read_seek_file(file: &BaseText) -> DiskSimResult<Points> {
    let mut points: Points = Vec::new();
    for (line, text) in (1..).zip(file.text.lines()) {
        let at = At { file: file.file.as_str().into(), line };
        let text = text.trim();
        if text.is_empty() || text.starts_with("Seek distances measured") {
            continue;
        }
        let mut parts = text.split(',').map(str::trim);
        let distance = parts.next().and_then(|part| part.parse::<u32>().ok());
        let time = parts.next().and_then(|part| part.parse::<f64>().ok());
        let (Some(distance @ 1..=4_194_304), Some(time)) = (distance, time) else {
            return Err(at.error("expected `distance, ms`, for example `12, 3.059`"));
        };
        if !(0.0..=1000.0).contains(&time) {
            return Err(at.error("expected a seek time from 0 to 1000 ms"));
        }
        if points.last().is_some_and(|(before, _)| *before >= distance) {
            return Err(at.error("expected distances that increase from line to line"));
        }
        points.push((distance, Span::from_ns(nanoseconds(time).unsigned_abs())));
        if points.len() > 1 << 16 {
            return Err(at.error("more than 65536 distances"));
        }
    }
    if points.len() < 2 {
        let at = At { file: file.file.as_str().into(), line: 1 };
        return Err(at.error("expected at least two distances with their times"));
    }
    Ok(points)
}
