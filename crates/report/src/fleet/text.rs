//! The findings in a fleet, for people: sentences that all forms share, and a terminal.

use drivelab_analysis::fleet::{DiskName, Drift, FleetResult, Found, PeerResult};
use drivelab_analysis::{figures, metric};
use drivelab_core::record::differences;
use drivelab_core::{counted, shown_in_line};
use drivelab_stats::{GroupJudgement, PEER_GROUP_MIN};

use super::small;

use crate::text::{Align, BOLD, Cell, DOUBT, Look, Table};

/// Disks that are named where many share something.
const NAMED: usize = 3;

/// For a terminal.
pub fn text(result: &FleetResult, look: Look) -> String {
    let mut text = look.paint(&look.wrap(&lead(result), 2), BOLD) + "\n";
    if !result.found.is_empty() {
        text += "\n";
        text += &table(result).render(look);
        text += &look.each("Evidence:", DOUBT, &evidences(result));
    }
    if !result.drifts.is_empty() {
        text += "\n";
        text += &drift_table(result).render(look);
    }
    let notes: Vec<String> =
        notes(result).iter().map(|note| shown_in_line(note).into_owned()).collect();
    if !notes.is_empty() {
        text += "\n";
        text += &look.each("Note:", BOLD, &notes);
    }
    text
}

/// The answer in a sentence or two.
pub(super) fn lead(result: &FleetResult) -> String {
    let judged = result.judged();
    let margin = figures::percent(result.options.margin);
    let rate = figures::percent(result.options.false_discovery);
    let name = metric::label(&result.metric);
    let disks = match result.found.len() {
        _ if judged == 0 => return "No disk has enough peers to be judged.".to_owned(),
        0 => "No disk differs".to_owned(),
        1 => "1 disk differs".to_owned(),
        count => format!("{count} disks differ"),
    };
    let drifted = match result.drifts.len() {
        0 => String::new(),
        1 => " One setting drifted apart.".to_owned(),
        count => format!(" {count} settings drifted apart."),
    };
    format!(
        "{disks} from its peers in {name} by more than {margin}, of {judged} that were judged on \
         {} (false discovery rate {rate}).{drifted}",
        counted(result.hosts, "host")
    )
    .replace("disks differ from its", "disks differ from their")
}

fn table(result: &FleetResult) -> Table {
    let mut table = Table::new(&[
        ("disk", Align::Left, 0),
        ("figure", Align::Right, 0),
        ("its peers", Align::Right, 0),
        ("95 % within", Align::Right, 2),
        ("difference", Align::Left, 0),
        ("p", Align::Right, 1),
        ("q", Align::Right, 0),
    ]);
    for it in &result.found {
        let outlier = &it.outlier;
        table.row([
            Cell::from((it.disk.to_string(), BOLD)),
            metric::show(&result.metric, outlier.figure).into(),
            metric::show(&result.metric, outlier.centre).into(),
            metric::show_range(&result.metric, outlier.range95).into(),
            it.difference().into(),
            figures::significant(outlier.p).into(),
            figures::significant(outlier.q).into(),
        ]);
    }
    table
}

fn evidences(result: &FleetResult) -> Vec<String> {
    result.found.iter().map(|it| shown_in_line(&evidence(result, it)).into_owned()).collect()
}

/// A disk's figure, those of its peers and how sure the difference is, in sentences.
pub(super) fn evidence(result: &FleetResult, found: &Found) -> String {
    let group = &result.groups[found.group];
    let (name, it) = (metric::label(&result.metric), &found.outlier);
    let runs = group.judged().map_or(0, |judged| judged.runs);
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    let others = match found.others_of_host {
        0 => String::new(),
        1 => " Another disk of this host differs, too: look at what they share.".to_owned(),
        count => format!(" {count} other disks of this host differ, too: look at what they share."),
    };
    format!(
        "{}: {name} {} in {runs}; its {} peers {}, 95 % of such disks within {}; {}, p {}, q {}.\
         {others} Peers: {}, {}; {}.",
        found.disk,
        metric::show(&result.metric, it.figure),
        group.disks.len() - 1,
        metric::show(&result.metric, it.centre),
        metric::show_range(&result.metric, it.range95),
        found.difference(),
        figures::significant(it.p),
        figures::significant(it.q),
        group.peers.model,
        group.peers.attachment,
        group.peers.work,
    )
}

