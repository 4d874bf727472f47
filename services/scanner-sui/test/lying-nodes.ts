import type { SuiFault, SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { seededRandom } from '@opentill/testkit/seeded-random';

/** What a node may do for some checkpoints on end. */
export const LIES = [
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
export type Lie = (typeof LIES)[number];

/** A node that lies by a seed: now and then, for some checkpoints, in one way or two. */
export interface LyingNode {
  readonly url: string;
  /** Before each checkpoint: of this number, in which addresses of ours may be paid. */
  next(checkpoint: number, ours: readonly string[]): void;
  /** The truth again, for good. */
  clear(): void;
  /** It is gone: nothing is answered until `revive`. */
  kill(): void;
  revive(): void;
  readonly told: Readonly<Partial<Record<Lie, number>>>;
}

const CHANCE = 0.4;
const LASTS_MAX = 3;

/**
 * `place` among several nodes: of each address one node alone lies, since no two reveal what both say alike, and one source alone is
 * not found out by anything: `isAlone` leaves out the lies that only another one reveals.
 */
export function createLyingNode(
  node: SuiNode,
  {
    seed,
    place,
    isAlone = false,
    coinTypes,
  }: {
    readonly seed: number;
    readonly place: number;
    readonly isAlone?: boolean;
    readonly coinTypes: readonly string[];
  },
): LyingNode {
  const random = seededRandom(seed * 1_000 + place);
  const below = (end: number): number => Math.floor(random() * end);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const told: Partial<Record<Lie, number>> = {};
  const isMine = (address: string): boolean => Number.parseInt(address.at(-1)!, 16) % 2 === place % 2;
  const lies = LIES.filter((lie) => !isAlone || !['hide-payments', 'invent-payment', 'fork'].includes(lie));
  let left = 0;
  let isDead = false;

  function tell(lie: Lie, checkpoint: number, ours: readonly string[]): void {
    const mine = ours.filter(isMine);
    const faults: Readonly<Record<Lie, () => SuiFault | undefined>> = {
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
    if (mine.length === 0 && (lie === 'hide-payments' || lie === 'invent-payment')) return;
    const fault = faults[lie]();
    if (fault !== undefined) node.fault(fault);
    told[lie] = (told[lie] ?? 0) + 1;
  }

  return {
    url: node.url,
    told,
    next(checkpoint, ours) {
      if (isDead) return;
      left -= 1;
      if (left > 0) return;
      node.clearFaults();
      if (random() >= CHANCE) return;
      left = 1 + below(LASTS_MAX);
      for (let count = 1 + below(2); count > 0; count -= 1) tell(pick(lies), checkpoint, ours);
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
