//! Profiles as pictures, each as SVG and as PNG.

mod roofline;
mod stacked;
mod timeline;

use std::cmp::Reverse;

pub use crate::pictures::Picture;

use crate::pictures::canvas::{Colors, picture};
use roofline::Roofline;
use stacked::Stacked;
use timeline::Timeline;

use super::{Profile, Report};
use crate::error::Result;

/// The names of all pictures.
pub const PICTURES: [&str; 3] = ["roofline", "timeline", "kernels"];

/// All pictures, in the order of [`PICTURES`]: the roofline of a profile, the begin of its timeline, and the time of a
/// step by kernel, of the profile itself and, to compare, of `others`.
///
/// # Errors
/// [`crate::Error::Gpu`] when drawing fails.
pub fn pictures(profile: &Profile, others: &[Report]) -> Result<Vec<Picture>> {
    let report = &profile.report;
    let mut reports: Vec<&Report> = others.iter().chain([report]).collect();
    // Those with the most kernels first.
    reports.sort_by_key(|report| Reverse(report.kernels.len()));
    let colors =
        Colors::for_names(reports.iter().flat_map(|report| &report.kernels).map(|kernel| &kernel.kernel));
    Ok(vec![
        picture(&Roofline { report, colors: &colors })?,
        picture(&Timeline::new(profile, &colors))?,
        picture(&Stacked { reports: &reports, colors: &colors })?,
    ])
}
