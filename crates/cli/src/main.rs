//! Where the program begins; what it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    polyport_cli::main()
}
