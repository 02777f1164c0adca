use std::sync::Mutex;

use axum::body::{Body, to_bytes};
use drivelab_report::viewer::running::Running;

use axum::http::{Method, Request};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use super::*;
use crate::Lab;

const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'";

/// Notes what is asked for, and shows it on the page.
#[derive(Default)]
pub(crate) struct Echo(Mutex<Vec<String>>, Option<Lab>);

impl Echo {
    fn note(&self, what: String) -> String {
        let page = notice("a page", std::slice::from_ref(&what), EVIL);
        self.0.lock().unwrap().push(what);
        page
    }
}

impl Pages for Echo {
    fn list(&self, asked: &Asked, _: &Client) -> Result<String, Refusal> {
        assert_ne!(asked.get("label"), Some("bug"), "a bug on purpose");
        Ok(self.note(format!("list {:?} {:?}", asked.get("label"), asked.get("last"))))
    }
    fn course(&self, asked: &Asked, _: &Client) -> Result<String, Refusal> {
        Ok(self.note(format!("course {:?}", asked.get("metric"))))
    }
    fn fleet(&self, asked: &Asked, _: &Client) -> Result<String, Refusal> {
        Ok(self.note(format!("fleet {:?}", asked.get("metric"))))
    }
    fn run(&self, id: &str, _: &Client) -> Result<String, Refusal> {
        self.note(format!("run {id}"));
        Err(Refusal::request(format!("no run `{id}` in the archive")).hint(EVIL))
    }
    fn compare(&self, chosen: &Chosen, _: &Client) -> Result<String, Refusal> {
        let Chosen { runs, primary, margin, factor } = chosen;
        Ok(self.note(format!("{runs:?} {primary:?} {margin:?} {factor:?}")))
    }
    fn studies(&self) -> String {
        EVIL.to_owned()
    }
    fn running(&self) -> Result<Vec<Running>, Refusal> {
        let study = Running {
            title: EVIL.to_owned(),
            folder: EVIL.to_owned(),
            stage: drivelab_core::StageName::Hardware,
            done: 1,
            all: 2,
            state: "running",
            left: String::new(),
        };
        Ok(vec![study])
    }
    fn lab(&self) -> Option<&Lab> {
        self.1.as_ref()
    }
    fn inspection(&self) -> Result<String, Refusal> {
        Err(Refusal::machine("there is no /sys"))
    }
}

struct Answer {
    status: u16,
    policy: String,
    text: String,
    noted: Vec<String>,
}

fn ask(method: Method, address: &str, host: &str) -> Answer {
    ask_of(Echo::default(), method, address, host)
}

fn ask_of(pages: Echo, method: Method, address: &str, host: &str) -> Answer {
    let pages = Arc::new(pages);
    let request =
        Request::builder().method(method).uri(address).header("host", host).body(Body::empty());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (status, headers, text) = runtime.block_on(async {
        let response = router(pages.clone()).oneshot(request.unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        (head.status, head.headers, String::from_utf8(bytes.to_vec()).unwrap())
    });
    let noted = pages.0.lock().unwrap().clone();
    let policy = headers["content-security-policy"].to_str().unwrap().to_owned();
    Answer { status: status.as_u16(), policy, text, noted }
}

fn get_page(address: &str) -> Answer {
    ask(Method::GET, address, "127.0.0.1:8707")
}

#[test]
fn every_address_asks_for_its_page() {
    let check = |address: &str, expected: &str| {
        let answer = get_page(address);
        assert_eq!((answer.status, &answer.noted[..]), (200, &[expected.to_owned()][..]));
        assert!(answer.text.contains("<nav aria-label=\"Viewer\">"), "{address}");
    };
    check("/", "list None None");
    check("/?label=a%22+b&last=&since=", "list Some(\"a\\\" b\") None");
    check("/course?metric=lat_p99_ns", "course Some(\"lat_p99_ns\")");
    check("/fleet?metric=iops", "fleet Some(\"iops\")");
    check("/compare?run=2&run=1&run=2&run=1", "[\"2\", \"1\"] None None None");
    check("/compare?run=1&run=2&margin=5%25", "[\"1\", \"2\"] None Some(\"5%\") None");
    let factor = "/compare?run=1&run=2&factor=bs,scheduler";
    check(factor, "[\"1\", \"2\"] None None Some(\"bs,scheduler\")");
}

#[test]
fn what_cannot_be_shown_says_why() {
    let check = |address: &str, status: u16, words: &str| {
        let answer = get_page(address);
        assert_eq!(answer.status, status, "{address}");
        assert!(answer.text.contains(words), "{address}: {}", answer.text);
    };
    check("/?sort=1", 400, "<code>sort</code> is not a field of this page");
    check("/compare?run=1", 400, "a comparison needs two runs");
    let runs: Vec<String> = (0..201).map(|number| format!("run={number}")).collect();
    let runs = runs.join("&");
    check(&format!("/compare?{runs}"), 400, "201 runs were chosen");
    check(&format!("/compare?{}", "run=1&".repeat(201)), 400, "a comparison needs two runs");
    check("/run/01XYZ", 404, "no run <code>01XYZ</code>");
    check("/inspection", 503, "there is no /sys");
    check("/articles/9", 400, "there is no article <code>9</code>");
    check("/no/such/page", 404, "there is no such page");
    check("/?label=bug", 500, "this is a bug in drivelab");
}

#[test]
fn published_comparisons_have_pages() {
    let list = get_page("/articles");
    assert_eq!(list.status, 200);
    for number in 0..5 {
        assert!(list.text.contains(&format!("href=\"/articles/{number}\"")));
        let page = get_page(&format!("/articles/{number}"));
        assert!(page.status == 200 && page.text.contains("May not be concluded"), "{number}");
    }
}

#[test]
fn the_table_of_stores_has_a_page() {
    let page = get_page("/crash");
    assert!(page.status == 200 && page.text.contains("sqlite/wal-full"), "{}", page.text);
}

#[test]
fn the_laboratory_is_served_where_it_is_installed_under_its_own_policy() {
    const PAGE: &str =
        "<script type=\"text/plain\" id=\"module\">AA==</script><script>go()</script>";
    fn asked(address: &str, host: &str) -> Answer {
        let lab = Lab::new(PAGE.to_owned()).unwrap();
        ask_of(Echo(Mutex::default(), Some(lab)), Method::GET, address, host)
    }
    let page = asked("/lab", "127.0.0.1:8707");
    assert_eq!((page.status, page.text.as_str()), (200, PAGE));
    let hash = BASE64_STANDARD.encode(Sha256::digest("go()"));
    let own = format!("default-src 'none'; script-src 'sha256-{hash}' 'wasm-unsafe-eval';");
    assert!(page.policy.starts_with(&own), "{}", page.policy);
    assert!(page.policy.contains("frame-ancestors 'none'") && !page.policy.contains("connect"));
    let link = "<a href=\"/lab\">Laboratory</a>";
    for address in ["/", "/articles", "/no/such/page"] {
        assert!(asked(address, "127.0.0.1:8707").text.contains(link), "{address}");
        assert!(!get_page(address).text.contains(link), "{address}");
    }
    let other = asked("/", "127.0.0.1:8707").policy;
    assert!(!other.contains("wasm"), "{other}");
    assert_eq!(asked("/lab", "evil.example").status, 403);
    let missing = get_page("/lab");
    assert!(missing.status == 404 && missing.text.contains("is not installed here"));
}

#[test]
fn pages_of_other_hosts_learn_nothing() {
    for host in ["evil.example", "evil.example:8707", "127.0.0.1.evil.example"] {
        let answer = ask(Method::GET, "/", host);
        assert_eq!((answer.status, answer.noted.len()), (403, 0), "{host}");
    }
}

#[test]
fn nothing_is_changed_or_started_by_any_request() {
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        for address in ["/", "/compare?run=1&run=2", "/run/01", "/inspection"] {
            let answer = ask(method.clone(), address, "localhost:8707");
            assert_eq!((answer.status, answer.noted.len()), (405, 0), "{method} {address}");
        }
    }
}

