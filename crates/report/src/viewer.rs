//! Pages of a report as parts of the viewer: the same page under a line that leads to the others.

pub mod running;

use drivelab_core::outline::{Line, Severity, Tone};

use crate::page::html::{each, escape, inline};
use crate::page::skeleton;

const STYLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/view/view.css"));

/// The pages that the line leads to: address and words.
const PAGES: [(&str, &str); 7] = [
    ("/", "Runs"),
    ("/course", "Over time"),
    ("/fleet", "Fleet"),
    ("/running", "Running"),
    ("/inspection", "This machine"),
    ("/articles", "Published comparisons"),
    ("/crash", "Power cuts"),
];

/// The address of the laboratory, which is not installed everywhere.
const LAB: (&str, &str) = ("/lab", "Laboratory");

/// The same page under a line of links; `here` is the address of the one that is shown.
///
/// # Panics
/// `page` is no page of this crate.
pub fn within(page: &str, here: &str, has_lab: bool) -> String {
    let (head, body) = page.split_once("</head>\n<body>\n").expect("every page has a body");
    let links = PAGES.into_iter().chain(has_lab.then_some(LAB)).map(|(address, words)| {
        let current = if address == here { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{address}\"{current}>{words}</a>\n")
    });
    let links = links.collect::<Vec<String>>().concat();
    format!(
        "{head}<style>\n{STYLE}</style>\n</head>\n<body>\n<nav aria-label=\"Viewer\">\n{links}\
         </nav>\n{body}"
    )
}

/// A page of words alone: a title, paragraphs, and below them a text as it is.
pub fn notice(title: &str, paragraphs: &[String], verbatim: &str) -> String {
    let paragraphs = each("<p>", paragraphs.iter().map(|text| inline(text)), "</p>\n");
    let verbatim = match verbatim {
        "" => String::new(),
        text => format!("<pre><code>{}</code></pre>\n", escape(text)),
    };
    skeleton("view", title, &[], &format!("<section>\n{paragraphs}{verbatim}</section>\n"))
}

/// A page of lines that another crate supplies.
pub fn outline(title: &str, lines: &[Line]) -> String {
    let of_line = |line: &Line| {
        let parts = line.parts.iter().map(|part| match tone(part.tone) {
            "" => escape(&part.text),
            class => format!("<b class=\"{class}\">{}</b>", escape(&part.text)),
        });
        let text = parts.collect::<String>() + &escape(&line.body);
        format!("<p style=\"--hanging: {}ch\">{text}</p>\n", line.hanging)
    };
    let text: String = lines.iter().map(of_line).collect();
    skeleton("view", title, &[], &format!("<section class=\"outline\">\n{text}</section>\n"))
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Bold => "name",
        Tone::Good => "good",
        Tone::Wrong(Severity::Error) => "error",
        Tone::Wrong(Severity::Warn) => "warn",
        Tone::Wrong(Severity::Info) => "info",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_all_it_has_and_gets_a_line_of_links() {
        let page = notice("<title>", &["a `b`".into()], "<pre>");
        let framed = within(&page, "/articles", false);
        assert!(!framed.contains(LAB.0) && within(&page, "/", true).contains("<a href=\"/lab\">"));
        assert_eq!(framed.matches("<nav").count(), 1);
        assert_eq!(
            framed.matches("aria-current").count(),
            1 + STYLE.matches("aria-current").count()
        );
        assert!(framed.contains("<a href=\"/articles\" aria-current=\"page\">"));
        assert!(framed.ends_with(page.split("<body>\n").nth(1).unwrap()));
        assert!(framed.contains("<p>a <code>b</code></p>") && framed.contains("&lt;pre&gt;"));
    }

    #[test]
    fn lines_of_other_crates_keep_their_tones() {
        let line = Line::new("<b> is slow", 2).part(Tone::Wrong(Severity::Warn), "sda");
        let page = outline("Disks", &[line]);
        let drawn = "<p style=\"--hanging: 2ch\"><b class=\"warn\">sda</b>&lt;b&gt; is slow</p>";
        assert!(page.contains(drawn), "{page}");
    }
}
