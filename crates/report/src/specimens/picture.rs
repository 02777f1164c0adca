//! A dot for each specimen, and below them the two intervals, which say different things.

use std::collections::{BTreeSet, VecDeque};

use drivelab_analysis::figures;
use drivelab_analysis::outcome::{Outcome, Series};
use drivelab_analysis::specimens::{Foreseen, Opened};
use drivelab_stats::{Better, Part};

use super::words::cause;
use crate::page::html::escape;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 16.0;
const RIGHT: f64 = 16.0;
/// The top of the dots, and the lowest row of them.
const TOP: f64 = 24.0;
const FLOOR: f64 = 104.0;
/// The line of ratios, then the interval for one more drive and that of the mean.
const AXIS: f64 = 118.0;
const ONE_MORE: f64 = 162.0;
const MEAN: f64 = 198.0;
const HEIGHT: f64 = 220.0;
const RADIUS: f64 = 4.0;

/// The drawing inside a page.
pub(crate) fn figure(outcome: &Outcome, series: &Series, about: &str) -> String {
    let Some(foreseen) = &outcome.foreseen else { return String::new() };
    format!(
        "<figure class=\"specimens\"><figcaption>{about}</figcaption>\n{}</figure>\n",
        drawing(outcome, foreseen, series, "")
    )
}

/// The drawing as a separate file; `None` if no drives were simulated.
pub(crate) fn svg(outcome: &Outcome, series: &Series) -> Option<String> {
    let foreseen = outcome.foreseen.as_ref()?;
    Some(drawing(outcome, foreseen, series, STYLE))
}

