import type { SuiFault, SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { seededRandom } from '@opentill/testkit/seeded-random';

export const NODE_FAULTS = [
  'cut',
  'drop',
  'fork',
  'hide-payments',
  'invent-payment',
  'lag',
  'latency',
  'no-balance-changes',
  'no-history',
  'rate-limit',
  'silent-streams',
  'skip-checkpoint',
  'unavailable',
] as const;
export type NodeFault = (typeof NODE_FAULTS)[number];

/** One or two kinds of seeded faults, at times and for some checkpoints. */
export interface ByzantineNode {
  readonly url: string;
  /** Call it before each checkpoint, with the addresses that may be paid in it. */
  next(checkpoint: number, ours: readonly string[]): void;
  clear(): void;
  kill(): void;
  revive(): void;
  readonly injected: Readonly<Partial<Record<NodeFault, number>>>;
}

const CHANCE = 0.4;
const LASTS_MAX = 3;

/**
 * `place` is the node's index: per address only one node gives wrong answers, because identical wrong answers of two
 * cannot be detected. `isSingleSource` omits the faults that only a second source reveals.
 */
export function createByzantineNode(
  node: SuiNode,
  {
    seed,
    place,
    isSingleSource = false,
    coinTypes,
  }: {
    readonly seed: number;
    readonly place: number;
    readonly isSingleSource?: boolean;
    readonly coinTypes: readonly string[];
  },
): ByzantineNode {
  const random = seededRandom(seed * 1_000 + place);
  const below = (end: number): number => Math.floor(random() * end);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const injected: Partial<Record<NodeFault, number>> = {};
  const isMine = (address: string): boolean => Number.parseInt(address.at(-1)!, 16) % 2 === place % 2;
  const kinds = NODE_FAULTS.filter(
    (kind) => !isSingleSource || !['hide-payments', 'invent-payment', 'fork'].includes(kind),
  );
  let left = 0;
  let isDead = false;

  function inject(kind: NodeFault, checkpoint: number, ours: readonly string[]): void {
    const mine = ours.filter(isMine);
    const faults: Readonly<Record<NodeFault, () => SuiFault | undefined>> = {
      cut: () => ({ kind: 'cut', times: 1 + below(3) }),
      drop() {
        node.dropConnections();
        return undefined;
      },
      fork: () => ({ kind: 'fork', fromCheckpoint: checkpoint }),
      'hide-payments': () => ({ kind: 'hide-payments', address: pick(mine) }),
      'invent-payment': () => ({
        kind: 'invent-payment',
        checkpoint,
        address: pick(mine),
        coinType: pick(coinTypes),
        amountBaseUnits: BigInt(1 + below(1_000_000)),
      }),
      lag: () => ({ kind: 'lag', checkpoints: 1 + below(4) }),
      latency: () => ({ kind: 'latency', delayMs: 100, times: 3 }),
      'no-balance-changes': () => ({ kind: 'no-balance-changes' }),
      'no-history': () => ({ kind: 'no-history' }),
      'rate-limit': () => ({ kind: 'rate-limit', perSecond: 20, times: 2 }),
      'silent-streams': () => ({ kind: 'silent-streams' }),
      'skip-checkpoint': () => ({ kind: 'skip-checkpoint', times: 1 + below(3) }),
      unavailable: () => ({ kind: 'status', code: 'UNAVAILABLE', times: 1 + below(4) }),
    };
    if (mine.length === 0 && (kind === 'hide-payments' || kind === 'invent-payment')) return;
    const fault = faults[kind]();
    if (fault !== undefined) node.fault(fault);
    injected[kind] = (injected[kind] ?? 0) + 1;
  }

  return {
    url: node.url,
    injected,
    next(checkpoint, ours) {
      if (isDead) return;
      left -= 1;
      if (left > 0) return;
      node.clearFaults();
      if (random() >= CHANCE) return;
      left = 1 + below(LASTS_MAX);
      for (let count = 1 + below(2); count > 0; count -= 1) inject(pick(kinds), checkpoint, ours);
    },
    clear: () => node.clearFaults(),
    kill() {
      isDead = true;
      node.clearFaults();
      node.fault({ kind: 'cut' });
      node.dropConnections();
    },
    revive() {
      isDead = false;
      node.clearFaults();
    },
  };
}
