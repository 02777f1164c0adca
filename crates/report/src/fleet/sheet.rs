//! The findings in a fleet for other tools: Markdown, and a line of values for each disk.

use drivelab_analysis::fleet::{FleetResult, Found};
use drivelab_analysis::{figures, metric};

use super::text::{evidence, lead, notes, usual_and_others};
use crate::publish::{plain, quoted};

/// Markdown, in which text of other people is only text.
pub fn markdown(result: &FleetResult) -> String {
    let mut text = format!("<!-- drivelab report -->\n# Disks of a fleet\n\n{}\n\n", lead(result));
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    if !result.found.is_empty() {
        text += "## Disks that differ\n\n| disk | figure | its peers | 95 % within | difference | \
                 p | q |\n| --- | --- | --- | --- | --- | --- | --- |\n";
        for it in &result.found {
            let outlier = &it.outlier;
            text += &row(&[
                it.disk.to_string(),
                metric::show(&result.metric, outlier.figure),
                metric::show(&result.metric, outlier.centre),
                metric::show_range(&result.metric, outlier.range95),
                it.difference(),
                figures::significant(outlier.p),
                figures::significant(outlier.q),
            ]);
        }
        text += "\n";
        for it in &result.found {
            text += &format!("- {}\n", plain(&evidence(result, it)));
        }
        text += "\n";
    }
    if !result.drifts.is_empty() {
        text += "## Settings that drifted apart\n\n| model | setting | usual | other |\n\
                 | --- | --- | --- | --- |\n";
        for drift in &result.drifts {
            let (usual, others) = usual_and_others(drift);
            text += &row(&[drift.model.clone(), drift.setting.clone(), usual, others]);
        }
        text += "\n";
    }
    notes(result).iter().fold(text, |text, note| text + &format!("- {}\n", plain(note)))
}

/// Comma-separated values as RFC 4180 has them.
pub fn csv(result: &FleetResult) -> String {
    let heads = "fleet_host,device,model,attachment,work,metric,value,peers,centre,low95,high95,\
                 ratio,p,q\r\n";
    let line = |it: &Found| {
        let (group, outlier) = (&result.groups[it.group], &it.outlier);
        let names = [
            &it.disk.host,
            &it.disk.device,
            &group.peers.model,
            &group.peers.attachment,
            &group.peers.work,
            &result.metric,
        ];
        let names: Vec<String> = names.into_iter().map(|name| quoted(name)).collect();
        let [low, high] = outlier.range95;
        format!(
            "{},{},{},{},{low},{high},{},{},{}\r\n",
            names.join(","),
            outlier.figure,
            group.disks.len() - 1,
            outlier.centre,
            outlier.ratio,
            outlier.p,
            outlier.q,
        )
    };
    result.found.iter().fold(heads.to_owned(), |text, it| text + &line(it))
}
