//! Clients come, are heard, and go.

use std::io;

use drivelab_core::{Span, Time};
use rustix::event::epoll::{self, EventData, EventFlags};

use super::client::{Client, Protocol};
use super::endpoint::Stream;
use super::memory::OWN_BYTES;
use super::{
    Backend, CONTROL_LISTENER, Cutting, FIRST_CLIENT, MOST_CLIENTS, Modelled, NBD_LISTENER, Server,
};
use crate::control::{self, Action, HttpRequest, Response, Via};
use crate::drive::PowerCut;
use crate::nbd::{Limits, Session};

/// How long the listeners are left alone when nobody can be let in.
const REST: Span = Span::from_ms(100);

/// Whether descriptors or memory of the system ran out: the next try would fare no better.
fn is_out_of_means(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let means = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| means.contains(&errno))
}

impl<B: Backend> Server<B> {
    /// Takes the clients that wait at a listener.
    pub(super) fn accept(&mut self, nbd: bool) {
        loop {
            let listener = if nbd { &self.nbd } else { &self.control };
            let Some(listener) = listener.as_ref() else { return };
            if self.memory.is_haunted() {
                return self.rest();
            }
            let stream = match listener.accept() {
                Ok(stream) => stream,
                Err(error) if is_out_of_means(&error) => return self.rest(),
                // What went wrong with one that came and went is no matter of ours.
                Err(_) => return,
            };
            let free = self.clients.iter().position(Option::is_none);
            let place = free.unwrap_or(self.clients.len());
            if place >= MOST_CLIENTS {
                continue;
            }
            self.generation += 1;
            let (generation, now) = (self.generation, self.clock.now());
            let client = if nbd {
                let limits = Limits { own: OWN_BYTES, ..Limits::default() };
                let session = Session::new(self.settings.export.clone(), limits);
                Client::nbd(stream, generation, now, session)
            } else {
                Client::http(stream, generation, now)
            };
            let data = EventData::new_u64(FIRST_CLIENT + place as u64);
            if epoll::add(&self.poll, &client.stream, data, EventFlags::empty()).is_err() {
                continue;
            }
            if place == self.clients.len() {
                self.clients.push(None);
            }
            self.clients[place] = Some(client);
            self.touched.push(place);
        }
    }

    /// Turns away from the listeners for a while: who waits there cannot be let in, and would be
    /// told of again and again.
    fn rest(&mut self) {
        self.listen(EventFlags::empty());
        self.rests_until = Some(self.clock.now() + REST);
    }

    /// Turns to the listeners again when the rest is over.
    pub(super) fn listen_again(&mut self, now: Time) {
        if self.rests_until.is_some_and(|until| until <= now) {
            self.rests_until = None;
            self.listen(EventFlags::IN);
        }
    }

    fn listen(&self, flags: EventFlags) {
        for (listener, data) in [(&self.nbd, NBD_LISTENER), (&self.control, CONTROL_LISTENER)] {
            if let Some(listener) = listener {
                let data = EventData::new_u64(data);
                epoll::modify(&self.poll, listener, data, flags).expect("it is in the poll");
            }
        }
    }

    /// Hears what a client sent, and does what it asks for.
    pub(super) fn serve_client(&mut self, place: usize, flags: EventFlags) -> io::Result<()> {
        self.touched.push(place);
        let mut buffer = std::mem::take(&mut self.buffer);
        let Some(client) = self.clients.get_mut(place).and_then(Option::as_mut) else {
            self.buffer = buffer;
            return Ok(());
        };
        let stays = if flags.contains(EventFlags::IN) {
            client.receive(&mut buffer).unwrap_or(false)
        } else {
            !flags.intersects(EventFlags::ERR | EventFlags::HUP)
        };
        self.buffer = buffer;
        if !stays {
            self.hang_up(place);
            return Ok(());
        }
        self.hear(place)
    }

    /// Takes the requests that a client has sent in whole.
    pub(super) fn hear(&mut self, place: usize) -> io::Result<()> {
        let Some(client) = self.clients[place].as_mut() else { return Ok(()) };
        let generation = client.generation;
        if matches!(client.protocol, Protocol::Nbd(_)) {
            self.hear_nbd(place, generation)
        } else if let Some(request) = client.http_request() {
            self.control(place, generation, &request);
            Ok(())
        } else {
            Ok(())
        }
    }

