import type { Address } from '@opentill/chain/address-codec';
import type { TxHash } from '@opentill/chain/transfer';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import type { PayoutStore, SignedAttempt } from '../../src/nonce/store/payout-store.ts';
import type { Adoption, SaveOutcome, WalletKey } from '../../src/payouts/payout-facts.ts';
import { freeNonces } from '../../src/nonce/plan-nonces.ts';
import { noncesToReserve, type OpenNonce, type OwnAttempt } from '../../src/nonce/store/nonce-facts.ts';
import type { Around } from '../model/tables.ts';
import { commonTables, openCommonStore, USDT, type CommonTables } from '../model/tables.ts';
import { blockHash, type ModelChain } from './model-chain.ts';

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

export interface ModelTables extends CommonTables {
  readonly nonces: Map<number, ModelNonce>;
  readonly own: Map<TxHash, ModelOwn>;
  readonly fates: Map<TxHash, 'MINED' | 'VERIFIED' | 'ORPHANED'>;
  seenHeight: number;
  verifiedHeight: number;
  readonly payAgain: Map<string, number>;
}

const RECEIVERS = ['0xa1', '0xa2', '0xa3'].map((start) => start.padEnd(42, '0') as Address);

export const createModelTables = (): ModelTables => ({
  ...commonTables(RECEIVERS, 1_000_000),
  nonces: new Map(),
  own: new Map(),
  fates: new Map(),
  seenHeight: 10,
  verifiedHeight: 9,
  payAgain: new Map(),
});

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

/** Each method is one transaction, so it is synchronous between two points. */
export function createModelStore(tables: ModelTables, key: WalletKey, around: Around): PayoutStore {
  const { payouts, nonces, own, fates } = tables;
  const asset = { symbol: 'USDT', contract: USDT, countsAs: 'USDT', movement: null };
  const { write, ...common } = openCommonStore(tables, key, around, { asset });
  const free = (isFreed: (orderPk: string | null, nonce: number) => boolean): void => {
    for (const [nonce, row] of nonces)
      if (row.state === 'RESERVED' && isFreed(row.orderPk, nonce)) row.orderPk = null;
  };
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
            const { signed, orderPk: _, purpose: __, ...facts } = attempt;
            const { txHash, terms } = signed;
            const fate = fates.get(txHash);
            const isVerified = fate === 'VERIFIED';
            return { ...facts, txHash, terms, isMined: fate === 'MINED' || isVerified, isVerified };
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
  return {
    readView: () =>
      around('readView', () => ({
        ...common.readView(),
        cursor: {
          seen: { height: tables.seenHeight, hash: blockHash(tables.seenHeight) },
          verified: { height: tables.verifiedHeight, hash: blockHash(tables.verifiedHeight) },
        },
        unsigned: [...payouts.values()].flatMap((payout) => {
          const { orderPk, state } = payout;
          const taken = lastTaken(orderPk);
          const isSignedBefore =
            state === 'SIGNED' &&
            taken !== undefined &&
            !hasOwnNonce(orderPk) &&
            tables.payAgain.get(orderPk) === taken;
          return state === 'AUTHORISED' || isSignedBefore ? [common.unsigned(payout, 0, isSignedBefore)] : [];
        }),
        nonces: openNonces(),
        nextNonce: highest() === null ? null : (highest() ?? 0) + 1,
        highestUsed: highestUsed(),
      })),
    applyExternalUpdates: (lease) =>
      write('applyExternalUpdates', lease, () => {
        const none = (): number[] => [];
        const taken = {
          finalNonces: none(),
          reopenedNonces: none(),
          freedNonces: none(),
          vetoedOrderPks: [],
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
    tracesOf: () => Promise.resolve(new Map()),
    authorise: (lease, firstNonce, decide) =>
      write('authorise', lease, () => {
        const moved = common.authorise(decide([]));
        const top = highest();
        const next = top === null ? firstNonce : top + 1;
        const given = noncesToReserve(freeNonces(openNonces()), next, moved.length);
        for (const [place, orderPk] of moved.entries())
          nonces.set(given[place] ?? -1, { state: 'RESERVED', orderPk, purpose: 'PAYOUT' });
        return moved;
      }),
    saveObstacles: (lease, obstacles) =>
      write('saveObstacles', lease, () => {
        common.noteObstacles(obstacles);
        free((owner) => obstacles.some(({ orderPk }) => orderPk === owner));
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
        free((owner) => attempts.some(({ orderPk }) => orderPk === owner));
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
          return common.noteSent(orderPk);
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
        free((_, nonce) => nonce <= mark);
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
            : [{ orderPk, from: key.wallet, contract, to, amountBaseUnits, ...hashOf(signed) }],
        ),
      ),
    adopt: (lease, { decisionId: orderPk, txHash }, { nonce, intent }) =>
      write('adopt', lease, (): Adoption => {
        const payout = payouts.get(orderPk);
        const why =
          payout === undefined || own.has(txHash) || hasOwnNonce(orderPk)
            ? 'the decision is not possible'
            : undefined;
        if (why === undefined && nonces.get(nonce)?.state !== 'TAKEN') return { kind: 'LATER' };
        tables.paidBy.delete(orderPk);
        if (payout === undefined || why !== undefined) return { kind: 'NOT_POSSIBLE', why: why ?? '' };
        free((owner) => owner === orderPk);
        payout.state = 'SIGNED';
        payout.wasSent = true;
        const { contract, to, amountBaseUnits } = intent;
        const terms = { gasLimit: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
        const signed = { txHash, nonce, raw: Buffer.alloc(0), terms };
        insert({ purpose: 'PAYOUT', orderPk, contract, to, amountBaseUnits, signed });
        return { kind: 'DONE' };
      }),
    dismiss: common.dismiss,
    saveBalances: (lease) => write('saveBalances', lease, () => undefined),
  };
}

const hashOf = ({ txHash, nonce }: SignedAttempt['signed']) => ({ txHash, nonce });
