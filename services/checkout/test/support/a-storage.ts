/** Every key initially holds `everyText`. */
export function aStorage(everyText: string | null = null) {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? everyText,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}
