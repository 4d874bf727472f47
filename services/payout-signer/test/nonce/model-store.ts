import type { Address } from '@opentill/chain/address-codec';
import type { TxHash } from '@opentill/chain/transfer';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import type { Lease } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import type { PayoutStore, SignedAttempt } from '../../src/nonce/store/payout-store.ts';
import type { Adoption, SaveOutcome, WalletKey } from '../../src/payouts/payout-facts.ts';
import { freeNonces } from '../../src/nonce/plan-nonces.ts';
import { noncesToReserve, type OpenNonce, type OwnAttempt } from '../../src/nonce/store/nonce-facts.ts';
import { blockHash, type ModelChain } from './model-chain.ts';

export interface ModelPayout {
  readonly orderPk: string;
  readonly to: Address;
  state: 'REQUESTED' | 'AUTHORISED' | 'SIGNED' | 'REFUSED' | 'EXPIRED';
  wasSent: boolean;
  obstacle: string | null;
}
interface ModelNonce {
  state: 'RESERVED' | 'SIGNED' | 'FINAL' | 'TAKEN';
  orderPk: string | null;
  purpose: 'PAYOUT' | 'CANCEL';
}
interface ModelOwn extends SignedAttempt {
  readonly signedAt: Date;
  outcome: SendOutcome | null;
  lastSentAt: Date | null;
}

/** The tables as maps: all that outlives a process. */
export interface ModelTables {
  readonly payouts: Map<string, ModelPayout>;
  readonly nonces: Map<number, ModelNonce>;
  readonly own: Map<TxHash, ModelOwn>;
  readonly fates: Map<TxHash, 'MINED' | 'VERIFIED' | 'ORPHANED'>;
  seenHeight: number;
  verifiedHeight: number;
  halted: string | null;
  token: number;
  nowMs: number;
  /** Decisions of the operator, open ones. */
  readonly payAgain: Map<string, number>;
  readonly paidBy: Map<string, TxHash>;
  /** Up to here something unknown may have been sent: the halt that says so is open, or was released. */
  haltedMark: number | null;
  releasedMark: number | null;
}

/** A backup of the tables. */
export function snapshotOf(tables: ModelTables): ModelTables {
  return structuredClone(tables);
}

/** Brings the tables back to what they were; the holder of the lease changes. */
export function restoreTo(tables: ModelTables, backup: ModelTables): void {
  const { token, nowMs } = tables;
  const fill = <K, V>(map: Map<K, V>, from: ReadonlyMap<K, V>) => {
    map.clear();
    for (const [key, value] of from) map.set(key, value);
  };
  const copy = structuredClone(backup);
  fill(tables.payouts, copy.payouts);
  fill(tables.nonces, copy.nonces);
  fill(tables.own, copy.own);
  fill(tables.fates, copy.fates);
  fill(tables.payAgain, copy.payAgain);
  fill(tables.paidBy, copy.paidBy);
  const { seenHeight, verifiedHeight, halted, haltedMark, releasedMark } = copy;
  Object.assign(tables, { seenHeight, verifiedHeight, halted, haltedMark, releasedMark });
  Object.assign(tables, { token: token + 1, nowMs });
}

const RECEIVERS = ['0xa1', '0xa2', '0xa3'].map((start) => start.padEnd(42, '0') as Address);

export function createModelTables(): ModelTables {
  const payouts = RECEIVERS.map((to, i): ModelPayout => {
    return { orderPk: `payout-${i + 1}`, to, state: 'REQUESTED', wasSent: false, obstacle: null };
  });
  return {
    payouts: new Map(payouts.map((payout) => [payout.orderPk, payout])),
    nonces: new Map(),
    own: new Map(),
    fates: new Map(),
    seenHeight: 10,
    verifiedHeight: 9,
    halted: null,
    token: 0,
    nowMs: 1_000_000,
    payAgain: new Map(),
    paidBy: new Map(),
    haltedMark: null,
    releasedMark: null,
  };
}

