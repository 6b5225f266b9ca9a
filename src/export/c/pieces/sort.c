/* Values in ascending order. */
static void sort(float *values, int count)
{
    int i, j;
    for (i = 1; i < count; i++) {
        float value = values[i];
        for (j = i; j > 0 && values[j - 1] > value; j--) {
            values[j] = values[j - 1];
        }
        values[j] = value;
    }
}
