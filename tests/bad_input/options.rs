//! Options that are out of range, and places and devices that do not exist.

use crate::check::{refused, train};
use crate::program::Workplace;

#[test]
fn values_out_of_range() {
    let place = Workplace::with_data();
    for (option, values, expected) in [
        ("--epochs", &["0", "-1", "1.5", "many", "99999999999999999999999"][..], "1 or more"),
        ("--batch-size", &["0", "-64", "x", ""], "1 or more"),
        ("--lr", &["0", "-0.1", "nan", "NaN", "inf", "-inf", "1e39", "1e-60"], "a finite number above 0"),
        ("--lr", &["fast", ""], "a number"),
        ("--hidden", &["3,,4", "", ",", "3,", "-3", "3,x", "1.5", "None"][..], "a whole number"),
        ("--hidden", &["0", "3,0"], "1 or more"),
        ("--seed", &["-1", "x", "18446744073709551616"], "a whole number from 0"),
        ("--schedule", &["other", ""], "plain, fused, two-dispatch"),
        ("--format", &["xml"], "text, json"),
        ("--device", &["", " "], "auto, cpu, gpu"),
    ] {
        for value in values {
            refused(&place, &["train", "--data", "data", option, value], &[option, expected]);
        }
    }
}

#[test]
fn values_out_of_range_of_a_profile() {
    let place = Workplace::with_data();
    for (option, value, expected) in [
        ("--steps", "0", "1 or more"),
        ("--steps", "-5", "1 or more"),
        ("--lr", "0", "a finite number above 0"),
        ("--format", "xml", "text, json"),
    ] {
        refused(&place, &["profile", "--data", "data", option, value], &[option, expected]);
    }
    place.write("file", "kept");
    for (path, part) in [("data", "directory"), ("file/below", "cannot write file")] {
        refused(&place, &["profile", "--data", "data", "--trace", path], &[part]);
        refused(&place, &[&train("data")[..], &["--profile", path]].concat(), &[part]);
    }
    let images = "data/train-images-idx3-ubyte";
    refused(&place, &["profile", "--data", "data", "--trace", images], &["--trace", "holds the data"]);
    refused(&place, &[&train("data")[..], &["--profile", images]].concat(), &["--profile", "holds the data"]);
    for same in ["m", "./m"] {
        let both = [&train("data")[..], &["--out", "m", "--profile", same]].concat();
        refused(&place, &both, &["--profile:", "m is a file of the run; choose another name"]);
    }
    let both = ["profile", "--data", "data", "--plots", "d", "--trace", "d/./timeline.svg"];
    refused(&place, &both, &["--trace: ", "is a file that --plots writes"]);
    refused(&place, &["profile", "--data", "data", "--plots", "file"], &["cannot write file"]);
    for other in ["--trace", "--plots"] {
        refused(&place, &["profile", "--data", "data", "--compare", other, "d"], &["--compare", other]);
    }
    refused(&place, &["profile", "--data", "data", "--device", "999"], &["index 999"]);
    refused(&place, &["profile", "--data", "nowhere"], &["nowhere"]);
}

#[test]
fn usage_errors_are_one_line_with_a_hint() {
    let place = Workplace::with_data();
    for (arguments, part) in [
        (&["train", "--frobnicate"][..], "--frobnicate"),
        (&["train", "--epoch", "3"], "--epoch"),
        (&["train", "file"], "file"),
        (&["train", "--epochs"], "--epochs"),
        (&["train", "--epochs", "1", "--epochs", "2"], "--epochs"),
        (&["train", "--quiet", "--verbose"], "--quiet"),
        (&["eval"], "--model"),
        (&["profile", "--epochs", "3"], "--epochs"),
        (&["profile", "--steps"], "--steps"),
        (&["eval", "--model", "m", "--epochs", "3"], "--epochs"),
        (&["devices", "--device", "cpu"], "--device"),
        (&["fly"], "fly"),
        (&["fly\nhigh"], "fly"),
    ] {
        refused(&place, arguments, &[part, "--help"]);
    }
}

#[test]
fn a_mistyped_name_gets_a_suggestion() {
    let place = Workplace::with_data();
    for (arguments, message) in [
        (
            &["train", "--epoch", "3"][..],
            "error: unexpected argument '--epoch' found; a similar argument exists: '--epochs'; see --help\n",
        ),
        (
            &["train", "spam.csv"],
            "error: unexpected argument 'spam.csv' found; to read a file, use --data spam.csv; see --help\n",
        ),
        (&["devices", "spam.csv"], "error: unexpected argument 'spam.csv' found; see --help\n"),
        (
            &["trian"],
            "error: unrecognized subcommand 'trian'; a similar subcommand exists: 'train'; see --help\n",
        ),
    ] {
        let outcome = place.run(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (2, "", message));
    }
}

#[test]
fn networks_that_no_memory_holds() {
    let place = Workplace::with_data();
    for sizes in ["1000000000000000", "18446744073709551615", "9999999999,9999999999"] {
        refused(&place, &[&train("data")[..], &["--hidden", sizes]].concat(), &["memory", "available"]);
    }
}

/// A network that exceeds a software adapter's buffers but not the machine's memory: 400 MB of parameters.
#[cfg(target_os = "linux")]
#[test]
fn a_network_that_no_buffer_holds_is_refused_before_it_is_made() {
    use std::process::Stdio;
    let place = Workplace::with_data();
    for adapter in place.adapters("vulkan").into_iter().filter(|adapter| adapter["type"] == "software") {
        let index = adapter["index"].to_string();
        let arguments = ["train", "--data", "data", "--device", &index, "--hidden", "1500000"];
        let mut child =
            place.command(&arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            peak = peak.max(kilobytes.unwrap_or(0));
        }
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("takes buffers of up to") && error.contains("parameters needs"), "{error}");
        assert!((1..300_000).contains(&peak), "{peak} kB");
    }
}

#[test]
fn places_where_no_file_can_be() {
    let place = Workplace::with_data();
    place.write("file", "kept");
    let out = |path| [&train("data")[..], &["--out", path]].concat();
    refused(&place, &out("data"), &["--out: data holds other files; choose a new or empty folder"]);
    refused(&place, &out("file/below"), &["cannot write file"]);
    refused(&place, &out("new.safetensors/"), &["cannot write new.safetensors/"]);
    refused(&place, &out(""), &["--out"]);
    #[cfg(unix)]
    refused(&place, &out("/dev/null"), &["cannot write /dev/null"]);
    #[cfg(target_os = "linux")]
    refused(&place, &out("/proc/x"), &["cannot write /proc/x"]);
    // A file in place of the folder of all runs.
    place.write("runs", "in the way");
    refused(&place, &train("data"), &["cannot write runs"]);
}

#[test]
fn devices_that_are_not_there() {
    let place = Workplace::with_data();
    place.train(&["--data", "data", "--epochs", "1", "--out", "m.safetensors", "--device", "cpu"]);
    let mut devices = vec![("no such card", "no such card"), ("999", "index 999"), ("-1", "-1")];
    if cfg!(target_os = "linux") {
        devices.extend([("dx12", "no dx12 adapter"), ("metal", "no metal adapter")]);
    }
    for (device, part) in devices {
        refused(&place, &["train", "--data", "data", "--device", device], &[part, "--device cpu"]);
        refused(
            &place,
            &["eval", "--model", "m.safetensors", "--data", "data", "--device", device],
            &[part, "--device cpu"],
        );
    }
}
