//! A suite as a workload: phases that the caller carries out.

use drivelab_core::recipe::Recipe;
use drivelab_core::units::Span;
use drivelab_core::workload::Shape;
use serde::{Deserialize, Serialize};

/// The target that a suite needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Needs {
    /// A file, a block device or a modelled drive, for the tests of a recipe.
    Blocks(Box<Recipe>),
    /// A modelled drive in virtual time, for the requests of a shape.
    Model(Shape),
    /// A modelled drive in virtual time, for the writes of a shape, which are followed up to the
    /// medium.
    AtRisk(Shape),
    /// A directory.
    Tree,
}

/// A suite with its options, as the caller knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Suite {
    /// Its name, or the file of a recipe.
    pub name: String,
    /// Options that differ from its own, in alphabetical order.
    pub options: Vec<(String, String)>,
    /// Its description, in a phrase.
    pub summary: String,
    /// Its numbers, each as `PHASE.FIGURE` ([`drivelab_core::record::metric_name`]).
    pub metrics: Vec<String>,
    /// The number shown first.
    pub headline: String,
    /// The target that it needs.
    pub needs: Needs,
    /// True if it writes.
    pub writes: bool,
    /// Its duration, where that is known.
    pub time: Option<Span>,
}
