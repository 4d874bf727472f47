import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSendOutcome } from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Lease } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import type { AttemptStore, SignedPayment } from '../../src/expiring/store/attempt-store.ts';
import type { OpenAttempt } from '../../src/expiring/store/attempt-facts.ts';
import type { SaveOutcome, WalletKey } from '../../src/payouts/payout-facts.ts';
import { resourceOf } from '../../src/payouts/resource-of-movement.ts';
import type { ModelChain } from './model-chain.ts';

export interface ModelPayout {
  readonly orderPk: string;
  readonly to: Address;
  state: 'REQUESTED' | 'AUTHORISED' | 'SIGNED' | 'REFUSED' | 'EXPIRED';
  wasSent: boolean;
  obstacle: string | null;
}
interface ModelAttempt extends SignedPayment {
  state: 'OPEN' | 'SETTLED' | 'DEAD';
  readonly hasBytes: boolean;
  readonly signedAt: Date;
  outcome: ExpiringSendOutcome | null;
}
interface ModelFate {
  state: 'MINED' | 'VERIFIED' | 'ORPHANED';
  height: number;
}
interface ModelCursor {
  readonly height: number;
  readonly hash: BlockHash;
  readonly timeMs: number;
}

/** The tables as maps: all that outlives a process. */
export interface ModelTables {
  readonly payouts: Map<string, ModelPayout>;
  readonly attempts: Map<TxHash, ModelAttempt>;
  readonly fates: Map<TxHash, ModelFate>;
  /** Verified payments of the wallet that no attempt here is of, and whom they pay. */
  readonly foreign: Map<TxHash, Address>;
  /** Those that a halt was set for. */
  readonly haltedFor: Set<TxHash>;
  /** False: a payout that a foreign payment may have paid is as any other. */
  isGuarded: boolean;
  /** Decisions of the operator, open ones. */
  readonly paidBy: Map<string, TxHash>;
  seen: ModelCursor;
  verified: ModelCursor;
  overMs: number;
  halted: string | null;
  haltedMark: number | null;
  releasedMark: number | null;
  token: number;
  nowMs: number;
}

/** The first two are equal but for their orders. */
export const RECEIVERS = ['0xa1', '0xa1', '0xa3'].map((start) => start.padEnd(42, '0') as Address);
export const USDT = 'usdt' as TokenContract;

export function createModelTables(chain: ModelChain): ModelTables {
  const payouts = RECEIVERS.map((to, i): ModelPayout => {
    return { orderPk: `payout-${i + 1}`, to, state: 'REQUESTED', wasSent: false, obstacle: null };
  });
  const tables: ModelTables = {
    payouts: new Map(payouts.map((payout) => [payout.orderPk, payout])),
    attempts: new Map(),
    fates: new Map(),
    foreign: new Map(),
    haltedFor: new Set(),
    isGuarded: true,
    paidBy: new Map(),
    seen: cursorAt(chain, 0),
    verified: cursorAt(chain, 0),
    overMs: 0,
    halted: null,
    haltedMark: null,
    releasedMark: null,
    token: 0,
    nowMs: 1_800_000_030_000,
  };
  scan(tables, chain);
  return tables;
}

/** Brings the tables back to what they were; the holder of the lease changes, and time does not go back. */
export function restoreTo(tables: ModelTables, backup: ModelTables): void {
  const { token, nowMs } = tables;
  const copy = structuredClone(backup);
  const fill = <K, V>(map: Map<K, V>, from: ReadonlyMap<K, V>) => {
    map.clear();
    for (const [key, value] of from) map.set(key, value);
  };
  fill(tables.payouts, copy.payouts);
  fill(tables.attempts, copy.attempts);
  fill(tables.fates, copy.fates);
  fill(tables.paidBy, copy.paidBy);
  fill(tables.foreign, copy.foreign);
  tables.haltedFor.clear();
  for (const txHash of copy.haltedFor) tables.haltedFor.add(txHash);
  const { seen, verified, overMs, halted, haltedMark, releasedMark } = copy;
  Object.assign(tables, {
    seen,
    verified,
    overMs,
    halted,
    haltedMark,
    releasedMark,
    token: token + 1,
    nowMs,
  });
}

