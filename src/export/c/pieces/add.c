/* Adds `share` times z. */
static void add(const float *z, int count, float share, float *to)
{
    int i;
    for (i = 0; i < count; i++) {
        to[i] += share * z[i];
    }
}
