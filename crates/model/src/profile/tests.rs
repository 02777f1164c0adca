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
    assert_eq!(missing(raw::KEYS, |key| format!("`{key}`")), ["base"], "base stands in an example");
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
