// packed