    fn hear_nbd(&mut self, place: usize, generation: u64) -> io::Result<()> {
        let now = self.clock.now();
        self.advance(now)?;
        loop {
            let Some(client) = self.client(place, generation) else { return Ok(()) };
            let Protocol::Nbd(session) = &mut client.protocol else { return Ok(()) };
            match session.next_request() {
                Ok(Some(request)) => self.ask_nbd(now, place, generation, request)?,
                Ok(None) if self.fund(place) => {}
                Ok(None) => break,
                Err(_) => {
                    // What it is still to hear, such as the answer to a good-bye, goes out first.
                    if let Some(client) = self.client(place, generation) {
                        let _ = client.send();
                    }
                    self.hang_up(place);
                    return Ok(());
                }
            }
        }
        // Some drives answer at once.
        self.advance(now)
    }

    /// Answers a control request.
    fn control(&mut self, place: usize, generation: u64, request: &HttpRequest) {
        let now = self.clock.now();
        let via = match self.client(place, generation).map(|client| &client.stream) {
            Some(Stream::Unix(_)) => Via::SocketFile,
            Some(Stream::Tcp(_)) | None => Via::Port,
        };
        let response = match control::route(now, via, request) {
            Err(response) => response,
            Ok(Action::Stats) => Response::ok(&self.stats()),
            Ok(Action::ResetStats) => Response::ok(&self.reset_stats(now)),
            Ok(Action::PowerCut(_)) if self.cut.is_some() => {
                Response::error(409, "a power cut is already pending")
            }
            Ok(action) => match self.drive.modelled() {
                None => Response::error(
                    409,
                    "power cuts and faults need a modelled drive, not \
                                              --backing",
                ),
                Some(drive) => match carry_out(drive, now, action) {
                    Ok(response) => response,
                    Err(cut) => {
                        // It is answered when it has been cut.
                        self.cut = Some(Cutting { cut, client: place, generation });
                        return;
                    }
                },
            },
        };
        if let Some(client) = self.client(place, generation) {
            client.answer(&response);
        }
    }

    /// Sends what is to be sent, and waits for what each client may do next.
    pub(super) fn settle_touched(&mut self) -> io::Result<()> {
        while let Some(place) = self.touched.pop().or_else(|| self.fund_next()) {
            let Some(client) = self.clients[place].as_mut() else { continue };
            if client.send().is_err() || client.is_finished() {
                self.hang_up(place);
                continue;
            }
            if !client.due.is_empty() {
                let now = self.clock.now();
                for due in client.due.drain(..) {
                    self.lateness.record(now.since(due));
                }
                self.spin.answered(now);
            }
            self.note_return(place);
            // Room that was made may let requests through that came earlier.
            self.hear(place)?;
            self.watch(place)?;
        }
        Ok(())
    }

    fn watch(&mut self, place: usize) -> io::Result<()> {
        let Some(client) = self.clients[place].as_mut() else { return Ok(()) };
        let wants = client.wants();
        if wants != client.interest {
            client.interest = wants;
            let mut flags = EventFlags::empty();
            flags.set(EventFlags::IN, wants.0);
            flags.set(EventFlags::OUT, wants.1);
            let data = EventData::new_u64(FIRST_CLIENT + place as u64);
            epoll::modify(&self.poll, &client.stream, data, flags)?;
        }
        Ok(())
    }
}

/// Does to the drive what was asked for at once; a power cut comes back.
fn carry_out(drive: &mut dyn Modelled, now: Time, action: Action) -> Result<Response, PowerCut> {
    let id = |id: u64| Response::ok(&serde_json::json!({ "id": id }));
    Ok(match action {
        Action::PowerCut(cut) => return Err(cut),
        Action::ListFaults => Response::ok(&serde_json::json!({ "faults": drive.list_faults() })),
        Action::AddFault(fault) => match drive.add_fault(now, fault) {
            Some(number) => id(number),
            None => Response::error(409, "too many faults: remove some first"),
        },
        Action::RemoveFault(number) if drive.remove_fault(now, number) => id(number),
        Action::RemoveFault(_) => Response::error(404, "there is no fault with that number"),
        Action::Stats | Action::ResetStats => unreachable!("the caller answers it"),
    })
}
