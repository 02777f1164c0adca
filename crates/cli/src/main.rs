//! The command line: arguments to typed config to call to render to exit code.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
