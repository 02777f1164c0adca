//! The variants of a study: of stages with tables that replace the file's, and of the full scale.

use drivelab_core::StageName;
use drivelab_core::config::{Choice as _, ConfigError, Section};
use drivelab_core::plan::Scale;

/// The tables of a study that a stage can replace.
const TABLES: [&str; 7] = ["base", "disk", "arm", "workload", "matrix", "contrast", "interaction"];
/// The keys of a finding that decide it: another figure has none of them in common.
const JUDGED: [&str; 7] =
    ["figure", "published_value", "cannot_tell", "processor", "again", "at_least", "at_most"];
/// The table of the keys that count at full scale.
const FULL: &str = "full";

/// The stages that replace tables of the file.
pub(in crate::file) fn stages(top: &Section) -> Result<Vec<StageName>, ConfigError> {
    let mut found = Vec::new();
    top.clone().edit("stage", &mut |stages| {
        for (name, stage) in StageName::NAMES {
            stages.edit(name, &mut |table| {
                // On a copy: a table is only looked for.
                if TABLES.iter().any(|key| table.clone().leave_out(key)) {
                    found.push(*stage);
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Leaves what a variant has: that of the file is without the stages that replace its tables, and
/// that of such a stage without all others.
pub(in crate::file) fn at_stage(
    top: &mut Section,
    stage: Option<StageName>,
) -> Result<(), ConfigError> {
    let own = stages(top)?;
    for (name, other) in StageName::NAMES {
        let is_kept = stage.map_or(!own.contains(other), |stage| stage == *other);
        for key in ["stage", "finding"].into_iter().filter(|_| !is_kept) {
            top.edit(key, &mut |table| {
                table.leave_out(name);
                Ok(())
            })?;
        }
    }
    let Some(stage) = stage else { return Ok(()) };
    for key in TABLES.into_iter().chain(["candidate"]) {
        top.leave_out(key);
    }
    let mut tables = top.clone();
    top.edit("stage", &mut |stages| {
        stages.edit(stage.name(), &mut |table| {
            for key in TABLES.into_iter().chain(["candidate", "primary"]) {
                tables.take_over(key, table);
            }
            Ok(())
        })
    })?;
    for key in TABLES.into_iter().chain(["candidate", "primary"]) {
        top.take_over(key, &mut tables);
    }
    // The other figures of a finding are of workloads and arms that are not there.
    top.edit("finding", &mut |finding| answered(finding, stage.name()).map(drop))
}

/// Replaces the keys that decide a finding by those of one of its tables, if it has that.
fn answered(finding: &mut Section, table: &'static str) -> Result<bool, ConfigError> {
    if !finding.clone().leave_out(table) {
        return Ok(false);
    }
    // The table may itself have a `full`.
    for key in JUDGED.into_iter().chain([FULL].into_iter().filter(|full| *full != table)) {
        finding.leave_out(key);
    }
    finding.overlay(table)
}

/// Applies the `full` of a table at full scale, and removes it at the other; true if it had one.
fn scaled_up(table: &mut Section, scale: Scale, is_finding: bool) -> Result<bool, ConfigError> {
    match (scale, is_finding) {
        (Scale::Stated, _) => Ok(table.leave_out(FULL)),
        (Scale::Full, true) => answered(table, FULL),
        (Scale::Full, false) => table.overlay(FULL),
    }
}

/// Applies or removes each `full`, and gives the names of the workloads that have one.
pub(in crate::file) fn at_scale(
    top: &mut Section,
    scale: Scale,
) -> Result<Vec<String>, ConfigError> {
    let (mut scaled, mut others) = (Vec::new(), false);
    top.edit("workload", &mut |workload| {
        if scaled_up(workload, scale, false)? {
            scaled.extend(workload.clone().take::<String>("name")?);
        }
        Ok(())
    })?;
    top.edit("stage", &mut |stages| {
        StageName::NAMES.iter().try_for_each(|(name, _)| {
            stages.edit(name, &mut |table| {
                others |= scaled_up(table, scale, false)?;
                Ok(())
            })
        })
    })?;
    top.edit("finding", &mut |finding| {
        others |= scaled_up(finding, scale, true)?;
        StageName::NAMES.iter().try_for_each(|(name, _)| {
            finding.edit(name, &mut |table| {
                others |= scaled_up(table, scale, true)?;
                Ok(())
            })
        })
    })?;
    if others && scaled.is_empty() {
        return Err(top.error("`full` of a stage or a finding needs a workload with a `full`"));
    }
    Ok(scaled)
}

#[cfg(test)]
mod tests {
    use drivelab_core::Refusal;

    use crate::file::tests::TwoKeys;
    use crate::file::{Choices, StudyFile};

    use super::*;

    const STUDY: &str = "
        title = \"Which?\"
        primary = \"read.iops\"
        [stage]
        default = \"simulate\"
        [stage.hardware]
        notes = [\"as stated\"]
        full = { notes = [\"all of it\"], blocks = 7 }
        [stage.kernel]
        primary = \"write.iops\"
        [[stage.kernel.arm]]
        name = \"one\"
        [[stage.kernel.arm]]
        name = \"two\"
        [[stage.kernel.workload]]
        name = \"write\"
        rw = \"randwrite\"
        runtime = \"1s\"
        [[arm]]
        name = \"a\"
        [[arm]]
        name = \"b\"
        [[workload]]
        name = \"read\"
        rw = \"randread\"
        runtime = \"9s\"
        full = { runtime = \"90s\", summary = \"for long\" }
        [[finding]]
        name = \"It is faster\"
        figure = \"read.iops of b over a\"
        source = \"a forum\"
        cannot_tell = \"it is too short\"
        full = { figure = \"read.iops of b over a\", at_least = 2 }
        [finding.kernel]
        figure = \"write.iops of two over one\"
        at_least = 3
        ";

    fn chosen(text: &str, stage: StageName, scale: Scale) -> Result<StudyFile, Refusal> {
        let study = StudyFile::parse("study.toml", text, &TwoKeys);
        let mut study = study.map_err(Refusal::request_error)?;
        study.choose(Choices { stage: Some(stage), scale, ..Choices::default() })?;
        Ok(study)
    }

    #[test]
    fn a_stage_can_have_other_arms_and_workloads() {
        let study = chosen(STUDY, StageName::Kernel, Scale::Stated).unwrap();
        let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!((names, study.stage), (vec!["one", "two"], StageName::Kernel));
        assert_eq!((study.primary.as_str(), study.candidate), ("write.iops", 1));
        let finding = &study.findings[0];
        assert_eq!((finding.at_least, finding.cannot_tell.as_ref()), (Some(3.0), None));
        assert!(study.is_made_for(StageName::Kernel));
        let usual = StudyFile::parse("study.toml", STUDY, &TwoKeys).unwrap();
        assert!(usual.is_made_for(StageName::Kernel) && !usual.is_made_for(StageName::Emulate));
        assert_eq!(usual.arms[0].name, "a");
    }

    #[test]
    fn an_error_in_the_tables_of_a_stage_names_it() {
        let one_arm = STUDY.replace("[[stage.kernel.arm]]\n        name = \"two\"\n", "");
        let wrong = chosen(&one_arm, StageName::Hardware, Scale::Stated).unwrap_err().to_string();
        assert!(wrong.contains("[stage.kernel]: a study needs at least two arms"), "{wrong}");
    }

    #[test]
    fn the_full_scale_replaces_keys() {
        let runtime = |study: &StudyFile| {
            study.workloads[0].work.load().map(|load| load.runtime.to_string()).unwrap()
        };
        let stated = chosen(STUDY, StageName::Hardware, Scale::Stated).unwrap();
        assert_eq!((runtime(&stated), stated.scale), ("9s".into(), Some(Scale::Stated)));
        assert_eq!((stated.blocks, stated.notes), (10, vec!["as stated".to_owned()]));
        assert_eq!(stated.findings[0].cannot_tell.as_deref(), Some("it is too short"));
        let full = chosen(STUDY, StageName::Hardware, Scale::Full).unwrap();
        assert_eq!((runtime(&full), full.scale), ("90s".into(), Some(Scale::Full)));
        assert_eq!(full.workloads[0].summary, "for long");
        assert_eq!((full.blocks, full.notes), (7, vec!["all of it".to_owned()]));
        assert_eq!(full.findings[0].cannot_tell, None);
    }

    #[test]
    fn a_study_without_a_full_scale_refuses_it() {
        let refused = chosen(STUDY, StageName::Kernel, Scale::Full).unwrap_err().to_string();
        assert!(refused.contains("no workload of stage kernel has a `full`"), "{refused}");
        let plain = STUDY.replace("full = { runtime = \"90s\", summary = \"for long\" }", "");
        let wrong = chosen(&plain, StageName::Hardware, Scale::Stated).unwrap_err().to_string();
        assert!(wrong.contains("needs a workload with a `full`"), "{wrong}");
        let wrong = chosen(&STUDY.replace("90s", "many"), StageName::Hardware, Scale::Stated);
        assert!(wrong.unwrap_err().to_string().contains("many"), "read before it is asked for");
    }
}
