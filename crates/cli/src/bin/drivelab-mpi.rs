//! The program `drivelab-mpi`.

fn main() -> std::process::ExitCode {
    drivelab::mpi::main()
}
