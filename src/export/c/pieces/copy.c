/* The same numbers in another place. */
static void copy(const float *from, int count, float *to)
{
    int i;
    for (i = 0; i < count; i++) {
        to[i] = from[i];
    }
}
