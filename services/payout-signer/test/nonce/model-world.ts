import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { baseUnits } from '@opentill/domain/money';
import type { NonceMark } from '../../src/nonce/nonce-mark.ts';
import { createPass } from '../../src/nonce/pass.ts';
import type { PassDeps } from '../../src/nonce/pass-deps.ts';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
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
import { expire } from '../model/tables.ts';
import { blockHash, createModelChain, modelSign, type ModelChain } from './model-chain.ts';
import { createModelStore, createModelTables, scan, type ModelTables } from './model-store.ts';

export type FaultKind =
  | 'crash'
  | 'lost-request'
  | 'lost-reply'
  | 'drop'
  | 'mine'
  | 'stall'
  | 'reorganise'
  | 'expire'
  | 'takeover'
  | 'foreign'
  /** The process crashes, and the database is restored to an earlier point. */
  | 'restore'
  /** Every pool has also forgotten the sent transactions: only the mark of this machine knows of them. */
  | 'restore-forgotten'
  /** The first transaction sent for the next nonce, forgotten by the pools, gets mined. */
  | 'resurface';

export type { Outcome };
export type Fault = GenericFault<FaultKind>;

export interface Variant {
  readonly store?: (store: PayoutStore, tables: ModelTables) => PayoutStore;
  readonly sender?: (sender: WalletSender, tables: ModelTables, chain: ModelChain) => WalletSender;
  /** The operator decides PAY_AGAIN for everything and releases at once. */
  readonly isCareless?: boolean;
  readonly mark?: (mark: NonceMark) => NonceMark;
  readonly onStart?: (tables: ModelTables, chain: ModelChain) => void;
}

const KEY: WalletKey = { chain: 'ETH_SEPOLIA', wallet: `0x${'f'.repeat(40)}` as Address };
const PASSES_MAX = 60;
const STALLED_BLOCKS = 9;
const PASS_MS = 6_000;

const network = {
  chain: KEY.chain,
  nativeSymbol: 'ETH',
  tokens: [{ symbol: 'USDT', contract: 'usdt', decimals: 6 }],
} as unknown as NetworkConfig;

export async function runModel(faults: readonly Fault[], variant: Variant = {}): Promise<Outcome> {
  const tables = createModelTables();
  const chain = createModelChain();
  let marked: number | undefined;
  const afterwards = (change: () => void) => () => {
    change();
    scan(tables, chain);
  };
  const { points, around, rpc, liveOn } = simulateProcesses<FaultKind, ModelTables>(
    faults,
    tables,
    {
      restore: () => scan(tables, chain),
      'restore-forgotten': afterwards(() => chain.dropPool()),
      drop: () => chain.dropPool(),
      mine: afterwards(() => chain.mine()),
      stall: () => chain.stall(STALLED_BLOCKS),
      reorganise: afterwards(() => chain.reorganise(2)),
      expire: () => expire(tables, 'payout-2'),
      foreign: () => chain.mineForeign(),
      resurface: () => chain.resurface(),
    },
    () => ({
      newPass: () => createPass(deps),
      isAtRest,
      passesMax: PASSES_MAX,
      passTime() {
        tables.nowMs += PASS_MS;
        chain.mine();
        scan(tables, chain);
      },
      onCrash: () => void (tables.nowMs += PASS_MS),
      onStart: () => variant.onStart?.(tables, chain),
      onPass: () => actAsOperator(tables, chain, variant.isCareless === true),
    }),
  );

  const mark: NonceMark = {
    read: () => Promise.resolve(marked),
    raise: (nonce) => around('mark.raise', () => void (marked = Math.max(nonce, marked ?? nonce))),
  };
  const own = createModelStore(tables, KEY, around);
  const store = variant.store?.(own, tables) ?? own;
  const plain = createModelSender(chain, rpc);
  const deps: PassDeps = {
    key: KEY,
    terms: { maxOpenNonces: 16, lowGasBaseUnits: undefined, lowBalance: new Map(), float: new Map() },
    rules: {
      network,
      codec,
      ownWallets: [KEY.wallet],
      isDepositAddress: () => false,
      policy: policyOf(1),
    },
    store,
    sender: variant.sender?.(plain, tables, chain) ?? plain,
    reader: {
      readFates: (asked) =>
        rpc('readFates', () => ({
          fates: asked.flatMap(({ txHash }) =>
            chain.heightOf(txHash) === undefined ? [] : [fateOf(txHash, 1)],
          ),
          disputed: [],
        })),
    },
    mark: variant.mark?.(mark) ?? mark,
    readClocks: () => Promise.resolve(undefined),
    monotonicMs: () => tables.nowMs,
    observe,
    timing: {
      resendMs: 5_000,
      resendMaxMs: 10_000,
      bumpAfterMs: 30_000,
      cancelGapAfterMs: 15_000,
      balancesEveryMs: 3_600_000,
      idleCountEveryMs: 5_000,
      countEveryMs: 0,
      aheadHaltAfterMs: 12_000,
      poolBelievedMs: 600_000,
    },
    onCommitted: () => undefined,
  };

  const isAtRest = (): boolean =>
    [...tables.payouts.values()].every(({ state }) => state === 'SIGNED' || state === 'EXPIRED') &&
    [...tables.nonces.values()].every(
      ({ state, orderPk }) =>
        state === 'FINAL' || state === 'TAKEN' || (state === 'RESERVED' && orderPk === null),
    ) &&
    [...tables.payouts.values()].every(
      ({ orderPk, state }) => state !== 'SIGNED' || finalOf(tables, orderPk),
    );

  await liveOn();
  chain.remember();
  chain.mine();
  chain.mine();
  return { ...evaluate(tables, chain, isAtRest()), signed: tables.own.size, points };
}

