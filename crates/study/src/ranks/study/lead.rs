//! Rank 0: a stage whose runs are made by all ranks.

use std::collections::BTreeSet;

use drivelab_core::outline::Risk;
use drivelab_core::record::{HostOutcome, HostRun, JobRecord, Mark, MarkId, RunConfig, RunRecord};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{Invalid, Refusal, counted, invalid};

use super::{Answer, HEARD, Member, Own, RunResult, Terms, Word, make, make_one, words};
use crate::ranks::{Crew, Gathered, Ranks, together};
use crate::stage::{Entered, PlannedRun, Stage, StoredRun};

/// The stage of a study on many hosts, at rank 0.
#[derive(Debug)]
pub struct Leader<'a, 'b, R: Ranks, S> {
    crew: &'a mut Crew<'b, R>,
    terms: Terms,
    stage: S,
    /// The target of each rank, with the name of its host.
    targets: Vec<[String; 2]>,
    /// The size that every rank has of its target, where workloads do not state it.
    size: Option<Bytes>,
    /// The reason why no more runs can be made.
    lost: Option<String>,
    /// True if every rank undid the last arm.
    is_reverted: bool,
}

/// Has all ranks get ready for a study, and this one with `stage`.
///
/// # Errors
/// One of them cannot; the others wait for [`dismiss`](Crew::dismiss).
pub fn lead<'a, 'b, R: Ranks, S: Member>(
    crew: &'a mut Crew<'b, R>,
    terms: &Terms,
    study: String,
    stage: impl FnOnce() -> Result<S, S::Error>,
) -> Result<Leader<'a, 'b, R, S>, S::Error> {
    let silent = tell(crew, &Word::Study(study), terms.patience);
    let member = stage();
    // After its stage is made: all ranks get ready at the same time.
    let others = answers(crew, terms.ready_within);
    let stage = member?;
    if let Some(rank) = silent {
        return Err(Refusal::machine(format!("rank {rank} does not answer")).into());
    }
    let own = Answer {
        host: terms.host.clone(),
        target: stage.target(),
        size: stage.size(),
        refusal: None,
    };
    let mut leader = Leader {
        crew,
        terms: terms.clone(),
        stage,
        targets: Vec::new(),
        size: None,
        lost: None,
        is_reverted: true,
    };
    if let Err(why) = leader.fault(&others, "get ready") {
        return Err(Refusal::machine(why).into());
    }
    let all: Vec<Answer> = std::iter::once(own).chain(others.into_iter().flatten()).collect();
    leader.size = all.iter().filter_map(|answer| answer.size).min();
    leader.targets = all.into_iter().map(|answer| [answer.target, answer.host]).collect();
    Ok(leader)
}

impl<R: Ranks> Crew<'_, R> {
    /// Ends the study at all ranks that follow.
    pub fn dismiss(&mut self) {
        self.broadcast(&words(&Word::End));
    }
}

/// Sends all others a word; returns the first that does not confirm it, and is lost.
fn tell<R: Ranks>(crew: &mut Crew<'_, R>, word: &Word, patience: Span) -> Option<u32> {
    crew.broadcast(&words(word));
    let deadline = crew.now() + patience;
    let heard = crew.gather(HEARD, deadline);
    (0..).zip(heard).find_map(|(rank, heard)| (heard.as_deref() != Some(HEARD)).then_some(rank))
}

/// The answers of all others; `None` for one that is lost.
fn answers<R: Ranks>(crew: &mut Crew<'_, R>, limit: Span) -> Vec<Option<Answer>> {
    let deadline = crew.now() + limit;
    let messages = crew.gather(&[], deadline).into_iter().skip(1);
    messages.map(|message| serde_json::from_slice(&message?).ok()).collect()
}

