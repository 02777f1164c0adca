use super::*;

const LOOK: Look = Look { width: 100, colour: false };

/// `depth` decides, `odd` does nothing.
fn swept(points: u32) -> Swept {
    let depths = [1.0, 8.0, 32.0];
    let depth = |point: u32| point as usize % 3;
    let odd: Vec<f64> = (0..points).map(|point| f64::from(point % 7)).collect();
    let made = (0..points)
        .map(|point| (point, 100.0 + 50.0 * depths[depth(point)] + f64::from(point * 37 % 11)));
    Swept {
        title: "Which setting decides?".into(),
        drive: "a-drive".into(),
        design: "sobol",
        figure: "iops",
        points: points + 1,
        factors: vec![
            Factor {
                name: "odd".into(),
                is_unknown: true,
                words: odd.iter().map(f64::to_string).collect(),
                values: odd,
            },
            Factor {
                name: "a,\"depth\"".into(),
                is_unknown: false,
                values: (0..points).map(|point| depths[depth(point)]).collect(),
                words: (0..points).map(|point| depths[depth(point)].to_string()).collect(),
            },
        ],
        made: made.collect(),
        remarks: vec![String::new(); points as usize],
        flawed: Vec::new(),
        rows_sha256: "00ff".into(),
    }
}

#[test]
fn the_factor_that_decides_comes_first() {
    let swept = swept(210);
    let json = swept.json();
    assert_eq!(json["factors"][0]["name"], "a,\"depth\"");
    assert!(json["factors"][0]["share"].as_f64().unwrap() > 0.95, "{json}");
    assert_eq!((&json["missing"], &json["best"][0]["factors"]["odd"]), (&1.into(), &"1".into()));
    let text = swept.text(LOOK);
    for words in ["matters most", "1 of 211 points is missing", "left open by the profile"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let picture = picture(&swept).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("a,&quot;depth&quot;"), "{picture}");
}

#[test]
fn a_page_has_shares_values_and_best_points() {
    let page = page(&swept(210), "drivelab sweep a&b.toml");
    for words in [
        "<table class=\"parts\">",
        "1 of 211 points is missing",
        "a,&quot;depth&quot;</code></h3>",
        "<td>70<td>",
        "left open by the profile",
        "drivelab sweep a&amp;b.toml",
        "<code>00ff</code>",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    // Figures of depth 1 are 150 to 160, of which the geometric mean is listed first.
    let first = page.split("<td>70<td>").nth(1).unwrap();
    assert!(first.contains("155 IOPS"), "{first}");
    let few = super::page(&swept(20), "");
    assert!(few.contains("20 points are too few") && !few.contains("class=\"parts\""), "{few}");
}

#[test]
fn points_of_flawed_runs_are_named_and_not_ranked() {
    let mut swept = swept(210);
    swept.flawed = (300..307)
        .map(|point| Flawed {
            point,
            why: "no request completed".into(),
            value: 7.0,
            words: vec!["3".into(), "64".into()],
        })
        .collect();
    swept.points += 7;
    assert_eq!(swept.missing(), 1, "they are made");
    let text = swept.text(Look { width: 10_000, colour: false });
    let named = "Left out of the ranking: no request completed: points 300 (a,\"depth\" = 64), 301";
    assert!(text.contains(named) && text.contains("and 2 more."), "{text}");
    assert!(text.contains("217 points on a-drive"), "{text}");
    let json = swept.json();
    assert_eq!(json["flawed"][0]["point"], 300);
    assert_eq!(json["flawed"][0]["factors"]["a,\"depth\""], "64");
    let page = page(&swept, "");
    assert!(page.contains("Left out of the ranking") && page.contains("no request"), "{page}");
}

#[test]
fn a_number_with_many_values_is_shown_in_ranges() {
    let mut swept = swept(210);
    let factor = &mut swept.factors[1];
    factor.values = (0..210).map(|point| f64::from(point % 70 + 1)).collect();
    factor.words = factor.values.iter().map(f64::to_string).collect();
    let levels = swept.levels(&swept.factors[1]).unwrap();
    assert!((4..=9).contains(&levels.len()), "{}", levels.len());
    assert_eq!(levels.iter().map(|level| level.n).sum::<u32>(), 210);
    assert!(levels[0].word.starts_with("1 to "), "{}", levels[0].word);
    assert!(levels.last().unwrap().word.ends_with(" to 70"), "{}", levels.last().unwrap().word);
}

#[test]
fn of_latencies_the_lowest_are_best() {
    let swept = Swept { figure: "lat_p99_ns", ..swept(60) };
    let best = swept.json()["best"][0]["value"].as_f64().unwrap();
    let least = swept.made.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    assert!((best - least).abs() < 1e-9, "{best} is not {least}");
}

#[test]
fn few_points_tell_nothing() {
    let swept = swept(20);
    assert!(swept.json()["factors"].is_null());
    assert!(swept.text(LOOK).contains("20 points are too few"));
    assert_eq!(picture(&swept), None);
}

#[test]
fn a_line_for_each_point() {
    let csv = swept(3).csv();
    assert_eq!(csv.lines().next().unwrap(), "sweep_point,odd,\"a,\"\"depth\"\"\",iops,flaws");
    assert_eq!(csv.lines().nth(2).unwrap(), "1,1,8,504,");
}

#[test]
fn a_line_names_the_flaws_of_its_point() {
    let mut swept = swept(3);
    swept.remarks[1] = "other load disturbed the run".into();
    // The flawed point is between two that count.
    swept.made[2].0 = 3;
    let (why, words) = ("a, b".to_owned(), vec!["3".into(), "64".into()]);
    swept.flawed = vec![Flawed { point: 2, why, value: 7.0, words }];
    let csv = swept.csv();
    let lines: Vec<&str> = csv.lines().skip(2).collect();
    let expected = ["1,1,8,504,other load disturbed the run", "2,3,64,7,\"a, b\""];
    assert_eq!(lines[..2], expected);
    assert!(lines[2].starts_with("3,2,32,"), "{csv}");
}

#[test]
fn flawed_points_without_parameters_have_no_empty_brackets() {
    let mut swept = swept(210);
    swept.factors.pop();
    let (why, words) = ("no request completed".to_owned(), vec!["3".into()]);
    swept.flawed = vec![Flawed { point: 300, why, value: 0.0, words }];
    let text = swept.text(Look { width: 10_000, colour: false });
    assert!(text.contains("no request completed: point 300."), "{text}");
}
