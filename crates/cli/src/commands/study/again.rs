//! A study whose runs were made before, analysed again.

use drivelab_analysis::study::{StudyResult, analyse};
use drivelab_core::matrix::Matrix;
use drivelab_study::KeptStudy;

pub(crate) use drivelab_simulate::study::experiment::cell_runs;
use drivelab_simulate::study::experiment::experiment;

use super::conclude::carried;
use drivelab_core::Refusal;
use drivelab_lab::stage::DriveKeys;

/// The result of the runs of a study.
pub(crate) enum Again {
    Study(Box<StudyResult>),
    /// A matrix of real targets, which has no arms to conclude about.
    Matrix(Box<Matrix>),
}

/// Analyses it.
pub(crate) fn analysed(kept: &KeptStudy) -> Result<Again, Refusal> {
    let study = kept.study(&DriveKeys)?;
    if study.is_matrix_alone() {
        return Ok(Again::Matrix(Box::new(study.matrix.expect("a matrix alone"))));
    }
    let result = analyse(experiment(&study, carried(kept))).map_err(Refusal::request_error)?;
    Ok(Again::Study(Box::new(result)))
}
