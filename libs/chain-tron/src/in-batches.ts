const REQUESTS_AT_ONCE = 8;

export async function inBatches<K, T>(
  keys: readonly K[],
  work: (key: K) => Promise<T>,
): Promise<ReadonlyMap<K, T>> {
  const answers = new Map<K, T>();
  for (let at = 0; at < keys.length; at += REQUESTS_AT_ONCE) {
    const some = keys.slice(at, at + REQUESTS_AT_ONCE);
    const found = await Promise.all(some.map(work));
    for (const [place, key] of some.entries()) answers.set(key, found[place] as T);
  }
  return answers;
}
