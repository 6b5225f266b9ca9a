/* 1 at the place of the category, 0 at all others. */
static void one_hot(int category, int places, float *to)
{
    int i;
    for (i = 0; i < places; i++) {
        to[i] = i == category ? 1.0f : 0.0f;
    }
}
