use serde_json::{Value, json};

use super::*;

fn asked(question: &Value) -> Value {
    serde_json::from_str(&answer(&question.to_string(), &|_, _| {})).unwrap()
}

#[test]
fn a_wrong_question_is_refused_in_words() {
    let check = |question: Value, word: &str| {
        let answer = asked(&question);
        let message = answer["refused"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(word), "{question}: {answer}");
    };
    check(json!({}), "verb");
    check(json!({"verb": "format"}), "format");
    check(json!({"verb": "run", "target": "/etc/passwd"}), "not a modelled drive");
    check(json!({"verb": "run", "target": "drive:../../etc/x.toml"}), "file");
    check(json!({"verb": "run", "target": "drive:generic-5400,controller=<b>"}), "<b>");
    let options = json!({"rw": "<script>alert(1)</script>"});
    check(json!({"verb": "run", "target": "drive:generic-5400", "options": options}), "script");
    let options = json!({"exec": "rm"});
    check(json!({"verb": "run", "target": "drive:generic-5400", "options": options}), "exec");
    check(json!({"verb": "study", "name": "none"}), "none");
    check(json!({"verb": "study", "name": "x.toml", "text": "title = 1"}), "two arms");
    check(json!({"verb": "compare", "arms": [["a", ["{}"]], ["b", []]]}), "record");
}

#[test]
fn a_study_reports_its_progress_and_has_every_form() {
    use std::sync::Mutex;
    let seen = Mutex::new(Vec::new());
    let question = json!({
        "verb": "study", "name": "ahci-or-ide", "blocks": 6, "specimens": 1,
        "only": ["random-read-32"],
    });
    let text = answer(&question.to_string(), &|done, of| seen.lock().unwrap().push((done, of)));
    let answer: Value = serde_json::from_str(&text).unwrap();
    let json: Value = serde_json::from_str(answer["ok"]["json"].as_str().unwrap()).unwrap();
    assert!(json["schema"].as_str().unwrap().starts_with("drivelab.study/"));
    assert!(answer["ok"]["html"].as_str().unwrap().contains("<svg"));
    assert_eq!(seen.lock().unwrap().last(), Some(&(24, 24)));
}
