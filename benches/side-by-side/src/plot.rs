//! The results as pictures, in SVG.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::measure::{Measure, Row, float};
use crate::rates::{Curve, Point};

const SIZE: (u32, u32) = (960, 600);

/// The colours of Okabe and Ito, which colour-blind people can tell apart, by a part of the filter's name: the same
/// in every plot, for what was measured and for its theory.
const COLOURS: [(&str, RGBColor); 11] = [
    ("in run", RGBColor(240, 120, 110)),
    ("blocked", RGBColor(213, 94, 0)),
    ("classic", RGBColor(0, 114, 178)),
    ("r = 8", RGBColor(120, 200, 60)),
    ("compact", RGBColor(0, 158, 115)),
    ("fastbloom", RGBColor(204, 121, 167)),
    ("sbbf", RGBColor(86, 180, 233)),
    ("split block", RGBColor(86, 180, 233)),
    ("Fuse", RGBColor(230, 159, 0)),
    ("binary fuse", RGBColor(230, 159, 0)),
    ("limit", BLACK),
];

fn colour(name: &str) -> RGBColor {
    COLOURS
        .iter()
        .find(|(part, _)| name.contains(part))
        .map_or(RGBColor(110, 110, 110), |(_, colour)| *colour)
}

/// Time per key against the size of the filter, both logarithmic: a line for each filter, with a bar from the
/// fastest round to the slowest.
pub(crate) fn times(path: &Path, title: &str, measure: Measure, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.times(measure).is_some()).collect();
    let ends = |values: &dyn Fn(&Row) -> [f64; 2]| {
        let all = || rows.iter().flat_map(|row| values(row));
        all().fold(f64::INFINITY, f64::min) * 0.8..all().fold(0.0, f64::max) * 1.25
    };
    let x = ends(&|row| [float(row.bytes); 2]);
    let y = ends(&|row| row.times(measure).map_or([1.0; 2], |times| [times.min(), times.max()]));
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x.log_scale(), y.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("size of the filter")
        .y_desc("ns per key")
        .x_label_formatter(&|bytes| size_label(*bytes))
        .y_label_formatter(&|ns| format!("{ns:.1}"))
        .light_line_style(WHITE)
        .draw()?;
    for name in names(rows.iter().map(|row| row.name)) {
        let of_name = || {
            rows.iter()
                .filter(|row| row.name == name)
                .filter_map(|row| Some((float(row.bytes), row.times(measure)?)))
        };
        let line = colour(name);
        chart
            .draw_series(LineSeries::new(
                of_name().map(|(x, times)| (x, times.median())),
                line.stroke_width(2),
            ))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line.stroke_width(2)));
        chart.draw_series(of_name().map(|(x, times)| Circle::new((x, times.median()), 3, line.filled())))?;
        chart.draw_series(
            of_name().map(|(x, times)| PathElement::new([(x, times.min()), (x, times.max())], line)),
        )?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}

/// The rate, logarithmic, against bits per key: measured points on the lines of theory.
pub(crate) fn rates(path: &Path, points: &[Point], curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("False-positive rate against bits per key", ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(4.0..21.0, (1e-5..0.1_f64).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("bits per key")
        .y_desc("false-positive rate")
        .y_label_formatter(&|rate| format!("{}%", rate * 100.0))
        .light_line_style(WHITE)
        .draw()?;
    let shown = |&(_, rate): &(f64, f64)| (1e-5..0.1).contains(&rate);
    for (name, curve) in curves {
        let line = colour(name);
        chart
            .draw_series(LineSeries::new(curve.iter().copied().filter(shown), line.mix(0.6).stroke_width(1)))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line.mix(0.6).stroke_width(1)));
    }
    for name in names(points.iter().map(|point| point.name)) {
        let dot = colour(name);
        let of_name = points.iter().filter(|point| point.name == name);
        chart
            .draw_series(of_name.map(|point| Circle::new((point.bits_per_key, point.fpp), 4, dot.filled())))?
            .label(format!("{name}, measured"))
            .legend(move |(x, y)| Circle::new((x + 9, y), 4, dot.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}

/// Each name once, in the order of its first use.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn size_label(bytes: f64) -> String {
    if bytes < 1e6 { format!("{:.0} kB", bytes / 1e3) } else { format!("{:.0} MB", bytes / 1e6) }
}
