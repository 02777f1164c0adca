//! The results that are published.

use drivelab_analysis::cells::CellRun;
use drivelab_analysis::comparison::CompareResult;
use drivelab_analysis::study::StudyResult;
use drivelab_core::foreign::Imported;
use drivelab_core::matrix::Matrix;
use drivelab_core::record::RunRecord;

use crate::comparison::About;

/// A result.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// One run.
    Run(&'a RunRecord),
    /// Several runs that are not compared: the jobs of a job file.
    Runs(&'a [&'a RunRecord]),
    /// Arms side by side.
    Comparison(&'a CompareResult, About<'a>),
    /// A study.
    Study(&'a StudyResult),
    /// A matrix of real targets.
    Matrix(&'a Matrix, &'a [CellRun<'a>]),
    /// Results of another tool.
    Results(&'a Imported),
}
