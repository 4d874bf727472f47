export function showTimestamp(timeMs: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(timeMs / 1000);
  return { seconds: BigInt(seconds), nanos: (timeMs - seconds * 1000) * 1_000_000 };
}