function cursorAt(chain: ModelChain, height: number): ModelCursor {
  const block = chain.blocks[height]!;
  return { height, hash: block.hash, timeMs: block.timeSeconds * 1_000 };
}

/** What the scanner writes: it never crashes here, it has tests of its own. What it verifies is solid. */
export function scan(tables: ModelTables, chain: ModelChain): void {
  tables.seen = cursorAt(chain, chain.head().height);
  tables.verified = cursorAt(chain, chain.solidHeight());
  tables.overMs = cursorAt(chain, chain.solidHeight() - 1).timeMs;
  tables.foreign.clear();
  for (const { txHash, to } of chain.payments())
    if (!tables.attempts.has(txHash) && (chain.heightOf(txHash) ?? Infinity) <= tables.verified.height)
      tables.foreign.set(txHash, to);
  for (const [txHash, { state }] of tables.attempts) {
    if (state === 'DEAD') continue;
    const height = chain.heightOf(txHash);
    if (height !== undefined)
      tables.fates.set(txHash, { height, state: height <= tables.verified.height ? 'VERIFIED' : 'MINED' });
    else if (tables.fates.has(txHash)) tables.fates.set(txHash, { height: 0, state: 'ORPHANED' });
  }
}

/** What the database says: a payment that nobody here signed pays just what the payout asks for. */
function mayBePaid(tables: ModelTables, { to }: Pick<ModelPayout, 'to'>): boolean {
  return [...tables.foreign].some(([txHash, paid]) => paid === to && !tables.attempts.has(txHash));
}

export function expire(tables: ModelTables, orderPk: string): void {
  const payout = tables.payouts.get(orderPk);
  if (tables.halted !== null || payout?.obstacle === 'CHAIN_AHEAD') return;
  if (payout?.state === 'REQUESTED' || payout?.state === 'AUTHORISED') payout.state = 'EXPIRED';
}

