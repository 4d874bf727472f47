/** Returns the upper middle value if the count is even. */
export function median(numbers: readonly number[]): number {
  return sorted(numbers)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** Returns the smallest value that at least `share` of the values do not exceed, with one decimal. */
export function quantile(numbers: readonly number[], share: number): number {
  const place = Math.max(0, Math.ceil(numbers.length * share) - 1);
  return round(sorted(numbers)[place] ?? Number.NaN, 1);
}

export function round(value: number, decimals = 2): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b);
}
