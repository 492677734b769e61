export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;
}

export function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Median of the ratios of paired rounds: what disturbs one round disturbs both of its halves. */
export function pairedRatio(ours: readonly number[], floor: readonly number[]): number {
  return median(ours.map((value, i) => value / floor[i]!));
}
