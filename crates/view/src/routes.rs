//! Addresses and the pages behind them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
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

use crate::guard;
use crate::pages::{Chosen, Pages};

/// Runs that can be compared at a time.
const RUNS_MAX: usize = 200;

/// Time between two looks at running studies.
const LOOK: Duration = Duration::from_secs(1);

type Shared = State<Arc<dyn Pages>>;

/// The pages, all of them read by GET.
pub fn router(pages: Arc<dyn Pages>) -> Router {
    let headers = guard::headers();
    let guarded = move |request: Request, next: Next| {
        let headers = headers.clone();
        async move {
            let mut response = match guard::refusal(&request) {
                Some(refused) => refused,
                None => next.run(request).await,
            };
            response.headers_mut().extend(headers);
            response
        }
    };
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
        .fallback(nothing)
        .with_state(pages)
        .layer(middleware::from_fn(guarded))
}

async fn list(State(pages): Shared, RawQuery(query): RawQuery) -> Response {
    answered("/", move || pages.list(&asked(query.as_deref())?)).await
}

async fn course(State(pages): Shared, RawQuery(query): RawQuery) -> Response {
    answered("/course", move || pages.course(&asked(query.as_deref())?)).await
}

async fn fleet(State(pages): Shared, RawQuery(query): RawQuery) -> Response {
    answered("/fleet", move || pages.fleet(&asked(query.as_deref())?)).await
}

async fn compare(State(pages): Shared, RawQuery(query): RawQuery) -> Response {
    answered("/compare", move || pages.compare(&chosen(query.as_deref())?)).await
}

async fn run(State(pages): Shared, Path(id): Path<String>) -> Response {
    let mut response = answered("/run", move || pages.run(&id)).await;
    if response.status() == StatusCode::BAD_REQUEST {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

async fn running(State(pages): Shared) -> Response {
    answered("/running", move || Ok(running::page(&pages.running()?, &pages.studies()))).await
}

/// The part of the page that changes, whenever it does, as JSON.
async fn progress(State(pages): Shared) -> Response {
    let changes = stream::unfold((pages, String::new()), |(pages, mut shown)| async {
        loop {
            let asked = Arc::clone(&pages);
            let part = tokio::task::spawn_blocking(move || match asked.running() {
                Ok(found) => running::part(&found),
                // The page itself says why, when it is loaded again.
                Err(_) => running::part(&[]),
            });
            let part = part.await.ok()?;
            if part != shown {
                shown.clone_from(&part);
                let event = Event::default().data(serde_json::Value::from(part).to_string());
                return Some((Ok::<_, Infallible>(event), (pages, shown)));
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Sse::new(changes).keep_alive(KeepAlive::default()).into_response()
}

async fn inspection(State(pages): Shared) -> Response {
    answered("/inspection", move || pages.inspection()).await
}

async fn articles() -> Response {
    answered("/articles", || Ok(article::list_page())).await
}

async fn one_article(Path(number): Path<String>) -> Response {
    answered("/article", move || article::article(&number).map(|it| article::page(&it))).await
}

async fn crash() -> Response {
    answered("/crash", || Ok(stores_page())).await
}

async fn nothing() -> Response {
    let refusal =
        Refusal::request("there is no such page").hint("the links above lead to all of them");
    let page = refused(&refusal);
    (StatusCode::NOT_FOUND, Html(within(&page, ""))).into_response()
}

/// The page that `render` makes, on a thread of its own, as that of the address `here`.
async fn answered(
    here: &'static str,
    render: impl FnOnce() -> Result<String, Refusal> + Send + 'static,
) -> Response {
    let made = move || match render() {
        Ok(page) => (StatusCode::OK, within(&page, here)),
        Err(refusal) => (status(refusal.kind), within(&refused(&refusal), here)),
    };
    let (status, page) = tokio::task::spawn_blocking(made).await.unwrap_or_else(|_| {
        let message = Refusal::machine("this is a bug in drivelab");
        let bug = message.hint("please report the message on the terminal");
        (StatusCode::INTERNAL_SERVER_ERROR, within(&refused(&bug), here))
    });
    (status, Html(page)).into_response()
}

fn status(kind: RefusalKind) -> StatusCode {
    match kind {
        RefusalKind::Request => StatusCode::BAD_REQUEST,
        RefusalKind::Machine => StatusCode::SERVICE_UNAVAILABLE,
        RefusalKind::Bug => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What happened, why, and what to do, as a page.
fn refused(refusal: &Refusal) -> String {
    let mut words = vec![format!("{}.", refusal.message)];
    words.extend(refusal.source.as_ref().map(|source| format!("Because: {source}.")));
    words.extend(refusal.hints.iter().map(|hint| format!("Hint: {hint}.")));
    notice("This page cannot be shown", &words, "")
}

fn pairs(query: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

fn asked(query: Option<&str>) -> Result<Asked, Refusal> {
    let pairs = pairs(query);
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    Asked::read(pairs).map_err(|key| unknown(&key))
}

fn chosen(query: Option<&str>) -> Result<Chosen, Refusal> {
    let mut chosen = Chosen::default();
    for (key, value) in pairs(query) {
        let given = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        match key.as_str() {
            "run" => chosen.runs.extend(given),
            "primary" => chosen.primary = given,
            "margin" => chosen.margin = given,
            _ => return Err(unknown(&key)),
        }
    }
    match chosen.runs.len() {
        0 | 1 => Err(Refusal::request("a comparison needs two runs")
            .hint("choose two or more in the list of runs")),
        count if count > RUNS_MAX => Err(Refusal::request(format!("{count} runs were chosen"))
            .hint(format!(
                "choose at most {RUNS_MAX}, or compare labels: drivelab compare label:A label:B"
            ))),
        _ => Ok(chosen),
    }
}

fn unknown(key: &str) -> Refusal {
    Refusal::request(format!("`{key}` is not a field of this page"))
        .hint("the form of the page has all of them")
}

#[cfg(test)]
mod tests;
