import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSender, SignedExpiring } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { baseUnits } from '@opentill/domain/money';
import type { AttemptStore } from '../../src/expiring/store/attempt-store.ts';
import { createExpiringPass } from '../../src/expiring/pass.ts';
import type { ExpiringPassDeps } from '../../src/expiring/pass-deps.ts';
import type { MarkOfSends, SendMark } from '../../src/expiring/send-mark.ts';
import type { WalletKey } from '../../src/payouts/payout-facts.ts';
import {
  codec,
  simulateProcesses,
  observe,
  policyOf,
  type Fault as GenericFault,
  type Outcome,
  type Rpc,
} from '../model/simulate-processes.ts';
import { expire, USDT } from '../model/tables.ts';
import { createModelChain, modelSign, type ModelChain, type ModelTx } from './model-chain.ts';
import { createModelStore, createModelTables, RECEIVERS, scan, type ModelTables } from './model-store.ts';

export type FaultKind =
  | 'crash'
  | 'lost-request'
  | 'lost-reply'
  /** The node answers that the transaction expired or is refused, and relays it anyway. */
  | 'wrong-answer'
  | 'drop'
  | 'mine'
  /** Blocks are empty, but pending transactions stay valid. */
  | 'stall'
  /** Blocks are empty until pending transactions expire. */
  | 'outage'
  | 'reorganise'
  /** The last blocks are replaced by others of the same times that contain every transaction ever sent. */
  | 'fork'
  | 'expire'
  | 'takeover'
  /** A node broadcasts every transaction ever sent; valid ones are accepted. */
  | 'remember'
  /** The process crashes, and the database is restored to an earlier point. */
  | 'restore'
  /** On another machine: the mark file is lost too, and the wallet is halted until it is reconciled. */
  | 'restore-elsewhere';

export type { Outcome };
export type Fault = GenericFault<FaultKind>;

export interface Variant {
  readonly store?: (store: AttemptStore, tables: ModelTables, chain: ModelChain) => AttemptStore;
  readonly sender?: (sender: ExpiringSender, tables: ModelTables, chain: ModelChain) => ExpiringSender;
  readonly mark?: (mark: SendMark) => SendMark;
  readonly isLending?: boolean;
  /** The operator releases halts without checking the chain, and checks only payouts that do not continue. */
  readonly isLazy?: boolean;
  /** Duration of the halt after a restore, in the chain's final time. @default VALID_MS */
  readonly holdsForMs?: number;
  readonly onStart?: (tables: ModelTables) => void;
  readonly onPass?: (tables: ModelTables, chain: ModelChain) => void;
}

const KEY: WalletKey = { chain: 'TRON_TEST', wallet: `T${'f'.repeat(33)}` as Address };
const PASSES_MAX = 160;
const PASS_MS = 6_000;
const VALID_MS = 30_000;
const STALLED_BLOCKS = 5;
const OUTAGE_BLOCKS = 14;

const network = {
  chain: KEY.chain,
  nativeSymbol: 'TRX',
  nativeDecimals: 6,
  tokens: [{ symbol: 'USDT', contract: USDT as string, decimals: 6 }],
} as unknown as NetworkConfig;

