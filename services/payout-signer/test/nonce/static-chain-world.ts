import { sql, type PostgresPool } from 'kysely';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { SendOutcome, SourcesCount, WalletSender } from '@opentill/chain/wallet-sender';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { signNothing, type SigningDeps } from '@opentill/chain-evm/sender/sign-payment';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { keepLease } from '@opentill/db/lease';
import type { ServiceSchema } from '@opentill/db/service-schema';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { anEvmAddress, aChainCursor, type OrderRow } from '@opentill/testkit/scenario';
import { createPass } from '../../src/nonce/pass.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import type { Observe } from '../../src/observe/observe.ts';
import type { NoncePaying } from '../../src/payouts/paying-network.ts';
import type { ReadClocks } from '../../src/policy/compare-clocks.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { createWorld } from '../world/create-world.ts';
import { openSignerPool } from '../world/start-service.ts';
import { CODECS } from '../world/test-keys.ts';
import { CHAIN, networkOf, ONE_ETH, USDT as CONTRACT } from './signer-world.ts';

export { CHAIN };
export const USDT = CONTRACT as TokenContract;
export const ONE_USDT = 1_000_000n;

const ASKING: readonly (keyof WalletSender)[] = [
  'latestCount',
  'pendingCount',
  'countAt',
  'readPayment',
  'balances',
  'currentPrices',
  'prepare',
  'broadcast',
];

export interface StaticChain {
  gasMoney: bigint;
  outcome: SendOutcome;
  count: number;
  /** Answers about pools that differ from those about blocks. */
  pool?: Partial<SourcesCount>;
}

export type StaticChainWorld = Awaited<ReturnType<typeof createStaticChainWorld>>;

/** The database and the keys are real; the chain is in memory and does not advance. */
export async function createStaticChainWorld() {
  const network = networkOf('http://127.0.0.1:1');
  const opened = await createWorld('EVM', ({ keys }) =>
    Promise.resolve({
      network,
      held: { USDT: 1_000_000n * ONE_USDT, ETH: 1_000n * ONE_ETH },
      token: { symbol: 'USDT', contract_address: USDT, decimals: 6 },
      newAddress: anEvmAddress,
      openPaying: (): NoncePaying => ({
        kind: 'NONCES',
        network,
        terms: payoutTermsOf(network)!,
        codec: CODECS.EVM,
        sender: createEvmSender(network, { backend: keys }),
        reader: { readFates: () => Promise.resolve({ fates: [], disputed: [] }) },
      }),
      close: () => Promise.resolve(),
    }),
  );
  const { admin, wallet, keys, database, chain: paying } = opened;
  let statements = 0;
  const signer = openSignerPool(database.url('signer'), 'still signer', (pool) =>
    countQueries(pool, () => (statements += 1)),
  );
  const db = signer.kysely;
  const key = { chain: CHAIN, wallet } as const;
  let height = 100;
  await aChainCursor(admin, { chain: CHAIN });
  const chain: StaticChain = { gasMoney: 100n * ONE_ETH, outcome: 'ACCEPTED', count: 0 };
  const signing: SigningDeps = {
    chainId: network.chainId!,
    bounds: { minPriorityFeePerGas: 1n, maxPriorityFeePerGas: 10n ** 11n, maxFeePerGas: 10n ** 12n },
    backend: keys,
  };
  const calls = new Map<string, number>();
  const broadcasts: (readonly TxHash[])[] = [];
  const sender = countCalls(answerFromMemory(opened.newSender(), signing, chain, broadcasts), calls);
  const store = createPayoutStore(db, key, { newId, clock: systemClock });
  const lease = await keepLease({
    db,
    schema: 'signer',
    name: 'wallet',
    holder: 'test',
    ttlMs: 600_000,
  }).acquire();
  let nowMs = 0;
  let mark: number | undefined;
  const forged: string[] = [];
  const silent = new Proxy({}, { get: () => () => undefined }) as Observe;
  const observe = new Proxy(silent, {
    get: (all, name) =>
      name === 'forged'
        ? (_key: unknown, found: readonly string[]) => void forged.push(...found)
        : all[name as keyof Observe],
  });
  function driver({
    policy = judgeByPolicy(undefined, 'test', { isLocal: true }),
    maxOpenNonces = 64,
    readClocks = () => Promise.resolve(undefined),
  }: {
    readonly policy?: PolicyJudge;
    readonly maxOpenNonces?: number;
    readonly readClocks?: ReadClocks;
  } = {}) {
    const { codec, reader } = paying.openPaying();
    const pass = createPass({
      key,
      terms: { maxOpenNonces, lowGasBaseUnits: undefined, lowBalance: new Map(), float: new Map() },
      rules: { network, codec, ownWallets: [wallet], isDepositAddress: () => false, policy },
      store,
      sender,
      reader,
      mark: {
        read: () => Promise.resolve(mark),
        raise: (nonce) => Promise.resolve(void (mark = Math.max(nonce, mark ?? nonce))),
      },
      readClocks,
      monotonicMs: () => nowMs,
      observe,
      timing: {
        resendMs: 1_000,
        resendMaxMs: 1_000,
        bumpAfterMs: 30_000,
        cancelGapAfterMs: 600_000,
        balancesEveryMs: 600_000,
        idleCountEveryMs: 30_000,
        countEveryMs: 0,
        aheadHaltAfterMs: 600_000,
        poolBelievedMs: 600_000,
      },
      onCommitted: () => undefined,
    });
    return { pass: () => pass(lease!, new AbortController().signal) };
  }
  return {
    ...opened,
    open: (role: ServiceSchema) => database.open(role),
    chain,
    store,
    sender,
    calls,
    allCalls: () => ASKING.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0),
    statements: () => statements,
    broadcasts,
    forged,
    driver,
    async wait(ms: number, blocks: number) {
      nowMs += ms;
      height += blocks;
      await aChainCursor(admin, {
        chain: CHAIN,
        head_height: height,
        seen_height: height,
        verified_height: height,
      });
    },
    async settle() {
      await sql`update payout set state = 'REFUSED', reason = 'over', waiting_since = null
        where state in ('REQUESTED', 'AUTHORISED')`.execute(admin);
      await sql`
        insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded,
          delivered, network_fee)
        select distinct on (nonce) chain, tx_hash, family, 100, '0x', now(), 'VERIFIED', true, amount, 1
        from own_transaction order by nonce, signed_at
        on conflict do nothing`.execute(admin);
      await driver().pass();
      forged.length = 0;
    },
    async passTime(interval: string) {
      await sql`update payout set authorised_at = authorised_at - ${interval}::interval where authorised_at is not null`.execute(
        admin,
      );
      await sql`update own_transaction set signed_at = signed_at - ${interval}::interval`.execute(admin);
    },
    async payoutOf(order: OrderRow) {
      const { state, obstacle } = await opened.payoutOf(order);
      return { state, obstacle };
    },
    async transactions() {
      const { rows } = await sql<{ tx_hash: TxHash; nonce: number; order_pk: string; raw: Buffer }>`
        select tx_hash, nonce, order_pk, raw from own_transaction order by nonce, signed_at`.execute(admin);
      return rows;
    },
    async close() {
      await signer.close();
      await opened.close();
    },
  };
}