/** The store's promises on maps; each method is one transaction, so it is synchronous between two points. */
export function createModelStore(
  tables: ModelTables,
  { chain: chainName, wallet }: WalletKey,
  around: <T>(name: string, effect: () => T) => Promise<T>,
  isLending = false,
): AttemptStore {
  const { payouts, attempts, fates } = tables;
  const movement = isLending
    ? {
        kind: 'DELEGATE' as const,
        depositIndex: 7,
        plannedCostBaseUnits: 10n ** 12n,
        paidBesidesBaseUnits: 0n,
      }
    : null;
  const write = <T>(name: string, lease: Lease, effect: () => T): Promise<T> =>
    around(name, () => {
      if (lease.fencingToken === tables.token) return effect();
      throw new GatewayError('LEASE_LOST', `${chainName} has another holder`, { retryable: true });
    });
  const isMined = (txHash: TxHash): boolean => {
    const state = fates.get(txHash)?.state;
    return state === 'MINED' || state === 'VERIFIED';
  };
  const alive = (orderPk: string): boolean =>
    [...attempts.values()].some((a) => a.orderPk === orderPk && a.state !== 'DEAD');
  const openAttempts = (): OpenAttempt[] =>
    [...attempts]
      .filter(([, { state }]) => state === 'OPEN')
      .map(([txHash, row]) => ({
        txHash,
        orderPk: row.orderPk,
        contract: row.contract,
        to: row.to,
        amountBaseUnits: row.amountBaseUnits,
        ...resourceOf(movement?.kind ?? null),
        costBaseUnits: row.costBaseUnits,
        feeLimitBaseUnits: row.signed.feeLimitBaseUnits,
        validity: row.signed.validity,
        hasBytes: row.hasBytes,
        signedAt: row.signedAt,
        outcome: row.outcome,
        minedHeight: isMined(txHash) ? (fates.get(txHash)?.height ?? null) : null,
        isVerified: fates.get(txHash)?.state === 'VERIFIED',
        hasLanded: false,
      }));
  const isGuarded = (payout: ModelPayout): boolean => tables.isGuarded && mayBePaid(tables, payout);
  const facts = ({ orderPk, to, obstacle }: ModelPayout) => ({
    orderPk,
    orderId: orderPk,
    merchantId: 'm',
    movement,
    countsAs: isLending ? 'DELEGATE of TRX' : 'USDT',
    symbol: isLending ? 'TRX' : 'USDT',
    contract: isLending ? null : (USDT as string),
    decimals: 6,
    receiver: to,
    amountBaseUnits: baseUnits(5n),
    wallet,
    obstacle,
  });
  const judged = {
    approvals: [],
    isReserved: true,
    paysOurselves: false,
    isOverdue: false,
  };

  return {
    // Nothing scatters here.
    saveGathering: () => Promise.resolve(true),
    openGatherings: () => Promise.resolve([]),
    look: () =>
      around('look', () => ({
        now: new Date(tables.nowMs),
        cursor: { seen: tables.seen, verified: tables.verified, overMs: tables.overMs, epoch: null },
        halted: tables.halted,
        isUncertain: tables.halted !== null,
        heldSymbols: new Set<string>(),
        requested: [...payouts.values()]
          .filter(({ state }) => state === 'REQUESTED')
          .map((payout) => ({
            ...facts(payout),
            ...judged,
            mayBePaid: isGuarded(payout),
            waitingSince: null,
            obstacleAt: null,
          })),
        pageEnd: null,
        unsigned: [...payouts.values()]
          .filter(({ state }) => state === 'AUTHORISED')
          .map((payout) => ({
            ...facts(payout),
            ...judged,
            mayBePaid: isGuarded(payout),
            isSignedBefore: false,
            attempts: [...attempts.values()].filter(({ orderPk }) => orderPk === payout.orderPk).length,
            isDecidedAgain: false,
          })),
        attempts: openAttempts(),
        feesElsewhere: [],
        haltedWallets: new Set<Address>(),
        lastUniqueMs:
          attempts.size === 0
            ? null
            : Math.max(...[...attempts.values()].map(({ signed }) => signed.validity.uniqueMs)),
        releasedMark: tables.releasedMark,
        foreign: [...tables.foreign.keys()].filter((txHash) => !tables.haltedFor.has(txHash)),
        paidBy: [...tables.paidBy].flatMap(([orderPk, txHash]) => {
          const payout = payouts.get(orderPk);
          return payout === undefined ? [] : [{ decisionId: orderPk, txHash, payout: facts(payout) }];
        }),
      })),
    takeIn(lease, view) {
      const settled = view.attempts.flatMap(({ isVerified, txHash }) => (isVerified ? [txHash] : []));
      const reopened = [...attempts].flatMap(([txHash, { state }]) =>
        state === 'SETTLED' && !isMined(txHash) ? [txHash] : [],
      );
      if (settled.length + reopened.length === 0) return around('findNews', () => undefined);
      return write('takeIn', lease, () => {
        for (const txHash of settled) attempts.get(txHash)!.state = 'SETTLED';
        for (const txHash of reopened) attempts.get(txHash)!.state = 'OPEN';
        return { settled, reopened, vetoedOrderPks: [] };
      });
    },
    spent: () => Promise.resolve([]),
    authorise: (lease, decide) =>
      write('authorise', lease, () => {
        const { authorised, obstacles } = decide([]);
        for (const { orderPk, obstacle } of obstacles) payouts.get(orderPk)!.obstacle = obstacle;
        return authorised.filter((orderPk) => {
          const payout = payouts.get(orderPk)!;
          if (payout.state !== 'REQUESTED') return false;
          Object.assign(payout, { state: 'AUTHORISED', obstacle: null });
          return true;
        });
      }),
    saveObstacles: (lease, obstacles) =>
      write('saveObstacles', lease, () => {
        for (const { orderPk, obstacle } of obstacles) payouts.get(orderPk)!.obstacle = obstacle;
      }),
    saveSigned: (lease, payments) =>
      write('saveSigned', lease, (): SaveOutcome => {
        if (tables.halted !== null) return { kind: 'STALE' };
        const gone = payments.filter(
          ({ orderPk }) => payouts.get(orderPk)?.state !== 'AUTHORISED' || alive(orderPk),
        );
        if (gone.length > 0) return { kind: 'GONE', orderPks: gone.map(({ orderPk }) => orderPk) };
        for (const payment of payments) {
          if (attempts.has(payment.signed.txHash)) throw new Error('a key twice');
          attempts.set(payment.signed.txHash, newAttempt(payment, true, tables.nowMs));
          Object.assign(payouts.get(payment.orderPk)!, { state: 'SIGNED', obstacle: null });
        }
        return { kind: 'SAVED' };
      }),
    readRaw: (txHashes) =>
      around('readRaw', () => new Map(txHashes.map((txHash) => [txHash, attempts.get(txHash)!.signed.raw]))),
    recordSent: (lease, sent) =>
      write('recordSent', lease, () =>
        sent.flatMap(({ txHash, orderPk, outcome }) => {
          attempts.get(txHash)!.outcome = outcome;
          const payout = payouts.get(orderPk)!;
          if (payout.wasSent || payout.state !== 'SIGNED') return [];
          payout.wasSent = true;
          return [orderPk];
        }),
      ),
    bury: (lease, txHashes) =>
      write('bury', lease, () => ({
        waiting: [],
        dead: txHashes.filter((txHash) => {
          const attempt = attempts.get(txHash)!;
          if (attempt.state !== 'OPEN' || isMined(txHash)) return false;
          if (attempt.signed.validity.expiresMs > tables.overMs) return false;
          if (isGuarded(payouts.get(attempt.orderPk)!)) return false;
          attempt.state = 'DEAD';
          const payout = payouts.get(attempt.orderPk)!;
          if (payout.state === 'SIGNED') payout.state = 'AUTHORISED';
          return true;
        }),
      })),
    haltRestored: (lease, mark, reason) =>
      write('haltRestored', lease, () => {
        if (tables.halted !== null) return false;
        Object.assign(tables, { halted: reason, haltedMark: mark });
        return true;
      }),
    haltForeign: (lease, reason) =>
      write('haltForeign', lease, () => {
        const found = [...tables.foreign.keys()].filter((txHash) => !tables.haltedFor.has(txHash));
        for (const txHash of found) tables.haltedFor.add(txHash);
        if (found.length > 0) tables.halted ??= reason;
        return found;
      }),
    adopt: (lease, decision, found) =>
      write('adopt', lease, () => {
        tables.paidBy.delete(decision.decisionId);
        const { txHash, payout } = decision;
        const row = payouts.get(payout.orderPk)!;
        const isOver = row.state === 'EXPIRED' || row.state === 'REFUSED';
        if (isOver || attempts.has(txHash)) return { kind: 'NOT_POSSIBLE', why: 'not so' };
        for (const [own, attempt] of attempts)
          if (attempt.orderPk === payout.orderPk && attempt.state === 'OPEN' && !isMined(own))
            if (attempt.signed.validity.expiresMs <= tables.overMs) attempt.state = 'DEAD';
        if (alive(payout.orderPk)) return { kind: 'NOT_POSSIBLE', why: 'alive' };
        const { contract, to, amountBaseUnits } = found.intent;
        const { validity, feeLimitBaseUnits } = found;
        const signed = { txHash, raw: Buffer.alloc(0), validity, feeLimitBaseUnits };
        const adopted = { orderPk: payout.orderPk, contract, to, amountBaseUnits, costBaseUnits: 0n, signed };
        attempts.set(txHash, newAttempt(adopted, false, tables.nowMs));
        Object.assign(row, { state: 'SIGNED', wasSent: true });
        return { kind: 'DONE' };
      }),
    dismiss: (lease, decisionId) => write('dismiss', lease, () => void tables.paidBy.delete(decisionId)),
    saveBalances: () => Promise.resolve(),
  };
}

function newAttempt(payment: SignedPayment, hasBytes: boolean, nowMs: number): ModelAttempt {
  return { ...payment, state: 'OPEN', hasBytes, signedAt: new Date(nowMs), outcome: null };
}
