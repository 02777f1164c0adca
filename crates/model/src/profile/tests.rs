//! Profiles: what is read, what is refused, and how.

use drivelab_core::{Device as _, Lba, Request, Time};

use super::*;

fn parse(text: &str) -> Result<Profile, ProfileError> {
    Profile::parse("mine.toml", text, &|_| None)
}

fn check_error(text: &str, expected: &str) {
    let message = match parse(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(ProfileError::Config(error)) => {
            format!("{error}; {}", error.hint.clone().unwrap_or_default())
        }
        Err(error) => error.to_string(),
    };
    assert!(message.contains(expected), "{message}\nlacks: {expected}");
}

#[test]
fn every_profile_that_comes_along_can_be_built() {
    for name in names() {
        let profile = Profile::parse(name, text(name).unwrap(), &|_| None)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!profile.sources.is_empty(), "{name} names no source");
        crate::build(&profile, &crate::options::Options::default(), 1)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_reference_names_every_key_and_every_table() {
    let page = include_str!("../../../../docs/reference/profile-file.md");
    let missing = |names: &[&'static str], quote: fn(&str) -> String| -> Vec<&'static str> {
        names.iter().copied().filter(|name| !page.contains(&quote(name))).collect()
    };
    assert_eq!(missing(raw::KEYS, |key| format!("`{key}`")), [""; 0]);
    assert_eq!(missing(&raw::TABLES, |table| format!("`[{table}]`")), [""; 0]);
}

#[test]
fn a_base_is_overridden_key_by_key_flat_or_in_its_table() {
    for text in [
        "base = \"seagate-st31000333as\"\nrpm = 7416\nmodel = \"mine\"\n",
        "base = \"seagate-st31000333as\"\n[geometry]\nrpm = 7416\n[drive]\nmodel = \"mine\"\n",
        "[drive]\nbase = \"seagate-st31000333as\"\nrpm = 7416\nmodel = \"mine\"\n",
    ] {
        let profile = parse(text).unwrap();
        assert_eq!(profile.model, "mine");
        let Body::Hdd(hdd) = &profile.body else { panic!("a hard disk") };
        assert_eq!(hdd.parts.mechanics.spindle.period(), Span::from_ns(8_090_615));
        assert_eq!(profile.capacity(), Sectors::new(1_953_525_168));
    }
}

#[test]
fn bases_come_from_files_too_but_not_in_circles() {
    let resolve = |name: &str| {
        let text = match name {
            "a.toml" => "base = \"b.toml\"\nheads = 4\n",
            "b.toml" => "base = \"generic-5400\"\n",
            "round.toml" => "base = \"round.toml\"\n",
            _ => return None,
        };
        Some(BaseText { file: name.into(), text: text.into() })
    };
    let profile = Profile::parse("x.toml", "base = \"a.toml\"\n", &resolve).unwrap();
    assert_eq!(profile.model, "generic 5400 rpm laptop drive");
    let error = Profile::parse("x.toml", "base = \"round.toml\"\n", &resolve).unwrap_err();
    assert!(matches!(error, ProfileError::TooDeep { .. }), "{error}");
}

#[test]
fn slips_are_found_with_line_and_suggestion() {
    let start = "base = \"generic-5400\"\n";
    let check = |line: &str, expected: &str| check_error(&format!("{start}{line}\n"), expected);
    check("gaurd = 1", "mine.toml:2:1: unknown key `gaurd` in the file; did you mean `guard`?");
    check("[geometry]\nhaeds = 2", "mine.toml:3:1: unknown key `haeds`");
    check("rpm = 0", "not a speed from 100 to 100000 rpm");
    check("heads = 1000", "not a whole number from 1 to 64");
    check("capacity_bytes = 0", "not a multiple of 512");
    check("capacity_bytes = \"99999999P\"", "mine.toml:2:18");
    check("seek_average = \"2h\"", "longer than a second");
    check("seek_average = \"25ms\"\nseek_full = \"26ms\"", "it is between");
    check("seek_short = \"15ms\"", "takes longer than the average");
    check("seek_track = \"15ms\"", "takes less than `seek_track`");
    check("guard = \"12ms\"", "longer than a revolution");
    check("zones = [[10, 100]]", "the zones hold 4000 sectors");
    check("zones = [[10]]", "this row has 1 values, not 2");
    check("seek_table = [[5, \"1ms\"], [2, \"2ms\"]]", "must increase");
    check("kind = \"tape\"", "`tape` is not a valid kind of drive");
    check_error("base = \"generic-540\"\n", "did you mean `generic-5400`?");
    check_error("[drive]\nkind = \"hdd\"\nmodel = \"x\"\n", "`capacity_bytes` is missing");
}

/// A drive of whatever numbers must answer.
fn run_a_little(profile: &Profile) {
    let mut drive = crate::build(profile, &crate::options::Options::default(), 1).unwrap();
    let capacity = drive.capacity().get();
    let mut completed = Vec::new();
    for id in 0..8 {
        let (lba, sectors) = (Lba::new(id * (capacity / 8)), Sectors::new(capacity.min(300) / 8));
        let make = if id % 3 == 0 { Request::write } else { Request::read };
        drive.submit(Time::ZERO, make(id, lba, sectors)).unwrap();
    }
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    assert_eq!(completed.len(), 8);
}

proptest::proptest! {
    /// Any numbers lead to a drive or to an error, never to a panic or to gigabytes of tables.
    #[test]
    fn no_numbers_panic(
        capacity in 1_u64..1 << 34,
        rpm in 50_u32..12_000,
        heads in 0_u32..70,
        per_track in 0_u32..70_000,
        seek_us in 1_000_u64..1_100_000,
        guard_us in 0_u64..8_000,
    ) {
        let text = format!(
            "base = \"generic-5400\"\ncapacity_bytes = {}\nrpm = {rpm}\nheads = {heads}\n\
             sectors_per_track_outer = {per_track}\nseek_average = \"{seek_us}us\"\n\
             guard = \"{guard_us}us\"\nhead_switch = \"{seek_us}us\"\n",
            capacity * 512
        );
        if let Ok(profile) = parse(&text) {
            run_a_little(&profile);
        }
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&text);
    }
}

/// A desktop drive with every kind of unknown.
const OPEN: &str = r#"
base = "generic-5400"
seek_short = { median = "2.3ms", sigma = 0.45, min = "0.7ms", max = "5ms", source = "measured" }
seek_average = { mean = "12ms", sd = "0.3ms" }  # nine drives
seek_shape = { low = 0.8, high = 1.3, source = "measured" }
guard_growth = { mixture = [{ median = 0.4, sigma = 0.3 }, { median = 1.2, sigma = 0.6, max = 5 }], odds = [1, 2], source = "two makers" }
uncached_writes = { choice = ["fifo", "sptf"], odds = [1, 1], source = "half of the drives" }
[lacks]
any = 0.03
elevator = 0.07
"#;

fn order_of(profile: &Profile) -> crate::disk::queue::Order {
    let Body::Hdd(hdd) = &profile.body else { panic!("a hard disk") };
    hdd.parts.order
}

#[test]
fn open_numbers_are_listed_with_their_spread_and_the_others_are_known() {
    let profile = parse(OPEN).unwrap();
    let unknowns = profile.unknowns();
    let names: Vec<&str> = unknowns.iter().map(|unknown| unknown.name).collect();
    let of_order = ["seek_short", "seek_average", "seek_shape", "guard_growth", "uncached_writes"];
    assert_eq!(names, of_order);
    let short = &unknowns[0];
    assert_eq!(short.kind, "log-normal, median 2.3ms, sigma 0.45, at least 700us, at most 5ms");
    assert_eq!((short.median.as_str(), short.source.as_str()), ("2.3ms", "measured"));
    assert_eq!(short.range95, ["952us", "5ms"]);
    assert_eq!(unknowns[1].source, "nine drives");
    assert_eq!(unknowns[4].kind, "fifo 50 %, sptf 50 %");
    assert_eq!(unknowns[4].median, "sptf");
    let known = profile.known();
    let heads = known.iter().find(|known| known.name == "heads").unwrap();
    assert_eq!((heads.value.as_str(), heads.source.as_str()), ("4", "[M]"));
    assert!(known.iter().all(|known| !names.contains(&known.name)), "{known:?}");
}

#[test]
fn the_drive_of_an_open_profile_is_the_median_one() {
    let profile = parse(OPEN).unwrap();
    let (specimen, drawn) = profile.specimen(&[0.5; 5]);
    assert_eq!(order_of(&profile), order_of(&specimen));
    assert_eq!(order_of(&profile), order_of(&profile.median()));
    assert!(drawn.iter().all(|drawn| drawn.score.abs() < 1e-9), "{drawn:?}");
    assert_eq!(Some(drawn[0].value), Some(2_300_000.0));
    let about = |profile: &Profile| {
        let options = crate::options::Options::default();
        crate::build(profile, &options, 1).unwrap().about().clone()
    };
    let record = profile.record(&about(&profile)).unwrap();
    assert_eq!((record.number, record.model_sigma), (None, 0.03));
    assert_eq!(record, profile.median().record(&about(&profile)).unwrap());
    let mut behind = about(&profile);
    behind.attached.as_mut().unwrap().scheduler = crate::Scheduler::Deadline;
    assert_eq!(profile.record(&behind).map(|record| record.model_sigma), Some(0.07));
    // A fully known drive is no specimen of anything.
    let known = parse("base = \"fixed\"\n").unwrap();
    assert_eq!(known.record(&about(&known)), None);
    assert!(known.unknowns().is_empty());
}

#[test]
fn a_specimen_has_the_numbers_of_its_quantiles() {
    let profile = parse(OPEN).unwrap();
    let (specimen, drawn) = profile.specimen(&[0.975, 0.025, 0.9, 0.84, 0.1]);
    let value = |name: &str| drawn.iter().find(|drawn| drawn.name == name).unwrap().value;
    assert_eq!(Some(value("seek_short")), Some(5_000_000.0));
    assert!((value("seek_average") - 11.412e6).abs() < 1e3, "{drawn:?}");
    assert!((value("seek_shape") - 1.25).abs() < 1e-9, "{drawn:?}");
    assert_eq!(Some(value("uncached_writes")), Some(0.0));
    assert!((drawn[3].score - 0.994_458).abs() < 1e-5, "{drawn:?}");
    let Body::Hdd(hdd) = &specimen.body else { panic!("a hard disk") };
    assert_eq!(hdd.guard_growth, Some(value("guard_growth")));
    assert_eq!(hdd.parts.mechanics.seeks.time(1), Span::from_ms(5));
    assert_eq!(hdd.parts.uncached_writes, crate::disk::parts::UncachedWrites::InOrder);
    assert!(specimen.unknowns().is_empty(), "a specimen is known");
    let short = specimen.known().into_iter().find(|known| known.name == "seek_short").unwrap();
    assert_eq!((short.value.as_str(), short.source.as_str()), ("5ms", "drawn"));
}

#[test]
fn a_number_takes_the_place_of_a_prior_and_a_prior_that_of_a_number() {
    let resolve = |name: &str| {
        let text = (name == "open.toml").then(|| OPEN.to_owned())?;
        Some(BaseText { file: name.into(), text })
    };
    let names = |text: &str| -> Vec<&'static str> {
        let profile = Profile::parse("mine.toml", text, &resolve).unwrap();
        profile.unknowns().iter().map(|unknown| unknown.name).collect()
    };
    let of_base = ["seek_short", "seek_average", "seek_shape", "guard_growth", "uncached_writes"];
    assert_eq!(names("base = \"open.toml\"\n"), of_base);
    let known = "base = \"open.toml\"\nguard_growth = 0.7\nuncached_writes = \"sptf\"\n";
    assert_eq!(names(known), of_base[..3]);
    let open = "base = \"open.toml\"\noverhead_read_miss = { low = \"0.1ms\", high = \"0.2ms\" }\n";
    assert_eq!(names(open)[5..], ["overhead_read_miss"]);
    // The full stroke takes the place of the shape, open or not; a table that of the whole curve.
    assert!(!names("base = \"open.toml\"\nseek_full = \"20ms\"\n").contains(&"seek_shape"));
    let table = "base = \"open.toml\"\nseek_table = [[1, \"2ms\"], [90000, \"20ms\"]]\n";
    assert_eq!(names(table), of_base[3..]);
}