/// The rules of the page's style sheet that a separate file needs.
const STYLE: &str = "<style>
svg{--ink:#1b1f24;--soft:#5c6570;--line:#dfe3e8;--band:#e9ecf0;--paper:#fbfbfa;--good:#00653f;\
--bad:#a83600;--same:#4a5460;background:var(--paper)}
@media(prefers-color-scheme:dark){svg{--ink:#e6e9ed;--soft:#9aa5b1;--line:#313840;--band:#2b3139;\
--paper:#14171b;--good:#58c79b;--bad:#f08a5a;--same:#b3bdc8}}
text{font:12px system-ui,sans-serif;fill:var(--ink)}
.x{text-anchor:middle}.soft{fill:var(--soft)}.band{fill:var(--band)}
.grid{stroke:var(--line)}.one{stroke:var(--soft)}
circle{stroke:var(--paper)}.faster{fill:var(--good)}.slower{fill:var(--bad)}.same{fill:var(--same)}
.prediction{stroke:var(--ink);stroke-width:2;fill:none}
.mean{stroke:var(--ink);stroke-width:7}
</style>
";

fn drawing(outcome: &Outcome, foreseen: &Foreseen, series: &Series, style: &str) -> String {
    let comparison = &outcome.adjusted.comparison;
    let prediction = foreseen.forecast.prediction95;
    let ratios = ratios(outcome, series);
    // Twice the margin is always inside: drives that hardly differ look alike.
    let limits = [1.0 + 2.0 * series.margin, 1.0 / (1.0 + 2.0 * series.margin)];
    let scale = Scale::new(ratios.iter().chain(&prediction).chain(&limits).copied());
    let margin = [1.0 / (1.0 + series.margin), 1.0 + series.margin];
    let mut body = scale.ground(margin);
    for (dot, ratio) in swarm(&ratios, scale).into_iter().zip(&ratios) {
        let class = match *ratio {
            it if it > margin[1] => "faster",
            it if it < margin[0] => "slower",
            _ => "same",
        };
        body += &format!(
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{RADIUS}\"><title>\u{d7}{}</title>\
             </circle>\n",
            dot.0,
            dot.1,
            figures::ratio(*ratio)
        );
    }
    body += &scale.prediction(prediction);
    body += &comparison.ci95.map_or_else(String::new, |mean| scale.mean(mean));
    let count = ratios.len();
    let about = format!(
        "The ratio on each of {count} drives; one more drive lies between \u{d7}{}",
        figures::range(prediction)
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{}\">\n{style}<text class=\"soft\" x=\"{LEFT}\" y=\"12\">\u{2190} \
         worse</text><text class=\"soft\" x=\"{:.1}\" y=\"12\" text-anchor=\"end\">better \
         \u{2192}</text>\n{body}</svg>\n",
        escape(&about),
        WIDTH - RIGHT,
    )
}

/// One ratio a specimen, above 1 where the arm is better.
fn ratios(outcome: &Outcome, series: &Series) -> Vec<f64> {
    let pairs = series.values[outcome.from].iter().zip(&series.values[outcome.to]);
    pairs
        .map(|(from, to)| match series.better {
            Better::More => to / from,
            Better::Less => from / to,
        })
        .collect()
}

/// Dots on one another where they would cover each other; so close that the tallest pile stays
/// inside the picture.
fn swarm(ratios: &[f64], scale: Scale) -> Vec<(f64, f64)> {
    let across: Vec<f64> = ratios.iter().map(|ratio| scale.across(*ratio)).collect();
    let piled = levels(&across);
    let tallest = piled.iter().copied().fold(0.0, f64::max);
    let mut step = 2.0 * RADIUS + 1.0;
    while FLOOR - RADIUS - tallest * step < TOP + RADIUS && step >= STEP_MIN {
        step *= 0.8;
    }
    let dots = across.into_iter().zip(piled);
    dots.map(|(x, level)| (x, (FLOOR - RADIUS - level * step).max(TOP + RADIUS))).collect()
}

/// Dots that are closer than this are one.
const STEP_MIN: f64 = 0.2;

/// The level of each dot in its pile: the lowest that no dot just left of it has.
fn levels(across: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..across.len()).collect();
    order.sort_by(|a, b| across[*a].total_cmp(&across[*b]));
    let mut levels = vec![0.0; across.len()];
    // From left to right, so that only the dots just before it can touch a dot.
    let (mut near, mut free, mut used) = (VecDeque::<(f64, u32)>::new(), BTreeSet::new(), 0_u32);
    for at in order {
        let x = across[at];
        while let Some((_, level)) = near.front().filter(|(left, _)| x - left >= 2.0 * RADIUS) {
            free.insert(*level);
            near.pop_front();
        }
        let level = free.pop_first().unwrap_or_else(|| {
            used += 1;
            used - 1
        });
        debug_assert!(level < used, "a level is one that was made");
        near.push_back((x, level));
        levels[at] = f64::from(level);
    }
    levels
}

/// Ratios on a logarithmic line.
#[derive(Debug, Clone, Copy)]
struct Scale {
    lo: f64,
    hi: f64,
}

/// Candidates for labels, the most welcome first.
const TICKS: [f64; 17] =
    [1.0, 2.0, 0.5, 5.0, 0.2, 10.0, 0.1, 1.5, 3.0, 0.7, 1.2, 0.8, 1.1, 0.9, 1.3, 1.05, 0.95];
const TICK_GAP: f64 = 48.0;

impl Scale {
    fn new(ratios: impl Iterator<Item = f64>) -> Self {
        // Beyond a factor of 1000 all other dots would lie on one another.
        let logs = ratios.map(|ratio| libm::log(ratio.clamp(1e-3, 1e3)));
        // A ratio of 1 is always inside.
        let (lo, hi) = logs.fold((0.0_f64, 0.0_f64), |(lo, hi), log| (lo.min(log), hi.max(log)));
        let edge = 0.04 * (hi - lo);
        Self { lo: lo - edge, hi: hi + edge }
    }

    fn across(self, ratio: f64) -> f64 {
        let share = (libm::log(ratio) - self.lo) / (self.hi - self.lo);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    /// The band of differences that do not matter, and the line of ratios.
    fn ground(self, margin: [f64; 2]) -> String {
        let [lo, hi] = margin.map(|limit| self.across(limit));
        let mut svg = format!(
            "<rect class=\"band\" x=\"{lo:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>\n\
             <line class=\"grid\" x1=\"{LEFT}\" y1=\"{FLOOR}\" x2=\"{:.1}\" y2=\"{FLOOR}\"/>\n",
            hi - lo,
            HEIGHT - TOP - 8.0,
            WIDTH - RIGHT,
        );
        let mut shown: Vec<f64> = Vec::new();
        for ratio in TICKS {
            let at = self.across(ratio);
            let is_inside = (self.lo..=self.hi).contains(&libm::log(ratio));
            if !is_inside || shown.iter().any(|other| (other - at).abs() < TICK_GAP) {
                continue;
            }
            shown.push(at);
            let class = if ratio.total_cmp(&1.0).is_eq() { "one" } else { "grid" };
            svg += &format!(
                "<line class=\"{class}\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" \
                 y2=\"{FLOOR}\"/><text class=\"x\" x=\"{at:.1}\" \
                 y=\"{AXIS}\">\u{d7}{ratio}</text>\n"
            );
        }
        svg
    }

    fn prediction(self, limits: [f64; 2]) -> String {
        let [lo, hi] = limits.map(|limit| self.across(limit));
        let (up, down) = (ONE_MORE - 6.0, ONE_MORE + 6.0);
        let label = format!("one more drive, 95 %: \u{d7}{}", figures::range(limits));
        format!(
            "<path class=\"prediction\" d=\"M{lo:.1} {up}V{down}M{lo:.1} {ONE_MORE}H{hi:.1}M{hi:.1} \
             {up}V{down}\"/>{}",
            caption(&label, lo, hi, ONE_MORE - 12.0)
        )
    }

    fn mean(self, limits: [f64; 2]) -> String {
        let [lo, hi] = limits.map(|limit| self.across(limit));
        // A mean that is known exactly is still a mark.
        let hi = hi.max(lo + 2.0);
        let label = format!("mean of all such drives, 95 %: \u{d7}{}", figures::range(limits));
        format!(
            "<line class=\"mean\" x1=\"{lo:.1}\" y1=\"{MEAN}\" x2=\"{hi:.1}\" y2=\"{MEAN}\"/>{}",
            caption(&label, lo, hi, MEAN - 9.0)
        )
    }
}

/// Width of a letter, about.
const LETTER: f64 = 6.4;

/// A label over the middle of a line, moved inside the picture.
fn caption(label: &str, lo: f64, hi: f64, y: f64) -> String {
    let half = 0.5 * LETTER * letters(label);
    let middle = f64::midpoint(lo, hi).clamp(LEFT + half, (WIDTH - RIGHT - half).max(LEFT + half));
    format!("<text class=\"x\" x=\"{middle:.1}\" y=\"{y:.1}\">{}</text>\n", escape(label))
}

fn letters(label: &str) -> f64 {
    f64::from(u32::try_from(label.chars().count()).unwrap_or(u32::MAX))
}

/// Smaller shares have no row.
const ROW_MIN: f64 = 0.005;

/// One cause: its share as a bar, with its interval.
fn bar(part: &Part, unknowns: &[Opened]) -> String {
    let [lo, hi] = part.ci95.map(|limit| 100.0 * limit);
    let share = 100.0 * part.share;
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"part\"><i style=\"width:{share:.1}%\"></i><b \
         style=\"left:{lo:.1}%;width:{:.1}%\"></b></td><td>{share:.0} %</td><td>{lo:.0} to \
         {hi:.0} %</td></tr>\n",
        escape(&cause(part, unknowns)),
        hi - lo,
    )
}

/// The causes of the spread, a bar each.
pub(crate) fn parts(foreseen: &Foreseen) -> String {
    let (named, small): (Vec<&Part>, Vec<&Part>) =
        foreseen.forecast.parts.iter().partition(|part| part.share >= ROW_MIN);
    let rows: String = named.into_iter().map(|part| bar(part, &foreseen.unknowns)).collect();
    if rows.is_empty() {
        return rows;
    }
    let rest = match small.len() {
        0 => String::new(),
        count => format!(
            "<tr><th scope=\"row\">{}</th><td></td><td colspan=\"2\">each less than {:.1} \
             %</td></tr>\n",
            drivelab_core::counted(count as u64, "other unknown"),
            100.0 * ROW_MIN
        ),
    };
    format!(
        "<table class=\"parts\">\n<thead><tr><th scope=\"col\">what the spread between drives goes \
         back to</th><th scope=\"col\"></th><th scope=\"col\">share</th><th scope=\"col\">95 % \
         interval</th></tr></thead>\n<tbody>\n{rows}{rest}</tbody></table>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_do_not_cover_one_another_while_there_is_room() {
        let ratios = [1.0, 1.001, 1.5, 1.002, 0.8];
        let scale = Scale::new(ratios.into_iter());
        let dots = swarm(&ratios, scale);
        for (at, one) in dots.iter().enumerate() {
            for other in &dots[at + 1..] {
                let far = libm::hypot(one.0 - other.0, one.1 - other.1);
                assert!(far >= 2.0 * RADIUS - 1e-9, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn equal_dots_are_all_seen_inside_the_picture() {
        let ratios = [1.0; 60];
        let scale = Scale::new([0.9, 1.1].into_iter());
        let mut ups: Vec<f64> = swarm(&ratios, scale).into_iter().map(|(_, y)| y).collect();
        ups.sort_by(f64::total_cmp);
        assert!(ups[0] >= TOP + RADIUS && ups[59] <= FLOOR, "{ups:?}");
        assert!(ups.windows(2).all(|pair| pair[1] > pair[0]), "{ups:?}");
    }

    /// The level of each dot by its definition.
    fn levels_one_by_one(across: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..across.len()).collect();
        order.sort_by(|a, b| across[*a].total_cmp(&across[*b]));
        let mut levels = vec![0.0; across.len()];
        for (number, at) in order.iter().enumerate() {
            let near =
                order[..number].iter().filter(|it| across[*at] - across[**it] < 2.0 * RADIUS);
            let taken: Vec<f64> = near.map(|it| levels[*it]).collect();
            let mut free = (0_u32..).map(f64::from);
            levels[*at] = free.find(|level| !taken.contains(level)).unwrap();
        }
        levels
    }

    #[test]
    fn each_dot_is_as_low_as_those_left_of_it_let_it() {
        let mut rng = drivelab_core::rng::Rng::new(3);
        for count in [0, 1, 2, 10, 100, 300] {
            for width in [1.0, 30.0, 400.0] {
                let across: Vec<f64> = (0..count).map(|_| width * rng.unit()).collect();
                assert_eq!(levels(&across), levels_one_by_one(&across), "{count} {width}");
            }
        }
    }

    #[test]
    fn a_picture_of_many_drives_is_drawn_without_comparing_them_all() {
        // All pairs of them would be 10^11.
        let ratios: Vec<f64> = (0..300_000_u32).map(|it| 1.0 + f64::from(it % 7) * 1e-6).collect();
        let dots = swarm(&ratios, Scale::new([0.9, 1.1].into_iter()));
        assert!(dots.iter().all(|(_, y)| (TOP..=FLOOR).contains(y)));
    }

    #[test]
    fn extremes_stay_inside() {
        for ratios in [[1.0, 1.0], [1e-300, 1e300]] {
            let scale = Scale::new(ratios.into_iter().chain([0.9, 1.1]));
            let drawn =
                scale.ground([0.97, 1.03]) + &scale.prediction(ratios) + &scale.mean(ratios);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}
