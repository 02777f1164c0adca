//! The numbers of a command: its times, and those in its output.

use drivelab_core::numbers::float;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark};
use drivelab_core::units::Span;
use drivelab_core::{Invalid, invalid};
use serde_json::Value;

use super::{CPU, Comma, Command, Metric, Source, WALL};

/// Reads the output (second) of a tool (first) into phases, or states the error in it.
pub type AsTool<'a> = dyn Fn(&str, &str) -> Result<Vec<Phase>, Invalid> + 'a;

/// The times and the output of a command that succeeded.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// From its start to its end.
    pub wall: Span,
    /// Processor time.
    pub cpu: Span,
    /// Standard output.
    pub stdout: &'a str,
    /// Standard error.
    pub stderr: &'a str,
}

impl Command {
    /// Its numbers, as phases of a record.
    ///
    /// `as_tool` reads the output of the tool whose format the study names.
    ///
    /// # Errors
    /// A number is missing in the output.
    pub fn phases(
        &self,
        printed: Printed<'_>,
        as_tool: &AsTool<'_>,
    ) -> Result<Vec<Phase>, Invalid> {
        let mut figures = Vec::with_capacity(self.metrics.len() + 2);
        for metric in &self.metrics {
            figures.push(metric.figure(printed)?);
        }
        figures.push(Figure::new(WALL, float(printed.wall.ns()), Better::Less));
        figures.push(Figure::new(CPU, float(printed.cpu.ns()), Better::Less));
        let (nature, remarks) = self.nature(printed);
        // Its numbers are called as the study calls them.
        let name = String::new();
        let mut phases =
            vec![Phase { name, nature, figures, lat_ns: None, points: Vec::new(), remarks }];
        if let Some(tool) = &self.format {
            phases.extend(as_tool(tool, printed.stdout)?);
        }
        Ok(phases)
    }

    /// The nature of the numbers: as the study states it, or the processor where that was busy.
    fn nature(&self, printed: Printed<'_>) -> (Nature, Vec<Remark>) {
        if let Some(nature) = self.measures {
            return (nature, Vec::new());
        }
        // Above 100 % with several threads; only a busy processor all the time is a bottleneck.
        let load = 100.0 * float(printed.cpu.ns()) / float(printed.wall.ns());
        if Nature::of_transfer(load) == Nature::Disk {
            return (Nature::Disk, Vec::new());
        }
        let why = format!("it used the processor for {} of {}", printed.cpu, printed.wall);
        (Nature::Cpu, vec![Remark::new(Label::Nature(Nature::Cpu), why)])
    }
}

impl Metric {
    fn figure(&self, printed: Printed<'_>) -> Result<Figure, Invalid> {
        let number = self.value(printed)?;
        let figure = Figure::new(self.name.clone(), number, self.better);
        Ok(Figure { unit: self.unit.clone(), ..figure })
    }

    fn value(&self, printed: Printed<'_>) -> Result<f64, Invalid> {
        let name = &self.name;
        match &self.source {
            Source::Regex(regex) => {
                // Standard error only where standard output has no match: it carries progress.
                let mut outputs = [printed.stdout, printed.stderr].into_iter();
                let found =
                    outputs.find_map(|text| Some((regex.captures_iter(text).last()?, text)));
                let group =
                    found.and_then(|(found, text)| Some((found.get(1)?, found.get(0)?, text)));
                let (group, found, text) = group.ok_or_else(|| {
                    format!("metric `{name}`: nothing that it printed matches `{regex}`")
                })?;
                let (before, behind) = (&text[..group.start()], &text[group.end()..]);
                // Where the expression goes on, its author has seen the comma.
                let is_cut = (found.end() == group.end() && begins_with_part(behind))
                    || (found.start() == group.start() && ends_with_part(before));
                if is_cut {
                    return Err(invalid!(
                        "metric `{name}`: `{regex}` takes `{}` from the middle of a number with a \
                         comma; let its group include commas, as in `([0-9.,]+)`",
                        group.as_str()
                    ));
                }
                self.number(group.as_str())
            }
            Source::Json(pointer) => {
                // Tools print notices before their JSON.
                let start = printed.stdout.find(['{', '[']).unwrap_or(0);
                let mut values = serde_json::Deserializer::from_str(&printed.stdout[start..])
                    .into_iter::<Value>();
                let document = values.next().and_then(Result::ok);
                let document = document
                    .ok_or_else(|| format!("metric `{name}`: it printed no JSON document"))?;
                let found = document.pointer(pointer).ok_or_else(|| {
                    format!("metric `{name}`: the JSON that it printed has nothing at `{pointer}`")
                })?;
                match (found.as_f64(), found.as_str()) {
                    (Some(value), _) => Ok(value),
                    (None, Some(text)) => self.number(text),
                    (None, None) => Err(invalid!("metric `{name}`: `{found}` is not a number")),
                }
            }
        }
    }

