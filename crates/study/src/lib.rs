//! Experiments: the study file, its plan, its runs on any stage, and its results on disk.
//!
//! This crate knows no stage and prints nothing. The caller gives three things: a [`Stage`] that
//! makes the runs, a [`drivelab_core::Control`] that talks to the user, and a [`Vocabulary`] of the
//! settings that modelled drives have.
//!
//! Everything that needs a file system is in the feature `folders`: without it the crate reads a
//! study and orders its runs, on any platform.
#![forbid(unsafe_code)]

mod agenda;
mod asked;
#[cfg(feature = "folders")]
mod carry_out;
pub mod command;
pub mod cost;
pub mod crash;
mod effort;
pub mod embedded;
pub mod file;
#[cfg(feature = "folders")]
pub mod folder;
#[cfg(feature = "folders")]
pub mod keep;
#[cfg(feature = "folders")]
mod kept;
pub mod metric;
pub mod ranks;
pub mod repeat;
pub mod risk;
mod stage;
#[cfg(feature = "folders")]
pub mod sweep;

pub use agenda::{Agenda, describe, plan, planned};
pub use asked::Asked;
#[cfg(feature = "folders")]
pub use carry_out::{Progressed, Refuses, carry_out};
pub use effort::{Effort, in_words};
pub use file::{Arm, Choices, StudyFile, Vocabulary, Work};
#[cfg(feature = "folders")]
pub use folder::{Begun, Folder, Header, Out, PLAN_SCHEMA};
#[cfg(feature = "folders")]
pub use kept::standing::{Standing, State};
#[cfg(feature = "folders")]
pub use kept::{KEPT_STUDY_SCHEMA, KeptPart, KeptStudy};
pub use stage::{Entered, Evidence, Frame, PlannedRun, Stage, StoredRun, Task};
