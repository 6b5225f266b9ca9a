//! Rows of a reader as network inputs.

use super::Reader;
use super::labelled::place_of;
use crate::data::columns::categories::Dictionary;
use crate::data::dataset::{Dataset, Features, FeaturesRef, Scaling};
use crate::data::encoding::Encoding;
use crate::data::encoding::by_column::by_column;
use crate::data::encoding::scale::Scale;
use crate::data::encoding::statistics::{is_coarse, may_be_rounded, moments};
use crate::data::encoding::targets::{TargetScale, Targets, repeated};
use crate::data::encoding::transform::Transform;
use crate::data::encoding::unknown::UnknownCells;
use crate::data::images::center::light_center;
use crate::data::reading::table::{Missing, Table};
use crate::data::splitting::folds::{Kinds, different};
use crate::data::splitting::{Fold, Parts, Split};
use crate::error::{DataFault, Error, Place, Result};

/// 32-bit floats represent all whole numbers up to this one.
const MOST_EXACT: f32 = (1u32 << f32::MANTISSA_DIGITS) as f32;

impl Reader {
    /// The categories of each categorical column by number, in the order of these columns.
    pub fn dictionaries(&self) -> &[Dictionary] {
        &self.table.dictionaries
    }

    /// Whether the rows so far need an [`Encoding`]: a value is missing, or a column holds categories.
    pub fn needs_encoding(&self) -> bool {
        self.table.missing.is_some() || !self.table.dictionaries.is_empty()
    }

    /// Learns the encoding of the columns from the rows so far.
    pub fn encoding(&self, scale: Scale) -> Encoding {
        let categories = self.schema().map_or(&[][..], |schema| &schema.categories);
        let Table { features, dictionaries, .. } = &self.table;
        Encoding::learn(features, self.inputs, categories, dictionaries, scale, self.threads)
    }

    /// Checks that the values to predict of the rows so far differ as 32-bit floats. Values from arrays may be equal.
    ///
    /// # Errors
    /// [`Error::Data`] for a column of equal values in a file, and for a column of values so small that 32-bit floats
    /// keep few of their digits.
    pub fn check_values(&self) -> Result<()> {
        let may_be_equal = self.table_form().is_some_and(|form| form.is_of_arrays);
        for column in 0..self.values {
            let values: Vec<f32> =
                self.table.values.iter().skip(column).step_by(self.values).copied().collect();
            let (least, greatest) = (reduce(&values, f32::min), reduce(&values, f32::max));
            if may_be_equal && least == greatest {
                continue;
            }
            let are_equal = least == greatest && least.abs() < MOST_EXACT;
            let (expected, found) = if least == greatest && !are_equal {
                // The values may differ in the file.
                ("values that 32-bit floats can distinguish (subtract an offset)", format!("only {least}"))
            } else if are_equal {
                let tiny = if least == 0.0 { " (like all numbers closer to it than 1e-45)" } else { "" };
                ("values to predict that differ", format!("only {least}{tiny}"))
            } else if least.abs().max(greatest.abs()) < f32::MIN_POSITIVE {
                let expected = "values that 32-bit floats can distinguish (multiply them by a factor)";
                (expected, format!("values from {least:e} to {greatest:e}"))
            } else {
                continue;
            };
            let (path, place) = (self.labels_name.clone(), self.place_of_values(column));
            let error = Error::data(path, place, expected, found);
            return Err(if are_equal { error.with_kind(DataFault::OneTarget) } else { error });
        }
        Ok(())
    }

    /// Checks that the values of the rows so far are 0 or 1. Tables were checked while they were read.
    ///
    /// # Errors
    /// [`Error::Data`] for the first other value.
    pub(crate) fn check_labels_of_arrays(&self) -> Result<()> {
        let Some(index) = self.table.values.iter().position(|value| ![0.0, 1.0].contains(value)) else {
            return Ok(());
        };
        let (row, column) = (index / self.values, index % self.values);
        let place = Place { row: Some(row as u64 + 1), ..self.place_of_values(column) };
        let found = self.table.values[index].to_string();
        Err(Error::data(&self.labels_name, place, "a label of 0 or 1 (--task multi-label)", found))
    }