    /// A finite number, whose commas have the meaning that the study states.
    fn number(&self, text: &str) -> Result<f64, Invalid> {
        let (name, text) = (&self.name, text.trim());
        let plain = match (self.comma, grouping(text)) {
            (_, Grouping::None) => text.to_owned(),
            (Some(Comma::Decimal), _) => decimal(text).unwrap_or_default(),
            (Some(Comma::Thousands), Grouping::Sure | Grouping::Single)
            | (None, Grouping::Sure) => text.replace(',', ""),
            (Some(Comma::Thousands), Grouping::Wrong) => String::new(),
            (None, Grouping::Single | Grouping::Wrong) => {
                return Err(invalid!(
                    "metric `{name}`: the comma in `{text}` may be a decimal comma or separate \
                     thousands; add `comma = \"decimal\"` or `comma = \"thousands\"` to the \
                     metric, or have the command print a point"
                ));
            }
        };
        let number: Option<f64> = plain.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| invalid!("metric `{name}`: `{text}` is not a number"))
    }
}

/// The commas of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    /// There are none.
    None,
    /// They separate thousands, as far as can be seen: `1,234,567`, `1,234.5`.
    Sure,
    /// There is one, with three digits behind it and no point: `1,234` may be either.
    Single,
    /// They do not separate groups of three.
    Wrong,
}

