/* y / sqrt(1 + (y / 3)^2) with y = (value - center) / width, that of `fill` where the value is missing. */
static float clipped(float value, double center, double width, double fill)
{
    double known = isnan(value) ? fill : (double)value;
    double y = (known - center) / width;
    return (float)(y / sqrt(1.0 + (y / 3.0) * (y / 3.0)));
}
