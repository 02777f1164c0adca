use super::*;
use crate::fit::{LeftOpen, fit};
use crate::options::Options;
use crate::profile::Profile;
use crate::specimens::Specimens;

const DRIVE: &str = "[drive]\ncapacity_bytes = 2_000_398_934_016\nrpm = 7200\n";
const FIGURES: &str = "[random_read_qd1]\nbs = \"4k\"\niops = 57.6\nmean_ms = 17.57\n\
    p1_ms = 3.26\np5_ms = 7.70\np10_ms = 10.42\np25_ms = 14.75\np50_ms = 17.69\np75_ms = 20.84\n\
    p90_ms = 23.20\np95_ms = 24.77\np99_ms = 28.44\np99_5_ms = 40.63\n\
    [sequential]\nread_mb_per_s = 143\nwrite_mb_per_s = 132\nbs = \"1M\"\n";

fn fitted(text: &str, seed: u64) -> Fit {
    fit("fitted", "", &Measurements::read("m.toml", text).unwrap(), seed, &|_| ()).unwrap()
}

fn refused(text: &str) -> String {
    let refusal =
        fit("a", "", &Measurements::read("m.toml", text).unwrap(), 1, &|_| ()).unwrap_err();
    assert!(!refusal.hints.is_empty(), "{refusal}");
    format!("{refusal}; {}", refusal.hints.join("; "))
}

fn profile(fit: &Fit) -> Profile {
    Profile::parse("fitted.toml", &fit.profile, &|_| None).unwrap()
}

fn left_open(fit: &Fit, key: &str) -> LeftOpen {
    fit.left_open.iter().find(|open| open.key == key).unwrap().clone()
}

#[test]
fn a_measured_drive_is_met_at_depth_one_and_always_the_same() {
    let text = &format!("{DRIVE}{FIGURES}");
    let once = fitted(text, 1);
    for figure in &once.figures {
        let off = (figure.fitted / figure.measured - 1.0).abs();
        let margin = if figure.name == "mean_ms" { 0.012 } else { 0.10 };
        assert!(off < margin, "{:?}", once.figures);
    }
    assert!(once.rms_log_error < 0.05, "{:?}", once.figures);
    assert_eq!(profile(&once).capacity().bytes().get(), 2_000_398_934_016);
    assert_eq!(once, fitted(text, 1));
    assert_ne!(once.profile, fitted(text, 8).profile);
    // Depth 1 says nothing of the queue: what is left open is the prior.
    let LeftOpen { median, range95: [low, high], .. } = left_open(&once, "guard_growth");
    assert!((0.55..0.9).contains(&median) && low < 0.3 && high > 1.7, "{:?}", once.left_open);
}

#[test]
fn a_gain_of_ones_choice_is_met_where_a_smooth_curve_can() {
    for gain in [1.5, 1.65, 1.8, 1.9, 2.0] {
        let text = format!("{DRIVE}{FIGURES}[random_read_qd32]\ngain = {gain}\n");
        let fit = fitted(&text, 1);
        assert!((fit.gain / gain - 1.0).abs() < 0.03, "{gain}: {}", fit.gain);
        let mean = fit.figures.iter().find(|figure| figure.name == "mean_ms").unwrap();
        assert!((mean.fitted / mean.measured - 1.0).abs() < 0.02, "{gain}: {mean:?}");
    }
}

#[test]
fn what_a_queue_gains_is_the_median_of_its_kind() {
    let check = |rpm: f64, mean_ms: f64, median: f64| {
        let text = format!(
            "[drive]\ncapacity_bytes = 500107862016\nrpm = {rpm}\n\
             [random_read_qd1]\nmean_ms = {mean_ms}\n[sequential]\nread_mb_per_s = 90\n"
        );
        let gain = fitted(&text, 1).gain;
        assert!((gain / median - 1.0).abs() < 0.10, "{rpm} rpm: {gain}");
    };
    check(7200.0, 13.5, 1.65);
    check(5400.0, 18.0, 1.55);
    check(10_000.0, 8.0, 1.80);
}

