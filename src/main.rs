//! The program `astudio`: reads the command line and ends with its exit code.

fn main() -> std::process::ExitCode {
    astudio::cli::main()
}
