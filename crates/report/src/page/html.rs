//! Text into HTML, safely.

/// Text as HTML text or as a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// The limits of an interval, or a dash where there is none.
pub(crate) fn range_or_dash(limits: Option<[f64; 2]>) -> String {
    limits.map_or("\u{2013}".to_owned(), drivelab_analysis::figures::range)
}

/// Text in which `names` between backticks become code, and factors such as x1.53 and times such as
/// 1.72 us get their signs.
pub(crate) fn inline(text: &str) -> String {
    let mut html = String::new();
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without its partner stays one.
    let paired = parts.len() % 2 == 1;
    for (index, part) in parts.iter().enumerate() {
        if index % 2 == 1 && paired {
            html.push_str("<code>");
            html.push_str(&escape(part));
            html.push_str("</code>");
        } else {
            if index > 0 && !paired {
                html.push('`');
            }
            html.push_str(&factors(&escape(part)));
        }
    }
    html
}

/// `x1.53` and `1.72 us` as people write them, and `3 %` kept on one line.
fn factors(text: &str) -> String {
    let mut factors = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // An `x` within a word is a letter.
        let opens = before == ' ' || before == '(';
        let is_factor = c == 'x' && opens && rest.peek().is_some_and(char::is_ascii_digit);
        let binds = c == ' ' && before.is_ascii_digit() && rest.peek() == Some(&'%');
        factors.push(match c {
            _ if is_factor => '\u{d7}',
            _ if binds => '\u{a0}',
            _ => c,
        });
        before = c;
    }
    micro(&factors)
}

/// `us` behind a number as the symbol of its unit.
pub(crate) fn micro(text: &str) -> String {
    let mut parts = text.split(" us");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_unit = shown.ends_with(|c: char| c.is_ascii_digit())
            && !part.starts_with(|c: char| c.is_alphanumeric());
        shown += if is_unit { " \u{b5}s" } else { " us" };
        shown += part;
    }
    shown
}

/// Elements of one kind, each between `open` and `close`.
pub(crate) fn each(open: &str, items: impl Iterator<Item = String>, close: &str) -> String {
    items.fold(String::new(), |html, item| html + open + &item + close)
}

/// From this number of columns on, cells break their lines so that all have room.
const WIDE: usize = 6;

/// Columns whose head and alignment a table states once (`page.css` passes them to the cells):
/// repeated in each cell they are most of the size of a page. Cells of further columns have both.
const STATED_MAX: usize = 16;

/// A table of cells that are HTML, under heads that are text; on a phone a row becomes a line for
/// each cell, behind the name of its column. Columns of numbers end at their right edge, so that
/// their digits stand below one another.
pub(crate) fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let wide = if heads.len() > WIDE { " wide" } else { "" };
    let rows: Vec<Vec<String>> = rows.collect();
    debug_assert!(rows.iter().all(|row| row.len() == heads.len()), "one cell a column");
    let (mut stated, mut head, mut own) = (String::new(), String::new(), Vec::new());
    for (column, name) in heads.iter().enumerate() {
        let (is_number, shown) = (is_of_numbers(&rows, column), escape(name));
        let (mut class, mut label) = ("", String::new());
        if column < STATED_MAX {
            stated += &statement(column + 1, name, is_number);
        } else {
            class = if is_number { " class=\"n\"" } else { "" };
            label = format!("{class} data-head=\"{shown}\"");
        }
        head += &format!("<th{class} scope=\"col\">{shown}</th>");
        own.push(label);
    }
    let row = |cells: &Vec<String>| -> String {
        let cells = cells.iter().zip(&own);
        // HTML needs no `</td>`, and a page may have thousands of cells.
        cells.fold(String::new(), |row, (cell, own)| row + &format!("<td{own}>{}", micro(cell)))
    };
    let rows = each("<tr>", rows.iter().map(row), "</tr>\n");
    format!(
        "<table class=\"numbers{wide}\" style=\"{stated}\"><thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table>"
    )
}

/// The style sheet's properties of a column, counted from 1 as it counts them. The first names its
/// row, and needs no name itself.
fn statement(number: usize, head: &str, is_number: bool) -> String {
    let head = if number == 1 { String::new() } else { format!("--h{number}:{};", css_text(head)) };
    let edge = if is_number { format!("--e{number}:right;") } else { String::new() };
    head + &edge
}

/// Text as a string of CSS inside a quoted attribute.
fn css_text(text: &str) -> String {
    let text: String = text
        .chars()
        .flat_map(|c| match c {
            '\\' | '\'' => vec!['\\', c],
            // A line break would end the string.
            _ if c.is_control() => vec![' '],
            _ => vec![c],
        })
        .collect();
    escape(&format!("'{text}'"))
}

/// True if a column holds only numbers, apart from gaps; the first names its row.
fn is_of_numbers(rows: &[Vec<String>], column: usize) -> bool {
    let mut cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.trim());
    let is_gap = |cell: &str| cell.is_empty() || cell == "\u{2013}";
    let is_number = |cell: &str| {
        let first = cell.split([' ', '\u{a0}']).next().unwrap_or_default();
        let digits = first.trim_start_matches(['\u{d7}', 'x', '+', '-', '\u{2212}']);
        let digits = digits.trim_end_matches(['k', 'M', '%']);
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || ".,e-".contains(c))
            // Inside a number, only an exponent has a minus sign: `5-6` is none.
            && digits.matches('-').count() <= digits.matches('e').count()
    };
    column > 0
        && cells.clone().any(|cell| !is_gap(cell))
        && cells.all(|cell| is_gap(cell) || is_number(cell))
}

