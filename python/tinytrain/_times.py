"""Times and their zones: of columns of frames, and of rows."""

import datetime
import re
import warnings

import numpy as np
from sklearn.utils.validation import column_or_1d

# Names of UTC.
_UTC = {"UTC", "ETC/UTC", "GMT", "ETC/GMT", "Z", "ZULU", "ETC/ZULU", "UCT", "ETC/UCT", "UNIVERSAL", "+00:00", "UTC+00:00"}


def local(X, names, like):
    """A frame whose times with a time zone are local ones without it, and these zones by the names of the columns.

    `like` are the zones of the columns of dates of training. Times of other columns stay as they are: models of files have them in UTC.
    """
    zones = []
    for place, (name, zone) in enumerate(zip(names, _zones(X))):
        if zone is not None and (like is None or name in like):
            X = _with_local(X, place)
            zones.append((name, "UTC" if zone.upper() in _UTC else zone))
    return X, zones


def _zones(X):
    """The name of the time zone of each column, or None."""
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        return [getattr(dtype, "time_zone", None) for dtype in X.schema.values()]
    if library == "pyarrow":
        return [getattr(field.type, "tz", None) for field in X.schema]
    if hasattr(X, "iloc"):
        return [_zone_of_pandas(X, place, dtype) for place, dtype in enumerate(X.dtypes)]
    return [None] * X.shape[1]


def _zone_of_pandas(X, place, dtype):
    zone = getattr(dtype, "tz", None)
    if zone is None and hasattr(dtype, "pyarrow_dtype"):
        zone = getattr(dtype.pyarrow_dtype, "tz", None)
    if zone is None and dtype == object:
        # Objects of `datetime`, which pandas does not convert automatically.
        cells = X.iloc[:, place]
        first = cells.first_valid_index()
        if first is not None and isinstance(cells[first], datetime.datetime):
            zone = cells[first].tzinfo
            if len({cell.tzinfo is None for cell in cells.dropna() if isinstance(cell, datetime.datetime)}) > 1:
                raise ValueError(f"column {X.columns[place]}: some times have a time zone and others have none")
    if zone is None or isinstance(zone, str):
        return zone
    from pyarrow.lib import tzinfo_to_string

    return tzinfo_to_string(zone)


def _with_local(X, place):
    """A frame whose times in this column are local ones without a zone."""
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        return X.with_columns(X.to_series(place).dt.replace_time_zone(None))
    if library == "pyarrow":
        from pyarrow.compute import local_timestamp

        return X.set_column(place, X.column_names[place], local_timestamp(X.column(place)))
    import pandas

    column = X.iloc[:, place]
    if column.dtype == object:
        try:
            column = pandas.to_datetime(column)
        except ValueError as error:
            raise ValueError(f"column {X.columns[place]}: expected times of one time zone: {error}") from error
    X = X.copy(deep=False)
    X.isetitem(place, column.dt.tz_localize(None))
    return X


def seconds(times):
    """When each row is of, as numbers that ascend with time."""
    # Series of pandas have their zone there.
    of = getattr(times, "dt", times)
    if getattr(of, "tz", None) is not None:
        times = of.tz_convert("UTC")
        times = getattr(times, "dt", times).tz_localize(None)
    times = np.asarray(times)
    if times.dtype.kind not in "Mbiuf":
        times = _moments(times)
    if times.dtype.kind == "M":
        missing = np.isnat(times)
        times = times.astype("datetime64[us]").astype(np.int64) / 1e6
        times[missing] = np.nan
    times = column_or_1d(times.astype(np.float64), warn=True)
    if not np.isfinite(times).all():
        raise ValueError("times contains NaN, infinity or dates that are missing")
    return times


def _has_zone(time):
    if isinstance(time, str):
        return re.search(r"\d[T ].*(Z|[+-]\d\d:?(\d\d)?)$", time.strip()) is not None
    return getattr(time, "tzinfo", None) is not None


def _moments(times):
    """Times of objects and of text, in UTC where they have a zone."""
    zoned = {_has_zone(time) for time in times.ravel() if time is not None and time == time}
    if len(zoned) > 1:
        raise ValueError("times: some have a time zone and others have none")
    try:
        # It subtracts offsets, as intended, and warns about that.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return times.astype("datetime64[us]")
    except (ValueError, TypeError) as error:
        raise ValueError(f"times: expected numbers or dates, found {times.dtype}") from error
