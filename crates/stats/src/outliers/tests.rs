use super::*;

const CRITERIA: OutlierCriteria = OutlierCriteria { margin: 0.05, false_discovery: 0.05 };

/// Figures around 100 that differ by two percent or less.
fn alike(count: usize) -> Vec<Vec<f64>> {
    let figure = |disk: usize| 98.0 + float(disk * 37 % 41) / 10.0;
    (0..count).map(|disk| vec![figure(disk)]).collect()
}

fn judge(groups: &[&PeerGroup]) -> Vec<GroupJudgement> {
    OutlierJudge::new(CRITERIA).judge(groups)
}

fn outliers(group: &PeerGroup) -> Vec<Outlier> {
    match judge(&[group]).remove(0) {
        GroupJudgement::Judged(judged) => judged.outliers,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disk_far_from_its_peers_is_reported_with_evidence() {
    let mut group = alike(40);
    assert_eq!(outliers(&group), []);
    group[7] = vec![70.0];
    let found = outliers(&group);
    assert_eq!(found.iter().map(|it| it.index).collect::<Vec<_>>(), [7]);
    let it = found[0];
    assert!((it.ratio - 0.7).abs() < 0.01 && (it.figure - 70.0).abs() < 1e-9, "{it:?}");
    assert!(it.range95[0] < 98.0 && it.range95[1] > 102.0 && it.range95[0] > 94.0, "{it:?}");
    assert!(it.p < 1e-6 && (it.q / it.p - 40.0).abs() < 1e-6, "{it:?}");
}

#[test]
fn several_bad_disks_of_one_group_do_not_hide_one_another() {
    let mut group = alike(40);
    for disk in [1, 5, 11] {
        group[disk] = vec![70.0];
    }
    let found: Vec<usize> = outliers(&group).iter().map(|it| it.index).collect();
    assert_eq!(found, [1, 5, 11]);
}

#[test]
fn what_lies_within_the_margin_is_no_difference_however_sure() {
    let mut group: Vec<Vec<f64>> = (0..50).map(|i| vec![100.0 + float(i % 7) / 1000.0]).collect();
    group[3] = vec![96.0];
    assert_eq!(outliers(&group), []);
    group[3] = vec![90.0];
    assert_eq!(outliers(&group).len(), 1);
}

#[test]
fn groups_that_say_nothing_are_not_judged() {
    let (small, same) = (alike(7), vec![vec![100.0]; 20]);
    let found = judge(&[&small, &same, &[]]);
    assert_eq!(
        found,
        [GroupJudgement::TooSmall, GroupJudgement::NoVariation, GroupJudgement::TooSmall]
    );
}

#[test]
fn of_each_disk_as_many_runs_count_as_of_the_one_with_the_fewest() {
    let mut group = alike(12);
    for disk in &mut group {
        // Older runs of a slower time.
        disk.splice(0..0, [10.0, 20.0]);
    }
    group[4] = vec![100.0];
    let GroupJudgement::Judged(judged) = judge(&[&group]).remove(0) else { panic!("judged") };
    assert_eq!((judged.runs, judged.outliers.len()), (1, 0));
    assert!(judged.centre > 95.0 && judged.smallest_found > 0.05, "{judged:?}");
}

#[test]
fn the_more_disks_are_looked_at_the_farther_out_one_must_lie() {
    let (one, many) = (alike(12), alike(1000));
    let least = |groups: &[&PeerGroup]| match judge(groups).remove(0) {
        GroupJudgement::Judged(judged) => judged.smallest_found,
        other => panic!("{other:?}"),
    };
    assert!(least(&[&one]) < least(&[&one, &many]), "{} {}", least(&[&one]), least(&[&one, &many]));
}
