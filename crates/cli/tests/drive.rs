//! `drive`: the modelled drives.

use crate::common::{drivelab, file, folder};

#[test]
fn every_listed_drive_can_be_shown_and_run() {
    let folder = folder();
    let list = drivelab(folder.path(), &["drive", "list", "--json"]).json();
    let drives = list["drives"].as_array().unwrap();
    assert!(drives.len() >= 6, "{list}");
    for drive in drives {
        let name = drive["name"].as_str().unwrap();
        let shown = drivelab(folder.path(), &["drive", "show", name, "--json"]);
        assert_eq!(shown.code, 0, "{shown:?}");
        let shown = shown.json();
        assert_eq!(shown["capacity_bytes"], drive["capacity_bytes"]);
        assert!(shown["modelled_bytes"].as_u64() <= shown["capacity_bytes"].as_u64(), "{shown}");
        let target = format!("drive:{name}");
        let run = drivelab(folder.path(), &["run", &target, "--number-ios", "200", "--json"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(run.json()["total"]["ios"], 200);
    }
}

#[test]
fn a_run_on_a_part_of_a_drive_says_which_part() {
    let folder = folder();
    let marks = |options: &str| {
        let target = format!("drive:micron-7300pro{options}");
        let run = drivelab(folder.path(), &["run", &target, "--number-ios", "50", "--json"]);
        run.json()["marks"].as_array().unwrap().clone()
    };
    let scaled = |options: &str| marks(options).into_iter().find(|mark| mark["id"] == "scaled");
    let said = scaled(",scale=1/64").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(said.starts_with("1/64 of the flash is modelled: 60 of 3841 GB"), "{said}");
    assert!(scaled("").is_some());
}

#[test]
fn own_profiles_start_from_others() {
    let folder = folder();
    let at = |rpm: &str| {
        let text = format!("base = \"seagate-st31000333as\"\n{rpm}");
        let path = file(folder.path(), "own.toml", &text);
        let target = format!("drive:{}", path.display());
        let arguments = ["run", &target, "--number-ios", "2000", "--json"];
        drivelab(folder.path(), &arguments)
    };
    let iops = |rpm: &str| at(rpm).json()["total"]["iops"].as_f64().unwrap();
    assert!(iops("rpm = 10000\n") > 1.05 * iops(""));
    at("rpm = 0\n").failed(2, &["own.toml:2", "rpm"]);
    at("rmp = 7200\n").failed(2, &["own.toml:2", "did you mean `rpm`"]);
    at("rpm = 1e30\n").failed(2, &["own.toml:2", "rpm"]);
}

#[test]
fn wrong_drives_are_refused_with_a_suggestion() {
    let folder = folder();
    let check = |target: &str, words: &[&str]| {
        drivelab(folder.path(), &["run", target, "--number-ios", "10"]).failed(2, words);
    };
    check("drive:seagate-st31000333", &["did you mean `seagate-st31000333as`"]);
    check("drive:generic-5400,controler=ide", &["did you mean `controller`"]);
    check("drive:generic-5400,controller=ide=1", &["controller"]);
    check("drive:generic-5400,tags=0", &["from 1 to"]);
    check("drive:missing.toml", &["missing.toml"]);
    check("generic-5400", &["drive:generic-5400"]);
}

#[test]
fn a_fitted_drive_is_written_and_predicted() {
    let folder = folder();
    let measurements = "[drive]\ncapacity_bytes = 1_000_204_886_016\nrpm = 7200\n\
        [random_read_qd1]\nmean_ms = 13.79\np50_ms = 13.83\np90_ms = 19.01\np99_ms = 22.41\n";
    file(folder.path(), "measured.toml", measurements);
    let arguments = ["drive", "fit", "measured.toml", "--out", "own.toml", "--json"];
    let fitted = drivelab(folder.path(), &arguments).json();
    assert_eq!(fitted["figures"].as_array().unwrap().len(), 4);
    assert!(!fitted["not_identified"].as_array().unwrap().is_empty());
    let predicted = drivelab(folder.path(), &["drive", "predict", "own.toml", "--json"]).json();
    let depths = predicted["depths"].as_array().unwrap();
    let iops = |row: usize| depths[row]["iops"].as_f64().unwrap();
    assert_eq!(depths.iter().map(|row| row["iodepth"].as_u64().unwrap()).max(), Some(32));
    let short = ["drive", "predict", "own.toml", "--runtime", "1us"];
    drivelab(folder.path(), &short).failed(2, &["no request completed", "raise `--runtime`"]);
    // 1000 / 13.79 ms at depth 1, nothing gained at 2, and more at 32.
    assert!((iops(0) / 72.5 - 1.0).abs() < 0.05 && (iops(1) / iops(0) - 1.0).abs() < 0.05);
    assert!(iops(5) > 1.3 * iops(0), "{predicted}");
    // Depth 1 leaves the margin of the queue open: R(32) of 1.34 to 1.98 about 1.62, by the prior.
    let range = |row: usize| depths[row]["iops_range"][1].as_f64().unwrap() / iops(row);
    assert!(range(0) < 1.13 && (1.15..1.35).contains(&range(5)), "{predicted}");
    assert!((1.5..1.75).contains(&(iops(5) / iops(0))), "{predicted}");
    let flushes = predicted["flushes"].as_array().unwrap();
    assert_eq!(
        flushes.iter().map(|one| one["writes"].as_u64()).collect::<Vec<_>>(),
        [Some(8), Some(64)]
    );
    assert_eq!(predicted["specimens"], 40);
    file(folder.path(), "measured.toml", "[drive]\ncapacity_bytes = 1e12\nrmp = 7200\n");
    drivelab(folder.path(), &arguments).failed(2, &["measured.toml"]);
}

#[test]
fn the_fitted_profile_that_comes_along_is_what_its_command_makes() {
    let folder = folder();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let measurements = "drives/measurements/seagate-st2000dm006.toml";
    std::fs::create_dir_all(folder.path().join("drives/measurements")).unwrap();
    std::fs::copy(root.join(measurements), folder.path().join(measurements)).unwrap();
    let profile = "drives/seagate-st2000dm006.toml";
    let arguments = [
        "drive",
        "fit",
        measurements,
        "--model",
        "Seagate ST2000DM006",
        "--seed",
        "1",
        "--out",
        profile,
        "--json",
    ];
    assert_eq!(drivelab(folder.path(), &arguments).code, 0);
    let made = std::fs::read_to_string(folder.path().join(profile)).unwrap();
    let kept = std::fs::read_to_string(root.join(profile)).unwrap();
    assert_eq!(made, kept);
}

#[test]
fn a_drive_is_fitted_to_records_of_runs() {
    let folder = folder();
    let run = |name: &str, more: &[&str]| {
        let mut arguments = vec!["run", "drive:seagate-st31000333as", "--json"];
        arguments.extend(more);
        file(folder.path(), name, &drivelab(folder.path(), &arguments).out);
    };
    run("random.json", &["--rw", "randread", "--number-ios", "20000"]);
    run("stream.json", &["--rw", "read", "--bs", "1M", "--number-ios", "400"]);
    run("mixed.json", &["--rw", "randrw", "--number-ios", "400"]);
    run("deep.json", &["--rw", "randread", "--iodepth", "32", "--number-ios", "20000"]);
    let fit = |more: &[&str]| {
        let mut arguments = vec!["drive", "fit", "--out", "own.toml", "--json"];
        arguments.extend(more);
        drivelab(folder.path(), &arguments)
    };
    let known = ["--rpm", "7200", "--capacity", "1000204886016"];
    let fitted = fit(&[&["random.json", "deep.json", "stream.json"], &known[..]].concat()).json();
    let figures = fitted["figures"].as_array().unwrap();
    assert!(figures.len() >= 9, "{fitted}");
    for figure in figures {
        let value = |key: &str| figure[key].as_f64().unwrap();
        assert!((value("fitted") / value("measured") - 1.0).abs() < 0.12, "{fitted}");
    }
    fit(&["random.json"]).failed(2, &["--rpm 7200 --capacity"]);
    fit(&[&["mixed.json"], &known[..]].concat()).failed(2, &["randrw", "random reads and writes"]);
    fit(&[&["own.toml"], &known[..]].concat()).failed(2, &["run records only"]);
}

#[test]
fn a_drive_is_shown_with_what_is_known_apart_from_what_is_not() {
    let folder = folder();
    let shown =
        drivelab(folder.path(), &["drive", "show", "seagate-st31000333as", "--json"]).json();
    let named = |list: &str, name: &str| {
        let entries = shown[list].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == name).cloned()
    };
    let growth = named("unknown", "guard_growth").unwrap();
    assert_eq!(growth["range95"], serde_json::json!(["0.196", "2.5"]));
    assert!(growth["source"].as_str().unwrap().contains("desktop drives"), "{growth}");
    assert_eq!(named("known", "rpm").unwrap()["value"], "7200");
    assert!(named("known", "guard_growth").is_none() && named("unknown", "rpm").is_none());
    assert_eq!(shown["lacks"]["elevator"], 0.1);
    let text = drivelab(folder.path(), &["drive", "show", "seagate-st31000333as"]).out;
    let (known, unknown) = text.split_once("not known").unwrap();
    assert!(known.contains("sectors_per_track_outer") && !known.contains("seek_short"), "{text}");
    assert!(unknown.contains("952us to 5ms"), "{text}");
    // A specimen is known, and a drive without unknowns has none.
    let drive = "seagate-st31000333as,specimen=4";
    let specimen = drivelab(folder.path(), &["drive", "show", drive, "--json"]).json();
    assert_eq!(specimen["unknown"], serde_json::json!([]));
    drivelab(folder.path(), &["drive", "show", "fixed,specimen=4"]).failed(2, &["omit `specimen`"]);
}

#[test]
fn fitted_numbers_are_shown_as_fitted() {
    let folder = folder();
    let shown = drivelab(folder.path(), &["drive", "show", "crucial-mx200", "--json"]).json();
    let basis = |name: &str| {
        let known = shown["known"].as_array().unwrap();
        known.iter().find(|known| known["name"] == name).unwrap()["basis"].clone()
    };
    assert_eq!(basis("dies"), "fitted");
    assert_eq!(basis("page_read"), "fitted");
    assert_eq!(basis("planes"), "estimated");
    assert_eq!(basis("block_pages"), "quoted");
    let text = drivelab(folder.path(), &["drive", "show", "crucial-mx200"]).out;
    let line = text.lines().find(|line| line.trim_start().starts_with("dies")).unwrap();
    assert!(line.contains("fitted: reads that run at once"), "{text}");
    let (known, unknown) = text.split_once("not known").unwrap();
    assert!(unknown.contains("page_program_factor") && !known.contains("factor"), "{text}");
}

#[test]
fn flash_can_be_given_spare_space_and_be_trimmed() {
    let folder = folder();
    let iops = |options: &str| {
        let target = format!("drive:samsung-850evo,scale=1/64,precondition=steady{options}");
        let load = ["--rw", "randwrite", "--iodepth", "32", "--size", "1g", "--ramp-time", "2s"];
        let arguments =
            [&["run", target.as_str(), "--json", "--runtime", "1s"], &load[..]].concat();
        let run = drivelab(folder.path(), &arguments);
        assert_eq!(run.code, 0, "{run:?}");
        run.json()["total"]["iops"].as_f64().unwrap()
    };
    let (plain, spare, trimmed) = (iops(""), iops(",spare=50%"), iops(",trimmed=50%"));
    assert!(spare > 1.5 * plain && trimmed > 1.5 * plain, "{plain} {spare} {trimmed}");
    let shown = drivelab(folder.path(), &["drive", "show", "samsung-850evo,spare=28%"]).out;
    assert!(shown.contains("28.0 % of that"), "{shown}");
    let refused = |options: &str, words: &[&str]| {
        drivelab(folder.path(), &["drive", "show", &format!("samsung-850evo{options}")])
            .failed(2, words);
    };
    refused(",spare=1%", &["leave no spare space"]);
    refused(",spare=0%", &["from 1% to 300%"]);
    refused(",trimmed=100%", &["below 100%"]);
    drivelab(folder.path(), &["drive", "show", "generic-5400,spare=7%"])
        .failed(2, &["is a hard disk", "spare"]);
}

#[test]
fn a_tier_speeds_up_what_it_holds_and_is_shown_and_recorded() {
    let folder = folder();
    let run = |tier: &str| {
        let target = format!("drive:seagate-st31000333as{tier}");
        let load = ["--rw", "randread", "--iodepth", "8", "--size", "64m", "--runtime", "2s"];
        let run =
            drivelab(folder.path(), &[&["run", target.as_str(), "--json"], &load[..]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.json()
    };
    let iops = |run: &serde_json::Value| run["total"]["iops"].as_f64().unwrap();
    let plain = iops(&run(""));
    for kind in ["writeback", "swapcache"] {
        let tier = format!(",tier={kind}:crucial-c300,tier-warm=on");
        let more = if kind == "swapcache" { ",page-cache=1m" } else { "" };
        let tiered = run(&format!("{tier}{more}"));
        assert!(iops(&tiered) > 20.0 * plain, "{kind}: {} for {plain}", iops(&tiered));
        let device = &tiered["attached"]["devices"][0];
        assert!(device.to_string().contains(&format!("{kind}:Crucial RealSSD")), "{device}");
    }
    let tiered = "generic-5400,tier=swapcache:crucial-c300";
    let shown = drivelab(folder.path(), &["drive", "show", tiered]);
    assert!(shown.out.contains("page cache") && shown.out.contains("tier's wire"), "{shown:?}");
    let refused = |options: &str, words: &[&str]| {
        drivelab(folder.path(), &["drive", "show", &format!("generic-5400{options}")])
            .failed(2, words);
    };
    refused(",tier=swapcash:crucial-c300", &["did you mean `swapcache`"]);
    refused(",tier=swapcache:crucial-c30", &["did you mean `crucial-c300`"]);
    refused(",tier=crucial-c300", &["swapcache:NAME"]);
    refused(",page-cache=1g", &["needs a tier"]);
    refused(",tier=writeback:crucial-c300,page-cache=1g", &["tier=swapcache"]);
    refused(",tier=writeback:generic-5400,spare=7%", &["is a hard disk", "spare"]);
}

#[test]
fn a_run_says_which_drive_of_all_that_fit_the_profile_it_was() {
    let folder = folder();
    let run = |options: &str| {
        let target = format!("drive:seagate-st31000333as{options}");
        drivelab(folder.path(), &["run", &target, "--number-ios", "50", "--json"]).json()
    };
    let median = run("");
    assert!(median["specimen"].get("number").is_none(), "{median}");
    assert_eq!(median["specimen"]["model_sigma"], 0.05);
    assert_eq!(run(",scheduler=deadline")["specimen"]["model_sigma"], 0.1);
    let third = run(",specimen=3");
    assert_eq!(third["specimen"]["number"], 3);
    assert_eq!(third, run(",specimen=3"));
    // The seed of the drive draws another one, that of the run only other addresses.
    assert_ne!(third["specimen"], run(",seed=2,specimen=3")["specimen"]);
    let target = "drive:seagate-st31000333as,specimen=3";
    let arguments = ["run", target, "--number-ios", "50", "--seed", "9", "--json"];
    assert_eq!(drivelab(folder.path(), &arguments).json()["specimen"], third["specimen"]);
}

/// What `drive measure` wrote of a target, and what it printed.
fn measured(folder: &std::path::Path, target: &str, more: &[&str]) -> serde_json::Value {
    let mut arguments = vec!["drive", "measure", target, "--out", "measured.toml", "--json"];
    arguments.extend(more);
    let said = drivelab(folder, &arguments);
    assert_eq!(said.code, 0, "{said:?}");
    said.json()
}

#[test]
fn a_drive_is_measured_fitted_and_predicted() {
    let folder = folder();
    let target = "drive:seagate-st31000333as,specimen=7";
    let found = measured(folder.path(), target, &[]);
    assert_eq!((&found["complete"], &found["rpm"]), (&true.into(), &7200.0.into()));
    assert!(found["seconds"].as_f64().unwrap() < 130.0, "{found}");
    let loads = found["loads"].as_array().unwrap();
    assert!(loads.iter().all(|load| load["rw"] == "randread"), "{found}");
    // What the figures are goes with them.
    assert_eq!(found["marks"][0]["id"], "modelled");
    let text = std::fs::read_to_string(folder.path().join("measured.toml")).unwrap();
    assert!(text.contains("[[mark]]\nid = \"modelled\"\n"), "{text}");
    let arguments = ["drive", "fit", "measured.toml", "--out", "own.toml", "--json"];
    let fitted = drivelab(folder.path(), &arguments).json();
    assert!(fitted["rms_log_error"].as_f64().unwrap() < 0.03, "{fitted}");
    // What was not measured, and lies within the prediction: 16 outstanding.
    let of_drive = |arguments: &[&str]| drivelab(folder.path(), arguments).json();
    let sixteen = ["--iodepth", "16", "--number-ios", "20000", "--json"];
    let real = of_drive(&[&["run", target], &sixteen[..]].concat());
    let real = real["total"]["iops"].as_f64().unwrap();
    let predicted = of_drive(&["drive", "predict", "own.toml", "--json"]);
    let row = &predicted["depths"][4];
    let [low, high] = [0, 1].map(|end| row["iops_range"][end].as_f64().unwrap());
    assert!(low < real && real < high && high / low < 1.3, "{real}: {row}");
}

/// The measurement of `crucial-mx200` on a port of 3 Gb/s that is published.
const FLASH: &str = "[drive]\ncapacity_bytes = 500_107_862_016\nkind = \"ssd\"\n\
    interface = \"sata\"\nlink = \"3\"\nsource = \"published\"\n[random_read_qd1]\n\
    iops = 7100\n[random_read_qd8]\niops = 45_700\n[random_read_qd32]\niops = 52_900\n";

#[test]
fn a_solid_state_drive_is_measured_fitted_and_predicted() {
    let folder = folder();
    let target = "drive:crucial-mx200,link=3,scale=1/128";
    let found = measured(folder.path(), target, &[]);
    assert!(found["seconds"].as_f64().unwrap() < 70.0, "{found}");
    let text = std::fs::read_to_string(folder.path().join("measured.toml")).unwrap();
    let attached = "kind = \"ssd\"\ninterface = \"sata\"\nlink = \"3\"\n";
    assert!(text.contains(attached), "{text}");
    // Left out are 4 and 16 outstanding.
    let mut kept = text.clone();
    for depth in [4, 16] {
        let from = kept.find(&format!("[[random_read]]\niodepth = {depth}\n")).unwrap();
        let length = kept[from + 2..].find('[').unwrap() + 2;
        kept.replace_range(from..from + length, "");
    }
    file(folder.path(), "measured.toml", &kept);
    let arguments = ["drive", "fit", "measured.toml", "--out", "own.toml", "--json"];
    let fitted = drivelab(folder.path(), &arguments).json();
    assert_eq!(fitted["figures"].as_array().unwrap().len(), 4, "{fitted}");
    assert!(fitted["rms_log_error"].as_f64().unwrap() < 0.03, "{fitted}");
    let of_drive = |arguments: &[&str]| drivelab(folder.path(), arguments).json();
    let predicted = of_drive(&["drive", "predict", "own.toml", "--json"]);
    for (row, depth) in [(2, "4"), (4, "16")] {
        let options = ["--iodepth", depth, "--number-ios", "20000", "--json"];
        let real = of_drive(&[&["run", target], &options[..]].concat());
        let real = real["total"]["iops"].as_f64().unwrap();
        let row = &predicted["depths"][row];
        let [low, high] = [0, 1].map(|end| row["iops_range"][end].as_f64().unwrap());
        assert!(low < real && real < high && high / low < 1.4, "{real}: {row}");
    }
}

#[test]
fn a_fitted_solid_state_drive_says_what_is_not_fitted() {
    let folder = folder();
    let writes = "[random_write_qd1]\niops = 30_000\n[[flush]]\nwrites = 8\nmean_ms = 2\n";
    file(folder.path(), "m.toml", &format!("{FLASH}{writes}"));
    let arguments = ["drive", "fit", "m.toml", "--out", "own.toml"];
    let said = drivelab(folder.path(), &arguments);
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<&str> = said.out.lines().filter(|line| !line.contains("iops, depth")).collect();
    let (open, rest) = lines.split_at(lines.iter().position(|it| it.contains("note:")).unwrap());
    assert!(open.iter().any(|line| line.contains(" at once (dies) ")), "{open:?}");
    insta::assert_snapshot!(rest.join("\n"));
    let shown = drivelab(folder.path(), &["drive", "show", "own.toml"]).out;
    assert!(shown.contains("Not modelled: writes as measured: no figure of a write"), "{shown}");
    assert!(shown.contains("draws of a fit, of 6 unknowns together"), "{shown}");
    let profile = std::fs::read_to_string(folder.path().join("own.toml")).unwrap();
    assert!(profile.contains("# Note: cannot tell what the rate of random writes at depth 1"));
    let run = ["run", "drive:own.toml,scale=1/128", "--iodepth", "8", "--number-ios", "5000"];
    let iops = drivelab(folder.path(), &[&run[..], &["--json"]].concat()).json();
    let iops = iops["total"]["iops"].as_f64().unwrap();
    assert!((iops / 45_700.0 - 1.0).abs() < 0.06, "{iops}");
    let fit = |text: &str, words: &[&str]| {
        file(folder.path(), "m.toml", text);
        drivelab(folder.path(), &arguments).failed(2, words);
    };
    let few = &FLASH[..FLASH.find("[random_read_qd8]").unwrap()];
    fit(few, &["needs 1 and two more", "hint: add `[random_read_qd8]`"]);
    fit(&FLASH.replace("7100", "71"), &["that is the time of a disk", "hint: "]);
    fit(&FLASH.replace("kind = \"ssd\"\n", ""), &["neither `rpm` nor `kind", "hint: for a disk"]);
}

#[test]
fn the_kind_of_a_drive_can_be_typed_where_nothing_says_it() {
    let folder = folder();
    let unsaid = FLASH.replace("kind = \"ssd\"\n", "");
    let few = &unsaid[..unsaid.find("[random_read_qd8]").unwrap()];
    let fit = |text: &str, kind: &str, words: &[&str]| {
        file(folder.path(), "m.toml", text);
        let arguments = ["drive", "fit", "m.toml", "--out", "own.toml", "--kind", kind];
        drivelab(folder.path(), &arguments).failed(2, words);
    };
    fit(few, "ssd", &["needs 1 and two more"]);
    fit(&unsaid, "hdd", &["`rpm` is missing in `[drive]`"]);
    fit(FLASH, "hdd", &["--kind says `hdd`, but the measurements are of kind `ssd`"]);
    let found = measured(folder.path(), "drive:fixed", &["--kind", "ssd"]);
    assert!(found["seconds"].as_f64().unwrap() < 200.0, "{found}");
    let text = std::fs::read_to_string(folder.path().join("measured.toml")).unwrap();
    assert!(text.contains("kind = \"ssd\"\n") && !text.contains("rpm"), "{text}");
}

#[test]
fn writes_of_a_solid_state_drive_are_measured_fitted_and_predicted() {
    let folder = folder();
    let drive = "drive:crucial-mx200,scale=1/128";
    for (state, file) in [("full", "full.toml"), ("steady", "steady.toml")] {
        let target = format!("{drive},precondition={state}");
        let found = measured(folder.path(), &target, &["--allow-destructive", &target]);
        let cached = &found["cached_writes"][0];
        assert!(cached["p50_ms"].as_f64().unwrap() < 0.1, "{found}");
        let from = folder.path().join("measured.toml");
        std::fs::rename(from, folder.path().join(file)).unwrap();
    }
    let other = ["drive", "measure", drive, "--out", "m.toml", "--allow-destructive", drive];
    let other = drivelab(folder.path(), &[&other[..], &["--state", "steady"]].concat());
    other.failed(2, &["the modelled drive is `full`", "hint: add `precondition=steady`"]);
    let disk = ["drive", "measure", "drive:generic-5400", "--out", "m.toml"];
    let disk = [&disk[..], &["--allow-destructive", "drive:generic-5400", "--state", "full"]];
    drivelab(folder.path(), &disk.concat()).failed(2, &["--state is of solid-state drives"]);

    let fit = ["drive", "fit", "full.toml", "steady.toml", "--out", "own.toml", "--json"];
    let fitted = drivelab(folder.path(), &fit).json();
    let names: Vec<&str> = fitted["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    for name in [
        "p50_ms, cached writes, 64 in a burst",
        "mb_per_s, sequential writes, full",
        "iops, random writes, depth 32, steady",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let shown = drivelab(folder.path(), &["drive", "show", "own.toml"]).out;
    assert!(shown.contains("draws of a fit, of 11 unknowns together"), "{shown}");
    assert!(shown.contains("Not modelled: flushes, trims and reads beside writes"), "{shown}");

    let load = ["--rw", "randwrite", "--iodepth", "32", "--ramp-time", "5s", "--runtime", "5s"];
    let target = format!("{drive},precondition=steady");
    let real = drivelab(folder.path(), &[&["run", &target], &load[..], &["--json"]].concat());
    let real = real.json()["total"]["iops"].as_f64().unwrap();
    let predict = ["drive", "predict", "own.toml,precondition=steady", "--specimens", "10"];
    let predict = [&predict[..], &["--rw", "randwrite", "--json"]].concat();
    let predicted = drivelab(folder.path(), &predict).json();
    let row = &predicted["depths"][5];
    let [low, high] = [0, 1].map(|end| row["iops_range"][end].as_f64().unwrap());
    assert!(low < real && real < high && high / low < 1.4, "{real}: {row}");
    let notes = predicted["notes"].to_string();
    assert!(notes.contains("`steady`") && !notes.contains("cannot tell"), "{notes}");
    let of_class =
        ["drive", "predict", "generic-sata,scale=1/128", "--specimens", "3", "--rw", "write"];
    let of_class = drivelab(folder.path(), &of_class).out;
    assert!(of_class.contains("cannot tell lasting writes of one drive from"), "{of_class}");
}

#[test]
fn a_solid_state_drive_is_fitted_to_records_of_runs() {
    let folder = folder();
    for depth in ["1", "4", "32"] {
        let target = "drive:samsung-860pro,scale=1/128";
        let load = ["--rw", "randread", "--iodepth", depth, "--number-ios", "20000", "--json"];
        let run = drivelab(folder.path(), &[&["run", target], &load[..]].concat());
        file(folder.path(), &format!("{depth}.json"), &run.out);
    }
    let runs = ["drive", "fit", "1.json", "4.json", "32.json", "--out", "own.toml", "--json"];
    let fit = |more: &[&str]| drivelab(folder.path(), &[&runs[..], more].concat());
    let known = ["--kind", "ssd", "--link", "6", "--capacity", "1024209543168"];
    let fitted = fit(&known).json();
    assert_eq!(fitted["figures"].as_array().unwrap().len(), 3, "{fitted}");
    assert!(fitted["rms_log_error"].as_f64().unwrap() < 0.03, "{fitted}");
    let profile = std::fs::read_to_string(folder.path().join("own.toml")).unwrap();
    assert!(profile.contains("--kind ssd --link 6 --capacity 1024209543168"), "{profile}");
    fit(&known[..4]).failed(2, &["does not describe the drive", "--kind ssd --link 6 --capacity"]);
    fit(&["--link", "6"]).failed(2, &["--kind"]);
    file(folder.path(), "empty.json", "{}");
    let empty = drivelab(folder.path(), &["drive", "fit", "empty.json", "--out", "x.toml"]);
    empty.failed(2, &["`empty.json` is not a run record"]);
}

#[test]
fn a_prediction_and_a_study_of_the_same_question_agree() {
    let folder = folder();
    let study = "title = \"Depth\"\nprimary = \"deep.iops\"\nmargin = \"3%\"\nstage = \"simulate\"\n\
        seed = 1\n[base]\ndrive = \"seagate-st31000333as\"\n[[arm]]\nname = \"noop\"\n\
        [[arm]]\nname = \"elevator\"\nscheduler = \"deadline\"\n[[workload]]\nname = \"deep\"\n\
        rw = \"randread\"\nbs = \"4k\"\niodepth = 32\nruntime = \"30s\"\n";
    file(folder.path(), "depth.toml", study);
    let arguments = ["study", "depth.toml", "--out", "kept", "--specimens", "40", "--json"];
    assert!([0, 1, 4].contains(&drivelab(folder.path(), &arguments).code));
    // The rates of the first arm, specimen by specimen.
    let mut rates = Vec::new();
    for line in std::fs::read_to_string(folder.path().join("kept/runs.jsonl")).unwrap().lines() {
        let run: serde_json::Value = serde_json::from_str(line).unwrap();
        if run["step"]["arm"] == 0 {
            rates.push(run["record"]["total"]["iops"].as_f64().unwrap().ln());
        }
    }
    assert_eq!(rates.len(), 40);
    let mean = rates.iter().sum::<f64>() / 40.0;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let arguments = ["drive", "predict", "seagate-st31000333as", "--json"];
    let predicted = drivelab(folder.path(), &arguments).json();
    let row = &predicted["depths"][5];
    assert!((row["iops"].as_f64().unwrap() / mean.exp() - 1.0).abs() < 0.02, "{row}");
    let sigma = (squares / 39.0).sqrt();
    assert!((row["sigma"].as_f64().unwrap() / sigma - 1.0).abs() < 0.15, "{sigma}: {row}");
}

#[test]
fn a_known_drive_is_predicted_as_its_addresses_alone_differ() {
    let folder = folder();
    let numbers = "base = \"seagate-st31000333as\"\nseek_short = \"2.3ms\"\n\
        seek_average = \"9.6ms\"\nseek_shape = 1.0\nuncached_writes = \"sptf\"\n";
    let lacks = "[lacks]\nany = 0\nelevator = 0\n";
    let known = format!("{numbers}guard_growth = 0.7\n{lacks}");
    // Twenty specimens of one value: nothing but their addresses differs.
    let alike = format!("{numbers}guard_growth = {{ low = 0.7, high = 0.7000001 }}\n{lacks}");
    let study = |drive: &str| {
        file(folder.path(), "drive.toml", drive);
        let text = "title = \"Elevator\"\nprimary = \"deep.iops\"\nmargin = \"3%\"\n\
            stage = \"simulate\"\nblocks = 20\nseed = 1\n[base]\ndrive = \"drive.toml\"\n\
            [[arm]]\nname = \"noop\"\n[[arm]]\nname = \"elevator\"\nscheduler = \"deadline\"\nncq = \"off\"\n\
            [[workload]]\nname = \"deep\"\nrw = \"randread\"\niodepth = 32\nruntime = \"10s\"\n";
        file(folder.path(), "study.toml", text);
        let _ = std::fs::remove_dir_all(folder.path().join("kept"));
        let said = drivelab(folder.path(), &["study", "study.toml", "--out", "kept", "--json"]);
        let metric = said.json()["metrics"][0].clone();
        assert_eq!(metric["name"], "deep.iops", "{metric}");
        let mut rates = [[0.0_f64; 2]; 20];
        let runs = std::fs::read_to_string(folder.path().join("kept/runs.jsonl")).unwrap();
        for line in runs.lines() {
            let run: serde_json::Value = serde_json::from_str(line).unwrap();
            let place = |key: &str| usize::try_from(run["step"][key].as_u64().unwrap()).unwrap();
            let iops = run["record"]["total"]["iops"].as_f64().unwrap();
            rates[place("block")][place("arm")] = iops.ln();
        }
        (metric, rates.map(|[noop, elevator]| elevator - noop))
    };
    let ((of_known, logs), (of_alike, same)) = (study(&known), study(&alike));
    assert_eq!(logs.map(f64::to_bits), same.map(f64::to_bits));
    assert!(of_known.get("prediction95").is_none(), "{of_known}");
    // Student's interval for one more run: t of 19 degrees of freedom.
    let mean = logs.iter().sum::<f64>() / 20.0;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 19.0;
    let half = 2.093_024 * (variance * (1.0 + 1.0 / 20.0)).sqrt();
    for (end, log) in [mean - half, mean + half].into_iter().enumerate() {
        let found = of_alike["prediction95"][end].as_f64().unwrap();
        assert!((found.ln() - log).abs() < 1e-6, "{found} for {}: {of_alike}", log.exp());
    }
}

#[test]
fn figures_of_something_else_are_not_fitted() {
    let folder = folder();
    let text = "[drive]\ncapacity_bytes = 1_000_204_886_016\nrpm = 7200\n[random_read_qd1]\n\
        mean_ms = 13.79\n[[mark]]\nid = \"contended\"\nmessage = \"the machine was busy\"\n";
    file(folder.path(), "m.toml", text);
    let arguments = ["drive", "fit", "m.toml", "--out", "own.toml"];
    drivelab(folder.path(), &arguments).failed(2, &["the machine was busy", "hint: measure the"]);
    file(folder.path(), "m.toml", &text.replace("contended", "steal"));
    let said = drivelab(folder.path(), &[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(said["marks"][0]["id"], "steal");
    assert!(said["notes"][0].as_str().unwrap().contains("more uncertain"), "{said}");
    file(folder.path(), "m.toml", "");
    drivelab(folder.path(), &arguments).failed(2, &["`[drive]` is missing", "hint: "]);
    let none = ["drive", "predict", "generic-10k", "--specimens", "0"];
    drivelab(folder.path(), &none).failed(2, &["0 is not in 1..=10000", "hint: "]);
    let none = ["drive", "measure", "drive:fixed", "--rpm", "0", "--out", "m.toml"];
    drivelab(folder.path(), &none).failed(2, &["0 rpm", "hint: omit --rpm"]);
}

#[test]
fn a_measurement_writes_only_where_its_target_is_named_again() {
    let folder = folder();
    let target = "drive:generic-5400";
    let wrong = ["drive", "measure", target, "--out", "m.toml", "--allow-destructive", "/dev/sdx"];
    drivelab(folder.path(), &wrong).failed(2, &["names `/dev/sdx`", "repeat the name"]);
    let found = measured(folder.path(), target, &["--allow-destructive", target]);
    assert_eq!(found["flushes"].as_array().unwrap().len(), 2, "{found}");
    // A file of anything else is kept; one of an earlier measurement is replaced.
    measured(folder.path(), target, &[]);
    file(folder.path(), "m.toml", "letters\n");
    drivelab(folder.path(), &["drive", "measure", target, "--out", "m.toml"])
        .failed(2, &["is not a measurement of `drive measure`"]);
    file(folder.path(), "disk", &"x".repeat(4096));
    drivelab(folder.path(), &["drive", "measure", "disk", "--out", "new.toml"])
        .failed(2, &["too few for a measurement"]);
}
