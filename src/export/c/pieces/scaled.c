/* (value - center) / width, that of `fill` where the value is missing. */
static float scaled(float value, double center, double width, double fill)
{
    double known = isnan(value) ? fill : (double)value;
    return (float)((known - center) / width);
}