impl<R: Ranks, S: Member> Leader<'_, '_, R, S> {
    /// The first rank that failed at `what`, and why; marks unresponsive ranks as lost.
    fn fault(&mut self, answers: &[Option<Answer>], what: &str) -> Result<(), Invalid> {
        for (answer, rank) in answers.iter().zip(1..) {
            match answer {
                Some(Answer { host, refusal: Some(why), .. }) => {
                    return Err(invalid!("rank {rank} ({host}) cannot {what}: {why}"));
                }
                Some(_) => {}
                None => {
                    let why = format!("{} did not {what} in time", self.named(rank));
                    self.lost.get_or_insert(why.clone());
                    return Err(why.into());
                }
            }
        }
        Ok(())
    }

    fn named(&self, rank: u32) -> String {
        match self.targets.get(rank as usize) {
            Some([_, host]) => format!("rank {rank} ({host})"),
            None => format!("rank {rank}"),
        }
    }

    /// Marks a rank as lost, and returns the message.
    fn missing(&mut self, rank: u32) -> String {
        let why = format!("{} no longer answers", self.named(rank));
        self.lost.get_or_insert(why).clone()
    }

    /// Sends all others a word.
    fn tell(&mut self, word: &Word) -> Result<(), Invalid> {
        match tell(self.crew, word, self.terms.patience) {
            Some(rank) => Err(self.missing(rank).into()),
            None => Ok(()),
        }
    }

    /// Gathers the results of all ranks.
    fn gather(&mut self, own: HostOutcome) -> Result<RunRecord, S::Error> {
        let mut outcomes = vec![own];
        for (answer, rank) in self.others().into_iter().zip(1..) {
            match answer.and_then(|answer| serde_json::from_slice(&answer).ok()) {
                Some(RunResult::Made(outcome)) => outcomes.push(*outcome),
                Some(RunResult::Failed(why)) => {
                    let message = format!("{} could not finish a run: {why}", self.named(rank));
                    return Err(Refusal::machine(message).into());
                }
                None => {
                    self.missing(rank);
                }
            }
        }
        let cut = outcomes.iter().find(|outcome| outcome.host.interrupted);
        if let Some(rank) = cut.map(|outcome| outcome.host.rank) {
            let why = format!("{} was interrupted", self.named(rank));
            self.lost.get_or_insert(why);
        }
        match &self.lost {
            Some(why) => Err(Refusal::machine(why.clone()).into()),
            None => Ok(RunRecord { target: self.target(), ..joined(outcomes) }),
        }
    }

    /// The messages of all others about a run that has ended here.
    fn others(&mut self) -> Vec<Option<Vec<u8>>> {
        let deadline = self.crew.now() + self.terms.patience;
        self.crew.gather(&[], deadline).split_off(1)
    }

    /// Has all others follow a word, and this rank, too.
    fn all(
        &mut self,
        word: &Word,
        what: &str,
        own: impl FnOnce(&mut S) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        let heard = self.tell(word);
        let done = own(&mut self.stage);
        let others = answers(self.crew, self.terms.ready_within);
        let sizes = others.iter().flatten().filter_map(|answer| answer.size);
        self.size = sizes.chain(self.stage.size()).min();
        let failure = self.fault(&others, what);
        done?;
        heard.and(failure).map_err(|why| Refusal::machine(why).into())
    }
}

impl<R: Ranks, S: Member> Stage for Leader<'_, '_, R, S> {
    type Error = S::Error;

    /// Ranks with targets of one name are listed together.
    fn target(&self) -> String {
        let mut each: Vec<(&str, Vec<&str>)> = Vec::new();
        for [target, host] in &self.targets {
            match each.iter_mut().find(|(known, _)| known == target) {
                Some((_, hosts)) => hosts.push(host),
                None => each.push((target, vec![host])),
            }
        }
        let mut parts = Vec::with_capacity(each.len());
        for (target, hosts) in each {
            parts.push(format!("{target} on {}", hosts.join(", ")));
        }
        parts.join("; ")
    }

    fn boot(&self) -> Option<String> {
        self.stage.boot()
    }