fn drift_table(result: &FleetResult) -> Table {
    let mut table = Table::new(&[
        ("model", Align::Left, 0),
        ("setting", Align::Left, 0),
        ("usual", Align::Left, 0),
        ("other", Align::Left, 0),
    ]);
    for drift in &result.drifts {
        let (usual, others) = usual_and_others(drift);
        table.row([drift.model.clone(), drift.setting.clone(), usual, others]);
    }
    table
}

/// The most common value and the others, with the disks that have them.
pub(super) fn usual_and_others(drift: &Drift) -> (String, String) {
    let others: Vec<String> = drift
        .values
        .iter()
        .skip(1)
        .map(|value| format!("{}: {}", value.value, named(&value.disks, NAMED)))
        .collect();
    let usual = drift.values.first();
    let usual = usual.map(|value| format!("{} ({})", value.value, value.disks.len()));
    (usual.unwrap_or_default(), others.join("; "))
}

/// `sda of web1, sdb of web2 and 7 more`.
pub(super) fn named(disks: &[DiskName], most: usize) -> String {
    let shown: Vec<String> = disks.iter().take(most).map(ToString::to_string).collect();
    match disks.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Notes what was not judged and why, and how large an effect in the rest could be seen.
pub(super) fn notes(result: &FleetResult) -> Vec<String> {
    let mut notes: Vec<String> = result.groups.iter().map(|group| note(group, result)).collect();
    let left_out = result.left_out;
    if left_out.without_disk > 0 {
        notes.push(format!(
            "{} not judged: on no disk or on several, or on one without a model.",
            counted(left_out.without_disk, "run")
        ));
    }
    if left_out.without_figure > 0 {
        notes.push(format!(
            "{} not judged: without `{}` above zero.",
            counted(left_out.without_figure, "run"),
            result.metric
        ));
    }
    if left_out.invalid > 0 {
        notes.push(format!(
            "{} not judged: requests failed, or the figures are of something else than the disk.",
            counted(left_out.invalid, "run")
        ));
    }
    if left_out.of_earlier_boots > 0 {
        let verb = if left_out.of_earlier_boots == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} {verb} of an earlier boot, on disks without a serial number or world wide name: \
             which disk it was is unknown, so only the latest boot of each host counts.",
            counted(left_out.of_earlier_boots, "run")
        ));
    }
    notes
}

/// The part of a group's work that differs between groups of the same disks: `, bs 4k`.
fn own_work(group: &PeerResult, all: &[PeerResult]) -> String {
    let works = all
        .iter()
        .filter(|it| {
            (&it.peers.model, &it.peers.attachment) == (&group.peers.model, &group.peers.attachment)
        })
        .map(|it| vec![&it.peers.keys]);
    let differing = differences(&works.collect::<Vec<_>>());
    let own = differing
        .iter()
        .map(|it| format!("{} {}", it.key, group.peers.keys.get(&it.key).unwrap_or("not stated")));
    let own: Vec<String> = own.take(NAMED).collect();
    if own.is_empty() { String::new() } else { format!(", {}", own.join(", ")) }
}

fn note(group: &PeerResult, result: &FleetResult) -> String {
    let (model, attachment) = (&group.peers.model, &group.peers.attachment);
    let what = format!("{model} ({attachment}{})", own_work(group, &result.groups));
    let count = group.disks.len();
    match &group.judgement {
        GroupJudgement::TooSmall => match &group.small {
            Some(small) => format!(
                "{what}: {count} disks, fewer than {PEER_GROUP_MIN}: no disk is judged. Side by \
                 side: {}. {}",
                small::side_by_side(&group.disks, small, &result.metric),
                small::test_of(small)
            ),
            None => format!(
                "{what}: {}, fewer than {PEER_GROUP_MIN}: not judged ({}).",
                if count == 1 { "1 disk".to_owned() } else { format!("{count} disks") },
                named(&group.disks, NAMED),
            ),
        },
        GroupJudgement::NoVariation => format!(
            "{what}: {count} disks with the same figure, which says nothing of chance: not judged."
        ),
        GroupJudgement::Judged(judged) => format!(
            "{what}: {count} disks; one is reported if it is {} or more below the others.",
            // In whole percent, because it is an estimate.
            figures::percent(libm::round(100.0 * judged.smallest_found) / 100.0),
        ),
    }
}
