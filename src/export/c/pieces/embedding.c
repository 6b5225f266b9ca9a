/* The row of the category, zeros for -1. */
static void embedding(int category, const float *rows, int size, float *to)
{
    int i;
    for (i = 0; i < size; i++) {
        to[i] = category < 0 ? 0.0f : rows[(long)category * size + i];
    }
}
