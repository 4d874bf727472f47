/** Remembers the coin that was chosen last, for the next order. Without storage, only this page remembers. */
export interface LastCoin {
  /** A `coinKey`; null before the first choice. */
  get(): string | null;
  set(coin: string): void;
}

const KEY = 'opentill-coin';

/** Reads once: a choice on this page is not one of last time. */
export function createLastCoin(storage: Pick<Storage, 'getItem' | 'setItem'> | undefined): LastCoin {
  const before = tryTo(() => storage?.getItem(KEY) ?? null);
  return {
    get: () => before,
    set: (coin) => void tryTo(() => (storage?.setItem(KEY, coin), null)),
  };
}

/** The browser's settings may block access. */
function tryTo(access: () => string | null): string | null {
  try {
    return access();
  } catch {
    return null;
  }
}