/** What the scanner and the tracker would write: both never crash here, they have tests of their own. */
export function scan(tables: ModelTables, chain: ModelChain): void {
  tables.seenHeight = chain.height();
  tables.verifiedHeight = chain.height() - 1;
  for (const txHash of tables.own.keys()) {
    const height = chain.heightOf(txHash);
    if (height !== undefined)
      tables.fates.set(txHash, height <= tables.verifiedHeight ? 'VERIFIED' : 'MINED');
    else if (tables.fates.has(txHash)) tables.fates.set(txHash, 'ORPHANED');
  }
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
): PayoutStore {
  const { payouts, nonces, own, fates } = tables;
  const write = <T>(name: string, lease: Lease, effect: () => T): Promise<T> =>
    around(name, () => {
      if (lease.fencingToken === tables.token) return effect();
      throw new GatewayError('LEASE_LOST', `${chainName} has another holder`, { retryable: true });
    });
  const openNonces = (): OpenNonce[] =>
    [...nonces]
      .filter(([, { state }]) => state === 'RESERVED' || state === 'SIGNED')
      .sort(([a], [b]) => a - b)
      .map(([nonce, row]) => ({
        nonce,
        state: row.state as OpenNonce['state'],
        orderPk: row.orderPk,
        purpose: row.purpose,
        attempts: [...own.values()]
          .filter(({ signed }) => signed.nonce === nonce && row.state === 'SIGNED')
          .map((attempt): OwnAttempt => {
            const { signed, signedAt, lastSentAt, outcome, contract, to, amountBaseUnits } = attempt;
            const fate = fates.get(signed.txHash);
            const isVerified = fate === 'VERIFIED';
            const isMined = fate === 'MINED' || isVerified;
            const { txHash, terms } = signed;
            return {
              txHash,
              contract,
              to,
              amountBaseUnits,
              terms,
              signedAt,
              lastSentAt,
              outcome,
              isMined,
              isVerified,
            };
          }),
      }));
  const highest = (): number | null => (nonces.size === 0 ? null : Math.max(...nonces.keys()));
  const highestUsed = (): number | null => {
    const used = [...nonces].flatMap(([nonce, { state }]) => (state === 'RESERVED' ? [] : [nonce]));
    return used.length === 0 ? null : Math.max(...used);
  };
  const lastTaken = (orderPk: string): number | undefined =>
    [...nonces]
      .flatMap(([nonce, row]) => (row.state === 'TAKEN' && row.orderPk === orderPk ? [nonce] : []))
      .sort((a, b) => b - a)[0];
  const hasOwnNonce = (orderPk: string): boolean =>
    [...nonces.values()].some((n) => n.orderPk === orderPk && (n.state === 'SIGNED' || n.state === 'FINAL'));
  const insert = (attempt: SignedAttempt): void => {
    const signedAt = new Date(tables.nowMs);
    if (attempt.orderPk !== null) tables.payAgain.delete(attempt.orderPk);
    own.set(attempt.signed.txHash, { ...attempt, signedAt, outcome: null, lastSentAt: null });
  };
  const facts = ({ orderPk, to, obstacle }: ModelPayout) => ({
    orderPk,
    orderId: orderPk,
    merchantId: 'm',
    movement: null,
    countsAs: 'USDT',
    symbol: 'USDT',
    contract: 'usdt',
    decimals: 6,
    receiver: to,
    amountBaseUnits: baseUnits(5n),
    wallet,
    obstacle,
  });

  return {
    look: () =>
      around('look', () => ({
        now: new Date(tables.nowMs),
        cursor: {
          seen: { height: tables.seenHeight, hash: blockHash(tables.seenHeight) },
          verified: { height: tables.verifiedHeight, hash: blockHash(tables.verifiedHeight) },
        },
        halted: tables.halted,
        heldSymbols: new Set<string>(),
        requested: [...payouts.values()]
          .filter(({ state }) => state === 'REQUESTED')
          .map((payout) => {
            const more = {
              waitingSince: null,
              approvals: [],
              isReserved: true,
              mayBePaid: false,
              paysOurselves: false,
              isOverdue: false,
              obstacleAt: null,
            };
            return { ...facts(payout), ...more };
          }),
        unsigned: [...payouts.values()].flatMap((payout) => {
          const isTaken = [...nonces.values()].some(
            (n) => n.state === 'TAKEN' && n.orderPk === payout.orderPk,
          );
          const isSignedBefore =
            payout.state === 'SIGNED' &&
            isTaken &&
            !hasOwnNonce(payout.orderPk) &&
            tables.payAgain.get(payout.orderPk) === lastTaken(payout.orderPk);
          const more = {
            approvals: [],
            isReserved: true,
            mayBePaid: false,
            paysOurselves: false,
            isOverdue: false,
            isSignedBefore,
            attempts: 0,
            isDecidedAgain: false,
          };
          return payout.state === 'AUTHORISED' || isSignedBefore ? [{ ...facts(payout), ...more }] : [];
        }),
        nonces: openNonces(),
        nextNonce: highest() === null ? null : (highest() ?? 0) + 1,
        pageEnd: null,
        isUncertain: tables.halted !== null,
        highestUsed: highestUsed(),
        releasedMark: tables.releasedMark,
        paidBy: [...tables.paidBy].flatMap(([orderPk, txHash]) => {
          const payout = payouts.get(orderPk);
          return payout === undefined ? [] : [{ decisionId: orderPk, txHash, payout: facts(payout) }];
        }),
      })),
    takeIn: (lease) =>
      write('takeIn', lease, () => {
        const taken = { finalNonces: [], reopenedNonces: [], freedNonces: [], vetoedOrderPks: [] } as {
          finalNonces: number[];
          reopenedNonces: number[];
          freedNonces: number[];
          vetoedOrderPks: string[];
        };
        for (const [nonce, row] of nonces) {
          const hashes = [...own.values()].filter(({ signed }) => signed.nonce === nonce);
          const isVerified = hashes.some(({ signed }) => fates.get(signed.txHash) === 'VERIFIED');
          if (row.state === 'SIGNED' && isVerified) {
            row.state = 'FINAL';
            taken.finalNonces.push(nonce);
          }
          const isOrphaned = hashes.some(({ signed }) => fates.get(signed.txHash) === 'ORPHANED');
          if (row.state === 'FINAL' && isOrphaned && !isVerified) {
            row.state = 'SIGNED';
            taken.reopenedNonces.push(nonce);
          }
          const payout = payouts.get(row.orderPk ?? '');
          if (row.state === 'RESERVED' && payout !== undefined && payout.state !== 'AUTHORISED') {
            row.orderPk = null;
            taken.freedNonces.push(nonce);
          }
        }
        return Object.values(taken).every((found) => found.length === 0) ? undefined : taken;
      }),
    spent: () => around('spent', () => []),
    authorise: (lease, firstNonce, decide) =>
      write('authorise', lease, () => {
        const decisions = decide([]);
        const moved = decisions.authorised.filter((orderPk) => payouts.get(orderPk)?.state === 'REQUESTED');
        for (const { orderPk, obstacle } of decisions.obstacles) {
          const payout = payouts.get(orderPk);
          if (payout !== undefined) payout.obstacle = obstacle;
        }
        const top = highest();
        const next = top === null ? firstNonce : top + 1;
        const given = noncesToReserve(freeNonces(openNonces()), next, moved.length);
        for (const [place, orderPk] of moved.entries()) {
          const payout = payouts.get(orderPk);
          if (payout !== undefined) payout.state = 'AUTHORISED';
          nonces.set(given[place] ?? -1, { state: 'RESERVED', orderPk, purpose: 'PAYOUT' });
        }
        return moved;
      }),
    saveObstacles: (lease, obstacles) =>
      write('saveObstacles', lease, () => {
        for (const { orderPk, obstacle } of obstacles) {
          const payout = payouts.get(orderPk);
          if (payout !== undefined) payout.obstacle = obstacle;
          for (const row of nonces.values())
            if (row.state === 'RESERVED' && row.orderPk === orderPk) row.orderPk = null;
        }
      }),
    saveSigned: (lease, attempts) =>
      write('saveSigned', lease, (): SaveOutcome => {
        if (tables.halted !== null) return { kind: 'STALE' };
        const gone = attempts.flatMap(({ orderPk }) => {
          const payout = payouts.get(orderPk ?? '');
          const isAgain = payout?.state === 'SIGNED' && tables.payAgain.has(payout.orderPk);
          const isOpen = payout?.state === 'AUTHORISED' || isAgain;
          return isOpen && !hasOwnNonce(payout.orderPk) ? [] : [orderPk ?? ''];
        });
        if (gone.length > 0) return { kind: 'GONE', orderPks: gone };
        const isStale = attempts.some(
          ({ signed }) => (nonces.get(signed.nonce)?.state ?? 'RESERVED') !== 'RESERVED',
        );
        if (isStale) return { kind: 'STALE' };
        const orderPks = new Set(attempts.map(({ orderPk }) => orderPk));
        for (const row of nonces.values())
          if (row.state === 'RESERVED' && orderPks.has(row.orderPk)) row.orderPk = null;
        for (const attempt of attempts) {
          const payout = payouts.get(attempt.orderPk ?? '');
          if (payout !== undefined) payout.state = 'SIGNED';
          nonces.set(attempt.signed.nonce, { state: 'SIGNED', orderPk: attempt.orderPk, purpose: 'PAYOUT' });
          insert(attempt);
        }
        return { kind: 'SAVED' };
      }),
    saveReplacement: (lease, attempt) =>
      write('saveReplacement', lease, (): SaveOutcome => {
        const row = nonces.get(attempt.signed.nonce);
        const fits =
          row?.orderPk === attempt.orderPk &&
          (row.state === 'SIGNED'
            ? row.purpose === attempt.purpose
            : row.state === 'RESERVED' && attempt.purpose === 'CANCEL');
        if (row === undefined || !fits || tables.halted !== null) return { kind: 'STALE' };
        row.state = 'SIGNED';
        row.purpose = attempt.purpose;
        insert(attempt);
        return { kind: 'SAVED' };
      }),
    readMoves: () => Promise.resolve(new Map()),
    readRaw: (txHashes) =>
      around('readRaw', () => {
        return new Map(
          txHashes.flatMap((txHash) => {
            const raw = own.get(txHash)?.signed.raw;
            return raw === undefined ? [] : [[txHash, raw] as const];
          }),
        );
      }),
    recordSent: (lease, sent) =>
      write('recordSent', lease, () =>
        sent.flatMap(({ txHash, orderPk, outcome }) => {
          const tx = own.get(txHash);
          if (tx !== undefined) {
            tx.outcome = outcome;
            tx.lastSentAt = new Date(tables.nowMs);
          }
          const payout = payouts.get(orderPk ?? '');
          if (payout === undefined || payout.wasSent) return [];
          payout.wasSent = true;
          return [payout.orderPk];
        }),
      ),
    markTaken: (lease, taken, reason) =>
      write('markTaken', lease, () => {
        for (const nonce of taken) {
          const row = nonces.get(nonce);
          const orderPk = row?.state === 'SIGNED' ? row.orderPk : null;
          nonces.set(nonce, { state: 'TAKEN', orderPk, purpose: row?.purpose ?? 'PAYOUT' });
        }
        tables.halted = reason;
      }),
    haltRestored: (lease, mark, reason) =>
      write('haltRestored', lease, () => {
        if (tables.haltedMark !== null || (tables.releasedMark ?? -1) >= mark) return false;
        tables.halted = reason;
        tables.haltedMark = mark;
        return true;
      }),
    keepFromPayouts: (lease, mark, first) =>
      write('keepFromPayouts', lease, () => {
        for (const [nonce, row] of nonces) if (nonce <= mark && row.state === 'RESERVED') row.orderPk = null;
        const top = highest();
        for (let nonce = top === null ? first : top + 1; nonce <= mark; nonce += 1)
          nonces.set(nonce, { state: 'RESERVED', orderPk: null, purpose: 'PAYOUT' });
        return true;
      }),
    transactionsOf: (orderPks) =>
      around('transactionsOf', () =>
        [...own.values()].flatMap(({ orderPk, contract, to, amountBaseUnits, signed }) =>
          orderPk === null || !orderPks.includes(orderPk)
            ? []
            : [
                {
                  orderPk,
                  from: wallet,
                  contract,
                  to,
                  amountBaseUnits,
                  txHash: signed.txHash,
                  nonce: signed.nonce,
                },
              ],
        ),
      ),
    adopt: (lease, { decisionId: orderPk, txHash }, { nonce, intent }) =>
      write('adopt', lease, (): Adoption => {
        const payout = payouts.get(orderPk);
        const why =
          payout === undefined || own.has(txHash) || hasOwnNonce(orderPk) ? 'it is not possible' : undefined;
        if (why === undefined && nonces.get(nonce)?.state !== 'TAKEN') return { kind: 'LATER' };
        tables.paidBy.delete(orderPk);
        if (payout === undefined || why !== undefined) return { kind: 'NOT_POSSIBLE', why: why ?? '' };
        for (const row of nonces.values())
          if (row.state === 'RESERVED' && row.orderPk === orderPk) row.orderPk = null;
        payout.state = 'SIGNED';
        payout.wasSent = true;
        const { contract, to, amountBaseUnits } = intent;
        const terms = { gasLimit: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
        const signed = { txHash, nonce, raw: Buffer.alloc(0), terms };
        insert({ purpose: 'PAYOUT', orderPk, contract, to, amountBaseUnits, signed });
        return { kind: 'DONE' };
      }),
    dismiss: (lease, orderPk) => write('dismiss', lease, () => void tables.paidBy.delete(orderPk)),
    saveBalances: (lease) => write('saveBalances', lease, () => undefined),
  };
}
