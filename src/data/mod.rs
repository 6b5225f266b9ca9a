//! Training data: from files to rows. Knows neither GPU nor model.
