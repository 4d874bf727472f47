/** How long after a wallet has sent the page asks no wallet again, unless something of it was seen. */
const HELD_MS = 5 * 60_000;

/** Remembers over a reload what a wallet has sent, so that nobody pays twice for not seeing it yet. */
export interface SentPayments {
  remember(due: string, wallet: string): void;
  /** The wallet that has sent just this, a short while ago. */
  find(due: string): string | undefined;
}

/** Keeps it in the window's own storage; without one for as long as the page is open. */
export function createSentPayments(
  orderId: string,
  storage: Pick<Storage, 'getItem' | 'setItem'> | undefined,
  nowMs: () => number,
): SentPayments {
  const key = `opentill-sent:${orderId}`;
  let kept: string | null = null;
  return {
    remember(due, wallet) {
      kept = JSON.stringify({ due, wallet, atMs: nowMs() });
      try {
        storage?.setItem(key, kept);
      } catch {
        // full or forbidden: the page still knows
      }
    },
    find(due) {
      const sent = read(kept ?? stored());
      if (sent === undefined || sent.due !== due) return undefined;
      return nowMs() - sent.atMs < HELD_MS ? sent.wallet : undefined;
    },
  };

  function stored(): string | null {
    try {
      return storage?.getItem(key) ?? null;
    } catch {
      return null;
    }
  }
}

function read(
  text: string | null,
): { readonly due: string; readonly wallet: string; readonly atMs: number } | undefined {
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as { due: string; wallet: string; atMs: number };
  } catch {
    return undefined;
  }
}
