//! Stored runs, read again.

use drivelab_analysis::run::parse;

use crate::comparison::tests::record as sample;

#[test]
fn runs_are_read_as_they_are_stored() {
    let one = serde_json::to_string_pretty(&sample(100, "a host")).unwrap();
    let check = |text: &str, expected: usize| {
        let records = parse(text).unwrap();
        assert_eq!(records, vec![sample(100, "a host"); expected]);
    };
    check(&one, 1);
    check(&format!("{one}\n{one}\n"), 2);
    check(&format!("[{one}, {one}]"), 2);
}

#[test]
fn what_is_no_run_is_named_with_its_place() {
    let one = serde_json::to_string(&sample(100, "a host")).unwrap();
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check("", "it contains no runs");
    check("[]", "it contains no runs");
    check("{\"a\": 1}", "line 1: this JSON has no `schema`");
    check(&format!("{one}\n{{}}"), "line 2: this JSON has no `schema`");
    check(&one[..one.len() / 2], "line 1: not JSON (EOF");
    check("\0\u{1}", "line 1: not JSON");
    let newer = one.replace("drivelab.run/1", "drivelab.run/2");
    check(&newer, "line 1: the schema is `drivelab.run/2`, not `drivelab.run/1`");
    check(&one.replace("\"iops\"", "\"iop\""), "line 1: not a stored run (missing field");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn no_damage_panics(at in 0..2000_usize, put in "[-0-9a-z\\[{}\\],:\"]{0,4}") {
        let mut text = serde_json::to_string(&sample(1000, "a host")).unwrap();
        let at = at.min(text.len());
        text.insert_str(at, &put);
        let _ = parse(&text);
    }
}
