/* factors[0] x^(count - 1) + ... + factors[count - 1] */
static double polynomial(const double *factors, int count, double x)
{
    double sum = 0.0;
    int i;
    for (i = 0; i < count; i++) {
        sum = sum * x + factors[i];
    }
    return sum;
}

/* The quantile of the standard normal distribution at the rank of the value among quantiles that ascend (P. J. Acklam, 2003);
   that of `fill` where the value is missing. */
static float normal_score(float value, const double *quantiles, int count, double fill)
{
@FACTORS@
    double known = isnan(value) ? fill : (double)value;
    double place = 0.0, rank, least, q, score;
    int i;
    for (i = 0; i + 1 < count; i++) {
        double width = quantiles[i + 1] - quantiles[i];
        double above = known - quantiles[i];
        double share = width > 0.0 ? above / width : above > 0.0 ? 1.0 : above < 0.0 ? 0.0 : 0.5;
        place += share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    }
    rank = place / (count - 1);
    rank = rank < @MARGIN@ ? @MARGIN@ : rank > 1.0 - @MARGIN@ ? 1.0 - @MARGIN@ : rank;
    least = rank < 0.5 ? rank : 1.0 - rank;
    if (least < @TAIL@) {
        q = sqrt(-2.0 * log(least));
        score = polynomial(c, 6, q) / polynomial(d, 5, q);
        return (float)(rank < 0.5 ? score : -score);
    }
    q = rank - 0.5;
    return (float)(q * polynomial(a, 6, q * q) / polynomial(b, 6, q * q));
}
