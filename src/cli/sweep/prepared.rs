//! The members of a sweep with their data, on a device.

use tinytrain::data::{Fold, Reader};
use tinytrain::engine::Device;
use tinytrain::schedule::Measurements;
use tinytrain::settings::DatasetInfo;
use tinytrain::sweep::{Member, Sources};
use tinytrain::train::Config;
use tinytrain::{Error, Result};

use super::arguments;
use super::options::Options;
use super::planned::{Common, Planned, Tried, of_member};
use crate::cli::config_file;
use crate::cli::data_text::{as_text, column_lines, late_texts, odd_labels};
use crate::cli::opened::{Opened, Places};
use crate::cli::unused_options::refuse_unused;

/// A sweep of which nothing is trained yet.
pub struct Prepared {
    /// What all members have in common.
    pub common: Common,
    /// What is tried.
    pub tried: Tried,
    /// Each member as it was planned.
    pub planned: Vec<Planned>,
    /// The same, with their data.
    pub members: Vec<Member>,
    /// Where the data come from.
    pub sources: Sources,
    /// What trains.
    pub device: Device,
    /// What people want to know of the device.
    pub notices: Vec<String>,
}

impl Prepared {
    /// What the options of a sweep ask for; `work` is what the device is for, in messages.
    ///
    /// # Errors
    /// Those of the options, the data and the device.
    pub fn of(options: &Options, work: &str) -> anyhow::Result<Self> {
        let common = Common::of(options);
        common.base.check()?;
        let mut own = config_file::table(&arguments::common(&options.train))?;
        // The settings of a member may decide whether factors of learning rates are of use.
        own.retain(|name, _| !name.starts_with("lr-"));
        let opened = Places::of(&common.base)?.open(&common.base)?;
        refuse_unused(&own, &common.base, &opened)?;
        let preset = common.base.training.settings.preset_for(&opened.info);
        let tried = Tried::of(options, preset, !opened.info.predicts_values)?;
        let mut planned = common.planned(options, &tried)?;
        if planned.is_empty() {
            return Err(Error::Config("expected at least one member, found none".to_owned()).into());
        }
        let (device, mut notices) = common.base.kernels.device(&common.base.training, work, false)?;
        notices.extend(opened.notice.clone());
        notices.extend(as_text(opened.reader.numbers_as_text()));
        let measured = common.base.kernels.measured(&device, &mut notices);
        let (members, sources) = members(&mut planned, &common, opened, &device, &measured)?;
        if let Some(member) = members.first() {
            let data = member.data[0].training();
            notices.extend([late_texts(data.late_texts()), odd_labels(data.odd_labels())].concat());
            notices.extend(column_lines(&common.base.training, data)?);
        }
        Ok(Self { common, tried, planned, members, sources, device, notices })
    }
}

/// Makes members of what was planned: reads the data, and prepares them in every form that is wanted.
fn members(
    planned: &mut [Planned],
    common: &Common,
    opened: Opened,
    device: &Device,
    measured: &Measurements,
) -> Result<(Vec<Member>, Sources)> {
    let Opened { mut reader, validation, test, .. } = opened;
    // What a member asks for may leave the preset open where the sweep does not.
    let look = |reader: &mut Reader, planned: &Planned| {
        planned.options.training.settings.look_at(reader, validation.is_some(), test.is_some())
    };
    let known =
        planned.iter().map(|planned| look(&mut reader, planned)).collect::<Result<Vec<DatasetInfo>>>()?;
    let mut sources = Sources::new(reader, validation, test);
    let folds: Vec<Option<Fold>> = match common.base.folds {
        Some(count) => (0..count).map(|index| Some(Fold { index, count })).collect(),
        None => vec![None],
    };
    let mut members = Vec::with_capacity(planned.len());
    for (planned, info) in planned.iter_mut().zip(known) {
        let settings = &planned.options.training.settings;
        let resolve = |info| settings.resolve(&info).map_err(|error| of_member(error, planned.number));
        let wanted = resolve(info)?;
        let data = folds.iter().map(|fold| sources.data(&wanted, *fold)).collect::<Result<Vec<_>>>()?;
        let training = data[0].training();
        let config = Config { measured: measured.clone(), ..resolve(info.of(training))? };
        config.plan(training, device).map_err(|error| of_member(error, planned.number))?;
        let mut member =
            Member { number: planned.number, config, data, is_tested: common.base.folds.is_some() };
        if let Device::Gpu(adapter) = device
            && let Some(kind) = member.pack_schedule(adapter)
        {
            // A pack has the built-in tile shapes; so has the member alone, by its command line.
            member.config.schedule = Some(kind);
            member.config.measured = Measurements::default();
            let words = [format!("--schedule={kind}"), "--no-tune".to_owned()];
            let missing =
                words.into_iter().filter(|word| !planned.line.contains(word)).collect::<Vec<String>>();
            planned.line.extend(missing);
        }
        members.push(member);
    }
    Ok((members, sources))
}
