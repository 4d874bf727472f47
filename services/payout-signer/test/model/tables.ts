import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Lease } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import type { Movement, WalletKey } from '../../src/payouts/payout-facts.ts';

/** Has a point on each side. */
export type Around = <T>(name: string, effect: () => T) => Promise<T>;

export interface ModelPayout {
  readonly orderPk: string;
  readonly to: Address;
  state: 'REQUESTED' | 'AUTHORISED' | 'SIGNED' | 'REFUSED' | 'EXPIRED';
  wasSent: boolean;
  obstacle: string | null;
}

export interface CommonTables {
  readonly payouts: Map<string, ModelPayout>;
  readonly paidBy: Map<string, TxHash>;
  halted: string | null;
  /** Upper bound of forgotten transactions: of the open halt, and of a released one. */
  haltedMark: number | null;
  releasedMark: number | null;
  token: number;
  nowMs: number;
}

export const USDT = 'usdt' as TokenContract;

export function commonTables(receivers: readonly Address[], nowMs: number): CommonTables {
  const payouts = receivers.map((to, i): ModelPayout => {
    return { orderPk: `payout-${i + 1}`, to, state: 'REQUESTED', wasSent: false, obstacle: null };
  });
  return {
    payouts: new Map(payouts.map((payout) => [payout.orderPk, payout])),
    paidBy: new Map(),
    halted: null,
    haltedMark: null,
    releasedMark: null,
    token: 0,
    nowMs,
  };
}

/** The lease gets another holder; time continues. */
export function restoreTo<T extends CommonTables>(tables: T, backup: T): void {
  const { token, nowMs } = tables;
  for (const [name, value] of Object.entries(structuredClone(backup))) {
    const own: unknown = tables[name as keyof T];
    if (own instanceof Map || own instanceof Set) {
      own.clear();
      if (own instanceof Map) for (const [key, row] of value as Map<unknown, unknown>) own.set(key, row);
      else for (const member of value as Set<unknown>) own.add(member);
    } else Object.assign(tables, { [name]: value });
  }
  Object.assign(tables, { token: token + 1, nowMs });
}

export function expire(tables: CommonTables, orderPk: string): void {
  const payout = tables.payouts.get(orderPk);
  if (tables.halted !== null || payout?.obstacle === 'CHAIN_AHEAD') return;
  if (payout?.state === 'REQUESTED' || payout?.state === 'AUTHORISED') payout.state = 'EXPIRED';
}

interface Asset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly countsAs: string;
  readonly movement: Movement | null;
}

/** Each method is one transaction, so it is synchronous between two points. */
export function openCommonStore(
  tables: CommonTables,
  { chain, wallet }: WalletKey,
  around: Around,
  { asset, mayBePaid = () => false }: { asset: Asset; mayBePaid?: (payout: ModelPayout) => boolean },
) {
  const { payouts, paidBy } = tables;
  const write = <T>(name: string, lease: Lease, effect: () => T): Promise<T> =>
    around(name, () => {
      if (lease.fencingToken === tables.token) return effect();
      throw new GatewayError('LEASE_LOST', `${chain} has another holder`, { retryable: true });
    });
  const facts = ({ orderPk, to, obstacle }: ModelPayout) => ({
    orderPk,
    orderId: orderPk,
    merchantId: 'm',
    ...asset,
    decimals: 6,
    receiver: to,
    amountBaseUnits: baseUnits(5n),
    wallet,
    obstacle,
  });
  const judged = (payout: ModelPayout) => ({
    ...facts(payout),
    approvals: [],
    isReserved: true,
    paysOwnAddress: false,
    isOverdue: false,
    mayBePaid: mayBePaid(payout),
  });
  const noteObstacles = (obstacles: readonly { orderPk: string; obstacle: string | null }[]) => {
    for (const { orderPk, obstacle } of obstacles) {
      const payout = payouts.get(orderPk);
      if (payout !== undefined) payout.obstacle = obstacle;
    }
  };
  return {
    write,
    noteObstacles,
    readView: () => ({
      now: new Date(tables.nowMs),
      halted: tables.halted,
      isUncertain: tables.halted !== null,
      heldSymbols: new Set<string>(),
      requested: [...payouts.values()]
        .filter(({ state }) => state === 'REQUESTED')
        .map((payout) => ({ ...judged(payout), waitingSince: null, obstacleAt: null })),
      pageEnd: null,
      releasedMark: tables.releasedMark,
      paidBy: [...paidBy].flatMap(([orderPk, txHash]) => {
        const payout = payouts.get(orderPk);
        return payout === undefined ? [] : [{ decisionId: orderPk, txHash, payout: facts(payout) }];
      }),
    }),
    unsigned: (payout: ModelPayout, attempts: number, isSignedBefore = false) => ({
      ...judged(payout),
      isSignedBefore,
      attempts,
      isDecidedAgain: false,
    }),
    authorise(decisions: {
      authorised: readonly string[];
      obstacles: readonly { orderPk: string; obstacle: string | null }[];
    }): readonly string[] {
      noteObstacles(decisions.obstacles);
      return decisions.authorised.filter((orderPk) => {
        const payout = payouts.get(orderPk);
        if (payout?.state !== 'REQUESTED') return false;
        Object.assign(payout, { state: 'AUTHORISED', obstacle: null });
        return true;
      });
    },
    noteSent(orderPk: string | null): readonly string[] {
      const payout = payouts.get(orderPk ?? '');
      if (payout === undefined || payout.wasSent || payout.state !== 'SIGNED') return [];
      payout.wasSent = true;
      return [payout.orderPk];
    },
    dismiss: (lease: Lease, decisionId: string) =>
      write('dismiss', lease, () => void paidBy.delete(decisionId)),
  };
}
