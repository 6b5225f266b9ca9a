"""Names of parameters in other libraries, and our names."""

import difflib

_HERE = {
    "hidden": "hidden_layer_sizes hidden_layers hidden_units hidden_size hidden_sizes hidden_dim hidden_dims layer_sizes layers units n_hidden "
    "n_units neurons width",
    "epochs": "max_iter max_epochs num_epochs n_epochs nb_epoch epoch n_iter num_iter iterations steps",
    "lr": "learning_rate_init lr_init eta eta0 step_size",
    "lr_schedule": "lr_scheduler scheduler lr_decay decay_schedule power_t",
    "patience": "n_iter_no_change early_stopping_rounds early_stopping_patience stopping_rounds tol",
    "weight_decay": "alpha l2 l2_reg l2_penalty reg_lambda kernel_regularizer weight_regularization decay",
    "optimizer": "solver optim optimiser nesterovs_momentum",
    "betas": "beta_1 beta_2 beta1 beta2",
    "eps": "epsilon adam_epsilon",
    "batch_size": "batch minibatch_size mini_batch_size",
    "activation": "activations activation_function act nonlinearity",
    "dropout": "dropout_rate dropout_p drop_rate",
    "validation_fraction": "validation_split val_split val_fraction validation_size val_size test_size test_fraction",
    "random_state": "seed random_seed rng rng_seed",
    "n_jobs": "threads n_threads num_threads nthread thread_count workers num_workers",
    "loss": "criterion objective loss_function loss_fn loss_func",
    "init": "kernel_initializer initializer weight_init initialization",
    "clip_norm": "clipnorm grad_clip gradient_clip gradient_clip_val max_grad_norm clip_grad_norm",
    "class_weight": "class_weights",
    "categorical": "cat_features categorical_features categorical_feature categorical_columns cat_cols categorical_indicator",
    "scale": "scaler scaling normalize standardize normalization",
    "device": "gpu use_gpu cuda accelerator task_type",
    "verbose": "verbosity silent logging_level",
    "warmup": "warmup_steps warmup_epochs warmup_ratio",
    "early_stopping": "early_stop",
    "max_time": "time_limit timeout max_seconds",
    "keep": "restore_best_weights save_best_only",
    "metric": "eval_metric scoring metrics",
    "label_smoothing": "smoothing label_smooth",
    "augment": "augmentation data_augmentation",
    "callbacks": "callback",
    "n_estimators": "n_models n_members ensemble_size",
}
_ELSEWHERE = {other: here for here, others in _HERE.items() for other in others.split()}
_SAID = {
    "learning_rate": "lr is the rate, lr_schedule says how it changes",
    "shuffle": "rows are always shuffled, by random_state",
    **dict.fromkeys(["validation_data", "eval_set", "val_data", "X_val", "y_val"], "validation rows are eval_set, or X_val and y_val, of fit"),
    **dict.fromkeys(["sample_weight", "groups", "times"], "that is an argument of fit"),
}


def hint(name, known):
    """A hint at the parameter that is meant by an unknown name, as the end of a message, or nothing."""
    plain = name.lower().replace("-", "_")
    if plain in _SAID:
        return f": {_SAID[plain]}"
    here = _ELSEWHERE.get(plain)
    if here is None:
        here = next(iter(difflib.get_close_matches(plain, known, n=1)), None)
    return f": did you mean {here}?" if here in known else ""
