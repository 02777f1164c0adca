//! The functions that a page calls.
//!
//! A page asks for space, writes the question there, calls [`ask`], and reads the answer. The
//! module has one thread, and a question is answered before the next one is asked.
#![expect(unsafe_code, reason = "names that JavaScript knows; nothing behind them is unsafe")]

use std::sync::{Mutex, PoisonError};

static QUESTION: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<String> = Mutex::new(String::new());

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Runs that are done, of all.
    safe fn progress(done: u32, of: u32);
}

/// The address of `length` bytes for the question.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn space(length: usize) -> *mut u8 {
    let mut question = QUESTION.lock().unwrap_or_else(PoisonError::into_inner);
    question.clear();
    question.resize(length, 0);
    question.as_mut_ptr()
}

/// Answers the question, and returns the length of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ask() -> usize {
    let question = QUESTION.lock().unwrap_or_else(PoisonError::into_inner);
    let question = String::from_utf8_lossy(&question);
    let answer = crate::answer(&question, &|done, of| progress(narrow(done), narrow(of)));
    let length = answer.len();
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    length
}

/// The address of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answered() -> *const u8 {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