#[test]
fn a_posterior_takes_the_place_of_priors_and_keeps_what_goes_together() {
    let text = format!(
        "{OPEN}[posterior]\nunknowns = [\"seek_short\", \"guard_growth\"]\nsource = \"a fit\"\n\
         draws = [[\"3ms\", 0.3], [\"2ms\", 0.7], [\"1ms\", 1.1]]\n"
    );
    let profile = parse(&text).unwrap();
    let unknowns = profile.unknowns();
    assert_eq!(unknowns.len(), 5);
    assert_eq!(unknowns[0].kind, "3 draws of a fit, of 2 unknowns together");
    assert_eq!((unknowns[0].median.as_str(), unknowns[3].median.as_str()), ("2ms", "0.7"));
    assert_eq!(unknowns[3].range95, ["0.3", "1.1"]);
    for (share, short, growth) in [(0.1, 1e6, 1.1), (0.5, 2e6, 0.7), (0.9, 3e6, 0.3)] {
        // The second unknown's own quantile is not used.
        let (_, drawn) = profile.specimen(&[share, 0.5, 0.5, 0.01, 0.5]);
        assert_eq!((drawn[0].value, drawn[3].value), (short, growth));
        assert!((drawn[0].score + drawn[3].score).abs() < 1e-9, "{drawn:?}");
    }
    // What is overridden later leaves the other draws as they are.
    let resolve = |_: &str| Some(BaseText { file: "fit.toml".into(), text: text.clone() });
    let over = "base = \"fit.toml\"\nseek_short = \"2.5ms\"\n";
    let over = Profile::parse("over.toml", over, &resolve).unwrap();
    assert_eq!(over.unknowns()[2].kind, "3 draws of a fit");
    let (_, drawn) = over.specimen(&[0.5, 0.5, 0.9, 0.5]);
    assert_eq!(Some(drawn[2].value), Some(1.1));
}

