//! Experiments: the study file, its plan, its runs on any stage, and its results on disk.
//!
//! This crate knows no stage and prints nothing. The caller gives three things: a [`Stage`] that
//! makes the runs, a [`drivelab_core::Control`] that talks to the user, and a [`Vocabulary`] of the
//! settings that modelled drives have.
#![forbid(unsafe_code)]

mod agenda;
mod carry_out;
pub mod command;
pub mod crash;
mod effort;
pub mod embedded;
pub mod file;
pub mod folder;
pub mod keep;
mod kept;
pub mod metric;
pub mod ranks;
pub mod repeat;
pub mod risk;
mod stage;
pub mod sweep;

pub use agenda::Agenda;
pub use carry_out::{Progressed, Refuses, carry_out};
pub use effort::{Effort, in_words};
pub use file::{Arm, Choices, StudyFile, Vocabulary, Work};
pub use folder::{Asked, Begun, Folder, Header, Out, PLAN_SCHEMA};
pub use kept::standing::{Standing, State};
pub use kept::{Frame, KEPT_STUDY_SCHEMA, KeptPart, KeptStudy};
pub use stage::{Entered, Evidence, PlannedRun, Stage, StoredRun, Task};
