/* value / 255 */
static void bytes(const float *from, int count, float *to)
{
    int i;
    for (i = 0; i < count; i++) {
        to[i] = from[i] / 255.0f;
    }
}