/// A table that scrolls sideways where it is wider than the screen.
pub(crate) fn scroll(name: &str, table: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">{table}</div>\n"
    )
}

/// A collapsed section that opens on demand; `title` is HTML.
pub(crate) fn fold(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>{body}</details>\n")
}

/// A part of a page: what it is about in a sentence, then what there is; all are HTML.
pub(crate) fn section(title: &str, about: &str, body: &str) -> String {
    let about =
        if about.is_empty() { String::new() } else { format!("<p class=\"about\">{about}</p>\n") };
    format!("<section>\n<h2>{title}</h2>\n{about}{body}</section>\n")
}

/// A list under its heading; empty if there is nothing to list.
pub(crate) fn list(title: &str, class: &str, lines: &[String]) -> String {
    let items = each("<li>", lines.iter().map(|line| inline(line)), "</li>");
    if items.is_empty() {
        return items;
    }
    format!("<h3>{title}</h3>\n<ul class=\"{class}\">{items}</ul>\n")
}

/// The sign of an arm: its colour and its kind of line.
pub(crate) fn swatch(arm: usize) -> String {
    format!("<i class=\"swatch arm-{}\" aria-hidden=\"true\"></i>", arm % ARM_STYLES)
}

/// The arms with the colours they have in every picture.
pub(crate) fn legend(names: &[&str]) -> String {
    let items = each(
        "<li>",
        names.iter().enumerate().map(|(index, name)| swatch(index) + &escape(name)),
        "</li>",
    );
    format!("<ul class=\"legend\" aria-label=\"Arms\">{items}</ul>\n")
}

/// The element in which the script draws the latency distribution `id`; `name` and `caption` are
/// HTML.
pub(crate) fn latency_plot(id: &str, name: &str, caption: &str) -> String {
    format!(
        "<figure><figcaption>{caption}</figcaption><div class=\"plot\" id=\"{id}\" tabindex=\"0\" \
         role=\"img\" aria-label=\"Latency distribution of {name}; quantiles are in the table \
         below\"></div><p class=\"readout\" id=\"{id}-readout\" aria-live=\"polite\"></p>\
         </figure>\n"
    )
}

/// Text of other people as far as a line has room for it.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(SHORT_MAX) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}

/// Characters of a name that are shown: more than any name has that a person chose.
const SHORT_MAX: usize = 300;

/// Arms that the style sheet distinguishes; the eye could not distinguish more either.
pub(crate) const ARM_STYLES: usize = 6;

/// JSON inside a script element: no `<` can end the element or open a comment.
pub(crate) fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<b a=\"1\">&'"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;");
        assert_eq!(embedded("{\"a\":\"</script>\"}"), "{\"a\":\"\\u003c/script>\"}");
    }

    #[test]
    fn a_table_states_what_its_columns_share_once() {
        let cells = |of: &str| (0..18).map(|column| format!("{of}{column}")).collect::<Vec<_>>();
        let heads = cells("h");
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let rows = || [cells(""), cells("")].into_iter();
        let table = table(&heads, rows());
        assert_eq!(table.matches("--h16:&#39;h15&#39;;--e16:right;").count(), 1, "{table}");
        assert!(!table.contains("--h17"));
        assert_eq!(table.matches("<td>15").count(), 2);
        assert_eq!(table.matches("<td class=\"n\" data-head=\"h17\">17").count(), 2);
        let sheet = crate::page::STYLE;
        for number in 2..=STATED_MAX {
            let rule =
                format!("({number}) {{ --h: var(--h{number}); --e: var(--e{number}, left); }}");
            assert!(sheet.contains(&rule), "{rule}");
        }
        assert!(sheet.contains(&format!(":nth-child(n + {})::before", STATED_MAX + 1)));
    }

    #[test]
    fn heads_cannot_leave_their_statement() {
        assert_eq!(css_text("p99, ms"), "&#39;p99, ms&#39;");
        assert_eq!(css_text("'\"};\n\\<"), "&#39;\\&#39;&quot;}; \\\\&lt;&#39;");
    }

    #[test]
    fn columns_of_numbers_are_told_by_their_cells() {
        let is_of_numbers = |cells: &[&str]| {
            let row = |cell: &&str| vec![String::new(), (*cell).to_owned()];
            is_of_numbers(&cells.iter().map(row).collect::<Vec<_>>(), 1)
        };
        assert!(is_of_numbers(&["1.63 to 1.66", "", "\u{2013}", "237k", "0.293 MB/s"]));
        assert!(is_of_numbers(&["1e-7", "\u{d7}1.5", "53\u{a0}%"]));
        for text in ["disk", "2026-11-24", "10:48", "5d1c2a", "<b>1</b>", "e5"] {
            assert!(!is_of_numbers(&["1", text]), "{text}");
        }
        assert!(!is_of_numbers(&["", "\u{2013}"]) && !is_of_numbers(&[]));
    }

    #[test]
    fn names_and_factors_stand_out() {
        let check = |text, expected: &str| assert_eq!(inline(text), expected);
        check("`a<b` gives x1.53", "<code>a&lt;b</code> gives \u{d7}1.53");
        check("(x1.5, 1 to 2)", "(\u{d7}1.5, 1 to 2)");
        check("the 3 % that", "the 3\u{a0}% that");
        check("0x10 and xylophone x", "0x10 and xylophone x");
        check("1.72 us of us, 3 usable", "1.72 \u{b5}s of us, 3 usable");
        check("a ` alone", "a ` alone");
    }
}
