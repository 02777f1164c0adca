//! The laboratory in a browser: one page, made elsewhere, that computes what it shows.

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// The page, with the policy under which its own script and module run and nothing else does.
#[derive(Debug, Clone)]
pub struct Lab {
    page: Bytes,
    policy: HeaderValue,
}

impl Lab {
    /// Takes the text of the page that `scripts/package-web` made; nothing for another document.
    pub fn new(page: String) -> Option<Self> {
        let own = script(&page)?;
        let hash = BASE64_STANDARD.encode(Sha256::digest(own.as_bytes()));
        debug_assert_eq!(hash.len(), 44, "256 bits");
        // As in the page itself, which a file has to bring along; a header also forbids frames.
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{hash}' 'wasm-unsafe-eval'; worker-src blob:; \
             style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; \
             frame-ancestors 'none'"
        );
        let policy = HeaderValue::try_from(policy).expect("plain letters");
        Some(Self { page: Bytes::from(page), policy })
    }

    /// The page as an answer. Its headers come first: those of other pages would forbid its script.
    pub(crate) fn answer(&self) -> Response {
        let policy = [(CONTENT_SECURITY_POLICY, self.policy.clone())];
        (policy, Html(self.page.clone())).into_response()
    }
}

/// The one script of the page: a second one would be a stranger's.
fn script(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("id=\"module\">")?;
    let (_, script) = rest.split_once("<script>")?;
    let (script, end) = script.split_once("</script>")?;
    // The module is an element of another kind, with attributes.
    let is_alone = page.matches("<script>").count() == 1 && !end.contains("<script");
    is_alone.then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_of_the_laboratory_is_served() {
        fn check(page: &str, script: Option<&str>) {
            let lab = Lab::new(page.to_owned());
            assert_eq!(lab.is_some(), script.is_some(), "{page}");
            if let (Some(Lab { policy, .. }), Some(script)) = (lab, script) {
                let hash = format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script)));
                assert!(policy.to_str().unwrap().contains(&hash), "{policy:?}");
            }
        }
        let module = "<script type=\"text/plain\" id=\"module\">AA==</script>";
        check(&format!("<p>a</p>{module}\n<script>go()</script></body>"), Some("go()"));
        check("<p>another page</p><script>go()</script>", None);
        check(module, None);
        check(&format!("{module}<script>go()"), None);
        check(&format!("{module}<script>go()</script><script>steal()</script>"), None);
        check(&format!("{module}<script>go()</script><script src=x></script>"), None);
        check(&format!("<script>steal()</script>{module}<script>go()</script>"), None);
    }
}
