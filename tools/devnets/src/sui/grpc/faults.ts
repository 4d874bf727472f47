import type { RefusalCode } from '../chain/refusal.ts';

/** Affects one node. `method` is a part of method names (default: all), `times` a limit (default: none). */
export type SuiFault = { readonly method?: string; readonly times?: number } & (
  | { readonly kind: 'status'; readonly code: RefusalCode; readonly message?: string }
  /** RESOURCE_EXHAUSTED above this rate. */
  | { readonly kind: 'rate-limit'; readonly perSecond: number }
  | { readonly kind: 'latency'; readonly delayMs: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'lag'; readonly checkpoints: number }
  /** Subscriptions stay open without messages. Clearing the fault does not revive existing ones. */
  | { readonly kind: 'silent-streams' }
  | { readonly kind: 'skip-checkpoint' }
  /** Omits balance changes without an error, like a node without that index. */
  | { readonly kind: 'no-balance-changes' }
  /** Does not find transactions by digest, although checkpoints contain them, like a node that lost that index. */
  | { readonly kind: 'no-transaction-index' }
  | { readonly kind: 'no-history' }
  /** Serves different checkpoints from this one on. */
  | { readonly kind: 'fork'; readonly fromCheckpoint: number }
  /** Adds a payment that never happened to a checkpoint. */
  | {
      readonly kind: 'invent-payment';
      readonly checkpoint: number;
      readonly address: string;
      readonly coinType: string;
      readonly amountBaseUnits: bigint;
    }
  | { readonly kind: 'hide-payments'; readonly address: string }
  /** Serves a consistent forged chain without payments to the address; only the validators' signatures do not match. */
  | { readonly kind: 'forge-without'; readonly fromCheckpoint: number; readonly address: string }
  /** Omits the bytes against which a checkpoint's contents can be checked. */
  | { readonly kind: 'no-checkpoint-bytes' }
  | { readonly kind: 'lose-execute-answer' }
  /** Reports a transaction as executed without executing it. */
  | { readonly kind: 'swallow-execute' }
);

export type SuiFaultKind = SuiFault['kind'];

export interface SuiFaults {
  add(fault: SuiFault): void;
  clear(): void;
  /** Returns an active fault of a kind for a method and counts one occurrence. */
  take<K extends SuiFaultKind>(kind: K, method: string): Extract<SuiFault, { kind: K }> | undefined;
  /** Returns all active faults of a kind for a method without counting. */
  holding<K extends SuiFaultKind>(kind: K, method: string): readonly Extract<SuiFault, { kind: K }>[];
  /** False if the rate limit of this second is reached. */
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