#[test]
fn an_id_is_no_path() {
    for address in ["/run/..%2f..%2fetc%2fpasswd", "/run/%2e%2e", "/run/%00"] {
        let answer = get_page(address);
        assert_eq!(answer.status, 404, "{address}");
    }
    for address in
        ["/run/../../etc/passwd", "/../etc/passwd", "//etc/passwd", "/web/report/page.css"]
    {
        let answer = get_page(address);
        assert_eq!((answer.status, answer.noted.len()), (404, 0), "{address}");
    }
}

#[test]
fn no_script_of_others_runs() {
    for address in ["/", "/run/x", "/compare?run=1&run=2", "/%3Cscript%3E", "/articles/0"] {
        let answer = get_page(address);
        assert!(
            !answer.text.contains("<script>alert") && !answer.text.contains("<img"),
            "{address}"
        );
        assert!(answer.policy.starts_with("default-src 'none'; script-src 'sha256-"));
        assert!(!answer.policy.contains("script-src 'unsafe"), "{}", answer.policy);
        assert!(answer.policy.contains("frame-ancestors 'none'"), "{}", answer.policy);
    }
}

#[test]
fn the_scripts_of_a_report_are_those_that_are_let_run() {
    let record = include_str!("../../../core/tests/records/today.json");
    let runs = drivelab_analysis::run::parse(record).unwrap();
    let subject = drivelab_report::publish::Subject::Run(&runs[0]);
    let page = subject.render(drivelab_report::publish::Format::Html, &[]).unwrap();
    let policy = get_page("/").policy;
    let scripts: Vec<&str> = page.split("<script>").skip(1).collect();
    assert_eq!(scripts.len(), 2);
    for script in scripts {
        let script = script.split("</script>").next().unwrap();
        let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}");
    }
}

#[test]
fn only_some_pages_follow_running_studies_at_a_time() {
    let pages: Arc<dyn Pages> = Arc::new(Echo::default());
    let router = router(pages);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let open = || {
        let request = Request::builder().uri("/running/events").header("host", "127.0.0.1:8707");
        runtime.block_on(router.clone().oneshot(request.body(Body::empty()).unwrap())).unwrap()
    };
    let mut streams: Vec<Response> = (0..STREAMS_MAX).map(|_| open()).collect();
    assert!(streams.iter().all(|stream| stream.status() == StatusCode::OK));
    assert_eq!(open().status(), StatusCode::SERVICE_UNAVAILABLE);
    streams.pop();
    assert_eq!(open().status(), StatusCode::OK, "one has ended");
}

#[test]
fn a_page_whose_client_has_gone_is_not_made() {
    let client = Client::default();
    let connected = Connected(client.clone());
    assert!(!client.has_gone());
    drop(connected);
    assert!(client.has_gone());
}
