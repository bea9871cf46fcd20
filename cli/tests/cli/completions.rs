//! Completion scripts.

use crate::support::Folder;

#[test]
fn every_shell_has_a_script_that_knows_commands_and_flags() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.ok(&format!("completions {shell}"));
        for word in
            ["bloomline", "inspect", "merge", "bits-per-key", "compact-load", "scalable", "murmur3-x64-128"]
        {
            assert!(script.contains(word), "{word} is not in the script of {shell}");
        }
    }
}

#[cfg(unix)]
#[test]
fn bash_accepts_its_script() {
    let folder = Folder::new();
    folder.write("script", folder.ok("completions bash"));
    // Where there is no bash there is nothing to check.
    if let Ok(output) = std::process::Command::new("bash").arg("-n").arg(folder.path("script")).output() {
        assert!(output.status.success(), "{output:?}");
    }
}
