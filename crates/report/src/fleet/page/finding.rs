//! One disk that differs, as a page or as a part of one.

use drivelab_analysis::fleet::{FleetResult, Found};
use drivelab_analysis::{figures, metric};

use super::super::text::evidence;
use super::picture::picture;
use crate::page::html::{escape, fold, inline, scroll, section, table};
use crate::page::skeleton;

/// Characters of a name in the name of a file.
const NAME_MAX: usize = 60;

/// The name of the page of the finding at `index`: letters, digits, dots and dashes alone.
pub fn file_name(index: usize, found: &Found) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let plain = |text: &str| -> String {
        text.chars().take(NAME_MAX).map(|c| if is_plain(c) { c } else { '_' }).collect()
    };
    format!("{}-{}-{}.html", index + 1, plain(&found.disk.host), plain(&found.disk.device))
}

/// The page of a finding, with the command that made it.
pub fn page(result: &FleetResult, found: &Found, reproduce: &str) -> String {
    let group = &result.groups[found.group];
    let title = format!("{}: {} than its peers", found.disk, found.difference());
    let facts = [
        group.peers.model.clone(),
        format!("{} disks", group.disks.len()),
        metric::label(&result.metric),
        format!("q {}", figures::significant(found.outlier.q)),
    ];
    let body = format!(
        "{}{}",
        part(result, found, "Evidence"),
        section(
            "How to repeat it",
            "One finding is a reason to look, not a verdict: measure the disk and one of its peers \
             again, in turn, before you replace it.",
            &format!("<pre><code>{}</code></pre>\n", escape(reproduce)),
        )
    );
    skeleton("fleet", &title, &facts, &body)
}

/// The evidence with its picture and the disk's settings, under a title that is HTML.
pub(super) fn part(result: &FleetResult, found: &Found, title: &str) -> String {
    let facts = found
        .facts
        .iter()
        .map(|(name, value)| vec![format!("<code>{}</code>", escape(name)), escape(value)]);
    let settings = scroll("Settings", &table(&["setting", "value"], facts));
    let about = "A dot for each disk of the group; the band is where one more of its peers lies \
                 with 95 %.";
    let body = [
        format!("<p>{}</p>\n", inline(&evidence(result, found))),
        picture(result, found),
        fold("Its settings", &settings),
    ];
    section(title, about, &body.concat())
}
