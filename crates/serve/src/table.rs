//! Things in flight, by small numbers that are used again.

/// A table whose entries keep their number until they are taken out.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<Option<T>>,
    free: Vec<u64>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// The entries, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }

    pub(crate) fn insert(&mut self, entry: T) -> u64 {
        if let Some(number) = self.free.pop() {
            *self.slot(number) = Some(entry);
            return number;
        }
        self.entries.push(Some(entry));
        self.entries.len() as u64 - 1
    }

    pub(crate) fn remove(&mut self, number: u64) -> T {
        let entry = self.slot(number).take().expect("the number is in use");
        self.free.push(number);
        entry
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> &mut T {
        self.slot(number).as_mut().expect("the number is in use")
    }

    fn slot(&mut self, number: u64) -> &mut Option<T> {
        &mut self.entries[usize::try_from(number).expect("a number this table gave")]
    }
}
