//! The memory of all clients together.
//!
//! Each connection has a little memory reserved, enough for the requests of most clients. Beyond
//! that, memory is lent from a shared pool, request by request and before any of its data is read:
//! so no client waits for another one that waits for it.

use drivelab_core::Time;

use super::client::{Client, PATIENCE};
use super::{Backend, Server};
use crate::nbd::Session;

impl<B: Backend> Server<B> {
    /// Bytes of all clients, including disconnected ones.
    pub(super) fn clients_bytes(&self) -> usize {
        self.clients.iter().flatten().map(Client::held).sum::<usize>() + self.memory.orphans
    }

    /// Memory that can be lent now, after all clients returned what they do not need.
    fn free_memory(&mut self) -> usize {
        let mut lent = 0;
        for session in self.clients.iter_mut().flatten().filter_map(Client::session) {
            session.surplus();
            lent += session.lent();
        }
        // Loans may exceed the sum for a while, when requests of disconnected clients are counted.
        self.memory.sum.saturating_sub(lent + self.memory.orphans)
    }

    /// Lends a client the memory for its next request; returns whether it can continue.
    pub(super) fn fund(&mut self, slot: usize) -> bool {
        let short = self.session(slot).map_or(0, |session| session.shortage());
        if short == 0 {
            return false;
        }
        if short > self.free_memory() {
            self.memory.unfunded = true;
            return false;
        }
        if let Some(session) = self.session(slot) {
            session.lend(short);
        }
        true
    }

    /// Records that a client with a loan made progress, so that memory may have been returned.
    pub(super) fn note_return(&mut self, slot: usize) {
        let has_loan = self.session(slot).is_some_and(|session| session.lent() > 0);
        self.memory.returned |= has_loan;
    }

    fn session(&mut self, slot: usize) -> Option<&mut Session> {
        self.clients.get_mut(slot)?.as_mut()?.session()
    }

    /// Lends returned memory to waiting clients; returns one that can continue.
    pub(super) fn fund_next(&mut self) -> Option<usize> {
        if !self.memory.unfunded || !std::mem::take(&mut self.memory.returned) {
            return None;
        }
        self.memory.unfunded = false;
        let mut free = self.free_memory();
        let sessions = self.clients.iter_mut().flatten().filter_map(|client| {
            let slot = client.id.slot;
            Some((slot, client.session()?))
        });
        let mut waiting: Vec<_> = sessions.filter(|(_, session)| session.shortage() > 0).collect();
        // The smallest first: this lets as many as possible continue, and a client with small
        // requests does not wait behind those with the largest ones.
        waiting.sort_by_key(|(_, session)| session.shortage());
        for (slot, session) in waiting {
            let short = session.shortage();
            // The others need as much or more: the list is sorted.
            if short > free {
                self.memory.unfunded = true;
                break;
            }
            free -= short;
            session.lend(short);
            self.touched.push(slot);
        }
        self.touched.pop()
    }

    /// Ends a connection; its pending requests are still carried out.
    pub(super) fn disconnect(&mut self, slot: usize) {
        if let Some(session) = self.session(slot) {
            let bytes = session.in_flight_bytes();
            self.memory.orphans += bytes;
            self.memory.returned = true;
        }
        // Dropping the stream closes it, which also removes it from the poll.
        self.clients[slot] = None;
    }

    /// Disconnects clients that occupy a connection and send no request; and, while others wait for
    /// memory, those that hold memory and neither send what they announced nor read their replies.
    pub(super) fn disconnect_idle(&mut self, now: Time) {
        let waiting = self.cut.as_ref().map(|cutting| cutting.client);
        let unfunded = self.memory.unfunded;
        for slot in 0..self.clients.len() {
            let client = self.clients[slot].as_mut();
            let Some(client) = client.filter(|client| Some(client.id) != waiting) else { continue };
            if std::mem::take(&mut client.moved) {
                client.progress = now;
            }
            let is_idle = now >= client.progress + PATIENCE;
            let blocks = unfunded
                && is_idle
                && client
                    .session()
                    .is_some_and(|session| session.lent() > 0 && session.in_flight() == 0);
            if blocks || client.is_overdue(now) {
                self.disconnect(slot);
            }
        }
    }
}