    fn enter(&mut self, arm: usize) -> Result<Entered, S::Error> {
        if let Some(why) = &self.lost {
            return Err(Refusal::machine(why.clone()).into());
        }
        let mut waiting = None;
        let mut is_active = false;
        let entered = self.all(&Word::Enter(arm), "put an arm in place", |stage| {
            match stage.enter(arm)? {
                Entered::Ready => is_active = true,
                Entered::Waiting(what) => waiting = Some(what),
            }
            Ok(())
        });
        if entered.is_err() || waiting.is_some() {
            // Nothing of the arm remains, at any rank.
            let left = self.all(&Word::Leave(arm), "leave an arm", |stage| {
                if is_active { stage.leave(arm) } else { Ok(()) }
            });
            self.is_reverted = left.is_ok();
            entered.and(left)?;
        }
        Ok(waiting.map_or(Entered::Ready, Entered::Waiting))
    }

    fn leave(&mut self, arm: usize) -> Result<(), S::Error> {
        let left = self.all(&Word::Leave(arm), "leave an arm", |stage| stage.leave(arm));
        self.is_reverted = left.is_ok();
        // One that is lost is named as such.
        if self.lost.is_some() { Ok(()) } else { left }
    }

    fn undo(&mut self, arm: usize) -> Result<(), S::Error> {
        self.all(&Word::Undo(arm), "undo an arm", |stage| stage.undo(arm))
    }

    fn is_reverted(&self) -> bool {
        self.is_reverted && self.stage.is_reverted()
    }

    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, S::Error> {
        if let Some(size) = self.size {
            self.stage.use_size(size);
        }
        let own = match self.tell(&Word::Run(request, self.size)) {
            Ok(()) => make_one(self.crew, &self.terms, &mut self.stage, request),
            // The others get ready, and wait for an answer.
            Err(why) => make(self.crew, &self.terms, |_| Err(Refusal::machine(why).into())),
        };
        match own {
            Own::Made(own) => self.gather(*own),
            Own::Unable(failure) => Err(failure),
            Own::Failed(failure) => {
                // The results of the others count no more than this failure.
                self.others();
                Err(failure)
            }
            Own::Refused(why) => {
                let lost: Vec<u32> = self.crew.lost().collect();
                if let Some(rank) = lost.first() {
                    self.missing(*rank);
                }
                Err(Refusal::machine(why).into())
            }
        }
    }

    fn lost(&self) -> Option<String> {
        self.lost.clone()
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.stage.settings()
    }

    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk> {
        self.stage.risks(runs)
    }

    fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
        let hosts: BTreeSet<&str> = self.targets.iter().map(|[_, host]| host.as_str()).collect();
        let ranks = match self.targets.len() {
            1 => "one rank".to_owned(),
            ranks => format!("{ranks} ranks on {}", counted(hosts.len() as u64, "host")),
        };
        vec![format!("Every run was made by {ranks} at the same time: {}.", self.target())]
    }

    fn size(&self) -> Option<Bytes> {
        self.size
    }
}

/// One run of the results of all ranks: a total that is their exact sum, and a job for each.
fn joined(outcomes: Vec<HostOutcome>) -> RunRecord {
    let mut hosts = together(Gathered { outcomes, lost: Vec::new() });
    let first = hosts.hosts[0].run.clone();
    // Distributions stay with the total: one for each host would be most of the record.
    let totals = hosts.hosts.iter().filter_map(|host| host.run.total.clone());
    let jobs: Vec<_> = totals.map(JobRecord::figures_only).collect();
    let numjobs = first.config.numjobs * hosts.ranks;
    RunRecord {
        config: RunConfig { numjobs, ..first.config },
        jobs,
        total: hosts.total.take(),
        marks: marks(&hosts.hosts),
        hosts: Some(Box::new(hosts)),
        ..first
    }
}

/// The marks of the figures of any host, once for each kind; except those for few requests, as all
/// hosts together had more.
fn marks(hosts: &[HostRun]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for HostRun { rank, host, run, .. } in hosts {
        for Mark { id, message } in &run.marks {
            if *id != MarkId::FewRequests && marks.iter().all(|known| known.id != *id) {
                let message = format!("rank {rank} ({host}): {message}");
                marks.push(Mark { id: *id, message });
            }
        }
    }
    marks
}