#[test]
fn a_drive_of_known_numbers_is_found_again() {
    // What these numbers show on three spans, and nothing of the numbers themselves.
    let numbers = "seek_short = \"2ms\"\nseek_average = \"9.2ms\"\nseek_shape = 1.2\n\
                   guard_growth = 1.1\n";
    let profile = format!("base = \"seagate-st31000333as\"\n{numbers}");
    let mut tasks = Vec::new();
    for span in [None, Some(62_500_000), Some(1_953_125)] {
        for depth in [1, 32] {
            tasks.push(Task::Random { write: false, span, depth, sectors: 8 });
        }
    }
    let seen = simulate::observe(&profile, &tasks, 8_000, 5).unwrap();
    let mut text = "[drive]\ncapacity_bytes = 1000204886016\nrpm = 7200\n[sequential]\n\
                    read_outer_mb_per_s = 123\nread_inner_mb_per_s = 64\n"
        .to_owned();
    for (task, seen) in tasks.iter().zip(&seen) {
        let Task::Random { span, depth, .. } = task else { continue };
        let span = span.map_or(String::new(), |span| format!("span_bytes = {}\n", span * 512));
        text += &format!("[[random_read]]\n{span}iodepth = {depth}\nn = 8000\n");
        text += &format!("error_percent = 0.5\niops = {}\n", seen.per_s);
        if *depth == 1 {
            let figure = |key: &str, share| format!("{key} = {}\n", seen.quantile(share));
            text += &[figure("p10_ms", 0.1), figure("p50_ms", 0.5), figure("p90_ms", 0.9)].concat();
        }
    }
    let fit = fitted(&text, 3);
    // The shortest seek comes with 0.05 ms of firmware time, the average likewise.
    for (key, real) in [("seek_average", 9.15), ("seek_short", 1.95), ("guard_growth", 1.1)] {
        let LeftOpen { median, range95: [low, high], .. } = left_open(&fit, key);
        assert!((low * 0.97..=high * 1.03).contains(&real), "{key}: {median}, {low} to {high}");
        assert!(high / low < 1.6, "{key}: {low} to {high}");
    }
}

/// The rate at depth 2 that 40 drives of a fitted profile predict: its middle and its range.
fn at_depth_two(fit: &Fit) -> (f64, [f64; 2]) {
    let profile = profile(fit);
    let drives = Specimens::new(1, 40, std::iter::once(&profile));
    let rates: Vec<f64> =
        (0..40).map(|number| two_at_once(&drives.of(0, &profile, number), number)).collect();
    let found = drivelab_stats::predict(&rates, profile.lacks()[0]).unwrap();
    (found.median, found.range95)
}

fn two_at_once(profile: &Profile, seed: u32) -> f64 {
    let task = [Task::random_reads(2)];
    let options = Options::default();
    simulate::observe_with(profile, &options, &task, 2500, seed.into()).unwrap()[0].per_s
}

#[test]
fn two_requests_are_predicted_from_one() {
    // The measured drive, which chooses between both: 64.5 a second.
    let (median, [low, high]) = at_depth_two(&fitted(&format!("{DRIVE}{FIGURES}"), 1));
    assert!((low..=high).contains(&64.5), "{low} to {high}");
    let mut errors = vec![(median / 64.5 - 1.0_f64).abs()];
    // Drives of the class, of which a third chooses late as well.
    let class = Profile::parse(
        "class.toml",
        "base = \"seagate-st31000333as\"\n\
         commit = { choice = [\"early\", \"late\"], odds = [2, 1] }\n",
        &|_| None,
    )
    .unwrap();
    let mut within = 0;
    let drives = Specimens::new(7, 6, std::iter::once(&class));
    for number in 0..6 {
        let drive = drives.of(0, &class, number);
        let tasks = [Task::random_reads(1)];
        let seen = simulate::observe_with(&drive, &Options::default(), &tasks, 8000, 3).unwrap();
        let mut text = "[drive]\ncapacity_bytes = 1000204886016\nrpm = 7200\n[sequential]\n\
                        read_outer_mb_per_s = 123\nread_inner_mb_per_s = 64\n[random_read_qd1]\n"
            .to_owned();
        for (key, share) in [("p5_ms", 0.05), ("p25_ms", 0.25), ("p50_ms", 0.5), ("p90_ms", 0.9)] {
            text += &format!("{key} = {}\n", seen[0].quantile(share));
        }
        text += &format!("iops = {}\nmean_ms = {}\n", seen[0].per_s, seen[0].mean);
        let truth = two_at_once(&drive, 99);
        let (median, [low, high]) = at_depth_two(&fitted(&text, number.into()));
        within += u32::from((low..=high).contains(&truth));
        errors.push((median / truth - 1.0).abs());
    }
    errors.sort_by(f64::total_cmp);
    assert!(within >= 5, "{within} of 6 within; errors {errors:?}");
    assert!(errors[3] < 0.07 && errors[6] < 0.12, "{errors:?}");
}

