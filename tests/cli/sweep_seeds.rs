//! `tinytrain sweep --seeds`: one network, trained several times.

use serde_json::{Value, json};

use crate::sweep::{bytes, members, swept, table};

const NETWORK: [&str; 8] = ["--preset", "plain", "--hidden", "4", "--epochs", "2", "--lr", "0.05"];

/// Returns the seed of each member's initial weights, in the order of their numbers.
fn init_seeds(objects: &[Value]) -> Vec<String> {
    let of_member = |member: &&Value| {
        let words = member["arguments"].as_array().unwrap().iter().filter_map(Value::as_str);
        words.filter_map(|word| word.strip_prefix("--init-seed=")).collect::<String>()
    };
    members(objects).values().map(of_member).collect()
}

#[test]
fn only_seeds_train_one_network_repeatedly() {
    let place = table();
    let objects = swept(&place, &[&NETWORK[..], &["--seeds", "3", "--seed", "5", "--out", "s"]].concat());
    let ended = members(&objects);
    assert_eq!(init_seeds(&objects), ["5", "6", "7"]);
    assert!(ended.values().all(|member| member["settings"] == json!({})), "{objects:?}");
    assert!(ended[&0]["loss"] != ended[&1]["loss"] && ended[&1]["loss"] != ended[&2]["loss"]);
    // Each network equals the one trained separately by the same options and its initial weights.
    for (number, init_seed) in [("00000", None), ("00002", Some("7"))] {
        let own = init_seed.map_or(vec![], |seed| vec!["--init-seed", seed]);
        let train = ["train", "--device", "cpu", "--data", "t.csv", "--validation-fraction", "0.2"];
        let rest = ["--seed", "5", "--out", "alone.safetensors"];
        place.succeed(&[&train[..], &NETWORK, &own, &rest].concat());
        let alone = place.model("alone.safetensors").tensors;
        assert!(alone == place.model(&format!("s/members/{number}.safetensors")).tensors, "{number}");
    }
    // A resumed sweep, and one with a time limit, have the same three members.
    let results = bytes(&place, "s/results.jsonl");
    let again = place.succeed(&["sweep", "--resume", "s", "--ensemble", "2", "--format", "json"]).objects();
    let picks = again.last().unwrap()["ensemble"]["members"].as_array().unwrap().iter();
    assert_eq!(picks.map(|member| member["picks"].as_u64().unwrap()).sum::<u64>(), 2);
    assert_eq!(bytes(&place, "s/results.jsonl"), results);
    let best = bytes(&place, "s/best.safetensors");
    let timed = ["--seeds", "3", "--seed", "5", "--total-time", "10m", "--out", "timed"];
    assert_eq!(members(&swept(&place, &[&NETWORK[..], &timed].concat())).len(), 3);
    assert!(bytes(&place, "timed/best.safetensors") == best);
}

#[test]
fn trials_and_given_first_weights_are_multiplied() {
    let place = table();
    for (more, expected) in [
        (&["--seeds", "1"][..], &["1"][..]),
        (&["--trials", "2", "--seeds", "2"], &["1", "2", "3", "4"]),
        (&["--seeds", "3", "--init-seed", "40"], &["40", "41", "42"]),
        (&["--trials", "2", "--seeds", "2", "--init-seed", "40"], &["40", "41", "40", "41"]),
    ] {
        let objects = swept(&place, &[&NETWORK[..], more, &["--out", "s"]].concat());
        assert_eq!(init_seeds(&objects), expected, "{more:?}");
        std::fs::remove_dir_all(place.path("s")).unwrap();
    }
}
