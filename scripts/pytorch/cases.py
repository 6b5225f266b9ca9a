"""Which settings are judged: the options of `tinytrain check --save DIR --steps 20`."""

ACTIVATIONS = "relu leaky-relu elu selu gelu gelu-tanh silu mish tanh sigmoid identity".split()

CASES = [
    *(["--activation", activation] for activation in ACTIVATIONS),
    ["--activation", "relu,gelu,tanh"],
    *(["--loss", loss, "--activation", "tanh"] for loss in ("mse", "mae", "huber")),
    ["--label-smoothing", "0.1"],
    ["--class-weights", "1,2,0.5,1,3,0,1,1.5,1,0.25"],
    ["--weight-decay", "0.01"],
    ["--optimizer", "momentum", "--lr", "0.05"],
    ["--optimizer", "momentum", "--lr", "0.05", "--momentum", "0.5", "--weight-decay", "0.01"],
    ["--optimizer", "nesterov", "--lr", "0.05", "--weight-decay", "0.01"],
    ["--optimizer", "adam"],
    ["--optimizer", "adam", "--betas", "0.8,0.95", "--eps", "1e-6", "--weight-decay", "0.01"],
    ["--optimizer", "adamw"],
    ["--optimizer", "adamw", "--weight-decay", "0.1", "--activation", "mish"],
    ["--optimizer", "rmsprop"],
    ["--optimizer", "rmsprop", "--betas", "0.9", "--momentum", "0.9", "--weight-decay", "0.01"],
    ["--clip-norm", "0.1"],
    ["--clip-norm", "0.1", "--optimizer", "adamw"],
    ["--lr-weights", "0.5", "--lr-biases", "2", "--lr-layers", "1,0.1,3"],
    ["--optimizer", "adam", "--lr-weights", "0.5", "--lr-biases", "2", "--lr-layers", "1,0.1,3"],
    ["--lr-schedule", "step", "--lr-gamma", "0.5", "--lr-every", "1"],
    ["--lr-schedule", "exponential"],
    ["--lr-schedule", "cosine", "--warmup", "5"],
    ["--lr-schedule", "onecycle"],
    ["--lr-schedule", "coslog4"],
    ["--init", "xavier-uniform", "--activation", "tanh"],
]

SCHEDULES = ["plain", "fused", "two-dispatch"]
