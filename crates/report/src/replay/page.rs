//! A scored replay as a separate page.

use super::plot::{LEGEND, figure, groups, panels};
use super::{Compared, ReplayResult};
use crate::page::html::{self, scroll, table};
use crate::page::skeleton;

/// The page: the scores in a table, then the distributions. The same result, the same bytes.
pub fn page(result: &ReplayResult, compared: &[Compared]) -> String {
    let title = format!("{} on {}", result.trace, result.drive);
    let facts = [
        format!("{} requests, {} loop, in virtual time", result.requests, result.how),
        format!("{} were refused", result.errors),
    ];
    let mut body = scores(result) + LEGEND;
    for (name, group) in groups(compared) {
        let drawn: String = panels(name, &group).iter().map(figure).collect();
        body += &format!("<section><div class=\"panels\">{drawn}</div></section>\n");
    }
    skeleton("replay", &title, &facts, &body)
}

fn scores(result: &ReplayResult) -> String {
    let Some(scores) = &result.score else { return String::new() };
    let rows = scores.rows().map(|(name, row)| {
        vec![
            name.to_owned(),
            row.n.to_string(),
            format!("{:.3}", row.measured_mean_ms),
            format!("{:.3}", row.modelled_mean_ms),
            format!("{:.3}", row.demerit_ms),
            format!("{:.3}", row.rms_error_ms),
            format!("{:.1}", 100.0 * row.within_0_1_ms),
            format!("{:.1}", 100.0 * row.within_0_5_ms),
        ]
    });
    let heads = "|requests|measured mean, ms|modelled mean, ms|demerit, ms|rms error, ms|\
                 % within 0.1 ms|% within 0.5 ms";
    let heads: Vec<&str> = heads.split('|').collect();
    let about = "Demerit: the root mean square of the horizontal distance between the two \
                 distributions. The shares and the rms error hold each request against itself; they \
                 say something only where the phase of the platter could be recovered.";
    html::section("How near the model came", about, &scroll("Scores", &table(&heads, rows)))
}
