//! One file a verb: its arguments, whose comments are its help, and what it does.

pub(crate) mod archive;
pub(crate) mod arms;
pub(crate) mod compare;
pub(crate) mod completion;
pub(crate) mod cost;
pub(crate) mod crash;
pub(crate) mod drive;
pub(crate) mod durability;
pub(crate) mod fleet;
pub(crate) mod generate;
pub(crate) mod guest;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod view;
