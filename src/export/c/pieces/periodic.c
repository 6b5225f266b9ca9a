/* The number, and three sums bias[o] + cos(2 pi (x frequency[k] + phase[k])) mixing[o][k] over k; `waves` are the frequencies,
   the phases, and the rows of the mixing, 16 each. */
static void periodic(float x, const float *waves, const float *bias, float *to)
{
    int k, o;
    to[0] = x;
    for (o = 0; o < 3; o++) {
        to[1 + o] = bias[o];
    }
    for (k = 0; k < 16; k++) {
        float turns = x * waves[k] + waves[16 + k];
        float wave = cosf(6.2831853f * (turns - floorf(turns + 0.5f)));
        for (o = 0; o < 3; o++) {
            to[1 + o] += wave * waves[32 + 16 * o + k];
        }
    }
}