/** Assigns unknown payments, pays again what lost its nonce, and releases a halt when decisions are applied. */
function actAsOperator(tables: ModelTables, chain: ModelChain, isCareless: boolean): void {
  for (const { orderPk, to, state } of tables.payouts.values()) {
    const unknown = chain.mined.find((tx) => tx.to === to && !tables.own.has(tx.txHash));
    const isOver = state === 'EXPIRED' || state === 'REFUSED';
    const isPaid = [...tables.own.values()].some(
      (tx) => tx.to === to && chain.heightOf(tx.signed.txHash) !== undefined,
    );
    if (unknown !== undefined && !isPaid && !isOver && !isCareless) {
      tables.paidBy.set(orderPk, unknown.txHash);
      continue;
    }
    const lost = [...tables.nonces].filter(([, row]) => row.orderPk === orderPk && row.state === 'TAKEN');
    if (lost.length > 0 && !isPaid) tables.payAgain.set(orderPk, Math.max(...lost.map(([nonce]) => nonce)));
  }
  if (tables.halted === null || tables.paidBy.size > 0) return;
  tables.halted = null;
  if (tables.haltedMark !== null)
    tables.releasedMark = Math.max(tables.haltedMark, tables.releasedMark ?? -1);
  tables.haltedMark = null;
}

function finalOf(tables: ModelTables, orderPk: string): boolean {
  const isFinal = [...tables.nonces.values()].some((n) => n.orderPk === orderPk && n.state === 'FINAL');
  const own = [...tables.own.values()].filter((tx) => tx.orderPk === orderPk);
  return isFinal || own.some(({ signed }) => tables.fates.get(signed.txHash) === 'VERIFIED');
}

function evaluate(
  tables: ModelTables,
  chain: ModelChain,
  atRest: boolean,
): Pick<Outcome, 'doubles' | 'stuck'> {
  let doubles = 0;
  let stuck = atRest ? 0 : 1;
  for (const { to, state } of tables.payouts.values()) {
    const paid = chain.mined.filter((tx) => tx.to === to).length;
    if (paid > 1 || (paid > 0 && state !== 'SIGNED')) doubles += 1;
    if (paid === 0 && state !== 'EXPIRED') stuck += 1;
  }
  return { doubles, stuck };
}

function createModelSender(chain: ModelChain, rpc: Rpc): WalletSender {
  const prices = { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n };
  return {
    chain: KEY.chain,
    checkNetwork: () => Promise.resolve(),
    latestCount: () => rpc('latestCount', () => chain.mined.length),
    pendingCount: () =>
      // Requested together with latestCount, where the faults apply.
      Promise.resolve({ highest: chain.pendingCount(), agreed: chain.pendingCount(), answers: 1 }),
    readPayment: (txHash, { height }) =>
      rpc('readPayment', () => {
        const tx = chain.mined.find((mined) => mined.txHash === txHash);
        if (tx === undefined || (chain.heightOf(txHash) ?? Infinity) > height) return undefined;
        const intent = {
          from: KEY.wallet,
          contract: 'usdt' as TokenContract,
          to: tx.to,
          amountBaseUnits: baseUnits(5n),
        };
        return { nonce: tx.nonce, intent, fate: fateOf(txHash, height) };
      }),
    countAt: (_wallet, { height }) =>
      rpc(
        'countAt',
        () => chain.mined.filter(({ txHash }) => (chain.heightOf(txHash) ?? 0) <= height).length,
      ),
    balances: () =>
      rpc('balances', () => ({
        count: chain.mined.length,
        block: { height: 1, hash: blockHash(1), parentHash: blockHash(0), timeSeconds: 1 },
        amounts: new Map<TokenContract | null, bigint>([
          [null, 10n ** 18n],
          ['usdt' as TokenContract, 1_000n],
        ]),
      })),
    currentPrices: () => rpc('currentPrices', () => prices),
    prepare: (intents) =>
      rpc('prepare', () => intents.map(() => ({ kind: 'READY', gasLimit: 50_000n }) as const)),
    raise: (old, now) => {
      const max = (a: bigint, b: bigint) => (a > b ? a : b);
      return {
        gasLimit: old.gasLimit,
        maxFeePerGas: max((old.maxFeePerGas * 9n) / 8n + 1n, now.maxFeePerGas),
        maxPriorityFeePerGas: max((old.maxPriorityFeePerGas * 9n) / 8n + 1n, now.maxPriorityFeePerGas),
      };
    },
    sign: (intent, nonce, terms) => Promise.resolve(modelSign(intent, nonce, terms)),
    signCancel: (wallet, nonce, now) => {
      const nothing = { from: wallet, contract: null, to: wallet, amountBaseUnits: baseUnits(0n) };
      return Promise.resolve(modelSign(nothing, nonce, { ...now, gasLimit: 21_000n }, true));
    },
    differenceOf: () => undefined,
    broadcast: (signed) =>
      rpc(
        'broadcast',
        () => signed.map(({ raw }) => chain.send(raw)),
        () => signed.map(() => 'UNKNOWN' as const),
      ),
  };
}

const fateOf = (txHash: TxHash, height: number) => ({
  txHash,
  blockHeight: height,
  blockHash: blockHash(height),
  succeeded: true,
  deliveredBaseUnits: 5n,
  feeBaseUnits: 1n,
});
