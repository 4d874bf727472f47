import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type PostgresPool } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { SendOutcome, SourcesCount, WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { signNothing, type SigningDeps } from '@opentill/chain-evm/sender/sign-payment';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase, type Database, type Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import type { ServiceSchema } from '@opentill/db/service-schema';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { anEvmAddress, aChainCursor, aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { Observe } from '../../src/observe/observe.ts';
import { createPass } from '../../src/nonce/pass.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import type { ReadClocks } from '../../src/policy/compare-clocks.ts';

export const CHAIN = 'ETH_SEPOLIA';
export const USDT = '0x00000000000000000000000000000000000dec06' as TokenContract;
export const ONE_USDT = 1_000_000n;
const PASSPHRASE = 'a passphrase of the tests';
const ONE_ETH = 10n ** 18n;

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

/** What the chain says, until a test changes it. It takes nothing into blocks. */
export interface StillChain {
  gasMoney: bigint;
  outcome: SendOutcome;
  count: number;
  /** What sources say of their pools, otherwise than of blocks. */
  pool?: Partial<SourcesCount>;
}

/** Passes of the signer on a real database with real keys, before a chain that stands still and answers from memory. */
export interface StillWorld {
  readonly admin: Db;
  /** Connections of a service's role; the caller closes them. */
  open(role: ServiceSchema): Database;
  readonly wallet: Address;
  readonly network: NetworkConfig;
  readonly chain: StillChain;
  readonly store: PayoutStore;
  /** Signs, and asks nothing of any node. */
  readonly sender: WalletSender;
  /** How often each method of the sender was called. */
  readonly calls: Map<string, number>;
  /** Calls of all its methods that nodes would be asked by. */
  allCalls(): number;
  /** Statements of the signer's role so far. */
  statements(): number;
  /** What was sent, send by send. */
  readonly broadcasts: (readonly TxHash[])[];
  /** Alarms about forged transactions, as they were told. */
  readonly forged: string[];
  /** A payout of 5 USDT, reserved. */
  payout(overrides?: Parameters<typeof aPayout>[1]): Promise<OrderRow>;
  nativePayout(amount: bigint): Promise<OrderRow>;
  /** The passes of a driver that begins now. */
  driver(options?: {
    readonly policy?: PolicyJudge;
    readonly maxOpenNonces?: number;
    readonly readClocks?: ReadClocks;
  }): {
    pass(): Promise<void | 'again'>;
  };
  /** Lets time go by, and blocks. */
  wait(ms: number, blocks: number): Promise<void>;
  /** Everything that was signed is final, and nothing else waits. */
  settle(): Promise<void>;
  /** All that was authorised and signed is older by so much, an SQL interval. */
  passTime(interval: string): Promise<void>;
  payoutOf(order: OrderRow): Promise<{ state: string; obstacle: string | null }>;
  transactions(): Promise<{ tx_hash: TxHash; nonce: number; order_pk: string; raw: Buffer }[]>;
  close(): Promise<void>;
}

export async function createStillWorld(): Promise<StillWorld> {
  const [keys, database] = await Promise.all([createKeys(), createTestDatabase()]);
  const wallet = keys.addresses[0]!;
  const adminDatabase = database.open('admin');
  const admin = adminDatabase.kysely;
  let statements = 0;
  const signerDatabase = openDatabase({
    url: database.url('signer'),
    applicationName: 'still signer',
    poolMax: 4,
    wrapPool: (pool) => countQueries(pool, () => (statements += 1)),
  });
  const db = signerDatabase.kysely;
  const key = { chain: CHAIN, wallet } as const;
  await sql`insert into hot_wallet (family, address) values ('EVM', ${wallet})`.execute(admin);
  for (const [symbol, amount] of [
    ['USDT', 1_000_000n * ONE_USDT],
    ['ETH', 1_000n * ONE_ETH],
  ] as const)
    await sql`select book_top_up(${`${CHAIN}:0x1:${symbol}`}, ${CHAIN}, ${symbol}, ${amount})`.execute(admin);
  let height = 100;
  await aChainCursor(admin, { chain: CHAIN });
  const network = networkOf();
  const chain: StillChain = { gasMoney: 100n * ONE_ETH, outcome: 'ACCEPTED', count: 0 };
  const signing: SigningDeps = {
    chainId: network.chainId!,
    bounds: { minPriorityFeePerGas: 1n, maxPriorityFeePerGas: 10n ** 11n, maxFeePerGas: 10n ** 12n },
    backend: keys,
  };
  const calls = new Map<string, number>();
  const broadcasts: (readonly TxHash[])[] = [];
  const sender = countCalls(
    standStill(createEvmSender(network, { backend: keys }), signing, chain, broadcasts),
    calls,
  );
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

  const world: StillWorld = {
    admin,
    open: (role) => database.open(role),
    wallet,
    network,
    chain,
    store,
    sender,
    calls,
    allCalls: () => ASKING.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0),
    statements: () => statements,
    broadcasts,
    forged,
    async payout(given = {}) {
      const amount = given.amount ?? 5n * ONE_USDT;
      const token = { symbol: 'USDT', contract_address: USDT, decimals: 6 };
      const order = await aPayout(admin, {
        ...token,
        accepted_amount: amount,
        address: anEvmAddress(),
        source_address: wallet,
        ...given,
        amount,
      });
      const { rows } = await sql<{ done: boolean }>`select reserve(${order.order_pk}) as done`.execute(admin);
      if (rows[0]?.done !== true) throw new Error('not reserved');
      return order;
    },
    nativePayout: (amount) => world.payout({ symbol: 'ETH', contract_address: null, decimals: 18, amount }),
    driver({
      policy = judgeByPolicy(undefined, { isLocal: true }),
      maxOpenNonces = 64,
      readClocks = () => Promise.resolve(undefined),
    } = {}) {
      const pass = createPass({
        key,
        terms: { maxOpenNonces, lowGasBaseUnits: undefined, lowBalance: new Map(), float: new Map() },
        rules: {
          network,
          codec: evmFamily.addressCodec,
          ownWallets: [wallet],
          isDepositAddress: () => false,
          policy,
        },
        store,
        sender,
        reader: { readFates: () => Promise.resolve({ fates: [], disputed: [] }) },
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
    },
    async wait(ms, blocks) {
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
      await world.driver().pass();
      forged.length = 0;
    },
    async passTime(interval) {
      await sql`update payout set authorised_at = authorised_at - ${interval}::interval where authorised_at is not null`.execute(
        admin,
      );
      await sql`update own_transaction set signed_at = signed_at - ${interval}::interval`.execute(admin);
    },
    async payoutOf(order) {
      const { rows } = await sql<{ state: string; obstacle: string | null }>`
        select state, obstacle from payout where order_pk = ${order.order_pk}`.execute(admin);
      return rows[0]!;
    },
    async transactions() {
      const { rows } = await sql<{ tx_hash: TxHash; nonce: number; order_pk: string; raw: Buffer }>`
        select tx_hash, nonce, order_pk, raw from own_transaction order by nonce, signed_at`.execute(admin);
      return rows;
    },
    async close() {
      await signerDatabase.close();
      await adminDatabase.close();
      keys.close();
      await database.drop();
    },
  };
  return world;
}

/** Signs as ever; everything that would be asked of nodes is answered from here. */
function standStill(
  sender: WalletSender,
  signing: SigningDeps,
  chain: StillChain,
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

async function createKeys() {
  const dir = await mkdtemp(join(tmpdir(), 'payout-signer-'));
  const seed = seedOf(generateMnemonic());
  const keystoreFile = join(dir, 'keystore.json');
  const sealed = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, sealed, PASSPHRASE);
  const codecs = [evmFamily.addressCodec];
  const keys = await openKeystoreSigner({ keystoreFile, passphrase: PASSPHRASE, codecs, kind: 'test' });
  await rm(dir, { recursive: true });
  return keys;
}

function networkOf(): NetworkConfig {
  const token = { displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: 11_155_111,
    name: 'still',
    rpcUrls: ['http://127.0.0.1:1'],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 2,
    blockTimeMs: 1_000,
    pollIntervalMs: 1_000,
    reorgWindow: 30,
    maxBlockRange: 50,
    bloom: true,
    tokens: [
      { symbol: 'USDT', contract: USDT, decimals: 6, ...token },
      { symbol: 'ETH', contract: null, decimals: 18, ...token },
    ],
    payouts: {
      maxOpenNonces: 64,
      minPriorityFeePerGas: '1000000',
      maxPriorityFeePerGas: '10000000000',
      maxFeePerGas: '500000000000',
      bumpAfterSeconds: 60,
    },
  };
}
