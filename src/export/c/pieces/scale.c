/* Each number times its factor. */
static void scale(float *x, const float *factors, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        x[i] *= factors[i];
    }
}