#[test]
fn open_numbers_that_no_drive_can_have_are_refused_with_their_line() {
    let check = |line: &str, expected: &str| {
        check_error(&format!("base = \"generic-5400\"\n{line}\n"), expected);
    };
    check("seek_short = { median = \"2ms\" }", "mine.toml:2:14: this table is none");
    check("seek_short = { median = \"2ms\", sigma = 0.4, mox = 1 }", "unknown key `mox`");
    check("seek_short = { medain = \"2ms\", sigma = 0.4 }", "write `{ median = ..., sigma = ...");
    check("seek_average = { mean = \"12ms\", sd = \"9ms\" }", "drawn as `-24ms`: `-24ms` is not a");
    check("seek_average = { mean = \"12ms\", sd = \"9ms\" }", "bounds with `min` and `max`");
    check("guard_growth = { low = 1, high = 30 }", "not a share of the seek from 0 to 10");
    check("uncached_writes = { choice = [\"fifo\", \"stpf\"] }", "did you mean `sptf`?");
    check("uncached_writes = { low = 1, high = 2 }", "`1` is a name");
    check("heads = { low = 0, high = 4 }", "whole number from 1 to 64");
    check("capacity_bytes = { low = 1, high = 2 }", "`capacity_bytes` is a table");
    check("seek_short = { low = \"9ms\", high = \"15ms\" }", "`seek_short` drawn as `15ms`");
    check("[lacks]\nany = 2", "not a deviation from 0");
    check("[lacks]\nall = 0.1", "unknown key `all`");
    let posterior = |rest: &str, expected: &str| check(&format!("[posterior]\n{rest}"), expected);
    posterior("unknowns = [\"seek_short\"]", "two `draws` of them or more");
    posterior("unknowns = [\"seek_shrt\"]\ndraws = [[1], [2]]", "`seek_shrt` is not a key");
    posterior("unknowns = [\"model\"]\ndraws = [[1], [2]]", "`model` is not a key that can be");
    posterior("unknowns = [\"heads\", \"heads\"]\ndraws = [[1, 1]]", "listed twice");
    posterior("unknowns = [\"heads\"]\ndraws = [[1], [2, 3]]", "has 2 values, not 1");
    posterior("unknowns = [\"heads\"]\ndraws = [[1], [0]]", "mine.toml:4:15");
}

