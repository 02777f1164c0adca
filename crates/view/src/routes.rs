//! Addresses and the pages behind them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use drivelab_core::{Refusal, RefusalKind};
use drivelab_report::article;
use drivelab_report::crash::stores_page;
use drivelab_report::history::Asked;
use drivelab_report::viewer::{notice, running, within};
use futures_util::stream;
use tokio::sync::Semaphore;

use crate::guard;
use crate::pages::{Chosen, Client, Pages};

/// Runs that can be compared at a time.
pub const RUNS_MAX: usize = 200;

/// Time between two looks at running studies.
const LOOK: Duration = Duration::from_secs(1);

/// Pages that follow running studies at the same time: each looks once a second.
const STREAMS_MAX: usize = 32;

/// The state that all requests share.
#[derive(Clone)]
struct Viewer {
    pages: Arc<dyn Pages>,
    streams: Arc<Semaphore>,
}

type Shared = State<Viewer>;

/// The pages, all of them read by GET.
pub fn router(pages: Arc<dyn Pages>) -> Router {
    let headers = guard::headers();
    Router::new()
        .route("/", get(list))
        .route("/course", get(course))
        .route("/fleet", get(fleet))
        .route("/compare", get(compare))
        .route("/run/{id}", get(run))
        .route("/running", get(running))
        .route("/running/events", get(progress))
        .route("/inspection", get(inspection))
        .route("/articles", get(articles))
        .route("/articles/{number}", get(one_article))
        .route("/crash", get(crash))
        .route("/lab", get(lab))
        .fallback(nothing)
        .with_state(Viewer { pages, streams: Arc::new(Semaphore::new(STREAMS_MAX)) })
        .layer(middleware::from_fn(move |request: Request, next: Next| {
            guarded(request, next, headers.clone())
        }))
}

