//! A sweep: which factor matters, and the best points.

mod page;
mod picture;

pub use page::page;
pub use picture::picture;

use drivelab_stats::{MAIN_EFFECTS_MIN, MainEffect, MainEffects, main_effects};
use serde_json::{Value, json};

use crate::metric;
use crate::publish::quoted;
use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// The name of the JSON document.
pub const SWEEP_SCHEMA: &str = "drivelab.sweep/1";
/// Points that are listed.
const BEST: usize = 5;
/// Values of a factor that are listed one by one.
const LEVELS_MAX: usize = 16;

/// A sweep as far as its points are made.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// The question.
    pub title: String,
    /// The modelled drive.
    pub drive: String,
    /// How the points are placed.
    pub design: &'static str,
    /// The figure that is asked about.
    pub figure: &'static str,
    /// How many points the sweep has.
    pub points: u32,
    /// What varies.
    pub factors: Vec<Factor>,
    /// Number and figure of each point that is made.
    pub made: Vec<(u32, f64)>,
    /// The hash of all rows, sorted by point.
    pub rows_sha256: String,
}

/// What varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Whether it is a number that the profile leaves open.
    pub is_unknown: bool,
    /// For each point that is made: the value, or its place in a list.
    pub values: Vec<f64>,
    /// The same as it is written.
    pub words: Vec<String>,
}

/// The points that share a value of a factor.
struct Level<'a> {
    word: &'a str,
    n: u32,
    /// Of the figure: of its logarithms until all are added.
    mean: f64,
}

impl Swept {
    /// How many points are still to be made.
    pub fn missing(&self) -> u32 {
        self.points.saturating_sub(u32::try_from(self.made.len()).unwrap_or(u32::MAX))
    }

    /// What each factor explains of the figure's logarithm.
    fn effects(&self) -> Option<MainEffects> {
        if self.made.iter().any(|(_, value)| *value <= 0.0) {
            return None;
        }
        let response: Vec<f64> = self.made.iter().map(|(_, value)| libm::log(*value)).collect();
        let columns: Vec<Vec<f64>> =
            self.factors.iter().map(|factor| factor.values.clone()).collect();
        main_effects(&response, &columns)
    }

    /// Factors with their shares, the largest first.
    fn ranked(&self, effects: &MainEffects) -> Vec<(&Factor, MainEffect)> {
        let mut ranked: Vec<_> = self.factors.iter().zip(effects.factors.iter().copied()).collect();
        ranked.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
        ranked
    }

    /// Places of the points that are listed.
    fn best(&self) -> Vec<usize> {
        self.best_of(BEST)
    }

