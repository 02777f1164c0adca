//! The form above a comparison in the viewer: which metric decides, and by how much.

use drivelab_analysis::comparison::CompareResult;
use drivelab_analysis::metric;

use crate::page::html::escape;

/// The form of a comparison of these `runs`, with what was chosen.
pub fn form(result: &CompareResult, runs: &[String], margin: &str, factor: &str) -> String {
    let hidden = runs
        .iter()
        .map(|run| format!("<input type=\"hidden\" name=\"run\" value=\"{}\">", escape(run)));
    let primary = result.primary().series;
    let shown = result.series.iter().zip(&result.facts).enumerate();
    format!(
        "<form class=\"asked\" action=\"/compare\">{}\n<label>Metric that decides <select \
         name=\"primary\">{}</select></label>\n<label>Smallest effect worth acting on <input \
         name=\"margin\" value=\"{}\" size=\"6\"></label>\n<label>Meant to differ in <input \
         name=\"factor\" value=\"{}\" size=\"16\" placeholder=\"scheduler,bs\"></label>\n\
         <button>Compare</button>\n</form>\n",
        hidden.collect::<String>(),
        shown
            .filter_map(|(index, (series, facts))| {
                let selected = if index == primary { " selected" } else { "" };
                (index == primary || !facts.is_detail).then(|| {
                    format!(
                        "<option value=\"{}\"{selected}>{}</option>",
                        escape(&series.name),
                        escape(&metric::label(&series.metric))
                    )
                })
            })
            .collect::<String>(),
        escape(margin),
        escape(factor)
    )
}
