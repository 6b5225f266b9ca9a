//! Dates and times of rows.

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::fmt::temporal::Pieces;

use crate::data::dialect::notation::Notation;

/// Seconds per day.
const DAY: f64 = 86_400.0;
const EPOCH: Date = Date::constant(1970, 1, 1);

/// Formats of dates that begin with the year.
const YEAR_FIRST: [&str; 2] = ["%Y-%m-%d", "%Y/%m/%d"];

/// Formats of dates with the English name of the month.
const NAMED: [&str; 8] =
    ["%b %d, %Y", "%b %d %Y", "%d %b %Y", "%d-%b-%Y", "%B %d, %Y", "%B %d %Y", "%d %B %Y", "%d-%B-%Y"];

/// Parses a finite number in the table's notation, or a date such as `2026-11-22`, `2026/11/22` or `22 Nov 2026`, as
/// seconds since 1970. A time may follow after a blank, a comma or T: hours, minutes, seconds and an offset from UTC.
/// Times without an offset are in UTC.
pub(crate) fn time(cell: &[u8], numbers: Notation) -> Option<f64> {
    let text = str::from_utf8(cell.trim_ascii()).ok()?;
    if let Ok(number) = numbers.plain(text).parse::<f64>() {
        return Some(number).filter(|number| number.is_finite());
    }
    moment(text)
}

/// Parses a date or a time as seconds since 1970.
fn moment(text: &str) -> Option<f64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let formats: &[&str] = match digits {
        4 => &YEAR_FIRST,
        // Most text has no digits.
        _ if text.bytes().any(|byte| byte.is_ascii_digit()) => &NAMED,
        _ => return None,
    };
    let parsed = |format: &&str| BrokenDownTime::parse_prefix(format, text).ok();
    let Some((date, end)) = formats.iter().find_map(parsed) else {
        // English has two abbreviations of this month.
        return text.contains("Sept").then(|| moment(&text.replacen("Sept", "Sep", 1)))?;
    };
    // A code such as 2020-1-1 is no date; jiff also takes blanks before digits.
    let is_exact = || {
        let date = &text[..end];
        (date.len() == 10 || date.contains('/'))
            && date.bytes().all(|byte| byte.is_ascii_digit() || b"-/".contains(&byte))
    };
    if digits == 4 && !is_exact() {
        return None;
    }
    // A year has four digits.
    let date = date.to_date().ok().filter(|date| digits == 4 || date.year() >= 1000)?;
    let days = date.duration_since(EPOCH).as_secs_f64();
    match &text[end..] {
        "" => Some(days),
        time => Some(days + seconds(time.trim_start_matches(',').strip_prefix([' ', 'T'])?.trim_ascii())?),
    }
}

/// Parses a time as seconds since midnight in UTC; an offset may lead to another day.
fn seconds(text: &str) -> Option<f64> {
    let hour = text.find(':').filter(|hour| *hour <= 2)?;
    // An hour of one digit needs a leading zero, and an offset may follow a blank.
    let text = format!("1970-01-01T{:0>2}{}", &text[..hour], text[hour..].replace(' ', ""));
    let pieces = Pieces::parse(&text).ok().filter(|pieces| pieces.time_zone_annotation().is_none())?;
    let time = EPOCH.to_datetime(pieces.time()?).duration_since(EPOCH.at(0, 0, 0, 0));
    let offset = pieces.to_numeric_offset().map_or(0.0, |offset| f64::from(offset.seconds()));
    (offset.abs() < DAY).then(|| time.as_secs_f64() - offset)
}

/// Whether a cell is a date of only zeros, which databases write for missing dates.
pub(crate) fn is_zero_date(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    (cell.starts_with(b"0000-00-00") || cell.starts_with(b"0000/00/00"))
        && cell.iter().all(|byte| b"0-/:.TZ ".contains(byte))
}

/// Names of the parts of a date: days since 1970, the month from 1, the day of the week from Monday, which is 0, and
/// the hour with its fraction, all in UTC.
pub(crate) const PARTS: [&str; 4] = ["days", "month", "weekday", "hour"];

/// The parts of a date in a cell; the hour is 0 if there is no time.
pub(crate) fn date(cell: &[u8]) -> Option<[f32; PARTS.len()]> {
    moment(str::from_utf8(cell.trim_ascii()).ok()?).and_then(parts_of)
}

