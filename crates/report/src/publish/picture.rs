//! A result as a picture that stands alone, light or dark as the reader has it.

use std::fmt::Write as _;

use drivelab_analysis::metric;
use drivelab_analysis::outcome::Series;
use drivelab_analysis::run::record_name;
use drivelab_analysis::study::LatencyCurve;
use drivelab_core::Refusal;
use drivelab_core::numbers::float;
use drivelab_core::record::RunRecord;

use super::subject::Subject;
use crate::page::html::{escape, short};
use crate::page::picture::dots;
use crate::suite;
use crate::ticks::number;

/// Of the picture that stands alone; a page has its own.
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#333}.x{text-anchor:middle}\
.y{text-anchor:end}.title{font-size:14px;font-weight:600}.grid{stroke:#8886;stroke-width:.5}\
polyline{fill:none}.pair{stroke:#888;opacity:.55}.arm-0{color:#7a8490}.arm-1{color:#b87a00}\
.arm-2{color:#007a5a}.arm-3{color:#0067a8}.arm-4{color:#a8558a}.arm-5{color:#c24e00}\
circle{fill:currentColor}.line{stroke:currentColor;stroke-width:2}.rate,.dot{fill:#0067a8}\
.measured{stroke:#0067a8;stroke-width:2;fill:none}.rate.write{fill:#007a5a}\
@media(prefers-color-scheme:dark){text{fill:#ddd}}";

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 300.0;

/// The blocks of a comparison or a study, the distribution of a load, the bars of a suite.
pub(super) fn svg(subject: &Subject<'_>) -> Result<String, Refusal> {
    let none = |why: &str| {
        Err(Refusal::request(format!("there is no picture of this result: {why}"))
            .hint("write a page: --format html"))
    };
    match subject {
        Subject::Comparison(result, _) => {
            let series = &result.series[result.primary().series];
            blocks(series, &result.names(), result.unpaired.is_none())
        }
        Subject::Study(result) => blocks(result.series_of(result.primary()), &result.names(), true),
        Subject::Run(record) => loads(&[record]),
        Subject::Runs(records) => loads(records),
        Subject::Matrix(..) => return none("a matrix has a figure for every group of cells"),
        Subject::Results(_) => return none("results of another tool are a table"),
    }
    .map_or_else(|| none("it needs two runs of each arm, or requests"), Ok)
}

fn blocks(series: &Series, names: &[&str], paired: bool) -> Option<String> {
    let drawn = dots::drawn(series, names, paired)?;
    let title = format!("{}: {} block by block", names.join(", "), metric::label(&series.metric));
    Some(alone(&title, 380.0, 270.0, &nested(&drawn, 10.0, 30.0)))
}

fn loads(records: &[&RunRecord]) -> Option<String> {
    let of_suites: Vec<String> = records.iter().flat_map(|it| suite::pictures(it)).collect();
    let curves = records.iter().enumerate().filter_map(|(arm, record)| {
        LatencyCurve::of(0, arm, &record.total.as_ref()?.lat_histogram)
    });
    let curves: Vec<LatencyCurve> = curves.collect();
    let names: Vec<String> = records.iter().map(|it| short(record_name(it))).collect();
    let title = names.join(", ");
    if curves.is_empty() {
        let drawn: Vec<&str> = of_suites.iter().filter_map(|it| inner(it)).collect();
        let height = 30.0 + 340.0 * as_float(drawn.len());
        let placed = drawn.iter().zip(0_u32..);
        let placed = placed.map(|(svg, at)| nested(svg, 0.0, 30.0 + 340.0 * f64::from(at)));
        let all: String = placed.collect();
        return (!all.is_empty()).then(|| alone(&title, WIDTH, height, &all));
    }
    Some(alone(
        &title,
        WIDTH,
        HEIGHT + 20.0 * as_float(names.len()),
        &distribution(&curves, &names),
    ))
}

#[expect(clippy::cast_precision_loss, reason = "a handful of pictures")]
fn as_float(count: usize) -> f64 {
    count as f64
}

/// The picture inside a figure of a page.
fn inner(figure: &str) -> Option<&str> {
    let from = figure.find("<svg")?;
    let to = figure.rfind("</svg>")? + "</svg>".len();
    figure.get(from..to)
}

/// A picture within another.
fn nested(svg: &str, x: f64, y: f64) -> String {
    // The size of a picture within another is that of its view box.
    let view = svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next());
    let (width, height) = view.and_then(|it| it.split_once(' ')).unwrap_or(("100%", "100%"));
    let opening = format!("<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" ");
    svg.replacen("<svg ", &opening, 1)
}

fn alone(title: &str, width: f64, height: f64, inside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <desc>drivelab report</desc><style>{STYLE}</style>\n\
         <text class=\"title\" x=\"12\" y=\"20\">{}</text>\n{inside}</svg>\n",
        escape(&short(title)),
    )
}

/// Shares of requests done within a time, which is on a logarithmic scale.
fn distribution(curves: &[LatencyCurve], names: &[String]) -> String {
    let ends = curves.iter().flat_map(|it| [it.points.first(), it.points.last()]).flatten();
    let (mut lo, mut hi) = (u64::MAX, 2);
    for (ns, _) in ends {
        (lo, hi) = (lo.min(*ns), hi.max(*ns));
    }
    // Ends that are equal would leave the axis without length.
    let (lo, hi) = (log(lo.max(1)), log(hi.max(lo.saturating_add(1))));
    let x = |ns: u64| LEFT + (RIGHT - LEFT) * (log(ns) - lo) / (hi - lo).max(f64::MIN_POSITIVE);
    let y = |share: f64| BOTTOM - (BOTTOM - TOP) * share;
    let mut svg = String::new();
    for percent in [0_u32, 25, 50, 75, 100] {
        let at = y(f64::from(percent) / 100.0);
        // Writing into a string cannot fail.
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{}\" y=\"{:.1}\">{} %</text>",
            LEFT - 5.0,
            at + 4.0,
            number(f64::from(percent), 25.0),
        );
    }
    // 10^19 is the greatest power of ten below 2^64.
    let decades = (0..20).map(|power| 10_u64.pow(power)).filter(|ns| (lo..=hi).contains(&log(*ns)));
    for ns in decades {
        let (at, label) = (x(ns), drivelab_analysis::figures::span_ns(float(ns)));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{BOTTOM}\"/>\
             <text class=\"x\" x=\"{at:.1}\" y=\"{}\">{label}</text>",
            BOTTOM + 16.0
        );
    }
    for curve in curves {
        let style = curve.arm % crate::page::html::ARM_STYLES;
        let points =
            curve.points.iter().map(|(ns, share)| format!("{:.1},{:.1}", x(*ns), y(*share)));
        let points: Vec<String> = points.collect();
        let row = BOTTOM + 44.0 + 20.0 * as_float(curve.arm);
        let _ = writeln!(
            svg,
            "<polyline class=\"line arm-{style}\" points=\"{}\"/>\n<line class=\"line arm-{style}\" \
             x1=\"{LEFT}\" y1=\"{row}\" x2=\"{}\" y2=\"{row}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            points.join(" "),
            LEFT + 28.0,
            LEFT + 36.0,
            row + 4.0,
            escape(&names[curve.arm]),
        );
    }
    svg
}

fn log(ns: u64) -> f64 {
    libm::log(float(ns))
}
