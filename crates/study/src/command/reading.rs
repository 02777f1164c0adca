//! The numbers of a command: how long it took, and what it printed.

use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark};
use drivelab_core::units::Span;
use serde_json::Value;

use super::{CPU, Command, Metric, Place, WALL};

/// Reads the output (second) of a tool (first) into phases, or says what is wrong with it.
pub type AsTool<'a> = dyn Fn(&str, &str) -> Result<Vec<Phase>, String> + 'a;

/// What a command that succeeded took and printed.
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
    /// What is not in what it printed.
    pub fn phases(&self, printed: Printed<'_>, as_tool: &AsTool<'_>) -> Result<Vec<Phase>, String> {
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

    /// What the numbers measure: as the study says, or the processor where that was busy.
    fn nature(&self, printed: Printed<'_>) -> (Nature, Vec<Remark>) {
        if let Some(nature) = self.measures {
            return (nature, Vec::new());
        }
        let load = 100.0 * float(printed.cpu.ns()) / float(printed.wall.ns());
        if Nature::of_transfer(load) == Nature::Disk {
            return (Nature::Disk, Vec::new());
        }
        let why = format!("it used the processor for {} of {}", printed.cpu, printed.wall);
        (Nature::Cpu, vec![Remark::new(Label::Nature(Nature::Cpu), why)])
    }
}

impl Metric {
    fn figure(&self, printed: Printed<'_>) -> Result<Figure, String> {
        let value = self.value(printed)?;
        let figure = Figure::new(self.name.clone(), value, self.better);
        Ok(Figure { unit: self.unit.clone(), ..figure })
    }

    fn value(&self, printed: Printed<'_>) -> Result<f64, String> {
        let name = &self.name;
        match &self.place {
            Place::Regex(regex) => {
                let last = |text| regex.captures_iter(text).filter_map(|found| found.get(1)).last();
                let found = last(printed.stdout).or_else(|| last(printed.stderr));
                let found = found.ok_or_else(|| {
                    format!("metric `{name}`: nothing that it printed matches `{regex}`")
                })?;
                let number = number(found.as_str());
                number
                    .ok_or_else(|| format!("metric `{name}`: `{}` is not a number", found.as_str()))
            }
            Place::Json(pointer) => {
                let start = printed.stdout.find(['{', '[']).unwrap_or(0);
                let mut values = serde_json::Deserializer::from_str(&printed.stdout[start..])
                    .into_iter::<Value>();
                let document = values.next().and_then(Result::ok);
                let document = document
                    .ok_or_else(|| format!("metric `{name}`: it printed no JSON document"))?;
                let found = document.pointer(pointer).ok_or_else(|| {
                    format!("metric `{name}`: the JSON that it printed has nothing at `{pointer}`")
                })?;
                let value = found.as_f64().or_else(|| found.as_str().and_then(number));
                value.ok_or_else(|| format!("metric `{name}`: `{found}` is not a number"))
            }
        }
    }
}

/// A finite number; thousands may be separated by commas.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().replace(',', "").parse().ok()?;
    number.is_finite().then_some(number)
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
fn float(number: u64) -> f64 {
    number as f64
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
            (Err(wrong), Err(part)) => assert!(wrong.contains(part), "{wrong}"),
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
