//! Every rank but rank 0: it follows the words of rank 0.

use drivelab_core::Refusal;
use drivelab_core::units::Span;

use super::{Answer, HEARD, Member, Own, RunResult, Terms, Word, make_one, words};
use crate::ranks::{Crew, Ranks};
use crate::stage::Entered;

/// The end of a rank that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// Rank 0 ended the study.
    ToTheEnd,
    /// Rank 0 no longer answers.
    Alone,
}

/// Follows the words of rank 0 until it ends the study; `stage` is made of the study that it sends.
/// An arm is left in any case.
///
/// # Errors
/// This rank could not get ready, or could not leave an arm after rank 0 was lost.
pub fn follow<R: Ranks, S: Member>(
    crew: &mut Crew<'_, R>,
    terms: &Terms,
    stage: impl FnOnce(&str) -> Result<S, S::Error>,
) -> Result<Followed, S::Error> {
    let study = match next(crew, terms.ready_within * 2) {
        Some(Word::Study(study)) => study,
        Some(_) => return Ok(Followed::ToTheEnd),
        None => return Ok(Followed::Alone),
    };
    let stage = match stage(&study) {
        Ok(stage) => stage,
        Err(failure) => {
            let (host, refusal) = (terms.host.clone(), Some(format!("{failure:#}")));
            crew.send(0, &words(&Answer { host, refusal, ..Answer::default() }));
            // Rank 0 answers with the end.
            next(crew, terms.ready_within * 2);
            return Err(failure);
        }
    };
    let mut follower = Follower { crew, terms, stage, active: None };
    follower.answer(&Ok(()));
    follower.obey()
}

/// The next word of rank 0, which is confirmed; `None` where it is silent for this time, and is
/// lost.
fn next<R: Ranks>(crew: &mut Crew<'_, R>, limit: Span) -> Option<Word> {
    let message = crew.receive_within(0, limit)?;
    let word = serde_json::from_slice(&message).ok()?;
    // Rank 0 does not wait for an answer to its last word.
    if !matches!(word, Word::End) {
        crew.send(0, HEARD);
    }
    Some(word)
}

struct Follower<'a, 'b, R, S> {
    crew: &'a mut Crew<'b, R>,
    terms: &'a Terms,
    stage: S,
    /// The active arm.
    active: Option<usize>,
}

impl<R: Ranks, S: Member> Follower<'_, '_, R, S> {
    fn obey(&mut self) -> Result<Followed, S::Error> {
        let mut limit = self.terms.ready_within * 2;
        loop {
            let word = next(self.crew, limit);
            // Rank 0 waits for the slowest rank before its next word: for its results, or until it
            // has activated an arm; and does the same itself.
            limit = match word {
                Some(Word::Run(..)) => self.terms.patience * 2,
                _ => self.terms.ready_within * 2,
            };
            match word {
                Some(Word::Enter(arm)) => {
                    let entered = self.enter(arm);
                    self.answer(&entered);
                }
                Some(Word::Leave(arm)) => {
                    let left = self.leave(Some(arm));
                    self.answer(&left);
                }
                Some(Word::Undo(arm)) => {
                    let undone = self.stage.undo(arm);
                    self.answer(&undone);
                }
                Some(Word::Run(request, size)) => {
                    if let Some(size) = size {
                        self.stage.use_size(size);
                    }
                    let own = make_one(self.crew, self.terms, &mut self.stage, request);
                    self.report(own);
                }
                Some(Word::Study(_) | Word::End) => {
                    self.leave(self.active)?;
                    return Ok(Followed::ToTheEnd);
                }
                None => {
                    self.leave(self.active)?;
                    return Ok(Followed::Alone);
                }
            }
        }
    }

    fn enter(&mut self, arm: usize) -> Result<(), S::Error> {
        match self.stage.enter(arm)? {
            Entered::Ready => self.active = Some(arm),
            Entered::Waiting(what) => return Err(Refusal::machine(what).into()),
        }
        Ok(())
    }

    /// Leaves an arm that is active here.
    fn leave(&mut self, arm: Option<usize>) -> Result<(), S::Error> {
        match self.active.take_if(|active| Some(*active) == arm) {
            Some(active) => self.stage.leave(active),
            None => Ok(()),
        }
    }

    fn answer(&mut self, done: &Result<(), S::Error>) {
        let answer = Answer {
            host: self.terms.host.clone(),
            target: self.stage.target(),
            size: self.stage.size(),
            refusal: done.as_ref().err().map(|failure| format!("{failure:#}")),
        };
        self.crew.send(0, &words(&answer));
    }

    fn report(&mut self, own: Own<S::Error>) {
        let result = match own {
            Own::Made(outcome) => RunResult::Made(outcome),
            Own::Failed(failure) => RunResult::Failed(format!("{failure:#}")),
            // Rank 0 knows: no rank has begun.
            Own::Unable(_) | Own::Refused(_) => return,
        };
        self.crew.send(0, &words(&result));
    }
}