fn grouping(text: &str) -> Grouping {
    let number = text.trim_start_matches(['+', '-']);
    let (number, fraction) = match number.split_once('.') {
        Some((number, fraction)) => (number, Some(fraction)),
        None => (number, None),
    };
    let mut groups = number.split(',');
    let first = groups.next().unwrap_or_default();
    let others: Vec<&str> = groups.collect();
    let is_fraction_plain = fraction.is_none_or(|fraction| !fraction.contains(','));
    if others.is_empty() && is_fraction_plain {
        return Grouping::None;
    }
    let is_whole = (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && are_digits(first)
        && others.iter().all(|group| group.len() == 3 && are_digits(group))
        && is_fraction_plain;
    match (is_whole, others.len(), fraction) {
        (false, ..) => Grouping::Wrong,
        (true, 1, None) => Grouping::Single,
        _ => Grouping::Sure,
    }
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Converts a number with a decimal comma to one with a point; points before it separate thousands.
fn decimal(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',')?;
    let swapped: String = whole.chars().map(|c| if c == '.' { ',' } else { c }).collect();
    let is_grouped = matches!(grouping(&swapped), Grouping::Sure | Grouping::Single);
    let is_whole = !whole.contains('.') || is_grouped;
    (is_whole && !fraction.contains(',')).then(|| format!("{}.{fraction}", whole.replace('.', "")))
}

/// True if a text begins with a comma and a digit.
fn begins_with_part(text: &str) -> bool {
    text.strip_prefix(',').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// True if a text ends in a digit and a comma.
fn ends_with_part(text: &str) -> bool {
    text.strip_suffix(',').is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::StudyFile;
    use crate::file::tests::TwoKeys;

    fn command(keys: &str) -> Command {
        let text = format!(
            "title = \"a\"\nprimary = \"a.wall_ns\"\n[[arm]]\nname = \"b\"\n[[arm]]\nname = \
             \"c\"\n[[workload]]\nname = \"a\"\ncommand = \"x\"\n{keys}"
        );
        let study = StudyFile::parse("x.toml", &text, &TwoKeys).unwrap();
        study.workloads[0].work.command().unwrap().clone()
    }

    fn printed<'a>(stdout: &'a str, stderr: &'a str) -> Printed<'a> {
        Printed { wall: Span::from_ms(100), cpu: Span::from_ms(5), stdout, stderr }
    }

    fn check(place: &str, stdout: &str, stderr: &str, expected: Result<f64, &str>) {
        let command = command(&format!("[workload.metrics]\nm = {{ {place}, better = \"less\" }}"));
        let found = command.phases(printed(stdout, stderr), &|_, _| unreachable!());
        match (found, expected) {
            (Ok(phases), Ok(value)) => {
                let figure = &phases[0].figures[0];
                assert_eq!((figure.name.as_str(), figure.value.to_bits()), ("m", value.to_bits()));
            }
            (Err(wrong), Err(part)) => assert!(wrong.0.contains(part), "{wrong}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_number_is_the_last_match_and_never_made_up() {
        let tps = "regex = \"tps = ([^ ]+)\"";
        check(tps, "tps = 1.5 \ntps = 2,500.25 x", "tps = 9", Ok(2500.25));
        check(tps, "nothing", "tps = 9", Ok(9.0));
        check(tps, "tsp = 9", "", Err("nothing that it printed matches `tps = ([^ ]+)`"));
        check(tps, "tps = many", "", Err("`many` is not a number"));
        check(tps, "tps = inf", "", Err("`inf` is not a number"));
        check(tps, "tps = NaN", "", Err("`NaN` is not a number"));
    }

    #[test]
    fn a_comma_separates_thousands_where_nothing_else_is_possible() {
        let check = |printed: &str, expected: Result<f64, &str>| {
            check("regex = \"took ([^ ]+)\"", &format!("took {printed} s"), "", expected);
        };
        check("1,234,567", Ok(1_234_567.0));
        check("-12,345.5", Ok(-12_345.5));
        let either = |text: &str| format!("the comma in `{text}` may be a decimal comma");
        for text in ["9,95", "10,1", "1,034", "1.034,5", "0,123,456", "1234,567.8", "1,2345", ",5"]
        {
            check(text, Err(&either(text)));
        }
        check("1.034.567", Err("`1.034.567` is not a number"));
    }

    #[test]
    fn the_study_may_say_what_a_comma_is() {
        let check = |comma: &str, printed: &str, expected: Result<f64, &str>| {
            let place = format!("regex = \"took ([^ ]+)\", comma = \"{comma}\"");
            check(&place, &format!("took {printed} s"), "", expected);
        };
        check("decimal", "9,95", Ok(9.95));
        check("decimal", "1.034,5", Ok(1034.5));
        check("decimal", "1,034", Ok(1.034));
        check("decimal", "12.5", Ok(12.5));
        check("decimal", "1,234,567", Err("`1,234,567` is not a number"));
        check("thousands", "1,034", Ok(1034.0));
        check("thousands", "9,95", Err("`9,95` is not a number"));
        check("thousands", "834", Ok(834.0));
    }

    /// An expression without commas cuts `9,95` off at the comma.
    #[test]
    fn a_part_of_a_number_is_not_one() {
        let cut = Err("from the middle of a number with a comma");
        check("regex = \"took ([0-9.]+)\"", "took 9,95 s", "", cut);
        check("regex = \"([0-9.]+) s\"", "took 9,95 s", "", cut);
        // Columns, by the expression's own word.
        check("regex = \"^([0-9.]+),\"", "9,95", "", Ok(9.0));
        check("regex = \"([0-9.]+), \"", "took 9, then", "", Ok(9.0));
    }

    #[test]
    fn a_number_is_found_in_json() {
        let iops = "json = \"jobs[1].iops\"";
        check(iops, "note: a\n{\"jobs\": [{}, {\"iops\": 7}]}\nend", "", Ok(7.0));
        check(iops, "{\"jobs\": [{}, {\"iops\": \"7.5\"}]}", "", Ok(7.5));
        check(iops, "{\"jobs\": [{}, {\"iops\": null}]}", "", Err("`null` is not a number"));
        check(iops, "{\"jobs\": []}", "", Err("has nothing at `/jobs/1/iops`"));
        check(iops, "no", "", Err("it printed no JSON document"));
        check(iops, "{\"jobs\": ", "", Err("it printed no JSON document"));
    }

    #[test]
    fn times_come_always_and_say_when_they_are_the_processors() {
        let busy = Printed { cpu: Span::from_ms(99), ..printed("", "") };
        let phase = |command: &Command, printed| {
            command.phases(printed, &|_, _| unreachable!()).unwrap().remove(0)
        };
        let own = phase(&command(""), busy);
        let names: Vec<String> = own.metrics().map(|figure| figure.name).collect();
        assert_eq!(names, ["wall_ns", "cpu_ns"]);
        assert_eq!((own.nature, own.remarks.len()), (Nature::Cpu, 1));
        assert_eq!(phase(&command(""), printed("", "")).nature, Nature::Disk);
        let said = phase(&command("measures = \"network\""), busy);
        assert_eq!((said.nature, said.remarks.len()), (Nature::Network, 0));
    }
}
