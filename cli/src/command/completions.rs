//! `bloomline completions`: the completion script of a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::exit::{Failure, Outcome};
use crate::output::Output;

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    bloomline completions bash > ~/.local/share/bash-completion/completions/bloomline\n  \
    bloomline completions zsh > ~/.zfunc/_bloomline\n  \
    bloomline completions fish > ~/.config/fish/completions/bloomline.fish")]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "bloomline", &mut script);
        let mut out = Output::new();
        out.line(script.trim_ascii_end())?;
        out.flush()?;
        Ok(Outcome::Success)
    }
}