#[test]
fn numbers_that_cannot_stand_together_are_moved_towards_the_median_drive() {
    let text = "base = \"generic-5400\"\nseek_short = { low = \"2ms\", high = \"11ms\" }\n\
                seek_average = { low = \"9ms\", high = \"15ms\" }\n";
    let profile = parse(text).unwrap();
    let (_, drawn) = profile.specimen(&[0.99, 0.01]);
    let (short, average) = (drawn[0].value, drawn[1].value);
    assert!(short < average && drawn[0].score > 0.5 && drawn[1].score < -0.5, "{drawn:?}");
    // A step in sequence is never longer than a settled seek.
    let quick = parse(&OPEN.replace("0.7ms", "0.2ms")).unwrap();
    assert!(quick.specimen(&[0.000_001]).1[0].value < 500_000.0);
}

#[test]
fn specimens_are_the_same_in_all_profiles_that_inherit_their_unknowns() {
    let resolve = |_: &str| Some(BaseText { file: "open.toml".into(), text: OPEN.to_owned() });
    let parse = |text: &str| Profile::parse("other.toml", text, &resolve).unwrap();
    let [one, faster, own] = [
        "base = \"open.toml\"\n",
        "base = \"open.toml\"\nrpm = 5500\n",
        "base = \"open.toml\"\nseek_short = { low = \"2ms\", high = \"3ms\" }\n",
    ]
    .map(parse);
    let specimens = crate::Specimens::new(3, 20, [&one, &faster, &own].into_iter());
    let about = crate::build(&one, &crate::options::Options::default(), 1).unwrap().about().clone();
    let of = |place, profile: &Profile, number| {
        specimens.of(place, profile, number).record(&about).unwrap()
    };
    for number in 0..20 {
        assert_eq!(of(0, &one, number), of(1, &faster, number));
        assert_eq!(of(0, &one, number).number, Some(number));
        let (shared, other) = (of(0, &one, number).drawn, of(2, &own, number).drawn);
        assert_eq!(shared[1..], other[1..]);
        assert_ne!(shared[0], other[0]);
    }
    // Arms that change places keep their drives.
    let same = crate::Specimens::new(3, 20, [&own, &faster, &one].into_iter()).of(2, &one, 7);
    assert_eq!(same.record(&about).unwrap(), of(0, &one, 7));
    assert_ne!(one.drawn(7, 3).record(&about), Some(of(0, &one, 7)));
    assert_eq!(one.drawn(7, 3).record(&about), one.drawn(7, 3).record(&about));
}
