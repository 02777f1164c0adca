//! A matrix file: a study without arms, which the same command begins and goes on with.

use std::path::PathBuf;

use drivelab_core::matrix::Matrix;
use drivelab_study::{Agenda, Asked, Begun, Out, Stage as _, StudyFile};

use super::conclude::Keep;
use drivelab_study::plan;

use super::session::{Session, header};
use crate::commands::archive::keep::KeepArgs;
use crate::exit::Outcome;
use crate::ui::{Console, Ui};
use drivelab_lab::input;
use drivelab_lab::request::Permissions;
use drivelab_lab::stage::RealCells;

/// The command line of a matrix.
#[derive(Debug)]
pub(crate) struct MatrixRequest {
    /// The matrix file.
    pub(crate) file: PathBuf,
    /// The results folder; beside the file where absent.
    pub(crate) out: Option<PathBuf>,
    pub(crate) permissions: Permissions,
    pub(crate) keep: KeepArgs,
}

/// Measures the cells that are missing, and shows all.
pub(crate) fn run(request: MatrixRequest, ui: Ui) -> Outcome {
    let MatrixRequest { file, permissions, .. } = request;
    let keep = Keep { arguments: &request.keep, label: None, explains: false };
    let name = file.display().to_string();
    let text = input::text(&file, input::MATRIX)?;
    let study = StudyFile::of_matrix(Matrix::parse(&name, &text)?);
    let overwrite = permissions.overwrite;
    let stage = RealCells::new(&study, permissions)?;
    let asked = Asked { study: name, blocks: study.blocks, overwrite, ..Asked::default() };
    let header = header(&study, stage.target(), plan(&study), &asked);
    let agenda = Agenda::new(&study, &header.plan);
    let folder = request.out.unwrap_or_else(|| file.with_extension("matrix"));
    let console = Console::new(ui);
    let out = if Begun::is_in(&folder)? {
        Begun::open(&folder)?
            .resume(&text, &header, &console.control())?
            .out(&agenda, &console.control())
    } else {
        Out::create(&folder, &text, &header, &console.control())?
    };
    let session = Session { study, text, keep, asked, plan: header.plan, agenda, out };
    session.go_on(Box::new(stage), ui)
}
