//! Clients connect, are read from, and disconnect.

use std::io;

use drivelab_core::{Span, Time};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::client::{Client, ClientId, Protocol};
use super::endpoint::{Endpoint, Listener};
use super::memory::RESERVED_BYTES;
use super::{
    Backend, CLIENTS_MAX, CONTROL_CLIENTS_MAX, CONTROL_LISTENER, Cutting, FIRST_CLIENT,
    NBD_LISTENER, Server,
};
use crate::control::{self, Action, HttpRequest, Response, Via};
use crate::drive::{PowerCut, ServedDrive};
use crate::nbd::{Limits, Session};

const FAULTS_MAX: usize = 1_000;

/// Time for which the listeners are ignored when no client can be accepted.
const REST: Span = Span::from_ms(100);

/// Descriptors or memory of the system are exhausted: an immediate retry would fail again.
const OUT_OF_RESOURCES: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];

impl<B: Backend> Server<B> {
    /// The sockets that clients connect to, and the meaning of an event on each.
    pub(super) fn listeners(&self) -> impl Iterator<Item = (u64, &Listener)> {
        let both = [(NBD_LISTENER, &self.nbd), (CONTROL_LISTENER, &self.control)];
        both.into_iter().filter_map(|(data, listener)| Some((data, listener.as_ref()?)))
    }

    pub(super) fn accept(&mut self, listener: u64) {
        loop {
            let waited_on = self.listeners().find(|(data, _)| *data == listener);
            let Some((_, socket)) = waited_on else { return };
            if self.memory.has_too_many_orphans() {
                return self.pause_accepting();
            }
            let stream = match socket.accept() {
                Ok(stream) => stream,
                Err(error) if OUT_OF_RESOURCES.contains(&error) => return self.pause_accepting(),
                // Errors of a client that connected and disconnected do not concern us.
                Err(_) => return,
            };
            let free = self.clients.iter().position(Option::is_none);
            let slot = free.unwrap_or(self.clients.len());
            // Accepted and closed, so that the client learns of it; left in the backlog it would
            // wait.
            if !self.has_share(listener) {
                continue;
            }
            let protocol = match socket.endpoint() {
                _ if listener == NBD_LISTENER => {
                    let limits = Limits { reserved: RESERVED_BYTES, ..Limits::default() };
                    Protocol::nbd(Session::new(self.settings.export.clone(), limits))
                }
                Endpoint::Unix(_) => Protocol::http(Via::SocketFile),
                Endpoint::Tcp(_) => Protocol::http(Via::Port),
            };
            let data = EventData::new_u64(FIRST_CLIENT + slot as u64);
            if epoll::add(&self.poll, &stream, data, EventFlags::empty()).is_err() {
                continue;
            }
            // Answers to an earlier client of this slot carry another generation and are dropped.
            self.generation += 1;
            let id = ClientId { slot, generation: self.generation };
            debug_assert!(slot <= self.clients.len(), "a free slot, or one more");
            if slot == self.clients.len() {
                self.clients.push(None);
            }
            self.clients[slot] = Some(Client::new(stream, id, self.clock.now(), protocol));
            self.touched.push(slot);
        }
    }

    /// Returns whether one more client of this listener may stay.
    fn has_share(&self, listener: u64) -> bool {
        let clients = self.clients.iter().flatten();
        let control = clients.clone().filter(|client| client.is_control()).count();
        if listener == NBD_LISTENER {
            clients.count() - control < CLIENTS_MAX
        } else {
            control < CONTROL_CLIENTS_MAX
        }
    }

    /// Ignores the listeners for a while: a waiting client cannot be accepted, and would be
    /// reported again and again.
    fn pause_accepting(&mut self) {
        self.listen(EventFlags::empty());
        self.accept_again_at = Some(self.clock.now() + REST);
    }

    pub(super) fn resume_accepting(&mut self, now: Time) {
        if self.accept_again_at.is_some_and(|until| until <= now) {
            self.accept_again_at = None;
            self.listen(EventFlags::IN);
        }
    }

    fn listen(&self, flags: EventFlags) {
        for (data, listener) in self.listeners() {
            let data = EventData::new_u64(data);
            epoll::modify(&self.poll, listener, data, flags).expect("it is in the poll");
        }
    }

