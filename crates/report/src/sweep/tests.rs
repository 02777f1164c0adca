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
    for words in ["matters most", "1 of 211 points are missing", "left open by the profile"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let picture = picture(&swept).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("a,&quot;depth&quot;"), "{picture}");
}

#[test]
fn a_page_has_shares_values_and_best_points() {
    let page = page(&swept(210), "drivelab sweep a&b.toml");
    for words in [
        "<svg ",
        "1 of 211 points are missing",
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
    assert!(few.contains("20 points are too few") && !few.contains("<svg "), "{few}");
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
    assert_eq!(csv.lines().next().unwrap(), "sweep_point,odd,\"a,\"\"depth\"\"\",iops");
    assert_eq!(csv.lines().nth(2).unwrap(), "1,1,8,504");
}