    /// Places of so many best points, the best first.
    pub fn best_of(&self, count: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.made.len()).collect();
        let is_less = metric::is_time(self.figure, "");
        places.sort_by(|a, b| {
            let order = self.made[*b].1.total_cmp(&self.made[*a].1);
            let order = if is_less { order.reverse() } else { order };
            order.then(a.cmp(b))
        });
        places.truncate(count);
        places
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let effects = self.effects();
        let factor = |(factor, effect): (&Factor, MainEffect)| {
            json!({
                "name": factor.name,
                "kind": if factor.is_unknown { "unknown" } else { "parameter" },
                "share": effect.share,
                "ci95": effect.ci95,
            })
        };
        let factors: Option<Vec<Value>> =
            effects.as_ref().map(|effects| self.ranked(effects).into_iter().map(factor).collect());
        let best = |place: usize| {
            let named = self.factors.iter().map(|it| (it.name.clone(), it.words[place].clone()));
            let (point, value) = self.made[place];
            json!({
                "point": point,
                "value": value,
                "factors": named.collect::<std::collections::BTreeMap<String, String>>(),
            })
        };
        json!({
            "schema": SWEEP_SCHEMA,
            "title": self.title,
            "drive": self.drive,
            "design": self.design,
            "figure": self.figure,
            "points": self.points,
            "missing": self.missing(),
            "rows_sha256": self.rows_sha256,
            "factors": factors,
            "rest": effects.map(|effects| effects.rest),
            "best": self.best().into_iter().map(best).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub fn text(&self, look: Look) -> String {
        let mut text = look.paint(&self.title, BOLD) + "\n";
        text += &match self.effects() {
            Some(effects) => self.shares(&effects, look),
            None => look.wrap(&self.why_no_shares(), 2) + "\n",
        };
        text += "\n";
        text += &self.best_table(look);
        if self.missing() > 0 {
            let lead = format!("{} of {} points are missing:", self.missing(), self.points);
            let body = "the same command makes them; in shards, each of them does its own.";
            text += &(look.led(&lead, DOUBT, body, 2) + "\n");
        }
        let made = format!(
            "{} points on {} ({} design), one run each in virtual time: no real device was \
             involved. Rows: sha256 {}.",
            self.made.len(),
            self.drive,
            self.design,
            self.rows_sha256
        );
        text + &look.wrap(&made, 2) + "\n"
    }

    fn why_no_shares(&self) -> String {
        if self.made.len() < MAIN_EFFECTS_MIN {
            return format!(
                "{} points are too few to say which factor matters: it takes {MAIN_EFFECTS_MIN}.",
                self.made.len()
            );
        }
        format!("{} is the same at all points, or nothing at some.", metric::label(self.figure))
    }

    /// The answer in a sentence.
    fn lead(&self, effects: &MainEffects) -> String {
        let name = metric::label(self.figure);
        match self.ranked(effects).first() {
            Some((factor, effect)) if effect.ci95[0] > 0.0 => format!(
                "`{}` matters most: by itself it explains {} of how much {name} varies ({} to {}).",
                factor.name,
                percent(effect.share),
                percent(effect.ci95[0]),
                percent(effect.ci95[1])
            ),
            _ => format!("No factor by itself explains how much {name} varies."),
        }
    }

    /// The geometric mean of the figure at each value of a factor, in the order of its values; of a
    /// factor with more than [`LEVELS_MAX`] values, or with a figure of 0, nothing.
    fn levels<'a>(&self, factor: &'a Factor) -> Option<Vec<Level<'a>>> {
        let mut found: Vec<(f64, Level<'a>)> = Vec::new();
        for (place, (_, figure)) in self.made.iter().enumerate() {
            if *figure <= 0.0 {
                return None;
            }
            let (value, log) = (factor.values[place], libm::log(*figure));
            let known = found.iter().position(|(known, _)| known.total_cmp(&value).is_eq());
            let place_of = match known {
                Some(known) => known,
                None if found.len() == LEVELS_MAX => return None,
                None => {
                    found.push((value, Level { word: &factor.words[place], n: 0, mean: 0.0 }));
                    found.len() - 1
                }
            };
            found[place_of].1.n += 1;
            found[place_of].1.mean += log;
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = |(_, level): (f64, Level<'a>)| Level {
            mean: libm::exp(level.mean / f64::from(level.n)),
            ..level
        };
        Some(found.into_iter().map(mean).collect())
    }

    fn shares(&self, effects: &MainEffects, look: Look) -> String {
        let ranked = self.ranked(effects);
        let text = self.lead(effects);
        let mut table = Table::new(&[
            ("factor", Align::Left, 0),
            ("share", Align::Right, 0),
            ("95 % within", Align::Right, 0),
            ("", Align::Left, 0),
        ]);
        let unknown =
            |factor: &Factor| if factor.is_unknown { "left open by the profile" } else { "" };
        for (factor, effect) in &ranked {
            table.row(row(&factor.name, *effect, unknown(factor)));
        }
        table.row(row("several together, and chance", effects.rest, ""));
        look.wrap(&text, 2) + "\n\n" + &table.render(look) + "\n"
    }

    fn best_table(&self, look: Look) -> String {
        let shown: Vec<&Factor> = self.factors.iter().filter(|it| !it.is_unknown).collect();
        let mut columns = vec![("best points", Align::Right, 0), (self.figure, Align::Right, 0)];
        columns.extend(shown.iter().map(|factor| (factor.name.as_str(), Align::Right, 0)));
        let mut table = Table::new(&columns);
        for place in self.best() {
            let (point, value) = self.made[place];
            let mut cells = vec![point.to_string(), metric::show(self.figure, value)];
            cells.extend(shown.iter().map(|factor| factor.words[place].clone()));
            table.row(cells);
        }
        table.render(look) + "\n"
    }

    /// One line a point, for other programs.
    pub fn csv(&self) -> String {
        let names = self.factors.iter().map(|factor| quoted(&factor.name));
        let mut text =
            format!("sweep_point,{},{}\r\n", names.collect::<Vec<_>>().join(","), self.figure);
        for (place, (point, value)) in self.made.iter().enumerate() {
            let words = self.factors.iter().map(|factor| quoted(&factor.words[place]));
            text += &format!("{point},{},{value}\r\n", words.collect::<Vec<_>>().join(","));
        }
        text
    }
}

fn row(name: &str, effect: MainEffect, remark: &str) -> [String; 4] {
    let [low, high] = effect.ci95;
    let range = format!("{} to {}", percent(low), percent(high));
    [name.to_owned(), percent(effect.share), range, remark.to_owned()]
}

/// A share in whole percent.
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests;
