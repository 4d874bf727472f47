import type { RefusalCode } from '../chain/refusal.ts';

/**
 * What a node can do wrong, as its clients see it; the chain behind it is well, and its other nodes are. `method` is a
 * part of the method's name (`GetCheckpoint`; default: every one), `times` how often it happens (default: until cleared).
 */
export type SuiFault = { readonly method?: string; readonly times?: number } & (
  | { readonly kind: 'status'; readonly code: RefusalCode; readonly message?: string }
  /** More than so many requests a second: RESOURCE_EXHAUSTED. */
  | { readonly kind: 'rate-limit'; readonly perSecond: number }
  | { readonly kind: 'latency'; readonly delayMs: number }
  /** The connection is cut before the answer. */
  | { readonly kind: 'cut' }
  /** The node knows nothing of the last checkpoints. */
  | { readonly kind: 'lag'; readonly checkpoints: number }
  /** Subscriptions stay open and say nothing; those that were, for ever. */
  | { readonly kind: 'silent-streams' }
  /** Subscriptions leave a checkpoint out. */
  | { readonly kind: 'skip-checkpoint' }
  /** Transactions come without balance changes: the node lacks the index, and does not say so. */
  | { readonly kind: 'no-balance-changes' }
  /** Transactions are not found by their digests, although checkpoints hold them: the node lost that index. */
  | { readonly kind: 'no-transaction-index' }
  /** ListCheckpoints and ListTransactions are not offered. */
  | { readonly kind: 'no-history' }
  /** From a checkpoint on the node is on a chain of its own. */
  | { readonly kind: 'fork'; readonly fromCheckpoint: number }
  /** A checkpoint holds a payment that nobody made. */
  | {
      readonly kind: 'invent-payment';
      readonly checkpoint: number;
      readonly address: string;
      readonly coinType: string;
      readonly amountBaseUnits: bigint;
    }
  /** Transactions that an address got something from are missing. */
  | { readonly kind: 'hide-payments'; readonly address: string }
  /**
   * From a checkpoint on the node tells a chain of its own, without the transactions that an address got something from: totals, digests
   * and links fit, and it knows these transactions by no digest either. Only the validators' signatures are of the true chain.
   */
  | { readonly kind: 'forge-without'; readonly fromCheckpoint: number; readonly address: string }
  /** Checkpoints come without the bytes by which their contents could be checked. */
  | { readonly kind: 'no-checkpoint-bytes' }
  /** A transaction is executed, and nobody hears of it. */
  | { readonly kind: 'lose-execute-answer' }
  /** A transaction is answered as executed, and forgotten. */
  | { readonly kind: 'swallow-execute' }
);

export type SuiFaultKind = SuiFault['kind'];

export interface SuiFaults {
  /** Adds one. Several hold at once. */
  add(fault: SuiFault): void;
  clear(): void;
  /** The next due fault of a kind for a method; counts it as happened. */
  take<K extends SuiFaultKind>(kind: K, method: string): Extract<SuiFault, { kind: K }> | undefined;
  /** All of a kind that hold for a method; not counted. */
  holding<K extends SuiFaultKind>(kind: K, method: string): readonly Extract<SuiFault, { kind: K }>[];
  /** Whether one more request is allowed in this second. */
  admit(method: string, nowMs: number): boolean;
}

interface Active {
  readonly fault: SuiFault;
  left: number;
}

export function createFaults(): SuiFaults {
  let active: Active[] = [];
  const seconds = new Map<SuiFault, { second: number; count: number }>();
  const find = (kind: SuiFaultKind, method: string): readonly Active[] =>
    active.filter(({ fault }) => fault.kind === kind && method.includes(fault.method ?? ''));
  return {
    add(fault) {
      active.push({ fault, left: fault.times ?? Infinity });
    },
    clear() {
      active = [];
      seconds.clear();
    },
    take<K extends SuiFaultKind>(kind: K, method: string) {
      const [entry] = find(kind, method);
      if (entry === undefined) return undefined;
      entry.left -= 1;
      if (entry.left <= 0) active = active.filter((other) => other !== entry);
      return entry.fault as Extract<SuiFault, { kind: K }>;
    },
    holding<K extends SuiFaultKind>(kind: K, method: string) {
      return find(kind, method).map(({ fault }) => fault as Extract<SuiFault, { kind: K }>);
    },
    admit(method, nowMs) {
      const fault = find('rate-limit', method)[0]?.fault;
      if (fault?.kind !== 'rate-limit') return true;
      const second = Math.floor(nowMs / 1000);
      const window = seconds.get(fault);
      const count = window?.second === second ? window.count + 1 : 1;
      seconds.set(fault, { second, count });
      return count <= fault.perSecond;
    },
  };
}