    /// Reads to the end and repeats the value to predict of each row for each of `quantiles` quantiles of it, once; 0
    /// changes nothing.
    ///
    /// # Errors
    /// As [`Reader::next_block`]; [`Error::Setting`] for several values.
    pub fn repeat_values(&mut self, quantiles: usize) -> Result<()> {
        // A loss of values is refused later for labels.
        if quantiles == 0 || self.values == 0 {
            return Ok(());
        }
        if self.values > 1 {
            return Err(Error::setting("loss", "another loss than quantile for several targets", "quantile"));
        }
        self.read_to_end()?;
        self.table.values = repeated(&self.table.values, quantiles);
        self.values = quantiles;
        Ok(())
    }

    /// The place of a column of values to predict.
    fn place_of_values(&self, column: usize) -> Place {
        if self.labels_name == self.name {
            place_of(self.schema().and_then(|schema| schema.values.get(column)))
        } else {
            // The values are in a file separate from the table.
            Place { column: Some(column + 1), ..Place::default() }
        }
    }

    /// Standardises the values to predict of the rows so far, and returns the scale; call it once, after the last row.
    ///
    /// # Errors
    /// [`Error::Data`] for values so far from 0 that 32-bit floats lose their differences.
    pub fn standardise_targets(&mut self) -> Result<TargetScale> {
        let scale = TargetScale::learn(&self.table.values, self.values);
        let is_rounded = |column: usize| {
            let column = || self.table.values.iter().skip(column).step_by(self.values).copied();
            may_be_rounded(column()) && column().any(|value| Some(value) != column().next())
        };
        if let Some(column) = scale.coarse().find(|column| is_rounded(*column)) {
            let place = self.place_of_values(column);
            let expected = "values that 32-bit floats can distinguish (subtract an offset)";
            let found =
                format!("a mean of {:e} and a deviation of {:e}", scale.center[column], scale.width[column]);
            return Err(Error::data(&self.labels_name, place, expected, found));
        }
        self.scale_targets(&scale);
        Ok(scale)
    }

    /// Scales the values to predict.
    pub(crate) fn scale_targets(&mut self, scale: &TargetScale) {
        self.table.values = scale.scaled(&self.table.values);
    }

    /// Applies a transform to the rows so far; call it once, after the last row. Returns the cells with values that no
    /// row had from which the transform was learnt.
    ///
    /// # Errors
    /// [`Error::Config`] if memory cannot hold the result, or for a missing value without a replacement.
    pub fn apply(&mut self, transform: &Transform) -> Result<UnknownCells> {
        let unknown = transform.apply(&mut self.table.features, &self.table.dictionaries, 1)?;
        if let Transform::Columns(encoding) = transform {
            self.inputs = encoding.inputs();
        }
        Ok(unknown)
    }

    /// Reads to the end and returns all rows as network inputs under `transform`.
    ///
    /// # Errors
    /// As [`Reader::next_block`].
    pub fn into_dataset(self, transform: &Transform) -> Result<Dataset> {
        Ok(self.into_rows(transform)?.0)
    }

    /// As [`Reader::into_dataset`]; also returns the cells with values that no training row had.
    pub(crate) fn into_rows(mut self, transform: &Transform) -> Result<(Dataset, UnknownCells)> {
        self.read_to_end()?;
        let Table { features, labels, values, weights, dictionaries, .. } = std::mem::take(&mut self.table);
        let targets = match self.values {
            0 => labels.into(),
            columns => Targets::Values { columns, values },
        };
        let rows = Dataset { inputs: self.inputs, features, targets, weights };
        transform.rows(rows, &dictionaries)
    }

