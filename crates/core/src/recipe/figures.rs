//! Converts the counts of a test's runs into its phase.

use super::test::{LoadCounts, Reports, Test};
use crate::numbers::float;
use crate::record::{
    Better, Figure, JobRecord, Label, Latency, Nature, Phase, Point, Remark, Tally,
};
use crate::units::Bytes;

/// The counts of a load at one offset.
pub(super) struct PointCounts {
    pub(super) offset: Bytes,
    pub(super) counts: LoadCounts,
}

/// True if a test at several points measures the time of one request.
fn is_access(test: &Test) -> bool {
    test.points.is_some() && test.workload.rw.is_random()
}

/// The names of the figures that are compared.
pub(super) fn metrics(test: &Test) -> Vec<String> {
    let name = &test.name;
    let mut names = vec![name.clone()];
    if test.points.is_some() && !is_access(test) {
        names.extend([format!("{name}_min"), format!("{name}_max")]);
    }
    if !is_access(test) {
        names.extend([format!("{name}_iops"), format!("{name}_latency")]);
    }
    names.extend(["mean", "p50", "p99"].map(|which| format!("{name}.lat_{which}_ns")));
    names
}

/// The phase of a test, from the counted runs, each with its points.
pub(super) fn phase(test: &Test, rounds: &[Vec<PointCounts>]) -> Phase {
    let totals: Vec<Tally> = rounds
        .iter()
        .map(|points| in_sequence(points.iter().map(|point| &point.counts.tally)))
        .collect();
    let rates: Vec<f64> = totals.iter().map(|total| total.record().bytes_per_s).collect();
    let (reported, round) = match test.reports {
        Reports::Mean => (in_sequence(&totals), 0),
        Reports::Best => one(&totals, &ranked(&rates), rates.len() - 1),
        // The lower of two in the middle: a run that was made, not a mean of two.
        Reports::Median => one(&totals, &ranked(&rates), (rates.len() - 1) / 2),
    };
    let record = reported.record();
    let points = curve_points(test, &rounds[round]);
    let mut figures = if is_access(test) {
        vec![figure(&test.name, float(record.lat_ns.mean) / 1e6, "ms", Better::Less)]
    } else if test.points.is_some() {
        curve(test, &record, &points)
    } else {
        transfer(test, &record, &rates)
    };
    figures.extend(cpu(test, &record));
    let (nature, remarks) = nature(test, rounds);
    let lat_ns: Option<Latency> = (record.lat_ns.n > 0).then_some(record.lat_ns);
    Phase { name: test.name.clone(), nature, figures, lat_ns, points, remarks }
}

/// The counts of loads that followed each other.
fn in_sequence<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    let mut tallies = tallies.into_iter();
    let mut total = tallies.next().expect("a test has a run, and a run a point").clone();
    for next in tallies {
        total.follow(next);
    }
    total
}

/// The indices of the rates, the slowest first.
fn ranked(rates: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
    order
}

fn one(totals: &[Tally], order: &[usize], rank: usize) -> (Tally, usize) {
    (totals[order[rank]].clone(), order[rank])
}

/// The rate, the figures derived from it, and the range of the single runs.
fn transfer(test: &Test, record: &JobRecord, rates: &[f64]) -> Vec<Figure> {
    let name = &test.name;
    let rate = match test.reports {
        // The mean of rates, as tools that report a mean do; not total bytes divided by total time.
        Reports::Mean => rates.iter().sum::<f64>() / count(rates.len()),
        Reports::Best | Reports::Median => record.bytes_per_s,
    };
    let mut figures = vec![
        figure(name, rate / 1e6, "MB/s", Better::More),
        detail(&format!("{name}_iops"), record.iops, "1/s", Better::More),
        detail(&format!("{name}_latency"), float(record.lat_ns.mean) / 1e3, "us", Better::Less),
    ];
    if rates.len() > 1 {
        let (least, most) = limits(rates.iter().copied());
        for (which, rate) in [("slowest_run", least), ("fastest_run", most)] {
            let name = format!("{name}_{which}");
            figures.push(detail(&name, rate / 1e6, "MB/s", Better::Neither));
        }
    }
    figures
}

/// Mean, minimum and maximum over the points.
fn curve(test: &Test, record: &JobRecord, points: &[Point]) -> Vec<Figure> {
    let name = &test.name;
    let values = || points.iter().map(|point| point.value);
    let mean = values().sum::<f64>() / count(points.len());
    let (least, most) = limits(values());
    vec![
        figure(name, mean, "MB/s", Better::More),
        detail(&format!("{name}_min"), least, "MB/s", Better::More),
        detail(&format!("{name}_max"), most, "MB/s", Better::More),
        detail(&format!("{name}_iops"), record.iops, "1/s", Better::More),
        detail(&format!("{name}_latency"), float(record.lat_ns.mean) / 1e3, "us", Better::Less),
    ]
}

fn limits(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)))
}

/// Each point and its value: million bytes per second, or milliseconds.
fn curve_points(test: &Test, points: &[PointCounts]) -> Vec<Point> {
    if test.points.is_none() {
        return Vec::new();
    }
    let mut curve = Vec::with_capacity(points.len());
    for point in points {
        let record = point.counts.tally.record();
        let value = if is_access(test) {
            float(record.lat_ns.mean) / 1e6
        } else {
            record.bytes_per_s / 1e6
        };
        curve.push(Point { offset_bytes: point.offset.get(), value });
    }
    curve
}

/// The share of one processor that it used; virtual time uses none.
fn cpu(test: &Test, record: &JobRecord) -> Option<Figure> {
    let share = record.cpu_ns_per_io? * record.iops / 1e9;
    let figure = detail(&format!("{}_cpu", test.name), 100.0 * share, "%", Better::Less);
    Some(Figure { nature: Some(Nature::Cpu), ..figure })
}

/// The nature of the figures: according to the marks of a run, at several points those of most
/// of them, otherwise according to the recipe.
fn nature(test: &Test, rounds: &[Vec<PointCounts>]) -> (Nature, Vec<Remark>) {
    let of_round = |points: &Vec<PointCounts>| {
        let marked: Vec<(Nature, String)> = points.iter().filter_map(marked_nature).collect();
        // There is one only where more than half of the points have a mark.
        marked.into_iter().nth(points.len() / 2)
    };
    match rounds.iter().find_map(of_round) {
        Some((nature, why)) => (nature, vec![Remark::new(Label::Nature(nature), why)]),
        None => (test.nature, Vec::new()),
    }
}

fn marked_nature(point: &PointCounts) -> Option<(Nature, String)> {
    let mut marks = point.counts.marks.iter();
    marks.find_map(|mark| Some((mark.id.nature()?, mark.message.clone())))
}

fn figure(name: &str, value: f64, unit: &str, better: Better) -> Figure {
    Figure { unit: unit.into(), ..Figure::new(name, value, better) }
}

fn detail(name: &str, value: f64, unit: &str, better: Better) -> Figure {
    Figure { is_detail: true, ..figure(name, value, unit, better) }
}

#[expect(clippy::cast_precision_loss, reason = "runs and points are few")]
fn count(number: usize) -> f64 {
    number as f64
}
