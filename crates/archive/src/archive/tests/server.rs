//! Archives on a server that scripts/check-postgres starts: its address is in
//! `DRIVELAB_TEST_POSTGRES`, without a database. Elsewhere these tests are left out.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::*;

fn server() -> String {
    std::env::var("DRIVELAB_TEST_POSTGRES").expect("a server: run scripts/check-postgres")
}

/// True if there is a server; says that a test is left out otherwise.
#[expect(clippy::print_stderr, reason = "what is left out is said")]
pub(super) fn is_there() -> bool {
    let is_there = std::env::var_os("DRIVELAB_TEST_POSTGRES").is_some();
    if !is_there {
        eprintln!("LEFT OUT: no server; scripts/check-postgres starts one");
    }
    is_there
}

fn admin() -> postgres::Client {
    postgres::Client::connect(&format!("{}/postgres", server()), postgres::NoTls).unwrap()
}

/// The address of a database that is empty.
pub(super) fn database() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("archive_{}_{number}", std::process::id());
    admin().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    format!("{}/{name}", server()).into()
}

/// Where a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    BeforeCommit,
    AfterCommit,
}

/// Stands in front of the server, and ends the first connection that commits a transaction with
/// rows: before the server sees that, or before the client sees its answer.
struct Wire {
    folder: tempfile::TempDir,
    cuts: Arc<AtomicU32>,
}

impl Wire {
    fn new(cut: Cut) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let cuts = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&cuts);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || forward(&client, cut, &counted));
            }
        });
        Self { folder, cuts }
    }

    /// The address of a database behind it.
    fn to(&self, database: &Path) -> PathBuf {
        let database = database.file_name().unwrap().to_str().unwrap();
        let host = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://lab@{host}/{database}").into()
    }
}

fn forward(client: &UnixStream, cut: Cut, cuts: &AtomicU32) -> io::Result<()> {
    let (_, folder) = server().split_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let server = UnixStream::connect(format!("{}/.s.PGSQL.5432", folder.replace("%2F", "/")))?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    let copier = std::thread::spawn(move || io::copy(&mut answers, &mut back));
    let (mut buffer, mut has_rows) = (vec![0; 1 << 16], false);
    loop {
        let count = (&mut &*client).read(&mut buffer)?;
        let asked = &buffer[..count];
        let holds = |text: &str| asked.windows(text.len()).any(|it| it == text.as_bytes());
        has_rows |= holds("COPY runs") || holds("DELETE FROM runs");
        if has_rows && holds("COMMIT") && cuts.fetch_add(1, Ordering::Relaxed) == 0 {
            client.shutdown(Shutdown::Both)?;
            if cut == Cut::AfterCommit {
                (&mut &server).write_all(asked)?;
                // Until the server has answered; the answer goes nowhere.
                server.shutdown(Shutdown::Write)?;
                let _ = copier.join();
            }
            return server.shutdown(Shutdown::Both);
        }
        (&mut &server).write_all(asked)?;
        if count == 0 {
            return server.shutdown(Shutdown::Write);
        }
    }
}

#[test]
fn what_is_committed_unheard_is_not_done_again() {
    if !is_there() {
        return;
    }
    for cut in [Cut::BeforeCommit, Cut::AfterCommit] {
        let location = database();
        let through = |work: &dyn Fn(&mut Archive)| {
            let wire = Wire::new(cut);
            work(&mut open(&wire.to(&location)));
            // The transaction that was cut, and where it had not been committed another.
            let cuts = wire.cuts.load(Ordering::Relaxed);
            assert!(cuts >= 1, "{cut:?}: nothing was cut");
        };
        through(&|archive| archive.keep(&[entry(1), entry(2), part(3, 2)]).unwrap());
        let once = Checked { whole: 3, damage: Vec::new() };
        assert_eq!(open(&location).check(&read_back, &fine).unwrap(), once, "{cut:?}");
        through(&|archive| {
            let known = Entry { id: entry(7).id, ..entry(1) };
            let merged = archive.keep_new(&[known, entry(4), part(5, 4)]).unwrap();
            assert_eq!((merged.added, merged.present), (1, 1), "{cut:?}");
        });
        assert_eq!(open(&location).check(&read_back, &fine).unwrap().whole, 5, "{cut:?}");
        through(&|archive| archive.delete(&[entry(2).id]).unwrap());
        assert_eq!(open(&location).check(&read_back, &fine).unwrap().whole, 3, "{cut:?}");
    }
}

#[test]
fn text_that_a_server_cannot_hold_is_kept_without_it() {
    if !is_there() {
        return;
    }
    let location = database();
    let odd = Entry { label: Some("a\0b".into()), ..entry(1) };
    open(&location).keep(&[odd]).unwrap();
    let label = open(&location).whole(entry(1).id).unwrap().label;
    assert_eq!(label.as_deref(), Some("a\u{fffd}b"));
}

#[test]
fn an_archive_of_a_server_becomes_a_file_and_back() {
    if !is_there() {
        return;
    }
    let (there, back) = (database(), database());
    let mut archive = open(&there);
    archive.keep(&[entry(1), part(3, 1), entry(2)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    assert_eq!(open(&file).merge(&there, &read_back, &fine).unwrap(), merged(3, 0));
    assert_eq!(open(&back).merge(&file, &read_back, &fine).unwrap(), merged(3, 0));
    assert_eq!(open(&back).merge(&there, &read_back, &fine).unwrap(), merged(0, 3));
    let all = Filter::default();
    let listed = archive.list(&all).unwrap();
    assert_eq!(open(&file).list(&all).unwrap(), listed);
    assert_eq!(open(&back).list(&all).unwrap(), listed);
    for id in archive.ids(&all).unwrap() {
        let id = archive.find(&id).unwrap();
        assert_eq!(open(&back).whole(id).unwrap(), archive.whole(id).unwrap());
    }
}

#[test]
fn one_that_may_only_read_reads() {
    if !is_there() {
        return;
    }
    let location = database();
    open(&location).keep(&[entry(1)]).unwrap();
    let name = location.file_name().unwrap().to_str().unwrap();
    let reader = format!("reader_{name}");
    let mut client =
        postgres::Client::connect(location.to_str().unwrap(), postgres::NoTls).unwrap();
    client
        .batch_execute(&format!(
            "CREATE ROLE {reader} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}"
        ))
        .unwrap();
    let (_, host) = server().split_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let mut archive = open(format!("postgres://{reader}@{host}/{name}").as_ref());
    assert_eq!(archive.list(&Filter::default()).unwrap().runs.len(), 1);
    assert!(matches!(archive.keep(&[entry(2)]), Err(ArchiveError::Sql(_))));
}

#[test]
fn no_server_is_an_error_once_patience_ends() {
    let none = |tries| tries < 3;
    let location = Path::new("postgres://lab:secret@%2Fnonexistent/runs");
    let error = Archive::open(location, Patience::same(none)).unwrap_err();
    assert!(matches!(error, ArchiveError::Open { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