function answerFromMemory(
  sender: WalletSender,
  signing: SigningDeps,
  chain: StaticChain,
  broadcasts: (readonly TxHash[])[],
): WalletSender {
  const block = { height: 100, hash: `0x${'1'.repeat(64)}` as BlockHash };
  return {
    ...sender,
    checkNetwork: () => Promise.resolve(),
    latestCount: () => Promise.resolve(chain.count),
    countAt: () => Promise.resolve(chain.count),
    pendingCount: () =>
      Promise.resolve({ highest: chain.count, agreed: chain.count, answers: 1, ...chain.pool }),
    readPayment: () => Promise.resolve(undefined),
    signCancel: (wallet, nonce, prices) =>
      signNothing(signing, wallet, nonce, { ...prices, gasLimit: 26_250n }),
    balances: (_wallet, contracts) =>
      Promise.resolve({
        block: { ...block, parentHash: block.hash, timeSeconds: 1 },
        count: chain.count,
        amounts: new Map(contracts.map((c) => [c, c === null ? chain.gasMoney : 1_000_000n * ONE_USDT])),
      }),
    currentPrices: () =>
      Promise.resolve({ maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }),
    prepare: (intents) => Promise.resolve(intents.map(() => ({ kind: 'READY', gasLimit: 60_000n }) as const)),
    broadcast(signed) {
      broadcasts.push(signed.map(({ txHash }) => txHash));
      return Promise.resolve(signed.map(() => chain.outcome));
    },
  };
}

function countCalls(sender: WalletSender, calls: Map<string, number>): WalletSender {
  return new Proxy(sender, {
    get(target, name: keyof WalletSender) {
      const method = target[name];
      if (typeof method !== 'function') return method;
      return (...given: never[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1);
        return (method as (...args: never[]) => unknown)(...given);
      };
    },
  });
}

function countQueries(pool: PostgresPool, count: () => void): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const query = (...given: unknown[]): unknown => {
        count();
        return (client.query as (...args: unknown[]) => unknown)(...given);
      };
      return { query: query as unknown as typeof client.query, release: () => client.release() };
    },
  };
}
