use drivelab_model::profile::BaseText;

use super::*;

/// A small system of our own: one zone, two heads, with every required parameter.
const PARV: &str = include_str!("tests/small.parv");
const SPECS: &str = include_str!("tests/small.diskspecs");
const MODEL: &str = include_str!("tests/small.model");
const SEEK: &str = "Seek distances measured: 3\n1, 1.0\n10, 2.0\n99, 5.0\n";

/// Reads the small drive after `change` has been made to the file called `name`.
fn read_changed(name: &str, change: (&str, &str)) -> Result<Description, DiskSimError> {
    let text = |file: &str, original: &str| {
        if file == name {
            assert!(original.contains(change.0), "`{}` is not in {name}", change.0);
            original.replacen(change.0, change.1, 1)
        } else {
            original.to_owned()
        }
    };
    let files = [("small.diskspecs", SPECS), ("small.model", MODEL), ("small.seek", SEEK)];
    let resolve = |path: &str| {
        let (_, original) = files.iter().find(|(file, _)| path == format!("drives/{file}"))?;
        let file = path.rsplit('/').next()?;
        Some(BaseText { file: path.to_owned(), text: text(file, original) })
    };
    read("drives/small.parv", &text("small.parv", PARV), &resolve)
}

fn unchanged() -> Description {
    read_changed("", ("", "")).unwrap()
}

#[test]
fn a_file_becomes_a_drive() {
    let read = unchanged();
    assert_eq!(read.model, "SMALL");
    let layout = &read.params.mechanics.layout;
    // 100 cylinders of two tracks with 40 sectors, minus 10 reserved and 5 spare ones.
    assert_eq!(layout.capacity(), 100 * 2 * 40 - 10 - 5);
    assert_eq!(read.params.overheads.read_hit.after_write, 200_000);
    assert_eq!(read.params.mechanics.write_settle, -100_000);
    assert_eq!(read.params.bus.write_sector.ns(), 60_000);
}

#[test]
fn mistakes_are_answered_with_place_and_expectation() {
    let check = |file: &str, change: (&str, &str), place: &str, part: &str| {
        let error = read_changed(file, change).map(|read| read.model).unwrap_err().to_string();
        assert!(error.starts_with(place), "{error}");
        assert!(error.contains(part), "{error}");
    };
    let specs = "drives/small.diskspecs";
    check("small.parv", ("type = 1", "type = 2"), "drives/small.parv:8:", "only `type = 1` is");
    check("small.parv", ("as SMALL", "as LARGE"), "drives/small.parv:", "no such block");
    check(
        "small.parv",
        ("source small", "source tiny"),
        "drives/small.parv:25:",
        "no file `tiny.d",
    );
    check("small.parv", ("driver0 [", "driver0 {"), "drives/small.parv:", "expected `[`");
    check("small.diskspecs", ("Never disc", "Newer disc"), specs, "lacks `Never disconnect`");
    check("small.diskspecs", ("Print stats = 1", "Print states = 1"), specs, "`Print stats`?");
    check("small.diskspecs", ("queue length = 1", "queue length = 4"), specs, "take one command");
    check("small.diskspecs", ("Preseeking level = 0", "Preseeking level = 1"), specs, "only");
    check("small.diskspecs", ("after write = 0.2", "after write = fast"), specs, "a number from");
    check("small.diskspecs", ("segments = 2,", "segments = 2"), specs, "expected `,` or `}`");
    check(
        "small.model",
        ("dm_layout_g1 {", "dm_layout_g4 {"),
        "drives/small.model:5:",
        "only `dm_",
    );
    check("small.model", ("extracted", "curved"), "drives/small.model:", "`Seek type = curved`");
    check("small.model", ("Number of spares = 5", "Number of spares = 9999"), "drives/", "use up");
    check(
        "small.model",
        ("small.seek", "tall.seek"),
        "drives/small.model:",
        "no seek curve file `tall",
    );
    check("small.seek", ("10, 2.0", "0, 2.0"), "drives/small.seek:3:", "`distance, ms`");
    check(
        "small.seek",
        ("99, 5.0", "9, 5.0"),
        "drives/small.seek:4:",
        "increase from line to line",
    );
}

