/* Outputs as values: outputs * width + center. */
static void restore(float *values, const double *center, const double *width, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        values[i] = (float)(values[i] * width[i] + center[i]);
    }
}
