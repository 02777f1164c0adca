//! The figures of runs, of which many have the same names.

use std::sync::Arc;

use drivelab_core::record::Figure;

/// The figures of one run. Their names, units and remarks, which are most of them, may be shared
/// with other runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Everything but the values.
    shape: Arc<[Figure]>,
    values: Box<[f64]>,
}

impl From<Vec<Figure>> for Figures {
    fn from(mut figures: Vec<Figure>) -> Self {
        let values = figures.iter_mut().map(|figure| std::mem::take(&mut figure.value)).collect();
        Self { shape: figures.into(), values }
    }
}

impl Figures {
    /// The same figures with other values.
    pub(super) fn with_values(&self, values: Vec<f64>) -> Self {
        debug_assert_eq!(self.shape.len(), values.len(), "a value for each figure");
        Self { shape: Arc::clone(&self.shape), values: values.into() }
    }

    /// Each figure without its value; often shared with the run before.
    pub(crate) fn shape(&self) -> &[Figure] {
        &self.shape
    }

    /// The value of each figure.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Each figure without its value, and the value.
    pub fn iter(&self) -> impl Iterator<Item = (&Figure, f64)> {
        self.shape.iter().zip(self.values.iter().copied())
    }
}

/// Shapes that are compared with those of the next run.
const SHAPES_MAX: usize = 16;

/// The shapes of the runs that were seen last.
#[derive(Debug, Default)]
pub(super) struct Shapes(Vec<Arc<[Figure]>>);

impl Shapes {
    /// The same figures, with the shape of an earlier run where it is the same.
    pub(super) fn share(&mut self, mut figures: Figures) -> Figures {
        if let Some(known) = self.0.iter().find(|known| **known == figures.shape) {
            figures.shape = Arc::clone(known);
        } else if self.0.len() < SHAPES_MAX {
            self.0.push(Arc::clone(&figures.shape));
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Better;

    use super::*;

    #[test]
    fn runs_with_the_same_metrics_share_their_names() {
        let figures =
            |name: &str, value| Figures::from(vec![Figure::new(name, value, Better::More)]);
        let mut shapes = Shapes::default();
        let one = shapes.share(figures("iops", 7.0));
        let two = shapes.share(figures("iops", 8.0));
        let other = shapes.share(figures("seeks", 7.0));
        assert!(Arc::ptr_eq(&one.shape, &two.shape) && !Arc::ptr_eq(&one.shape, &other.shape));
        assert_eq!(two, figures("iops", 8.0));
        assert_ne!(one, two);
        let read: Vec<(&str, f64)> = two.iter().map(|(it, value)| (&*it.name, value)).collect();
        assert_eq!(read, [("iops", 8.0)]);
    }
}
