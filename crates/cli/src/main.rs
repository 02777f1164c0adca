//! The program `drivelab`.

fn main() -> std::process::ExitCode {
    drivelab::main()
}
