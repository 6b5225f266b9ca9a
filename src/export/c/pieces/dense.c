/* to = from * weights + bias, with weights [inputs, outputs] row after row. */
static void dense(const float *from, int inputs, const float *weights, const float *bias, int outputs, float *to)
{
    int i, j;
    for (j = 0; j < outputs; j++) {
        to[j] = bias[j];
    }
    for (i = 0; i < inputs; i++) {
        for (j = 0; j < outputs; j++) {
            to[j] += from[i] * *weights++;
        }
    }
}
