use drivelab_core::{Device, Lba, Op, Request, RequestId, Sectors, Span, Time};
use drivelab_model::profile::{BaseText, Profile};
use drivelab_model::{build, spec::Options};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let parv = &args[1];
    let read =
        |p: &str| std::fs::read_to_string(p).ok().map(|text| BaseText { file: p.into(), text });
    let profile = match Profile::parse(parv, &std::fs::read_to_string(parv).unwrap(), &read) {
        Ok(p) => p,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    };
    let mut drive = build(&profile, &Options::default(), 1).unwrap();
    let trace = std::fs::read_to_string(&args[2]).unwrap();
    let reqs: Vec<(Request, Span)> = trace
        .lines()
        .enumerate()
        .map(|(i, l)| {
            let f: Vec<&str> = l.split_whitespace().collect();
            let op = if f[0] == "R" { Op::Read } else { Op::Write };
            (
                Request {
                    id: RequestId(i as u64),
                    op,
                    lba: Lba::new(f[2].parse().unwrap()),
                    sectors: Sectors::new(f[3].parse().unwrap()),
                    fua: false,
                },
                Span::from_ns((f[5].parse::<f64>().unwrap() * 1000.0).round() as u64),
            )
        })
        .collect();
    let t0 = std::time::Instant::now();
    let mut now = Time::ZERO;
    let mut out = Vec::with_capacity(reqs.len());
    let mut done = Vec::new();
    let reps: usize = args.get(3).map_or(1, |r| r.parse().unwrap());
    for _ in 0..reps {
        out.clear();
        for (r, think) in &reqs {
            let begin = now;
            drive.submit(now, *r).unwrap();
            while done.is_empty() {
                now = drive.next_event().unwrap();
                drive.advance(now, &mut done);
            }
            out.push((now.since(begin).ns(), done[0].served_by));
            done.clear();
            now += *think;
        }
    }
    let el = t0.elapsed().as_secs_f64();
    eprintln!("{:.0} requests/s", (reqs.len() * reps) as f64 / el);
    for (o, s) in out {
        println!("{:?} {:.6}", s, o as f64 / 1e6);
    }
}
