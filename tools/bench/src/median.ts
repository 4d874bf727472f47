/** The middle of the numbers; of an even count the upper of the two. */
export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** To two decimals. */
export function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
