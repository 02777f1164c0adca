//! A scored replay as a page of its own.

use std::fmt::Write as _;

use super::plot::{LEGEND, figure, groups, panels};
use super::{Compared, ReplayResult};
use crate::page::skeleton;

/// The page: the scores in a table, then the distributions. The same result, the same bytes.
pub fn page(result: &ReplayResult, compared: &[Compared]) -> String {
    let title = format!("{} on {}", result.trace, result.drive);
    let facts = [
        format!("{} requests, {} loop, in virtual time", result.requests, result.how),
        format!("{} were refused", result.errors),
    ];
    let mut body = String::new();
    body += &table(result);
    body += LEGEND;
    for (name, group) in groups(compared) {
        let drawn: String = panels(name, &group).iter().map(figure).collect();
        // Writing into a string cannot fail.
        let _ = writeln!(body, "<section><div class=\"panels\">{drawn}</div></section>");
    }
    skeleton("replay", &title, &facts, &body)
}

fn table(result: &ReplayResult) -> String {
    let Some(scores) = &result.score else { return String::new() };
    let mut rows = String::new();
    for (name, row) in scores.rows() {
        let _ = writeln!(
            rows,
            "<tr><th>{name}</th><td>{}</td><td>{:.3}</td><td>{:.3}</td><td>{:.3}</td>\
             <td>{:.3}</td><td>{:.1}</td><td>{:.1}</td></tr>",
            row.n,
            row.measured_mean_ms,
            row.modelled_mean_ms,
            row.demerit_ms,
            row.rms_error_ms,
            100.0 * row.within_0_1_ms,
            100.0 * row.within_0_5_ms,
        );
    }
    format!(
        "<div class=\"scroll\"><table class=\"heat\">\n<tr><th></th><td>requests</td><td>measured mean, ms</td>\
         <td>modelled mean, ms</td><td>demerit, ms</td><td>rms error, ms</td>\
         <td>% within 0.1 ms</td><td>% within 0.5 ms</td></tr>\n{rows}</table></div>\n\
         <p class=\"about\">Demerit: the root mean square of the horizontal distance \
         between the two distributions. The shares and the rms error compare request by request; \
         they are meaningful only if the phase of the platter could be recovered.</p>\n"
    )
}
