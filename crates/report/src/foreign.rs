//! Results of other tools, as crate `formats` reads them.

pub use drivelab_core::foreign::{Imported, ImportedResult, Label, Remark, label_names};
