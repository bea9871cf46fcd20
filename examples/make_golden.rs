//! Writes the golden filter and table files: run once for each version of the format, from the root of the
//! repository. Files that exist are never touched, because what a released version wrote stays as it is; to add
//! files, add them to the recipe and run this again.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bloomline::TableReader;
use bloomline::hash::Hashers;

#[allow(dead_code, reason = "the tests use the rest of the recipe")]
#[path = "../tests/table_common/golden.rs"]
mod golden;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("fixtures/golden");
    fs::create_dir_all(folder)?;
    let manifest_path = folder.join("MANIFEST.tsv");
    let mut manifest = match fs::read_to_string(&manifest_path) {
        Ok(manifest) => manifest,
        Err(_) => "name\tkind\thasher\tseed\tkeys\tmaybe of 10000 absent\twhat\n".to_owned(),
    };
    let hashers = Hashers::new().with_secret_key(golden::secret_key());
    for file in &golden::GOLDEN {
        let path = folder.join(file.name);
        if path.exists() {
            println!("{} is there and stays", path.display());
            continue;
        }
        file.write(&path)?;
        let reader = TableReader::open(&path, &hashers)?;
        let absent = file.keys..file.keys + 10_000;
        let maybe = |i: &u32| reader.filter().is_none_or(|filter| filter.might_contain(&golden::key(*i)));
        let maybes = absent.filter(maybe).count();
        let kind = file.kind.map_or("none", bloomline::format::Kind::name);
        let (id, seed) = file.hasher;
        let hasher = id.name().unwrap_or("?");
        let (name, keys, what) = (file.name, file.keys, file.what);
        writeln!(manifest, "{name}\t{kind}\t{hasher}\t{seed}\t{keys}\t{maybes}\t{what}")?;
        println!("{} written", path.display());
    }
    fs::write(manifest_path, manifest)?;
    Ok(())
}
