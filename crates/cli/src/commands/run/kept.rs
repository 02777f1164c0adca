//! The cells of a matrix that are done.

use std::collections::BTreeMap;
use std::path::Path;

use drivelab_core::matrix::{Cell, CellResult, Matrix};
use drivelab_study::Watch;
use drivelab_study::keep::{Journal, Line, Owner, Seal};

use crate::failure::Failure;

/// The cells that are done: a journal with the matrix itself in the first line.
pub(super) struct Kept {
    pub(super) journal: Journal,
    owner: Owner,
    /// By the cell's key.
    pub(super) results: BTreeMap<String, CellResult>,
    /// Lines, counted from 1, that are no cell of this matrix.
    pub(super) damaged: Vec<usize>,
}

impl Kept {
    pub(super) fn open(folder: &Path, matrix: &Matrix, watch: &dyn Watch) -> Result<Self, Failure> {
        if folder.join("plan.json").exists() {
            let message = format!("`{}` holds a study", folder.display());
            return Err(Failure::bad_words(message).hint("give another folder with `--out`"));
        }
        let mut journal = Journal::open(&folder.join("cells.jsonl"))?;
        let lines = journal.lines()?;
        let head = serde_json::to_string(matrix).expect("plain data is always JSON");
        let owner = Owner::of(&[head.as_bytes()]);
        let mut kept = Self { journal, owner, results: BTreeMap::new(), damaged: Vec::new() };
        let Some((first, cells)) = lines.split_first() else {
            return kept.with_head(&head, watch);
        };
        let head = Head::read(first, &head);
        if head == Head::Other {
            let path = kept.journal.path().display();
            let message = format!("`{path}` contains cells of another matrix");
            return Err(Failure::bad_words(message)
                .hint("give another folder with `--out`, or remove that one"));
        }
        kept.read(matrix, cells, head == Head::Plain);
        if head == Head::Damaged {
            if kept.results.is_empty() && !cells.is_empty() {
                return Err(kept.headless());
            }
            kept.damaged.insert(0, 1);
        }
        Ok(kept)
    }

    fn with_head(mut self, head: &str, watch: &dyn Watch) -> Result<Self, Failure> {
        self.journal.append(&Head::owner().seal(head), watch)?;
        Ok(self)
    }

    /// Takes the cells of this matrix out of the lines; `plain` ones have no checksums.
    fn read(&mut self, matrix: &Matrix, lines: &[Line], plain: bool) {
        let known: BTreeMap<String, Cell> =
            matrix.cells().into_iter().map(|cell| (cell.key(matrix), cell)).collect();
        for line in lines {
            let whole = match self.owner.check(&line.text) {
                Seal::Whole => line.ended,
                Seal::Absent => plain && line.ended,
                Seal::Broken => false,
            };
            let result: Option<CellResult> = serde_json::from_slice(&line.text).ok();
            let result = result.filter(|_| whole);
            let cell = result.and_then(|result| {
                let target = result.cell.target.unwrap_or(0);
                let key = (target < matrix.targets.len()).then(|| result.cell.key(matrix))?;
                (known.get(&key) == Some(&result.cell)).then_some((key, result))
            });
            match cell {
                Some((key, result)) => {
                    self.results.entry(key).or_insert(result);
                }
                None => self.damaged.push(line.number),
            }
        }
    }

    /// What is said where nothing tells which matrix the cells are of.
    fn headless(&self) -> Failure {
        let path = self.journal.path().display();
        let message = format!(
            "{path}:1, the line that names the matrix, is damaged, and no cell after it belongs to \
             this one"
        );
        Failure::bad_words(message)
            .hint("give another folder with `--out`; this one is left unchanged")
    }

    pub(super) fn has(&self, cell: &Cell, matrix: &Matrix) -> bool {
        self.results.contains_key(&cell.key(matrix))
    }

    /// On the disk before the next cell begins.
    pub(super) fn add(
        &mut self,
        result: CellResult,
        matrix: &Matrix,
        watch: &dyn Watch,
    ) -> Result<(), Failure> {
        let line = serde_json::to_string(&result).expect("plain data is always JSON");
        self.journal.append(&self.owner.seal(&line), watch)?;
        self.results.insert(result.cell.key(matrix), result);
        Ok(())
    }
}

/// What the first line of a journal of cells is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// This matrix, and every line behind it has a checksum.
    This,
    /// This matrix, from a version without checksums.
    Plain,
    /// Another matrix.
    Other,
    /// Nobody can say.
    Damaged,
}

impl Head {
    fn owner() -> Owner {
        Owner::of(&[b"drivelab.matrix"])
    }

    fn read(line: &Line, head: &str) -> Self {
        match Self::owner().check(&line.text) {
            Seal::Whole if line.text == Self::owner().seal(head).as_bytes() => Self::This,
            Seal::Whole => Self::Other,
            Seal::Absent if line.text == head.as_bytes() => Self::Plain,
            Seal::Absent => {
                // A whole matrix reads back to the very line.
                let read: Option<Matrix> = serde_json::from_slice(&line.text).ok();
                let again = read.and_then(|matrix| serde_json::to_vec(&matrix).ok());
                if again.as_ref() == Some(&line.text) { Self::Other } else { Self::Damaged }
            }
            Seal::Broken => Self::Damaged,
        }
    }
}
