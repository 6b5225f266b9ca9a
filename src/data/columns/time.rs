//! When rows are of.

use crate::data::dialect::notation::Notation;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// A finite number, as the table writes numbers, or the seconds from 1970 to a date, `2026-11-22` or `2026/11/22`, or to a time of it: behind a blank or T hours,
/// minutes and perhaps seconds, then perhaps an offset from UTC, without which a time is of UTC.
pub(crate) fn time(cell: &[u8], numbers: Notation) -> Option<f64> {
    let text = str::from_utf8(cell.trim_ascii()).ok()?;
    if let Ok(number) = numbers.plain(text).parse::<f64>() {
        return Some(number).filter(|number| number.is_finite());
    }
    moment(text)
}

/// The seconds from 1970 to a date or a time of it.
fn moment(text: &str) -> Option<f64> {
    if let Some((days, time)) = named_day(text) {
        let time = time.trim_start_matches([',', ' ', 'T']);
        return Some(days as f64 * DAY + if time.is_empty() { 0.0 } else { seconds(time)? });
    }
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, seconds(time.trim_ascii_start())?),
        None => (text, 0.0),
    };
    Some(days(date)? as f64 * DAY + time)
}

/// The names of the months.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The days from 1970 to a date with the name of its month, in English: `Apr 01, 2020`, `1 April 2020` or `01-Apr-2020`; and what
/// follows.
fn named_day(text: &str) -> Option<(i64, &str)> {
    // Most dates begin with the digits of a year.
    if text.bytes().take(4).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (mut parts, mut rest) = ([""; 3], text);
    for (index, part) in parts.iter_mut().enumerate() {
        let marks: &[char] = if index == 0 { &[] } else { &[' ', ',', '-', '/', '.'] };
        rest = rest.trim_start_matches(marks);
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        (*part, rest) = rest.split_at(end);
    }
    let [first, second, year] = parts;
    let (month, day) = month(first).map(|month| (month, second)).or_else(|| Some((month(second)?, first)))?;
    let days = days_to(number(year, [4, 4], 9999)?, month, number(day, [1, 2], 31)?)?;
    Some((days, rest))
}

/// The number of a month by its name, or by its first three letters or more.
fn month(name: &str) -> Option<i64> {
    let name = name.to_ascii_lowercase();
    let place = MONTHS.iter().position(|month| name.len() > 2 && month.starts_with(&name))?;
    Some(place as i64 + 1)
}

/// Whether a cell is a date of zeros alone, as databases write missing ones.
pub(crate) fn is_zero_date(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    (cell.starts_with(b"0000-00-00") || cell.starts_with(b"0000/00/00"))
        && cell.iter().all(|byte| b"0-/:.TZ ".contains(byte))
}

/// What a date is as numbers: the days since 1970, the month from 1, the day of the week, of which Monday is 0, and the hour with
/// its fraction, all in UTC.
pub(crate) const PARTS: [&str; 4] = ["days", "month", "weekday", "hour"];

/// The parts of a date in a cell; the hour is 0 where there is none.
pub(crate) fn date(cell: &[u8]) -> Option<[f32; PARTS.len()]> {
    moment(str::from_utf8(cell.trim_ascii()).ok()?).map(parts_of)
}

/// The parts of a time in seconds from 1970; NaN has none but NaN.
pub(crate) fn parts_of(seconds: f64) -> [f32; PARTS.len()] {
    if seconds.is_nan() {
        return [f32::NAN; PARTS.len()];
    }
    let days = seconds.div_euclid(DAY) as i64;
    // Eras of 400 years begin in March of a year that 400 divides.
    let day = (days + 719_468).rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let month = (5 * (day - (365 * year + year / 4 - year / 100)) + 2) / 153;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let hour = seconds.rem_euclid(DAY) / 3600.0;
    [days as f32, month as f32, (days + 3).rem_euclid(7) as f32, hour as f32]
}

/// A number with a number of digits in this range, at most `greatest`.
fn number(text: &str, digits: [usize; 2], greatest: i64) -> Option<i64> {
    let is_number =
        (digits[0]..=digits[1]).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= greatest)
}

/// The days from 1970 to a date.
fn days(text: &str) -> Option<i64> {
    let (delimiter, least) = if text.contains('/') { ('/', 1) } else { ('-', 2) };
    let mut parts = text.split(delimiter);
    let year = number(parts.next()?, [4, 4], 9999)?;
    let month = number(parts.next()?, [least, 2], 12)?;
    let day = number(parts.next()?, [least, 2], 31)?;
    if parts.next().is_some() { None } else { days_to(year, month, day) }
}

/// The days from 1970 to the day of a month.
fn days_to(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if month == 0 || !(1..=most).contains(&day) {
        return None;
    }
    // Years begin in March, so that the day of a leap year is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(before + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

/// The seconds from the beginning of a day of UTC to a time of it; an offset may lead out of the day.
fn seconds(text: &str) -> Option<f64> {
    let (time, offset) = match text.find(['Z', '+', '-']) {
        Some(at) => (text[..at].trim_ascii_end(), offset(&text[at..])?),
        None => (text, 0),
    };
    let mut parts = time.split(':');
    let hours = number(parts.next()?, [1, 2], 23)?;
    let minutes = number(parts.next()?, [2, 2], 59)?;
    let seconds = match parts.next() {
        Some(text) => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            number(fraction, [1, 9], i64::MAX)?;
            // A leap second is the last of its minute.
            number(whole, [2, 2], 60)?.min(59) as f64 + format!("0.{fraction}").parse::<f64>().ok()?
        }
        None => 0.0,
    };
    parts.next().is_none().then_some((hours * 3600 + minutes * 60 - offset) as f64 + seconds)
}

/// The seconds by which a place is ahead of UTC: `Z`, `+02:00`, `+0200` or `+02`.
fn offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, text) = text.split_at_checked(1)?;
    let (hours, minutes) = match text.split_once(':') {
        Some(parts) => parts,
        None => text.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() && text.len() == 2 { 0 } else { number(minutes, [2, 2], 59)? };
    let seconds = number(hours, [2, 2], 23)? * 3600 + minutes * 60;
    Some(if sign == "-" { -seconds } else { seconds })
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
            "2020-1-1",
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
            "2020-01-01 10:00+24:00",
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
        // Each month of years that are leap years, and of some that are none.
        for year in [1600, 1900, 1970, 2000, 2023, 2024, 2100] {
            for month in 1..=12 {
                let found = date(format!("{year}-{month:02}-28").as_bytes()).unwrap();
                assert_eq!(found[1], month as f32, "{year}");
            }
        }
    }

    #[test]
    fn days_follow_one_another() {
        let mut expected = -719_162;
        for year in 1..=2400 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(found) = days(&format!("{year:04}-{month:02}-{day:02}")) {
                        assert_eq!(found, expected, "{year}-{month}-{day}");
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, 157_420);
    }
}
