//! Arrow columns, exported by pandas, polars and pyarrow, read without conversion in Python.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::temporal_conversions::timestamp_us_to_datetime;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTemporalType, ArrowTimestampType, Date32Type, Date64Type, Decimal32Type,
    Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::mem::take;
use tinytrain::trainer::{Cells, Table, TableBuilder, TextNotes};

use crate::errors::exception;
use crate::remote::Remote;
use crate::table::PIECE;

/// Differences below this are lost in 32-bit floats.
const SMALL: f64 = 1e-36;

/// Columns with properties other than their types, by name.
pub(crate) struct Known {
    /// Columns of categories, whatever they contain.
    pub categorical: Vec<String>,
    /// Columns whose texts are compared byte for byte; `None` for a training table, in which all typed
    /// categories are.
    pub exact: Option<Vec<String>>,
    /// Time zones of columns whose times were converted to local times.
    pub zones: Vec<(String, String)>,
}

/// Returns the columns of a table with these names, or the whole table. For training tables, detects the
/// types of text columns, with notes for the user.
pub(crate) fn table(
    frame: &Bound<'_, PyAny>,
    wanted: Option<&[String]>,
    known: Known,
) -> PyResult<(Table, TextNotes)> {
    let Known { categorical, exact, zones } = known;
    let trains = exact.is_none();
    let reader = stream(frame)?;
    let schema = reader.schema();
    let names: Vec<String> = match wanted {
        Some(wanted) => wanted.to_vec(),
        None => schema.fields().iter().map(|field| field.name().clone()).collect(),
    };
    let places = names
        .iter()
        .map(|name| schema.index_of(name).map_err(|_| PyValueError::new_err(format!("no column {name}"))));
    let places = places.collect::<PyResult<Vec<usize>>>()?;
    let batches = reader
        .collect::<Result<Vec<RecordBatch>, _>>()
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let of_name = |name: &String| Column {
        is_categorical: categorical.contains(name),
        may_be_exact: exact.as_ref().is_none_or(|exact| exact.contains(name)),
        ..Column::default()
    };
    let mut columns: Vec<Column> = names.iter().map(of_name).collect();
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let mut builder = TableBuilder::new(names.clone(), count);
    let most = (PIECE / names.len().max(1)).max(1);
    for batch in &batches {
        for from in (0..batch.num_rows()).step_by(most) {
            let piece = batch.slice(from, most.min(batch.num_rows() - from));
            let cells = columns.iter_mut().zip(&names).zip(&places).map(|((column, name), place)| {
                column.cells(piece.column(*place)).map_err(|found| {
                    PyTypeError::new_err(format!("column {name}: expected numbers, booleans, text, categories, dates or times, found {found}"))
                })
            });
            builder.add(cells.collect::<PyResult<Vec<Cells>>>()?).map_err(exception)?;
            frame.py().check_signals()?;
        }
    }
    if let Some(place) = columns.iter().position(|column| trains && column.is_too_small()) {
        let (column, name, number) = (&columns[place], &names[place], place + 1);
        let (least, greatest) = column.range.unwrap_or_default();
        return Err(PyValueError::new_err(format!(
            "X, column {number} ({name}): expected values that 32-bit floats can distinguish (multiply them by a factor), found values from {least:e} to {greatest:e}"
        )));
    }
    let is_understood = |column: &Column| trains && column.is_text && !column.is_categorical;
    let texts: Vec<usize> = (0..columns.len()).filter(|at| is_understood(&columns[*at])).collect();
    drop(columns);
    let is_long = count * names.len() >= PIECE;
    let work = move |builder: &mut TableBuilder| {
        let mut table = take(builder).finish().with_zones(&zones);
        table.understand_texts(&texts).map(|notes| (table, notes))
    };
    Remote::new(builder, is_long)?.call(frame.py(), work)?.map_err(exception)
}

