const STANDSTILL_MS = 300_000;

/** A busy machine makes crash tests slow, but never stops them. Throws after five minutes of equal facts. */
export function requireProgress(): (facts: unknown) => void {
  let last = '';
  let deadline = 0;
  return (facts) => {
    const text = JSON.stringify(facts);
    if (text !== last) [last, deadline] = [text, Date.now() + STANDSTILL_MS];
    else if (Date.now() > deadline) throw new Error(`no progress: ${text}`);
  };
}
