/**
 * What a node can do wrong, as its client sees it; the chain behind it is well. `path` is a part of the endpoint's
 * path (`gettransactioninfo`; default: every one), `times` how often it happens (default: until cleared).
 */
export type TronFault = { readonly path?: string; readonly times?: number } & (
  | { readonly kind: 'status'; readonly status: number }
  /** More than so many requests a second: 429, as TronGrid answers. */
  | { readonly kind: 'rate-limit'; readonly perSecond: number }
  | { readonly kind: 'latency'; readonly delayMs: number }
  /** Lists and objects come empty: what hosted nodes answer that lag. */
  | { readonly kind: 'empty' }
  /** The connection is cut in the middle of the answer. */
  | { readonly kind: 'cut' }
  /** The node knows nothing of the last blocks. */
  | { readonly kind: 'lag'; readonly blocks: number }
  /** A broadcast is taken, and nobody hears of it. */
  | { readonly kind: 'lose-broadcast-answer' }
  /** A broadcast is answered as taken, and forgotten. */
  | { readonly kind: 'swallow-broadcast' }
);

export type TronFaultKind = TronFault['kind'];

export interface Faults {
  /** Adds one. Several hold at once. */
  add(fault: TronFault): void;
  clear(): void;
  /** The next due fault of a kind for a path; counts it as happened. */
  take<K extends TronFaultKind>(kind: K, path: string): Extract<TronFault, { kind: K }> | undefined;
  /** Whether one more request is allowed in this second. */
  admit(path: string, nowMs: number): { readonly limit: number } | undefined;
}

export function createFaults(): Faults {
  let active: { fault: TronFault; left: number }[] = [];
  const seconds = new Map<TronFault, { second: number; count: number }>();
  const find = (kind: TronFaultKind, path: string): { fault: TronFault; left: number } | undefined =>
    active.find(({ fault }) => fault.kind === kind && path.includes(fault.path ?? ''));
  return {
    add: (fault) => {
      active.push({ fault, left: fault.times ?? Infinity });
    },
    clear: () => {
      active = [];
      seconds.clear();
    },
    take<K extends TronFaultKind>(kind: K, path: string) {
      const entry = find(kind, path);
      if (entry === undefined) return undefined;
      entry.left -= 1;
      if (entry.left <= 0) active = active.filter((other) => other !== entry);
      return entry.fault as Extract<TronFault, { kind: K }>;
    },
    admit(path, nowMs) {
      const fault = find('rate-limit', path)?.fault;
      if (fault?.kind !== 'rate-limit') return undefined;
      const second = Math.floor(nowMs / 1000);
      const window = seconds.get(fault);
      const count = window?.second === second ? window.count + 1 : 1;
      seconds.set(fault, { second, count });
      return count > fault.perSecond ? { limit: fault.perSecond } : undefined;
    },
  };
}