/// Answers a request that is let in; every answer has the headers, a refusal too.
async fn guarded(
    request: Request,
    next: Next,
    headers: [(HeaderName, HeaderValue); 7],
) -> Response {
    let mut response = match guard::refusal(&request) {
        Some(refused) => refused,
        None => next.run(request).await,
    };
    for (name, value) in headers {
        // The laboratory has a policy for its own script.
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

async fn list(State(viewer): Shared, RawQuery(query): RawQuery) -> Response {
    answered(viewer, "/", move |pages, client| pages.list(&asked(query.as_deref())?, client)).await
}

async fn course(State(viewer): Shared, RawQuery(query): RawQuery) -> Response {
    answered(viewer, "/course", move |pages, client| {
        pages.course(&asked(query.as_deref())?, client)
    })
    .await
}

async fn fleet(State(viewer): Shared, RawQuery(query): RawQuery) -> Response {
    answered(viewer, "/fleet", move |pages, client| pages.fleet(&asked(query.as_deref())?, client))
        .await
}

async fn compare(State(viewer): Shared, RawQuery(query): RawQuery) -> Response {
    answered(viewer, "/compare", move |pages, client| {
        pages.compare(&chosen(query.as_deref())?, client)
    })
    .await
}

async fn run(State(viewer): Shared, Path(id): Path<String>) -> Response {
    let mut response = answered(viewer, "/run", move |pages, client| pages.run(&id, client)).await;
    // An id that is not kept is an address without a page.
    if response.status() == StatusCode::BAD_REQUEST {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

async fn running(State(viewer): Shared) -> Response {
    answered(viewer, "/running", move |pages, _| {
        Ok(running::page(&pages.running()?, &pages.studies()))
    })
    .await
}

/// The part of the page that changes, whenever it does, as JSON.
async fn progress(State(Viewer { pages, streams }): Shared) -> Response {
    let Ok(one_of_few) = streams.try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages follow the running studies\n")
            .into_response();
    };
    let begin = (pages, String::new(), one_of_few);
    let changes = stream::unfold(begin, |(pages, mut shown, one_of_few)| async {
        loop {
            let asked = Arc::clone(&pages);
            let part = tokio::task::spawn_blocking(move || match asked.running() {
                Ok(found) => running::part(&found),
                // The page itself says why, when it is loaded again.
                Err(_) => running::part(&[]),
            });
            // At the end of a stream the browser opens it again (`EventSource`).
            let part = part.await.ok()?;
            if part != shown {
                shown.clone_from(&part);
                let event = Event::default().data(serde_json::Value::from(part).to_string());
                return Some((Ok::<_, Infallible>(event), (pages, shown, one_of_few)));
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Sse::new(changes).keep_alive(KeepAlive::default()).into_response()
}

async fn inspection(State(viewer): Shared) -> Response {
    answered(viewer, "/inspection", move |pages, _| pages.inspection()).await
}

async fn articles(State(viewer): Shared) -> Response {
    answered(viewer, "/articles", |_, _| Ok(article::list_page())).await
}

async fn one_article(State(viewer): Shared, Path(number): Path<String>) -> Response {
    answered(viewer, "/article", move |_, _| article::article(&number).map(|it| article::page(&it)))
        .await
}

async fn crash(State(viewer): Shared) -> Response {
    answered(viewer, "/crash", |_, _| Ok(stores_page())).await
}

async fn lab(State(Viewer { pages, .. }): Shared) -> Response {
    // It is no page of `report`, so it has no line of links.
    if let Some(lab) = pages.lab() {
        return lab.answer();
    }
    let refusal = Refusal::request("the laboratory in a browser is not installed here")
        .hint("make its page with scripts/package-web and name it: drivelab view --lab FILE");
    (StatusCode::NOT_FOUND, Html(within(&refused(&refusal), "", false))).into_response()
}

async fn nothing(State(Viewer { pages, .. }): Shared) -> Response {
    let refusal =
        Refusal::request("there is no such page").hint("the links above lead to all of them");
    let page = within(&refused(&refusal), "", pages.lab().is_some());
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}

/// Notes that the connection is closed: the request is then dropped.
struct Connected(Client);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The page that `render` makes, on another thread, as that of the address `here`.
async fn answered(
    Viewer { pages, .. }: Viewer,
    here: &'static str,
    render: impl FnOnce(&dyn Pages, &Client) -> Result<String, Refusal> + Send + 'static,
) -> Response {
    let has_lab = pages.lab().is_some();
    let client = Client::default();
    let _connected = Connected(client.clone());
    let (status, page) = tokio::task::spawn_blocking(move || {
        // It may have waited for a thread for longer than its client did.
        let made = if client.has_gone() {
            Err(Refusal::machine("the client has gone"))
        } else {
            render(&*pages, &client)
        };
        match made {
            Ok(page) => (StatusCode::OK, within(&page, here, has_lab)),
            Err(refusal) => (status(refusal.kind), within(&refused(&refusal), here, has_lab)),
        }
    })
    .await
    // Of a page that panics, the client hears all the same.
    .unwrap_or_else(|_| {
        let message = Refusal::machine("this is a bug in drivelab");
        let bug = message.hint("please report the message on the terminal");
        (StatusCode::INTERNAL_SERVER_ERROR, within(&refused(&bug), here, has_lab))
    });
    (status, Html(page)).into_response()
}

fn status(kind: RefusalKind) -> StatusCode {
    match kind {
        RefusalKind::Request => StatusCode::BAD_REQUEST,
        RefusalKind::Machine | RefusalKind::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
        RefusalKind::Bug => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A refusal with its reason and its hints, as a page.
fn refused(refusal: &Refusal) -> String {
    let mut words = vec![format!("{}.", refusal.message)];
    words.extend(refusal.chain().skip(1).map(|cause| format!("Because: {cause}.")));
    words.extend(refusal.hints.iter().map(|hint| format!("Hint: {hint}.")));
    notice("This page cannot be shown", &words, "")
}

fn pairs(query: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

fn asked(query: Option<&str>) -> Result<Asked, Refusal> {
    let given = pairs(query);
    let given = given.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    Asked::read(given).map_err(unknown)
}

fn chosen(query: Option<&str>) -> Result<Chosen, Refusal> {
    let mut chosen = Chosen::default();
    for (key, value) in pairs(query) {
        let given = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        match key.as_str() {
            // Repeated runs count once: they would be read again and again.
            "run" => chosen.runs.extend(given.filter(|run| !chosen.runs.contains(run))),
            "primary" => chosen.primary = given,
            "margin" => chosen.margin = given,
            "factor" => chosen.factor = given,
            _ => return Err(unknown(&key)),
        }
    }
    match chosen.runs.len() {
        0 | 1 => Err(Refusal::request("a comparison needs two runs")
            .hint("choose two or more in the list of runs")),
        count if count > RUNS_MAX => Err(too_many(count)),
        _ => Ok(chosen),
    }
}

/// The refusal of more runs than a page compares.
pub fn too_many(count: usize) -> Refusal {
    debug_assert!(count > RUNS_MAX, "{count} runs can be compared");
    Refusal::request(format!("{count} runs were chosen")).hint(format!(
        "choose at most {RUNS_MAX} here; of any number: drivelab compare label:A label:B"
    ))
}

fn unknown(key: &str) -> Refusal {
    Refusal::request(format!("`{key}` is not a field of this page"))
        .hint("the form of the page has all of them")
}

#[cfg(test)]
pub(crate) mod tests;