#[test]
fn a_rate_of_two_requests_shows_the_moment_of_the_choice() {
    for (iops, word) in [(58.0, "early"), (64.5, "late")] {
        let fit = fitted(&format!("{DRIVE}{FIGURES}[random_read_qd2]\niops = {iops}\n"), 1);
        assert!(fit.profile.contains(&format!("commit = \"{word}\"  # [F]")), "{iops}");
    }
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    assert!(refused("[drive]\ncapacity_bytes = 1e12\nrpm = 7200\n").contains("nothing to fit"));
    let reads = "[random_read_qd1]\nmean_ms = 0.3\n";
    assert!(refused(&format!("{DRIVE}{reads}")).contains("no cache answered"));
    assert!(refused(&format!("[drive]\ncapacity_bytes = 1e12\n{reads}")).contains("`rpm`"));
}

#[test]
fn marks_of_a_measurement_widen_a_fit_or_refuse_it() {
    let deep = "[random_read_qd32]\niops = 95\n";
    let marked = |id: &str| {
        format!("{DRIVE}{FIGURES}{deep}[[mark]]\nid = \"{id}\"\nmessage = \"was {id}\"\n")
    };
    assert!(refused(&marked("contended")).contains("cannot be trusted: was contended; measure"));
    assert!(refused(&marked("page-cache")).contains("remove the `[[mark]]` `page-cache`"));
    let [quiet, modelled, busy] = ["", "modelled", "busy"].map(|id| match id {
        "" => fitted(&format!("{DRIVE}{FIGURES}{deep}"), 1),
        id => fitted(&marked(id), 1),
    });
    let width = |fit: &Fit| {
        let LeftOpen { range95: [low, high], .. } = left_open(fit, "guard_growth");
        libm::log(high / low)
    };
    assert_eq!(quiet.left_open, modelled.left_open);
    assert_eq!(modelled.notes, ["was modelled"]);
    assert!(width(&busy) > 1.2 * width(&quiet), "{:?} {:?}", busy.left_open, quiet.left_open);
    assert!(busy.notes[0].contains("5 % more uncertain"), "{:?}", busy.notes);
    assert!(busy.profile.contains("# Note: was busy: every figure"), "{}", busy.profile);
}

#[test]
fn what_was_not_measured_is_named() {
    let named = |text: &str| fitted(text, 1).not_identified.join("\n");
    let all = named(&format!("{DRIVE}{FIGURES}"));
    assert!(all.contains("keeps its prior") && !all.contains("150 MB/s"), "{all}");
    let few =
        named("[drive]\ncapacity_bytes = 500107862016\nrpm = 7200\n[random_read_qd1]\niops = 70\n");
    assert!(few.contains("150 MB/s") && few.contains("retries, visible above p99"), "{few}");
    let deep = named(&format!("{DRIVE}{FIGURES}[random_read_qd32]\niops = 95\n"));
    assert!(!deep.contains("keeps its prior"), "{deep}");
}

#[test]
fn the_size_of_a_physical_sector_is_handed_on() {
    let text = "[drive]\ncapacity_bytes = 500107862016\nrpm = 7200\nsector_bytes = 4096\n\
                [random_read_qd1]\niops = 70\n";
    assert_eq!(profile(&fitted(text, 1)).physical_sector.get(), 8);
}
