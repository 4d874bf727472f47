/** Returns the next number in [0, 1): see seededRandom of the test kit. */
export type Random = () => number;

export function randomInteger(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
