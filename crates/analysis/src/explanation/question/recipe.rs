//! Figures of a suite of block tests: each test is a load of the drive.

use std::collections::BTreeMap;

use drivelab_core::JobSchedule;
use drivelab_core::recipe::{Adjust, Recipe, Test, embedded};
use drivelab_core::record::{Nature, Phase, RunRecord};

use super::{Load, Rate};

/// A test's rate, or its name with the reason why it has none.
pub(super) type OfTest = Result<Rate, (String, String)>;

/// The rates of the tests of a suite that comes with the program; `None` of any other record.
pub(super) fn rates(record: &RunRecord) -> Option<Vec<OfTest>> {
    let suite = record.config.suite.as_ref()?;
    let text = embedded::text(&suite.name)?;
    let recipe = Recipe::parse(&suite.name, text, &adjust(&suite.options)?).ok()?;
    let phases = recipe.tests.into_iter().filter_map(|test| {
        let phase = record.phases.iter().find(|phase| phase.name == test.name)?;
        Some(rate(test, phase))
    });
    Some(phases.collect())
}

fn rate(test: Test, phase: &Phase) -> OfTest {
    if !matches!(phase.nature, Nature::Disk | Nature::DriveCache) {
        let why = phase.remarks.first().map_or("it is not the drive's figure", |it| &it.why);
        return Err((test.name, why.to_owned()));
    }
    if test.points.is_some() {
        // A modelled load stays in one region.
        return Err((test.name, "it is made of short loads in many parts of the drive".to_owned()));
    }
    let name = format!("{}_iops", test.name);
    let per_s = phase.figures.iter().find(|figure| figure.name == name).map(|it| it.value);
    let Some(per_s) = per_s.filter(|it| *it > 0.0 && it.is_finite()) else {
        return Err((test.name, "no request completed".to_owned()));
    };
    debug_assert_eq!(phase.name, test.name, "the phase is that of the test");
    let schedule = JobSchedule { end_fsync: test.end_fsync, ..JobSchedule::default() };
    Ok(Rate { load: Load { workload: test.workload, numjobs: test.numjobs, schedule }, per_s })
}

/// The options of a suite as settings; `None` where a file states others.
fn adjust(options: &BTreeMap<String, String>) -> Option<Adjust> {
    let mut adjust = Adjust::default();
    for (name, value) in options {
        match name.as_str() {
            "loops" => adjust.loops = Some(value.parse().ok()?),
            "pause" => adjust.pause = Some(value.parse().ok()?),
            "runtime" => adjust.runtime = Some(value.parse().ok()?),
            "size" => adjust.size = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(adjust)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(suite: &str, options: &serde_json::Value) -> RunRecord {
        let name = "rnd4k_q32t1_read_iops";
        let iops = json!({ "name": name, "value": 150.0, "unit": "1/s", "better": "more" });
        let document = json!({
            "schema": "drivelab.run/1",
            "target": "/mnt/file",
            "config": {
                "drivelab": "0", "ioengine": "io_uring", "direct": true, "numjobs": 1, "seed": 1,
                "suite": { "name": suite, "options": options },
            },
            "phases": [
                { "name": "rnd4k_q32t1_read", "nature": "disk", "figures": [iops] },
                { "name": "rnd4k_q1t1_read", "nature": "page-cache", "figures": [] },
                { "name": "rnd4k_q1t1_write", "nature": "drive-cache", "figures": [] },
            ],
            "marks": [],
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn the_tests_of_a_suite_are_loads_of_its_size() {
        let tests = rates(&record("crystaldiskmark8", &json!({ "size": "512M" }))).unwrap();
        let [Ok(rate), Err((cached, _)), Err((empty, why))] = &tests[..] else {
            panic!("{tests:?}")
        };
        assert_eq!((rate.per_s.to_bits(), rate.load.numjobs), (150.0_f64.to_bits(), 1));
        assert_eq!(rate.load.workload.size.unwrap().get(), 512 << 20);
        assert_eq!(rate.load.workload.pace.iodepth(), 32);
        assert_eq!((&cached[..], &empty[..]), ("rnd4k_q1t1_read", "rnd4k_q1t1_write"));
        assert!(why.contains("no request"), "{why}");
    }

    #[test]
    fn suites_of_files_and_recipes_that_are_not_known_state_no_loads() {
        assert!(rates(&record("bonnie", &json!({}))).is_none());
        assert!(rates(&record("own.toml", &json!({}))).is_none());
        assert!(rates(&record("crystaldiskmark8", &json!({ "size": "much" }))).is_none());
        assert!(rates(&record("crystaldiskmark8", &json!({ "colour": "red" }))).is_none());
    }
}
