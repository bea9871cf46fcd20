//! Where and when a run took place.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// What figures depend on besides the code, as names and values. What the system doesn't tell is "unknown".
pub(crate) fn describe() -> Vec<(&'static str, String)> {
    vec![
        ("date", date()),
        ("cpu", cpu()),
        ("cores", std::thread::available_parallelism().map_or(0, usize::from).to_string()),
        ("caches", caches()),
        ("transparent huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled")),
        ("allocator tunables", std::env::var("GLIBC_TUNABLES").unwrap_or_else(|_| "none".to_owned())),
        ("rustc", env!("SIDE_BY_SIDE_RUSTC").to_owned()),
        ("kernels", format!("{}, {}", bloomline::probe::Backend::detect().name(), compiled_for())),
    ]
}

const fn compiled_for() -> &'static str {
    if cfg!(target_feature = "avx2") {
        "chosen when the program was compiled (AVX2 everywhere)"
    } else {
        "chosen at run time"
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn cpu() -> String {
    let field = |name: &str| {
        let info = read("/proc/cpuinfo");
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let part = |name: &str| field(name).unwrap_or_else(|| "unknown".to_owned());
    format!("{} (family {}, model {})", part("model name"), part("cpu family"), part("model\t"))
}

/// The first core's caches: level, type, size.
fn caches() -> String {
    let of =
        |index: usize, what: &str| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}"));
    let known = (0..8).filter(|&index| of(index, "level") != "unknown");
    let all: Vec<String> = known
        .map(|index| format!("L{} {} {}", of(index, "level"), of(index, "type"), of(index, "size")))
        .collect();
    if all.is_empty() { "unknown".to_owned() } else { all.join("; ") }
}

/// Today in UTC, year-month-day.
fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The Gregorian date of a day since 1970-01-01, by counting off years and months.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_453), (2025, 12, 31));
        assert_eq!(civil(20_454), (2026, 1, 1));
    }
}
