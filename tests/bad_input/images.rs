//! IDX files.

use crate::check::{refused, stopped, train};
use crate::program::{Rows, Workplace, gzip, idx};

const IMAGES: &str = "train-images-idx3-ubyte";
const LABELS: &str = "train-labels-idx1-ubyte";

/// Trains on a folder with these files.
#[track_caller]
fn unreadable(images: impl AsRef<[u8]>, labels: impl AsRef<[u8]>, parts: &[&str]) {
    let place = Workplace::new();
    place.write(&format!("d/{IMAGES}"), images);
    place.write(&format!("d/{LABELS}"), labels);
    // Files with complete headers are read while the network is created, so notices may precede the error.
    stopped(&place, &train("d"), 2, parts);
    refused(&place, &[&train("d")[..], &["--out", "new/m", "--quiet"]].concat(), parts);
}

#[test]
fn paths_that_are_not_there() {
    let place = Workplace::new();
    place.write("empty/nothing", "");
    place.write(&format!("half/{IMAGES}"), Rows::new(10, 1).images());
    for (path, parts) in [
        ("missing", ["cannot read missing", "No such file"]),
        ("empty", ["empty: expected the IDX files", "none of them"]),
        ("half", ["half: expected train-labels", "no such file"]),
        ("half/train-images-idx3-ubyte", ["expected its labels", "no such file"]),
    ] {
        let parts: Vec<&str> =
            parts.into_iter().filter(|part| cfg!(unix) || !part.contains("No such")).collect();
        refused(&place, &train(path), &parts);
    }
    let place = Workplace::new();
    place.write_idx("only/t10k", &Rows::new(10, 1));
    refused(&place, &train("only"), &["only: expected training files"]);
    place.write_idx("train_only/train", &Rows::new(10, 1));
    refused(
        &place,
        &[&train("train_only")[..], &["--test", "train_only"]].concat(),
        &["expected test files"],
    );
    refused(&place, &["train", "--data", ""], &["--data"]);
}

#[test]
fn a_fault_in_a_later_block_stops_training() {
    let rows = Rows::new(6000, 1);
    let images = rows.images();
    unreadable(
        gzip(&images[..images.len() - 64 * 500]),
        rows.labels(),
        &[IMAGES, "row 5501", "expected 6000 rows"],
    );
    let packed = gzip(&images);
    unreadable(&packed[..packed.len() - 6], rows.labels(), &[IMAGES, "early end"]);
}

#[test]
fn test_sets_that_do_not_fit() {
    let place = Workplace::with_data();
    place.write("d/t10k-images-idx3-ubyte", idx(&[2, 2, 2], &[1; 8]));
    place.write("d/t10k-labels-idx1-ubyte", idx(&[2], &[0, 1]));
    let test = [&train("data")[..], &["--test", "d"]].concat();
    refused(&place, &test, &["t10k-images", "expected 64 inputs per row", "found 4"]);
    place.write("d/t10k-images-idx3-ubyte", idx(&[2, 8, 8], &[1; 128]));
    place.write("d/t10k-labels-idx1-ubyte", idx(&[2], &[0, 9]));
    refused(&place, &test, &["t10k-labels", "labels of the training data (0, 1, 2, 3)", "label \"9\""]);
    place.write(
        "test.csv",
        "0,1\n".replace(",1", &",1".repeat(64)) + &"7,1\n".replace(",1", &",1".repeat(64)),
    );
    let test = [&train("data")[..], &["--test", "test.csv", "--target", "0"]].concat();
    refused(&place, &test, &["test.csv", "labels of the training data (0, 1, 2, 3)", "label \"7\""]);
}