    /// Refuses the rows so far if the first row of a file may be a header: the table that `transform` was learnt on had
    /// no header, the format does not settle it for this table, and all cells of the row are unknown categories.
    ///
    /// # Errors
    /// [`Error::Undecided`].
    pub fn refuse_header(&self, transform: &Transform) -> Result<()> {
        let Transform::Columns(encoding) = transform else { return Ok(()) };
        if !self.table_form().is_some_and(|form| form.is_header_open) {
            return Ok(());
        }
        for (file, begin) in &self.table.begins {
            let first = begin / self.inputs;
            // The row may have been left out.
            let place = match &self.kept {
                Some(kept) => kept.iter().position(|row| *row as usize == first),
                None => Some(first),
            };
            let Some(place) = place.filter(|place| *place < self.rows()) else { continue };
            let place = place * self.inputs..(place + 1) * self.inputs;
            let FeaturesRef::Floats(row) = self.table.features.scaled(place, Scaling::AsIs) else { continue };
            if encoding.knows_no_text_of(&row, &self.table.dictionaries) {
                let question =
                    "the first row holds no category of the training table, which has no header".to_owned();
                return Err(Error::Undecided { path: file.to_path_buf(), setting: "first row", question });
            }
        }
        Ok(())
    }

    /// Makes missing values an error, in the rows so far and in later rows.
    ///
    /// # Errors
    /// [`Error::Data`] for the first missing value.
    pub fn refuse_missing(&mut self) -> Result<()> {
        self.refuses_missing = true;
        self.check_missing()
    }

    /// Returns the value that the scaling of the images so far subtracts: their background or mean; `None` if they are dark,
    /// and for a table.
    pub fn light_center(&self) -> Option<u8> {
        if self.holds_images() { light_center(&self.table.features) } else { None }
    }

