//! Draws curves as SVG, by hand and without a library: few lines, few points, both axes in powers of ten.

use std::fmt::Write as _;

/// One curve.
#[derive(Debug, Clone)]
pub struct Curve {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// A picture of curves.
#[derive(Debug, Clone)]
pub struct Plot {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    pub curves: Vec<Curve>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 96.0;
const COLOURS: [&str; 5] = ["#1f6feb", "#d1571b", "#2a9d5c", "#8250df", "#6e7781"];

impl Plot {
    pub fn svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let (left, right) = decades(points().map(|point| point.0));
        let (low, high) = decades(points().map(|point| point.1));
        let at_x = |x: f64| {
            LEFT + (x.max(f64::MIN_POSITIVE).log10() - left) / (right - left)
                * (WIDTH - LEFT - RIGHT)
        };
        let at_y = |y: f64| {
            let up = (y.max(f64::MIN_POSITIVE).log10() - low) / (high - low);
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"26\" font-size=\"16\">{}</text>\n",
            plain(&self.title)
        );
        for power in whole(left, right) {
            let x = at_x(10_f64.powi(power));
            let (top, bottom) = (TOP, HEIGHT - BOTTOM);
            line(&mut svg, (x, top), (x, bottom));
            text(&mut svg, (x, bottom + 18.0), "middle", &shown(power));
        }
        for power in whole(low, high) {
            let y = at_y(10_f64.powi(power));
            line(&mut svg, (LEFT, y), (WIDTH - RIGHT, y));
            text(&mut svg, (LEFT - 8.0, y + 4.0), "end", &shown(power));
        }
        text(&mut svg, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 38.0), "middle", self.x);
        text(&mut svg, (LEFT, TOP - 6.0), "end", self.y);
        for (nth, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[nth % COLOURS.len()];
            let path: Vec<String> = curve
                .points
                .iter()
                .map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y)))
                .collect();
            // A text can always be written to.
            let _written = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
                path.join(" ")
            );
            for (x, y) in &curve.points {
                let (x, y) = (at_x(*x), at_y(*y));
                let _written = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
                );
            }
            let (x, y) = (LEFT + 210.0 * (nth % 3) as f64, HEIGHT - 28.0 + 18.0 * (nth / 3) as f64);
            let _written = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>",
                y - 6.0
            );
            text(&mut svg, (x + 18.0, y), "start", curve.name);
        }
        svg + "</svg>\n"
    }
}

/// The whole powers of ten between which the values lie; at least one of them apart.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut found: Option<(f64, f64)> = None;
    for value in values.filter(|value| *value > 0.0) {
        let (low, high) = found.unwrap_or((value, value));
        found = Some((low.min(value), high.max(value)));
    }
    let (low, high) = found.unwrap_or((1.0, 10.0));
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    (low, if high > low { high } else { low + 1.0 })
}

fn whole(low: f64, high: f64) -> std::ops::RangeInclusive<i32> {
    low as i32..=high as i32
}

fn shown(power: i32) -> String {
    match power {
        -3..=3 => format!("{}", 10_f64.powi(power)),
        _ => format!("10^{power}"),
    }
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _written = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#d0d7de\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = plain(words);
    let _written =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_within_the_frame_and_every_curve_is_named() {
        let curve = |name, points| Curve { name, points };
        let plot = Plot {
            title: "cost < of & events".into(),
            x: "events",
            y: "ns",
            curves: vec![
                curve("append", vec![(1e3, 900.0), (1e5, 850.0), (1e7, 1200.0)]),
                curve("read", vec![(1e3, 20.0), (1e7, 0.0)]),
            ],
        };
        let svg = plot.svg();
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(svg.contains("cost &lt; of &amp; events") && svg.contains(">append<"), "{svg}");
        for circle in svg.split("<circle cx=\"").skip(1) {
            let x: f64 = circle.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn one_value_alone_still_has_an_axis() {
        assert_eq!(decades([100.0].into_iter()), (2.0, 3.0));
        assert_eq!(decades(std::iter::empty()), (0.0, 1.0));
    }
}