    pub(super) fn serve_client(&mut self, slot: usize, flags: EventFlags) -> io::Result<()> {
        self.touched.push(slot);
        let Some(client) = self.clients.get_mut(slot).and_then(Option::as_mut) else {
            return Ok(());
        };
        let stays = if flags.contains(EventFlags::IN) {
            client.receive(&mut self.buffer).unwrap_or(false)
        } else {
            !flags.intersects(EventFlags::ERR | EventFlags::HUP)
        };
        if stays {
            self.read_requests(slot)
        } else {
            self.disconnect(slot);
            Ok(())
        }
    }

    pub(super) fn read_requests(&mut self, slot: usize) -> io::Result<()> {
        let Some(client) = self.clients[slot].as_mut() else { return Ok(()) };
        let id = client.id;
        if client.session().is_some() {
            return self.read_nbd(id);
        }
        if let Some((via, request)) = client.http_request() {
            self.control(id, via, &request);
        }
        Ok(())
    }

    fn read_nbd(&mut self, id: ClientId) -> io::Result<()> {
        let now = self.clock.now();
        self.advance(now)?;
        while let Some(session) = self.client(id).and_then(|client| client.session()) {
            match session.next_request() {
                Ok(Some(request)) => self.start_nbd(now, id, request)?,
                Ok(None) if self.fund(id.slot) => {}
                Ok(None) => break,
                Err(_) => {
                    // Pending output, such as the answer to a disconnect, is sent first.
                    if let Some(client) = self.client(id) {
                        let _ = client.send();
                    }
                    self.disconnect(id.slot);
                    return Ok(());
                }
            }
        }
        // Some drives answer at once.
        self.advance(now)
    }

    fn control(&mut self, client: ClientId, via: Via, request: &HttpRequest) {
        let now = self.clock.now();
        // Control requests are carried out between two steps of the drive, never within one.
        let response = match control::route(now, via, request) {
            Err(response) => response,
            Ok(Action::Stats) => Response::ok(&self.stats()),
            Ok(Action::ResetStats) => Response::ok(&self.reset_stats(now)),
            Ok(Action::PowerCut(_)) if self.cut.is_some() => {
                Response::error(409, "a power cut is already pending")
            }
            Ok(action) => match self.drive.modelled().map(|drive| carry_out(drive, now, action)) {
                None => Response::error(409, "a real file has no plug to pull and no faults"),
                Some(Ok(response)) => response,
                Some(Err(cut)) => {
                    // It is answered when the power has been cut.
                    self.cut = Some(Cutting { cut, client });
                    return;
                }
            },
        };
        if let Some(client) = self.client(client) {
            client.answer(&response);
        }
    }

    /// Sends pending output, and waits for the next possible event of each client.
    pub(super) fn settle_touched(&mut self) -> io::Result<()> {
        // Memory that one client returned may let a waiting one continue, which then has output.
        while let Some(slot) = self.touched.pop().or_else(|| self.fund_next()) {
            let Some(client) = self.clients[slot].as_mut() else { continue };
            if client.send().is_err() || client.is_finished() {
                self.disconnect(slot);
                continue;
            }
            self.timing.answers_sent(self.clock.now(), &mut client.due);
            self.note_return(slot);
            // Freed space may admit requests that came earlier.
            self.read_requests(slot)?;
            self.watch(slot)?;
        }
        Ok(())
    }

    fn watch(&mut self, slot: usize) -> io::Result<()> {
        let Some(client) = self.clients[slot].as_mut() else { return Ok(()) };
        let wants = client.wants();
        // Most events change nothing: this saves a system call for each.
        if wants != client.interest {
            client.interest = wants;
            let data = EventData::new_u64(FIRST_CLIENT + slot as u64);
            epoll::modify(&self.poll, &client.stream, data, wants)?;
        }
        Ok(())
    }
}

/// Applies an immediate action to the drive; a power cut is returned.
fn carry_out(drive: &mut ServedDrive, now: Time, action: Action) -> Result<Response, PowerCut> {
    Ok(match action {
        Action::PowerCut(cut) => return Err(cut),
        Action::ListFaults => Response::ok(&serde_json::json!({ "faults": drive.list_faults() })),
        Action::AddFault(_) if drive.faults().count() >= FAULTS_MAX => {
            Response::error(409, "too many faults: remove some first")
        }
        Action::AddFault(fault) => {
            Response::ok(&serde_json::json!({ "id": drive.add_fault(now, fault) }))
        }
        Action::RemoveFault(number) if drive.remove_fault(now, number) => {
            Response::ok(&serde_json::json!({ "id": number }))
        }
        Action::RemoveFault(_) => Response::error(404, "there is no fault with that number"),
        Action::Stats | Action::ResetStats => unreachable!("the caller answers it"),
    })
}