export async function runModel(faults: readonly Fault[], variant: Variant = {}): Promise<Outcome> {
  const chain = createModelChain();
  const tables = createModelTables(chain);
  let heldUntilMs: number | undefined;
  let signedCount = 0;
  let marked: MarkOfSends | undefined;
  const passTime = (blocks = PASS_MS / 3_000): void => {
    for (let i = 0; i < blocks; i += 1) chain.mine();
    tables.nowMs += blocks * 3_000;
    scan(tables, chain);
  };
  const afterwards = (change: () => void) => () => {
    change();
    scan(tables, chain);
  };
  const { points, around, rpc, liveOn } = simulateProcesses<FaultKind, ModelTables>(
    faults,
    tables,
    {
      restore: () => scan(tables, chain),
      'restore-elsewhere': afterwards(() => {
        marked = undefined;
        // No transaction signed before the restore expires later.
        heldUntilMs = chain.head().timeSeconds * 1_000 + (variant.holdsForMs ?? VALID_MS);
      }),
      drop: () => chain.dropPool(),
      mine: () => passTime(1),
      stall: () => chain.stall(STALLED_BLOCKS),
      outage: () => chain.stall(OUTAGE_BLOCKS),
      reorganise: afterwards(() => chain.reorganise(2)),
      fork: afterwards(() => chain.fork(2)),
      remember() {
        chain.remember();
        passTime(1);
      },
      expire: () => expire(tables, 'payout-2'),
    },
    () => ({
      newPass: () => createExpiringPass(deps),
      isAtRest,
      passesMax: PASSES_MAX,
      passTime,
      onStart: () => variant.onStart?.(tables),
      onPass() {
        variant.onPass?.(tables, chain);
        actAsOperator(tables, chain, variant.isLazy === true);
      },
      isHeld() {
        if (heldUntilMs === undefined) return false;
        passTime();
        reconcile(tables);
        if (tables.overMs >= heldUntilMs) heldUntilMs = undefined;
        return true;
      },
    }),
  );

  const mark: SendMark = {
    read: () => Promise.resolve(marked),
    raise: (to) =>
      around('mark.raise', () => {
        marked = {
          uniqueMs: Math.max(to.uniqueMs, marked?.uniqueMs ?? 0),
          expiresMs: Math.max(to.expiresMs, marked?.expiresMs ?? 0),
        };
      }),
  };
  const own = createModelStore(tables, KEY, around, variant.isLending);
  const counted: AttemptStore = {
    ...own,
    async saveSigned(lease, payments, chooseRefused) {
      const outcome = await own.saveSigned(lease, payments, chooseRefused);
      if (outcome.kind === 'SAVED') signedCount += payments.length;
      return outcome;
    },
  };
  const plain = createModelSender(chain, rpc);
  const deps: ExpiringPassDeps = {
    key: KEY,
    terms: { maxOpenPayouts: 16, lowGasBaseUnits: undefined, lowBalance: new Map(), float: new Map() },
    rules: {
      network,
      codec,
      ownWallets: [KEY.wallet],
      isDepositAddress: () => variant.isLending === true,
      policy: policyOf(Number.MAX_SAFE_INTEGER),
    },
    store: variant.store?.(counted, tables, chain) ?? counted,
    sender: variant.sender?.(plain, tables, chain) ?? plain,
    mark: variant.mark?.(mark) ?? mark,
    readClocks: () => Promise.resolve(undefined),
    monotonicMs: () => tables.nowMs,
    observe,
    timing: { resendMs: 5_000, resendMaxMs: 10_000, balancesEveryMs: 3_600_000_000 },
    onCommitted: () => undefined,
  };

  const isAtRest = (): boolean =>
    [...tables.payouts.values()].every(({ state, orderPk }) => {
      const settled = [...tables.attempts.values()].some(
        (a) => a.orderPk === orderPk && a.state === 'SETTLED',
      );
      return state === 'EXPIRED' || (state === 'SIGNED' && settled);
    }) && [...tables.attempts.values()].every(({ state }) => state !== 'OPEN');

  await liveOn();
  for (let i = 0; i < 3; i += 1) {
    chain.remember();
    chain.mine();
  }
  return { ...evaluate(tables, chain, isAtRest()), signed: signedCount, points };
}

/** Assigns each unknown payment to its payout, and releases a halt when all decisions are applied. */
function actAsOperator(tables: ModelTables, chain: ModelChain, isLazy: boolean): void {
  const assigned = new Set([...tables.attempts.keys(), ...tables.paidBy.values()]);
  for (const { orderPk, to, state, obstacle } of tables.payouts.values()) {
    const isAlive = [...tables.attempts].some(
      ([txHash, a]) =>
        a.orderPk === orderPk &&
        a.state !== 'DEAD' &&
        (a.signed.validity.expiresMs > tables.overMs || chain.heightOf(txHash) !== undefined),
    );
    const isStuck = obstacle === 'MAYBE_PAID' || (state === 'SIGNED' && tables.halted === null);
    if (isLazy && !isStuck) continue;
    if (isAlive || state === 'EXPIRED' || state === 'REFUSED' || tables.paidBy.has(orderPk)) continue;
    const unknown = chain.payments().find((tx) => tx.to === to && !assigned.has(tx.txHash));
    if (unknown === undefined) continue;
    assigned.add(unknown.txHash);
    tables.paidBy.set(orderPk, unknown.txHash);
  }
  if (tables.halted === null || tables.paidBy.size > 0) return;
  tables.releasedMark = Math.max(tables.haltedMark ?? 0, tables.releasedMark ?? 0);
  Object.assign(tables, { halted: null, haltedMark: null });
}

function modelSignOf(txHash: TxHash, to: Address): SignedExpiring {
  const [, expiresMs = '0', uniqueMs = '0'] = txHash.split('-');
  const reference = { height: 0, hash: 'b0f0' as BlockHash };
  const validity = { expiresMs: Number(expiresMs), uniqueMs: Number(uniqueMs), reference };
  return {
    txHash: `${to.slice(0, 4)}-${expiresMs}-${uniqueMs}` as TxHash,
    raw: Buffer.alloc(0),
    validity,
    feeLimitBaseUnits: 1n,
  };
}