#[test]
fn every_parameter_of_a_drive_is_known_or_missed() {
    for line in SPECS.lines().filter(|line| line.starts_with("  ") && line.contains(" = ")) {
        let key = line.trim().split(" = ").next().unwrap();
        let nested = ["Model", "Scheduler", "Scheduling policy"];
        // Parameters that do not affect a response time, or of which one value is modelled, may be
        // absent.
        let free = [
            "Print stats",
            "Avg sectors per cylinder",
            "Calc sector by sector",
            "Write hit stop prefetch",
            "Hold bus entire write xfer",
            "Low (write) water mark",
            "Allow sneaky partial read hits",
            "Allow sneaky intermediate read hits",
            "Allow write prebuffering",
            "Preseeking level",
            "Disconnect write if seek",
            "Read directly to buffer",
            "Minimum read-ahead (blks)",
        ];
        if nested.contains(&key) {
            continue;
        }
        let found = read_changed("small.diskspecs", (&format!("{line}\n"), ""));
        assert_eq!(found.is_ok(), free.contains(&key), "without `{key}`");
    }
}

#[test]
fn seeks_of_data_sheets_meet_their_points() {
    let extracted = "Seek type = extracted,\n    Full seek curve = small.seek,";
    let three = |kind: &str, full: f64| {
        let text = format!(
            "Seek type = {kind},\n Single cylinder seek time = 1.0,\n\
             Average seek time = 3.0,\n Full strobe seek time = {full},"
        );
        read_changed("small.model", (extracted, &text))
    };
    for kind in ["linear", "curve"] {
        let seeks = three(kind, 6.0).unwrap().params.mechanics.seeks;
        assert_eq!(seeks.time(1).ns(), 1_000_000, "{kind}");
        let times: Vec<u64> = (1..30).map(|distance| seeks.time(distance).ns()).collect();
        assert!(times.is_sorted() && times[28] <= 6_100_000, "{kind}: {times:?}");
        let error = three(kind, 2.0).unwrap_err();
        assert!(error.message.contains("increase in this order"), "{error}");
    }
}

#[test]
fn the_layout_says_how_many_sectors_there_are() {
    let capacity = |read: Description| read.params.mechanics.layout.capacity();
    let right = capacity(read_changed("small.model", ("= 7985", "= 7985")).unwrap());
    let other = capacity(read_changed("small.model", ("= 7985", "= 79")).unwrap());
    assert_eq!(right, other);
}

#[test]
fn circles_end() {
    let resolve =
        |path: &str| Some(BaseText { file: path.to_owned(), text: "source a.parv".to_owned() });
    let error = read("a.parv", "source a.parv", &resolve).unwrap_err();
    assert!(error.message.contains("cycle"), "{error}");
    let deep = format!("a b {{ c = {}", "[".repeat(100_000));
    assert!(read("a.parv", &deep, &|_| None).unwrap_err().message.contains("deep"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = read("a.parv", &text, &|_| None);
    }

    #[test]
    fn no_damaged_file_panics(at in 0_usize..8000, with: char) {
        let mut specs: Vec<char> = SPECS.chars().collect();
        let place = at % specs.len();
        specs[place] = with;
        let specs: String = specs.into_iter().collect();
        let resolve = |path: &str| {
            let text = match path {
                "small.diskspecs" => specs.clone(),
                "small.model" => MODEL.to_owned(),
                "small.seek" => SEEK.to_owned(),
                _ => return None,
            };
            Some(BaseText { file: path.to_owned(), text })
        };
        let _ = read("small.parv", PARV, &resolve);
    }
}