/// The parts of a time in seconds since 1970; NaN for NaN, and `None` outside the years -9999 to 9999.
pub(crate) fn parts_of(seconds: f64) -> Option<[f32; PARTS.len()]> {
    if seconds.is_nan() {
        return Some([f32::NAN; PARTS.len()]);
    }
    let (days, hour) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY) / 3600.0);
    let date = EPOCH.checked_add(SignedDuration::try_from_secs_f64(days * DAY).ok()?).ok()?;
    let weekday = date.weekday().to_monday_zero_offset();
    Some([days as f32, f32::from(date.month()), f32::from(weekday), hour as f32])
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: Notation = Notation { point: b'.', grouped: false };

    #[test]
    fn times_are_numbers_or_dates() {
        for (cell, expected) in [
            ("2019", 2019.0),
            (" -1.5e3 ", -1500.0),
            ("1970-01-02", 86_400.0),
            ("Jan 02, 1970", 86_400.0),
            ("2 January 1970", 86_400.0),
            ("02-Jan-1970 00:00:01", 86_401.0),
            ("jan 2 1970, 0:01", 86_460.0),
            ("Sept 1, 1970", 243.0 * 86_400.0),
            ("1970/01/02", 86_400.0),
            ("1970/1/2", 86_400.0),
            ("1969-12-31", -86_400.0),
            ("0001-01-01", -62_135_596_800.0),
            ("9999-12-31 23:59:59", 253_402_300_799.0),
            ("2000-02-29", 951_782_400.0),
            ("2000-03-01 00:00:01", 951_868_801.0),
            ("2000/03/01 0:00", 951_868_800.0),
            ("2000-03-01T00:00:01Z", 951_868_801.0),
            ("2000-03-01T00:00:01.25Z", 951_868_801.25),
            ("2000-03-01 00:00 Z", 951_868_800.0),
            ("2000-03-01T02:00:01+02:00", 951_868_801.0),
            ("2000-03-01 02:00:01.25+0200", 951_868_801.25),
            ("2000-02-29T21:30-02:30", 951_868_800.0),
            ("2000-03-01T02:00+02", 951_868_800.0),
            ("2016-12-31T23:59:60Z", 1_483_228_799.0),
        ] {
            assert_eq!(time(cell.as_bytes(), POINT), Some(expected), "{cell}");
        }
        for (cell, expected) in [("2.650", 2650.0), ("281,5", 281.5), ("1970-01-01 00:00:00.5", 0.5)] {
            assert_eq!(
                time(cell.as_bytes(), Notation { point: b',', grouped: true }),
                Some(expected),
                "{cell}"
            );
        }
        for cell in [
            "",
            "soon",
            "Ja 2, 1970",
            "Feb 30, 1970",
            "Mayor 1, 1970",
            "2 1970 Jan",
            "Jan 2, 70",
            "0000-00-00",
            "inf",
            "NaN",
            "01.02.2020",
            "2020-13-01",
            "2020-00-01",
            "2020/13/1",
            "1/2/2020",
            "2020-01/02",
            "2019-02-29",
            "1900-02-29",
            "2020-04-31",
            "2020-01-00",
            "2020-01-01-01",
            "2020-01-01 ",
            "2020-01-01T",
            "2020-01-01 10",
            "2020-01-01 24:00",
            "2020-01-01 10:60",
            "2020-01-01 10:5",
            "2020-01-01 10:00:61",
            "2020-01-01 10:00:00.",
            "2020-01-01 10:00:00.x",
            "2020-01-01 10:00:00:00",
            "2020-01-01 10:00+",
            "2020-01-01 10:00+2",
            "2020-01-01 10:00+2:00",
            "2020-1-1",
            "2020-01- 1",
            "2020/ 1/ 2",
            "2020/+1/2",
            "2020/001/2",
            "2020-01-01 10:00+24:00",
            "2020-01-01 10+02:00",
            "2020-01-01 10:00[Europe/Berlin]",
            "10000-01-01",
            "2020-01-01 10:00+02:60",
            "2020-01-01 10:00+02:",
            "2020-01-01 10:00é",
            "2020-01-01 10:00+é",
            "+020-01-01",
            "2020-01-01 +1:00",
        ] {
            let expected = (cell == "2020-01-01 ").then_some(1_577_836_800.0);
            assert_eq!(time(cell.as_bytes(), POINT), expected, "{cell}");
        }
    }

    #[test]
    fn dates_have_parts() {
        for (cell, parts) in [
            ("1970-01-01", [0.0, 1.0, 3.0, 0.0]),
            (" 2024/2/29 ", [19_782.0, 2.0, 3.0, 0.0]),
            ("2024-03-01T12:30", [19_783.0, 3.0, 4.0, 12.5]),
            ("1969-12-31T23:00-02:00", [0.0, 1.0, 3.0, 1.0]),
            ("1969-12-31 18:00:00", [-1.0, 12.0, 2.0, 18.0]),
        ] {
            assert_eq!(date(cell.as_bytes()), Some(parts), "{cell}");
        }
        assert_eq!([date(b"2024"), date(b"2024-02-30"), date(b"")], [None; 3]);
        // Each month of leap years and of other years.
        for year in [1600, 1900, 1970, 2000, 2023, 2024, 2100] {
            for month in 1..=12 {
                let found = date(format!("{year}-{month:02}-28").as_bytes()).unwrap();
                assert_eq!(found[1], month as f32, "{year}");
            }
        }
    }
}
