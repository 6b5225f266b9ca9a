/* The category that a value is the index of, `missing` where it is missing, -1 for all else. */
static int category(float value, int categories, int missing)
{
    if (isnan(value)) {
        return missing;
    }
    return value >= 0.0f && value < (float)categories && value == floorf(value) ? (int)value : -1;
}
