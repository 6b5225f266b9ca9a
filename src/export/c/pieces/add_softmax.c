/* Adds `share` times the softmax of z. */
static void add_softmax(float *z, int count, float share, float *to)
{
    float greatest = z[0], sum = 0.0f;
    int i;
    for (i = 1; i < count; i++) {
        greatest = z[i] > greatest ? z[i] : greatest;
    }
    for (i = 0; i < count; i++) {
        z[i] = expf(z[i] - greatest);
        sum += z[i];
    }
    for (i = 0; i < count; i++) {
        to[i] += share * (z[i] / sum);
    }
}