    /// Checks the rows so far for missing values, if they are errors.
    pub(crate) fn check_missing(&self) -> Result<()> {
        match &self.table.missing {
            Some((file, Missing { place, found })) if self.refuses_missing => {
                let path = file.as_deref().unwrap_or(&self.name);
                let expected = "a value (missing values are only filled in for scaled columns)";
                Err(Error::data(path, place.clone(), expected, found))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the values of every column remain distinct after scaling.
    ///
    /// # Errors
    /// [`Error::Data`] for a column so far from 0 that 32-bit floats lose its differences.
    pub fn check_encoding(&self, encoding: &Encoding) -> Result<()> {
        let mut coarse = encoding.coarse().filter(|(column, ..)| self.may_be_rounded(*column));
        coarse.next().map_or(Ok(()), |(column, center, width)| Err(self.coarse(column, center, width)))
    }

    /// As [`Reader::check_encoding`], for [`Scale::Standard`] and the rows so far, without building the encoding.
    ///
    /// # Errors
    /// As [`Reader::check_encoding`].
    pub fn check_standardised(&self) -> Result<()> {
        let categories = self.schema().map_or(&[][..], |schema| &schema.categories);
        let moments = by_column(&self.table.features, self.inputs, self.threads, |column, values| {
            categories.binary_search(&column).is_err().then(|| moments(&values))
        });
        let mut coarse = moments.into_iter().enumerate().filter_map(|(column, moments)| {
            let is_coarse =
                |(mean, deviation): &(f64, f64)| is_coarse(*mean, *deviation) && self.may_be_rounded(column);
            moments.filter(is_coarse).map(|moments| (column, moments))
        });
        coarse.next().map_or(Ok(()), |(column, (center, width))| Err(self.coarse(column, center, width)))
    }

    /// Whether values of a column may have been rounded.
    fn may_be_rounded(&self, column: usize) -> bool {
        match &self.table.features {
            Features::Bytes(_) => false,
            Features::Floats(values) => {
                may_be_rounded(values.iter().skip(column).step_by(self.inputs).copied())
            }
        }
    }

    fn coarse(&self, column: usize, center: f64, width: f64) -> Error {
        let place = place_of(self.schema().and_then(|schema| schema.inputs.get(column)));
        let expected = "values that 32-bit floats can distinguish (subtract an offset, or use --exclude to ignore the column)";
        let found = format!("a center of {center:e} and a width of {width:e}");
        Error::data(&self.name, place, expected, found)
    }

    /// Reads to the end and takes the validation rows and the test rows out of the reader.
    ///
    /// # Errors
    /// As [`Reader::next_block`], and as [`Reader::parts`].
    pub fn divide(&mut self, split: &Split) -> Result<[Dataset; 2]> {
        let parts = self.parts(split)?;
        Ok(self.divide_into(&parts))
    }

    /// Takes the validation rows and the test rows out of the reader, which must be complete.
    pub fn divide_into(&mut self, Parts { train, validation, test }: &Parts) -> [Dataset; 2] {
        self.known_rows = Some(train.len());
        let rows = self.view(Scaling::AsIs);
        let out = [validation, test].map(|part| rows.taken(part));
        // No later rows need these fields.
        let table = &mut self.table;
        (table.numbers, table.groups, table.times) = (Vec::new(), Vec::new(), Vec::new());
        table.keep_rows(self.inputs, self.values, train);
        out
    }

    /// Reads to the end and divides the rows into training, validation and test rows.
    ///
    /// # Errors
    /// As [`Reader::next_block`]; [`Error::Setting`] if a part has no rows.
    pub fn parts(&mut self, split: &Split) -> Result<Parts> {
        self.read_to_end()?;
        let Table { groups, times, labels, .. } = &self.table;
        let one_kind;
        let kinds = match (self.values, &groups[..], &times[..]) {
            (_, [_, ..], _) => Kinds::Groups(groups),
            (_, _, [_, ..]) => Kinds::Times(times),
            (0, ..) => Kinds::Classes(labels),
            _ => {
                // Rows with values to predict form a single stratum.
                one_kind = vec![0; self.rows()];
                Kinds::Classes(&one_kind)
            }
        };
        if let Some(Fold { count, .. }) = split.fold
            && count > kinds.most_folds()
        {
            let what = match kinds {
                Kinds::Groups(_) => "as many as there are groups",
                Kinds::Times(_) => "one less than there are different times",
                Kinds::Classes(_) => "as the rows allow",
            };
            let expected = format!("at most {}, {what}", kinds.most_folds());
            return Err(Error::setting("folds", expected, count.to_string()));
        }
        let copies = self.table_form().map_or(&[][..], |form| &form.copies);
        let parts: Parts = match kinds {
            Kinds::Classes(classes) if !copies.is_empty() => split.divided_by_class(classes, copies),
            kinds => split.divided(kinds),
        }
        .into();
        match kinds {
            Kinds::Groups(_) => check_together(split, &parts, ["group", "groups"], kinds.most_folds())?,
            Kinds::Times(times) => check_together(split, &parts, ["time", "times"], different(times))?,
            Kinds::Classes(_) => {}
        }
        Ok(parts)
    }
}

/// Reduces finite numbers with `choose`, such as `f32::min`; 0 for an empty slice.
fn reduce(values: &[f32], choose: fn(f32, f32) -> f32) -> f32 {
    values.iter().copied().reduce(choose).unwrap_or(0.0)
}

/// Checks that no requested part is empty after a division into `count` whole groups or times.
fn check_together(split: &Split, parts: &Parts, [one, many]: [&str; 2], count: usize) -> Result<()> {
    for (setting, share, rows) in [
        ("validation-fraction", split.validation, parts.validation.len()),
        ("test-fraction", split.test, parts.test.len()),
    ] {
        if share > 0.0 && rows == 0 {
            let expected = format!(
                "a fraction that holds out the rows of at least one {one} and leaves others to train, as {many} are not split (there {})",
                if count == 1 { "is only one".to_owned() } else { format!("are {count}") }
            );
            return Err(Error::setting(setting, expected, share.to_string()));
        }
    }
    Ok(())
}
