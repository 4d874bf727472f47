/** Affects the node. `path` is a part of endpoint paths (default: all), `times` a limit (default: none). */
export type TronFault = { readonly path?: string; readonly times?: number } & (
  | { readonly kind: 'status'; readonly status: number }
  /** Returns 429 above this rate, like TronGrid. */
  | { readonly kind: 'rate-limit'; readonly perSecond: number }
  | { readonly kind: 'latency'; readonly delayMs: number }
  /** Returns empty lists and objects, like hosted nodes that lag. */
  | { readonly kind: 'empty' }
  /** Closes the connection in the middle of a response. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'lag'; readonly blocks: number }
  | { readonly kind: 'lose-broadcast-answer' }
  /** Reports a broadcast as accepted and discards it. */
  | { readonly kind: 'swallow-broadcast' }
);

export type TronFaultKind = TronFault['kind'];

export interface Faults {
  add(fault: TronFault): void;
  clear(): void;
  /** Returns an active fault of a kind for a path and counts one occurrence. */
  take<K extends TronFaultKind>(kind: K, path: string): Extract<TronFault, { kind: K }> | undefined;
  /** Returns the exceeded limit, or undefined if this second allows another request. */
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
