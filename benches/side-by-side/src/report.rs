//! The results as a table for people and as values for programs.

use std::fmt::{self, Write};

use crate::contender::Contender;
use crate::measure::{Measure, Row, Times};
use crate::rates::Point;

/// Name and value lines about the machine.
type Machine = [(&'static str, String)];

/// Comma-separated values: the machine in comment lines, then one line for each time.
pub(crate) fn times_csv(machine: &Machine, rows: &[Row]) -> String {
    let mut csv = comments(machine);
    csv.push_str("keys,filter,bytes,bits_per_key,measured_fpp,measure,median_ns,min_ns,max_ns,rounds\n");
    for row in rows {
        for (measure, times) in &row.times {
            let fpp = row.fpp.map_or_else(String::new, |fpp| format!("{fpp:.6}"));
            push(
                &mut csv,
                format_args!(
                    "{},\"{}\",{},{:.3},{fpp},{},{:.3},{:.3},{:.3},{}\n",
                    row.keys,
                    row.name,
                    row.bytes,
                    row.bits_per_key(),
                    measure.name(),
                    times.median(),
                    times.min(),
                    times.max(),
                    times.rounds(),
                ),
            );
        }
    }
    csv
}

/// The measured rates, in the same form.
pub(crate) fn rates_csv(machine: &Machine, points: &[Point]) -> String {
    let mut csv = comments(machine);
    csv.push_str("filter,bits_per_key,measured_fpp\n");
    for point in points {
        push(&mut csv, format_args!("\"{}\",{:.3},{:.8}\n", point.name, point.bits_per_key, point.fpp));
    }
    csv
}

fn comments(machine: &Machine) -> String {
    machine.iter().map(|(name, value)| format!("# {name}: {value}\n")).collect()
}

/// The page that shows it all: a Markdown table for each size.
pub(crate) fn markdown(machine: &Machine, contenders: &[Contender], sizes: &[Vec<Row>]) -> String {
    let mut page = String::from(
        "# Side by side\n\nNanoseconds per key: the median of the rounds, with the fastest and the slowest \
         round behind it. A miss is an absent key, a hit one that was added; \"hash\" is a ready 64-bit hash, \
         \"key\" a key of 16 bytes, hashing included; a batch is 1,024 keys in one call. Rates are measured \
         on absent keys. Single lookups of different keys may overlap in the CPU.\n\n",
    );
    for (name, value) in machine {
        push(&mut page, format_args!("- {name}: {value}\n"));
    }
    page.push_str("\n| filter | set up |\n|---|---|\n");
    for contender in contenders {
        push(&mut page, format_args!("| {} | {} |\n", contender.name, contender.settings));
    }
    for rows in sizes {
        push(&mut page, format_args!("\n## {} keys\n\n", grouped(rows.first().map_or(0, |row| row.keys))));
        page.push_str(&table(rows));
    }
    page.push_str(
        "\n![Time of a lookup against the size of the filter](lookup.svg)\n\n\
         ![Time of a batched lookup against the size of the filter](batch.svg)\n\n\
         ![Time to build against the size of the filter](build.svg)\n\n\
         ![False-positive rate against bits per key](rates.svg)\n",
    );
    page
}

/// One table: a line for each filter, a column for each measure.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = String::from("| filter | bits/key | rate |");
    for measure in Measure::ALL {
        push(&mut table, format_args!(" {} |", measure.name()));
    }
    push(&mut table, format_args!("\n|---|---|---|{}\n", "---|".repeat(Measure::ALL.len())));
    for row in rows {
        let rate = row.fpp.map_or_else(|| "–".to_owned(), |fpp| format!("{:.3}%", fpp * 100.0));
        push(&mut table, format_args!("| {} | {:.2} | {rate} |", row.name, row.bits_per_key()));
        for measure in Measure::ALL {
            match row.times(measure) {
                Some(times) => push(&mut table, format_args!(" {} |", spread(times))),
                None => table.push_str(" – |"),
            }
        }
        table.push('\n');
    }
    table
}

fn spread(times: &Times) -> String {
    let digits = if times.median() < 10.0 { 2 } else { 1 };
    format!("{:.digits$} ({:.digits$}–{:.digits$})", times.median(), times.min(), times.max())
}

/// A number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn push(text: &mut String, arguments: fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_name_ends_no_field() {
        let times = vec![(Measure::Build, Times::of(vec![1.0]))];
        let row = Row { name: "compact, r = 7", keys: 1000, bytes: 920, fpp: Some(0.0078), times };
        let csv = times_csv(&[("cpu", "one, with a comma".to_owned())], &[row]);
        let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
        let commas =
            |line: &str| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>();
        assert_eq!(lines.len(), 2);
        assert_eq!(commas(lines[0]), commas(lines[1]), "{csv}");
    }

    #[test]
    fn thousands() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(100_000_000), "100,000,000");
    }
}
