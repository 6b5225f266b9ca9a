/* -1 for category 0, 1 for category 1, 0 for all else. */
static float sign(int category)
{
    return category == 0 ? -1.0f : category == 1 ? 1.0f : 0.0f;
}
