import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSendOutcome } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import type { AttemptStore, SignedPayment } from '../../src/expiring/store/attempt-store.ts';
import type { OpenAttempt } from '../../src/expiring/store/attempt-facts.ts';
import type { SaveOutcome, WalletKey } from '../../src/payouts/payout-facts.ts';
import { resourceOf } from '../../src/payouts/resource-of-movement.ts';
import type { Around } from '../model/tables.ts';
import { commonTables, openCommonStore, USDT, type CommonTables, type ModelPayout } from '../model/tables.ts';
import type { ModelChain } from './model-chain.ts';

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

export interface ModelTables extends CommonTables {
  readonly attempts: Map<TxHash, ModelAttempt>;
  readonly fates: Map<TxHash, ModelFate>;
  /** Verified payments of the wallet without an attempt, with their receivers. */
  readonly foreign: Map<TxHash, Address>;
  readonly haltedFor: Set<TxHash>;
  /** False: ignores that a foreign payment may have paid a payout. */
  isGuarded: boolean;
  seen: ModelCursor;
  verified: ModelCursor;
  overMs: number;
}

export const RECEIVERS = ['0xa1', '0xa1', '0xa3'].map((start) => start.padEnd(42, '0') as Address);

export function createModelTables(chain: ModelChain): ModelTables {
  const tables: ModelTables = {
    ...commonTables(RECEIVERS, 1_800_000_030_000),
    attempts: new Map(),
    fates: new Map(),
    foreign: new Map(),
    haltedFor: new Set(),
    isGuarded: true,
    seen: cursorAt(chain, 0),
    verified: cursorAt(chain, 0),
    overMs: 0,
  };
  scan(tables, chain);
  return tables;
}

function cursorAt(chain: ModelChain, height: number): ModelCursor {
  const block = chain.blocks[height]!;
  return { height, hash: block.hash, timeMs: block.timeSeconds * 1_000 };
}

/** Never crashes; the scanner's own tests cover that. Verified blocks are final. */
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

/** Like the database: true if an unknown payment has exactly the fields of the payout. */
function mayBePaid(tables: ModelTables, { to }: Pick<ModelPayout, 'to'>): boolean {
  return [...tables.foreign].some(([txHash, paid]) => paid === to && !tables.attempts.has(txHash));
}

/** Each method is one transaction, so it is synchronous between two points. */
export function createModelStore(
  tables: ModelTables,
  key: WalletKey,
  around: Around,
  isLending = false,
): AttemptStore {
  const { payouts, attempts, fates } = tables;
  const movement = isLending
    ? {
        kind: 'DELEGATE' as const,
        depositIndex: 7,
        plannedCostBaseUnits: 10n ** 12n,
        paidByOthersBaseUnits: 0n,
      }
    : null;
  const asset = isLending
    ? { symbol: 'TRX', contract: null, countsAs: 'DELEGATE of TRX', movement }
    : { symbol: 'USDT', contract: USDT, countsAs: 'USDT', movement };
  const isGuarded = (payout: ModelPayout): boolean => tables.isGuarded && mayBePaid(tables, payout);
  const { write, ...common } = openCommonStore(tables, key, around, { asset, mayBePaid: isGuarded });
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
  const foreignNews = () => [...tables.foreign.keys()].filter((txHash) => !tables.haltedFor.has(txHash));

  return {
    saveGathering: () => Promise.resolve(true),
    openGatherings: () => Promise.resolve([]),
    readView: () =>
      around('readView', () => ({
        ...common.readView(),
        cursor: { seen: tables.seen, verified: tables.verified, overMs: tables.overMs, epoch: null },
        unsigned: [...payouts.values()]
          .filter(({ state }) => state === 'AUTHORISED')
          .map((payout) =>
            common.unsigned(
              payout,
              [...attempts.values()].filter(({ orderPk }) => orderPk === payout.orderPk).length,
            ),
          ),
        attempts: openAttempts(),
        otherFees: [],
        haltedWallets: new Set<Address>(),
        lastUniqueMs:
          attempts.size === 0
            ? null
            : Math.max(...[...attempts.values()].map(({ signed }) => signed.validity.uniqueMs)),
        foreign: foreignNews(),
      })),
    applyExternalUpdates(lease, view) {
      const settled = view.attempts.flatMap(({ isVerified, txHash }) => (isVerified ? [txHash] : []));
      const reopened = [...attempts].flatMap(([txHash, { state }]) =>
        state === 'SETTLED' && !isMined(txHash) ? [txHash] : [],
      );
      if (settled.length + reopened.length === 0) return around('findNews', () => undefined);
      return write('applyExternalUpdates', lease, () => {
        for (const txHash of settled) attempts.get(txHash)!.state = 'SETTLED';
        for (const txHash of reopened) attempts.get(txHash)!.state = 'OPEN';
        return { settled, reopened, vetoedOrderPks: [] };
      });
    },
    spent: () => Promise.resolve([]),
    tracesOf: () => Promise.resolve(new Map()),
    authorise: (lease, decide) => write('authorise', lease, () => common.authorise(decide([]))),
    saveObstacles: (lease, obstacles) => write('saveObstacles', lease, () => common.noteObstacles(obstacles)),
    saveSigned: (lease, payments) =>
      write('saveSigned', lease, (): SaveOutcome => {
        if (tables.halted !== null) return { kind: 'STALE' };
        const gone = payments.filter(
          ({ orderPk }) => payouts.get(orderPk)?.state !== 'AUTHORISED' || alive(orderPk),
        );
        if (gone.length > 0) return { kind: 'GONE', orderPks: gone.map(({ orderPk }) => orderPk) };
        for (const payment of payments) {
          if (attempts.has(payment.signed.txHash)) throw new Error('duplicate primary key');
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
          return common.noteSent(orderPk);
        }),
      ),
    markDead: (lease, txHashes) =>
      write('markDead', lease, () => ({
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
        const found = foreignNews();
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
    dismiss: common.dismiss,
    saveBalances: () => Promise.resolve(),
  };
}

function newAttempt(payment: SignedPayment, hasBytes: boolean, nowMs: number): ModelAttempt {
  return { ...payment, state: 'OPEN', hasBytes, signedAt: new Date(nowMs), outcome: null };
}