/** Like `opentill restore reconcile`: assigns each unknown transaction to the payout with the same fields. */
function reconcile(tables: ModelTables): void {
  for (const [txHash, to] of tables.foreign) {
    const payout = [...tables.payouts.values()].find(
      ({ orderPk, to: receiver, state }) =>
        receiver === to &&
        state !== 'EXPIRED' &&
        ![...tables.attempts].some(
          ([own, a]) =>
            a.orderPk === orderPk &&
            a.state !== 'DEAD' &&
            (a.signed.validity.expiresMs > tables.overMs || tables.fates.has(own)),
        ),
    );
    if (payout === undefined) continue;
    const { orderPk } = payout;
    for (const attempt of tables.attempts.values())
      if (attempt.orderPk === orderPk && attempt.state === 'OPEN') attempt.state = 'DEAD';
    const signed = { ...modelSignOf(txHash, to), raw: Buffer.alloc(0) };
    const paid = { orderPk, contract: USDT, to, amountBaseUnits: baseUnits(5n), costBaseUnits: 0n, signed };
    tables.attempts.set(txHash, {
      ...paid,
      state: 'OPEN',
      hasBytes: false,
      signedAt: new Date(tables.nowMs),
      outcome: null,
    });
    Object.assign(payout, { state: 'SIGNED', wasSent: true });
  }
}

function evaluate(
  tables: ModelTables,
  chain: ModelChain,
  atRest: boolean,
): Pick<Outcome, 'doubles' | 'stuck'> {
  let doubles = 0;
  let stuck = atRest ? 0 : 1;
  for (const to of new Set(RECEIVERS)) {
    const paid = chain.payments().filter((tx) => tx.to === to).length;
    const owed = [...tables.payouts.values()].filter((p) => p.to === to && p.state !== 'EXPIRED').length;
    doubles += Math.max(0, paid - owed);
    stuck += Math.max(0, owed - paid);
  }
  return { doubles, stuck };
}

function createModelSender(chain: ModelChain, rpc: Rpc): ExpiringSender {
  return {
    chain: KEY.chain,
    validForMs: VALID_MS,
    checkNetwork: () => Promise.resolve(),
    sources: () => [],
    balances: () =>
      rpc('balances', () => ({
        block: chain.head(),
        amounts: new Map<TokenContract | null, bigint>([
          [null, 10n ** 18n],
          [USDT, 1_000n],
        ]),
        allowanceBaseUnits: 0n,
        scattered: new Map(),
      })),
    workPrice: () => Promise.resolve(1n),
    prepare: (intents) =>
      rpc('prepare', () =>
        intents.map(() => ({ kind: 'READY', feeLimitBaseUnits: 1n, costBaseUnits: 2n }) as const),
      ),
    sign: (intent, validity, feeLimit) => Promise.resolve(modelSign(intent, validity, feeLimit)),
    differenceOf: ({ raw }, { intent }) => {
      if (raw.length === 0) return 'encoding';
      const { resource } = JSON.parse(Buffer.from(raw).toString()) as ModelTx;
      return resource === intent.resource ? undefined : 'resource';
    },
    broadcast: (signed) =>
      rpc(
        'broadcast',
        () => signed.map(({ raw }) => chain.send(raw)),
        () => signed.map(() => 'UNKNOWN' as const),
        () => signed.map(() => 'EXPIRED' as const),
      ),
    findInBlocks: (txHashes, { after, untilMs }) =>
      rpc('findInBlocks', () => {
        const start = chain.blocks[after.height];
        if (start?.hash !== after.hash) throw readerError('INCONSISTENT_ANSWER', 'another block');
        const solid = chain.blocks.slice(0, chain.solidHeight() + 1);
        const first = solid.findIndex(({ timeSeconds }) => timeSeconds * 1_000 >= untilMs);
        const [one, two] = [solid[first], solid[first + 1]];
        if (one === undefined || two === undefined) throw readerError('BLOCK_NOT_FOUND', 'above the head');
        const inThem = solid.slice(after.height + 1, first + 2).flatMap(({ txs }) => txs);
        const found = new Set(txHashes.filter((txHash) => inThem.some((tx) => tx.txHash === txHash)));
        return { found, end: [one, two] as const };
      }),
    readPayment: (txHash, { height }) =>
      rpc('readPayment', () => {
        const tx = chain.payments().find((paid) => paid.txHash === txHash);
        const blockHeight = chain.heightOf(txHash);
        if (tx === undefined || blockHeight === undefined || blockHeight > height) return undefined;
        const { to, expiresMs, uniqueMs } = tx;
        const { hash } = chain.blocks[blockHeight]!;
        return {
          intent: { from: KEY.wallet, contract: USDT, to, amountBaseUnits: baseUnits(5n) },
          validity: { expiresMs, uniqueMs, reference: { height: 0, hash } },
          feeLimitBaseUnits: 1n,
          fate: {
            txHash,
            blockHeight,
            blockHash: hash,
            succeeded: true,
            deliveredBaseUnits: 5n,
            feeBaseUnits: 1n,
          },
        };
      }),
  };
}