/// Returns the batches of an object that has `__arrow_c_stream__`.
fn stream(frame: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = frame.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name contains a stream, which is moved out: the remaining one is marked as
    // released.
    let reader =
        unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    reader.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A column while its pieces are added.
#[derive(Default)]
struct Column {
    numbers: Vec<f32>,
    times: Vec<f64>,
    rows: Vec<Option<u32>>,
    /// Texts of this piece that no earlier piece has.
    texts: Vec<String>,
    /// Indices of all texts.
    known: HashMap<String, u32>,
    nulls: usize,
    /// Minimum and maximum of the numbers.
    range: Option<(f64, f64)>,
    /// 0 and 1; NaN for missing values.
    booleans: Vec<f32>,
    /// Whether text categories are compared byte for byte.
    may_be_exact: bool,
    /// Whether the texts are compared byte for byte.
    is_exact: bool,
    /// Whether the numbers are categories.
    is_categorical: bool,
    /// Whether the type is text, instead of a type of categories.
    is_text: bool,
}

impl Column {
    /// Returns whether differences between the numbers are too small for 32-bit floats.
    fn is_too_small(&self) -> bool {
        let spread = self.range.map_or(0.0, |(least, greatest)| greatest - least);
        !self.is_categorical && spread > 0.0 && spread < SMALL
    }

    /// Adds an array; the error names a type that tables do not support.
    fn append(&mut self, array: &dyn Array) -> Result<(), String> {
        macro_rules! numbers {
            ($($kind:pat => $type:ty),+) => {
                match array.data_type() {
                    $($kind if self.is_categorical => {
                        // 32-bit floats cannot represent all 64-bit numbers.
                        let text = |value: <$type as ArrowPrimitiveType>::Native| {
                            // Both zeros are equal.
                            let text = (value + <$type as ArrowPrimitiveType>::Native::default()).to_string();
                            (text != "NaN").then_some(text)
                        };
                        self.add_texts(array.as_primitive::<$type>().iter().map(|value| value.and_then(text)));
                        return Ok(());
                    })+
                    $($kind => return { self.add_numbers::<$type>(array, |value| value as f32); Ok(()) },)+
                    _ => {}
                }
            };
        }
        match array.data_type() {
            DataType::Float32 => {
                self.measure(array.as_primitive::<Float32Type>().iter().flatten().map(f64::from))
            }
            DataType::Float64 => self.measure(array.as_primitive::<Float64Type>().iter().flatten()),
            _ => {}
        }
        numbers!(
            DataType::Int8 => Int8Type, DataType::Int16 => Int16Type, DataType::Int32 => Int32Type, DataType::Int64 => Int64Type,
            DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type, DataType::Float32 => Float32Type, DataType::Float64 => Float64Type
        );
        const DAY: f64 = 86_400.0;
        match array.data_type() {
            DataType::Null => self.nulls += array.len(),
            DataType::Float16 => self.add_numbers::<Float16Type>(array, f32::from),
            DataType::Date32 => self.add_times::<Date32Type>(array, |days| f64::from(days) * DAY),
            DataType::Date64 => self.add_times::<Date64Type>(array, |value| value as f64 / 1e3),
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => self.add_timestamps::<TimestampSecondType>(array, 1.0),
                TimeUnit::Millisecond => self.add_timestamps::<TimestampMillisecondType>(array, 1e3),
                TimeUnit::Microsecond => self.add_timestamps::<TimestampMicrosecondType>(array, 1e6),
                TimeUnit::Nanosecond => self.add_timestamps::<TimestampNanosecondType>(array, 1e9),
            },
            DataType::Duration(unit) => match unit {
                TimeUnit::Second => self.add_durations::<DurationSecondType>(array, 1.0),
                TimeUnit::Millisecond => self.add_durations::<DurationMillisecondType>(array, 1e3),
                TimeUnit::Microsecond => self.add_durations::<DurationMicrosecondType>(array, 1e6),
                TimeUnit::Nanosecond => self.add_durations::<DurationNanosecondType>(array, 1e9),
            },
            DataType::Decimal32(digits, scale) => self.add_decimals::<Decimal32Type>(array, *digits, *scale),
            DataType::Decimal64(digits, scale) => self.add_decimals::<Decimal64Type>(array, *digits, *scale),
            DataType::Decimal128(digits, scale) => {
                self.add_decimals::<Decimal128Type>(array, *digits, *scale)
            }
            DataType::Decimal256(digits, scale) => {
                self.add_decimals::<Decimal256Type>(array, *digits, *scale)
            }
            DataType::Time32(TimeUnit::Second) => self.add_hours::<Time32SecondType>(array),
            DataType::Time32(_) => self.add_hours::<Time32MillisecondType>(array),
            DataType::Time64(TimeUnit::Microsecond) => self.add_hours::<Time64MicrosecondType>(array),
            DataType::Time64(_) => self.add_hours::<Time64NanosecondType>(array),
            DataType::Boolean => {
                let number = |value: Option<bool>| value.map_or(f32::NAN, |value| f32::from(u8::from(value)));
                self.booleans.extend(array.as_boolean().iter().map(number));
            }
            DataType::Utf8 => self.add_text(array.as_string::<i32>().iter()),
            DataType::LargeUtf8 => self.add_text(array.as_string::<i64>().iter()),
            DataType::Utf8View => self.add_text(array.as_string_view().iter()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let mut values =
                    Self { is_categorical: true, may_be_exact: self.may_be_exact, ..Self::default() };
                values.append(dictionary.values())?;
                let keys = if array.null_count() == array.len() {
                    vec![0; array.len()]
                } else {
                    dictionary.normalized_keys()
                };
                let key = |row: usize| (!array.is_null(row)).then(|| keys[row]);
                let keys = (0..array.len()).map(key);
                if *dictionary.values().data_type() == DataType::Boolean {
                    self.booleans.extend(keys.map(|key| key.map_or(f32::NAN, |key| values.booleans[key])));
                } else {
                    self.is_exact |= values.is_exact;
                    let texts: Vec<Option<String>> = values.into_texts();
                    self.add_texts(keys.map(|key| texts[key?].as_deref()));
                }
            }
            other => return Err(other.to_string()),
        }
        Ok(())
    }

    /// Updates the minimum and maximum.
    fn measure(&mut self, numbers: impl Iterator<Item = f64>) {
        let range = self.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        // NaN is ignored.
        self.range =
            Some(numbers.fold(range, |(least, greatest), value| (least.min(value), greatest.max(value))));
    }

    /// Returns the text of each row, also for numbers and dates.
    fn into_texts(self) -> Vec<Option<String>> {
        let numbers = self.numbers.iter().map(|value| (!value.is_nan()).then(|| value.to_string()));
        let texts = self.rows.iter().map(|text| text.map(|at| self.texts[at as usize].clone()));
        let times = self.times.iter().map(|seconds| {
            let time =
                timestamp_us_to_datetime((!seconds.is_nan()).then_some((seconds * 1e6).round() as i64)?)?;
            let text = time.to_string();
            Some(text.strip_suffix(" 00:00:00").unwrap_or(&text).to_owned())
        });
        numbers.chain(texts).chain(times).chain((0..self.nulls).map(|_| None)).collect()
    }

    fn add_numbers<T: ArrowPrimitiveType>(&mut self, array: &dyn Array, number: impl Fn(T::Native) -> f32) {
        self.numbers.extend(array.as_primitive::<T>().iter().map(|value| value.map_or(f32::NAN, &number)));
    }

    fn add_durations<T: ArrowPrimitiveType<Native = i64>>(&mut self, array: &dyn Array, second: f64) {
        if self.is_categorical {
            let seconds =
                array.as_primitive::<T>().iter().map(|value| value.map(|value| value as f64 / second));
            return self.add_texts(seconds.map(|seconds| seconds.map(|seconds| seconds.to_string())));
        }
        self.add_numbers::<T>(array, |value| (value as f64 / second) as f32);
    }

    /// Adds decimals, as their texts in a file.
    fn add_decimals<T: DecimalType>(&mut self, array: &dyn Array, digits: u8, scale: i8) {
        let texts = array.as_primitive::<T>().iter();
        let texts = texts.map(|value| value.map(|value| T::format_decimal(value, digits, scale)));
        if self.is_categorical {
            return self.add_texts(texts);
        }
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok()).unwrap_or(f32::NAN);
        self.numbers.extend(texts.map(number));
    }

    /// Adds times of day, which are text in a file.
    fn add_hours<T: ArrowTemporalType>(&mut self, array: &dyn Array)
    where
        i64: From<T::Native>,
    {
        let times = array.as_primitive::<T>();
        let text = |row| times.is_valid(row).then(|| times.value_as_time(row)).flatten();
        self.is_text = true;
        self.add_texts((0..times.len()).map(|row| text(row).map(|time| time.to_string())));
    }

    fn add_times<T: ArrowPrimitiveType>(&mut self, array: &dyn Array, seconds: impl Fn(T::Native) -> f64) {
        self.times.extend(array.as_primitive::<T>().iter().map(|value| value.map_or(f64::NAN, &seconds)));
    }

    fn add_timestamps<T: ArrowTimestampType>(&mut self, array: &dyn Array, second: f64) {
        self.add_times::<T>(array, |value| value as f64 / second);
    }

    fn add_text<'a>(&mut self, texts: impl Iterator<Item = Option<&'a str>>) {
        self.is_text = true;
        self.is_exact = self.is_categorical && self.may_be_exact;
        self.add_texts(texts);
    }

    fn add_texts(&mut self, texts: impl Iterator<Item = Option<impl AsRef<str>>>) {
        for text in texts {
            let number = text.map(|text| match self.known.get(text.as_ref()) {
                Some(number) => *number,
                None => {
                    let (number, text) = (self.known.len() as u32, text.as_ref());
                    self.known.insert(text.to_owned(), number);
                    self.texts.push(text.to_owned());
                    number
                }
            });
            self.rows.push(number);
        }
    }

    /// Returns the cells of the next piece.
    fn cells(&mut self, piece: &dyn Array) -> Result<Cells, String> {
        self.append(piece)?;
        Ok(if !self.rows.is_empty() {
            let (rows, texts) = (take(&mut self.rows), take(&mut self.texts));
            if self.is_exact { Cells::ExactTexts { rows, texts } } else { Cells::Texts { rows, texts } }
        } else if !self.booleans.is_empty() {
            Cells::Booleans(take(&mut self.booleans))
        } else if !self.times.is_empty() {
            Cells::Times(take(&mut self.times))
        } else {
            self.numbers.resize(self.numbers.len() + take(&mut self.nulls), f32::NAN);
            let numbers = take(&mut self.numbers);
            if self.is_categorical { Cells::Categories(numbers) } else { Cells::Numbers(numbers) }
        })
    }
}
