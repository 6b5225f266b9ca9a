//! Options of networks, losses, optimizers and learning rates that are out of range or conflict.

use crate::check::refused;
use crate::program::Workplace;

/// Each error is one line that names the option, before anything is read: the data do not exist.
#[test]
fn values_out_of_range() {
    let place = Workplace::new();
    let share = &["-0.1", "1", "nan", "inf"][..];
    let above = &["0", "-1", "nan", "inf"][..];
    let from_zero = &["-1", "nan", "inf"][..];
    let words = &["x", ""][..];
    for (option, values, expected) in [
        ("--activation", &["rely", "", "relu,", "relu,x"][..], "leaky-relu"),
        ("--dropout", &["-0.1", "1", "nan", "0.1,1"], "0 to below 1"),
        ("--dropout", &["x", "", "0.1,"], "a number"),
        ("--init", &["kaiming", "", "he-x"], "he, xavier"),
        ("--loss", &["l2", ""], "cross-entropy"),
        ("--label-smoothing", share, "0 to below 1"),
        ("--class-weights", &["1,", "x", ""], "none, balanced"),
        ("--class-weights", &["-1,1", "nan,1"], "finite numbers of 0 or more"),
        ("--optimizer", &["lion", ""], "adamw"),
        ("--momentum", words, "a number"),
        ("--betas", words, "a number"),
        ("--weight-decay", from_zero, "a finite number of 0 or more"),
        ("--clip-norm", above, "a finite number above 0"),
        ("--lr-schedule", &["linear", ""], "onecycle"),
        ("--lr-gamma", &["0", "-1", "nan", "inf"], "a number above 0, at most 1"),
        ("--lr-every", &["0"], "1 or more"),
        ("--lr-every", &["-1", "1.5", "x"], "a whole number"),
        ("--warmup", &["-1", "1.5", "x"], "a whole number"),
        ("--lr-factors", &["weights=-1"], "finite numbers of 0 or more, found -1 for weights"),
        ("--lr-factors", &["biases=nan", "scale=inf"], "finite numbers of 0 or more"),
        ("--lr-factors", &["layers=1,-1", "embeddings=1,layers=inf"], "finite numbers of 0 or more"),
        ("--lr-factors", &["layers=x", "layers=1,,1", "biases="], "a number"),
        ("--lr-factors", &["bias=1", "1", "weights=1,2", ""], "weights, biases, embeddings or scale"),
        ("--lr-factors", &["biases=1,scale=2,biases=1"], "found biases twice"),
    ] {
        for value in values {
            refused(&place, &["train", "--data", "nothing.csv", option, value], &[option, expected]);
        }
    }
    for (optimizer, option, values, expected) in [
        ("momentum", "--momentum", share, "0 to below 1"),
        ("adam", "--betas", &["1,0.9", "-0.1,0.9"], "0 to below 1"),
        ("adam", "--eps", above, "a finite number of at least 1.2e-38"),
    ] {
        for value in values {
            let arguments = ["train", "--data", "nothing.csv", "--optimizer", optimizer, option, value];
            refused(&place, &arguments, &[option, expected]);
        }
    }
}

#[test]
fn options_that_do_not_go_together() {
    let place = Workplace::new();
    for (options, words) in [
        (&["--momentum", "0.5"][..], &["--momentum", "nesterov", "found sgd"][..]),
        (&["--optimizer", "adam", "--momentum", "0.5"], &["--momentum", "found adam"]),
        (&["--betas", "0.9,0.99"], &["--betas", "adam", "found sgd"]),
        (&["--optimizer", "adam", "--betas", "0.9"], &["--betas", "two numbers for adam"]),
        (&["--optimizer", "rmsprop", "--betas", "0.9,0.9"], &["--betas", "one number for rmsprop"]),
        (&["--eps", "1e-6"], &["--eps", "found sgd"]),
        (&["--lr-gamma", "0.5"], &["--lr-gamma", "found constant"]),
        (&["--lr-schedule", "exponential", "--lr-every", "2"], &["--lr-every", "--lr-schedule step"]),
        (&["--lr-schedule", "step", "--lr-gamma", "2"], &["--lr-gamma", "at most 1"]),
        (&["--loss", "mse", "--label-smoothing", "0.1"], &["--label-smoothing", "a loss of values"]),
        (&["--loss", "mae", "--class-weights", "balanced"], &["--class-weights", "a loss of values"]),
        (&["--hidden", "4,4", "--activation", "relu,tanh,elu"], &["--activation", "each of 2", "3 values"]),
        (&["--hidden", "4", "--dropout", "0.1,0.2"], &["--dropout", "each of 1", "2 values"]),
        (&["--hidden", "4", "--lr-factors", "layers=1,1,1"], &["--lr-factors", "2 layers", "found 3"]),
        (&["--task", "classification", "--target", "a", "b"], &["--target", "one column of labels", "2"]),
        (&["--loss", "cross-entropy", "--target", "a", "b"], &["--target", "one column of labels", "2"]),
        (&["--task", "regression", "--loss", "cross-entropy"], &["--task regression needs --loss mse"]),
        (
            &["--task", "classification", "--loss", "mae"],
            &["--task classification needs --loss cross-entropy", "--loss mae"],
        ),
    ] {
        for command in ["train", "profile"] {
            let common = [command, "--data", "nothing.csv", "--preset", "plain"];
            refused(&place, &[&common[..], options].concat(), words);
        }
    }
}

#[test]
fn targets_that_do_not_match_the_loss() {
    let place = Workplace::with_data();
    let train = |data, options: &[&str], words: &[&str]| {
        refused(&place, &[&["train", "--device", "cpu", "--data", data], options].concat(), words);
    };
    train("data", &["--loss", "mse"], &["--loss", "a loss of classes", "mse"]);
    place.write("t.csv", "a,b,y,w\n1,2,0.5,1\n2,1,red,1\n3,3,1.5,1\n");
    train("t.csv", &["--loss", "mse"], &["t.csv, row 3, column 3 (y)", "a value to predict", "red"]);
    train("t.csv", &["--loss", "mse", "--target", "a", "a"], &["different target columns", "\"a\" twice"]);
    train("t.csv", &["--loss", "mse", "--target", "q"], &["a target column \"q\""]);
    train("t.csv", &["--loss", "mse", "--target", "a", "--weight", "q"], &["a column of weights \"q\""]);
    place.write("u.csv", "a,b,w\n1,2,1\n2,1,-1\n3,3,1\n");
    let weighted = ["--loss", "mse", "--target", "a", "--weight", "w"];
    train("u.csv", &weighted, &["u.csv, row 3, column 3 (w)", "a weight of 0 or more", "-1"]);
    train("u.csv", &["--loss", "mse"], &["which column holds the values to predict", "--target"]);
    place.write("c.csv", "a,class\n1,x\n2,y\n3,x\n4,y\n");
    let weights = ["--class-weights", "1,2,3"];
    train("c.csv", &weights, &["--class-weights", "2 numbers, one for each class", "found 3"]);
}
