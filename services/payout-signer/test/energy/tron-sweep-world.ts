import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { openDatabase, type DatabaseOptions, type Db } from '@opentill/db/database';
import { startEnergySeller, type EnergySeller as Shop } from '@opentill/devnets/tron/start-energy-seller';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { startLoop } from '@opentill/runtime/loop';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, type OrderRow } from '@opentill/testkit/scenario';
import { createTestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { depositBranch } from '@opentill/wallet/derivation';
import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import { createApp } from '../../src/app.ts';
import type { EnergySeller } from '../../src/energy/energy-seller.ts';
import { createTronsaveSeller } from '../../src/energy/tronsave-seller.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import { CHAIN, createTronWorld, ONE_TRX, post, type TronWorld } from '../expiring/tron-world.ts';
import { keepBooks } from '../keep-books.ts';
import { LEASE_TTL_MS, PATIENCE_MS, QUICK } from '../quick-timing.ts';

export { CHAIN, ONE_TRX } from '../expiring/tron-world.ts';

export interface TronSignerOptions {
  /** What the policy says of sweeps besides what this world says; null: it sweeps nothing. */
  readonly sweep?: Readonly<Record<string, unknown>> | null;
  /** What it says of USDT besides. */
  readonly asset?: Readonly<Record<string, unknown>>;
  readonly sender?: (sender: ExpiringSender) => ExpiringSender;
  readonly seller?: (seller: EnergySeller) => EnergySeller;
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly leaseTtlMs?: number;
  readonly energyWaitMs?: number;
}

/** A TRON chain with customers, a seller of energy, a scanner, whoever keeps the books, and signers that sweep. */
export interface TronSweepWorld {
  readonly tron: TronWorld;
  readonly admin: Db;
  readonly shop: Shop;
  readonly cold: Address;
  /** An order whose address is paid `amount` of USDT on the chain, verified and booked; an account with `trxSun` where said. */
  paid(amount: bigint, trxSun?: bigint): Promise<OrderRow>;
  start(options?: TronSignerOptions): Promise<{ stop(): Promise<void> }>;
  /** Makes a block at a time until `isSo`. */
  /** Makes a block for each pass of the signer: a signer that is slower than the chain's time has what it signs expire. */
  mineUntil(what: string, isSo: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  sweepsOf(
    order: OrderRow,
  ): Promise<{ state: string; method: string; reason: string | null; rent_cost: bigint | null }[]>;
  movesOf(order: OrderRow): Promise<{ kind: string; money: string }[]>;
  balance(kind: string, symbol?: string): Promise<bigint>;
  tokensAt(address: string): Promise<bigint>;
  sunAt(address: string): Promise<bigint>;
  /** Has the hot wallet have staked so much for energy, of coin that it gets for it. */
  stake(sun: bigint): Promise<void>;
  /** Sun of stake that the hot wallet lends to anybody. */
  lentOut(): Promise<bigint>;
  close(): Promise<void>;
}

const TIMING = { ...QUICK, planEveryMs: 50, leaseTtlMs: LEASE_TTL_MS, depositsAtOnce: 8 };
/** For a signer that is stopped, or held up, in a pass. */
const MINE_ANYWAY_MS = 500;
const API_KEY = 'devnet';

/** @param usdt what the hot wallet holds of it; absent: much */
export async function createTronSweepWorld({
  usdt,
}: { readonly usdt?: bigint } = {}): Promise<TronSweepWorld> {
  const tron = await createTronWorld({}, usdt === undefined ? {} : { usdt });
  const { admin, devnet, network, keys, wallet } = tron;
  const rabbit = await createTestBroker();
  const amqpUrl = await rabbit.urlFor('payout-signer');
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'TRON') on conflict do nothing`.execute(
    admin,
  );
  const account = devnet.accounts[9]!;
  await devnet.control.stake(account.address, 10_000_000n * ONE_TRX);
  const shop = await startEnergySeller({ nodeUrl: devnet.url, account, apiKey: API_KEY });
  // The token is used as much as on the main network: its work costs 4.4 times what it takes.
  await devnet.control.setEnergyFactor(tron.usdt, 34_000);
  const cold = devnet.accounts[2]!.address as Address;
  const tracker = tron.database.open('tracker');
  const books = startLoop({
    name: 'books',
    intervalMs: 30,
    run: () => keepBooks(admin, tracker.kysely, CHAIN, 'TRX'),
  });
  const branch = depositBranch(tron.depositXpub, 'test');
  const running = new Set<{ stop(): Promise<void> }>();
  let index = 1_000_000;
  const passes = { count: 0, minedAfter: -1, minedAtMs: 0 };
  /** Each pass asks for the block keys once. */
  const countPasses = (sender: ExpiringSender): ExpiringSender => ({
    ...sender,
    blockKeys: {
      newBlockKeys(options) {
        passes.count += 1;
        return sender.blockKeys?.newBlockKeys(options) ?? Promise.resolve([]);
      },
    },
  });

  const world: TronSweepWorld = {
    tron,
    admin,
    shop,
    cold,
    async paid(amount, trxSun = 0n) {
      index += 1;
      const address = tronFamily.addressCodec.fromPublicKey(branch.derive(index).publicKey);
      const order = await aCollection(admin, {
        chain: CHAIN,
        family: 'TRON',
        symbol: 'USDT',
        contract_address: tron.usdt,
        decimals: 6,
        address,
      });
      await sql`update deposit_address set derivation_index = ${index} where order_pk = ${order.order_pk}`.execute(
        admin,
      );
      await devnet.control.fund(address, { trxSun, symbol: 'USDT', amountBaseUnits: amount });
      await world.mineUntil('the payment is booked', async () => {
        const { rows } =
          await sql`select from deposit_balance where address = ${address} and symbol = 'USDT' and received = ${amount}`.execute(
            admin,
          );
        return rows.length === 1;
      });
      return order;
    },
    async start(options = {}) {
      const db = openDatabase({
        url: tron.database.url('signer'),
        applicationName: 'sweeping signer',
        poolMax: 12,
        ...(options.wrapPool === undefined ? {} : { wrapPool: options.wrapPool }),
      });
      const level = process.env['TEST_LOG'] === undefined ? 'silent' : 'debug';
      const logger = createLogger({ service: 'payout-signer', level });
      const broker = connectBroker({ url: amqpUrl, logger, name: 'sweeping signer' });
      const plain = createTronSender(network, { backend: keys });
      const seller = createTronsaveSeller({ url: shop.url, apiKey: API_KEY, timeoutMs: 1_000 });
      const app = createApp({
        db: db.kysely,
        broker,
        logger,
        metrics: createMetrics('payout-signer'),
        clock: systemClock,
        newId,
        networks: [
          {
            kind: 'EXPIRING',
            network,
            terms: tronPayoutTermsOf(network)!,
            codec: tronFamily.addressCodec,
            sender: countPasses(options.sender?.(plain) ?? plain),
          },
        ],
        wallets: [wallet],
        keys,
        sellers: new Map([[CHAIN, options.seller?.(seller) ?? seller]]),
        policy: judgeByPolicy(
          parsePolicy(JSON.stringify(policyOf(options, cold)), {
            networks: [network],
            codecs: [tronFamily.addressCodec],
          }),
        ),
        instanceId: randomUUID(),
        stateDirectory: tron.stateDirectory,
        fail: (error) => {
          throw error;
        },
        timing: {
          ...TIMING,
          leaseTtlMs: options.leaseTtlMs ?? TIMING.leaseTtlMs,
          energyWaitMs: options.energyWaitMs ?? 120_000,
        },
      });
      app.start();
      const runner = {
        async stop() {
          if (!running.delete(runner)) return;
          await app.stop();
          await broker.close();
          await db.close();
        },
      };
      running.add(runner);
      return runner;
    },
    mineUntil: (what, isSo, timeoutMs = PATIENCE_MS) =>
      waitUntil(
        what,
        async () => {
          if (await isSo()) return true;
          const isWaited = performance.now() - passes.minedAtMs > MINE_ANYWAY_MS;
          if (running.size > 0 && passes.count === passes.minedAfter && !isWaited) return false;
          passes.minedAfter = passes.count;
          await tron.mine();
          passes.minedAtMs = performance.now();
          return false;
        },
        timeoutMs,
      ),
    async sweepsOf({ address }) {
      const { rows } = await sql<{
        state: string;
        method: string;
        reason: string | null;
        rent_cost: bigint | null;
      }>`
        select state, method, reason, rent_cost from sweep where address = ${address} order by planned_at`.execute(
        admin,
      );
      return rows;
    },
    async movesOf({ address }) {
      const { rows } = await sql<{ kind: string; money: string }>`
        select m.kind, p.money from sweep s join movement m using (sweep_id) join payout p using (order_pk)
        where s.address = ${address} order by m.created_at`.execute(admin);
      return rows;
    },
    async balance(kind, symbol = 'USDT') {
      const { rows } = await sql<{ balance: bigint | null }>`
        select sum(balance) as balance from ledger_account where kind = ${kind} and chain = ${CHAIN} and symbol = ${symbol}`.execute(
        admin,
      );
      return rows[0]?.balance ?? 0n;
    },
    tokensAt: (address) => tron.received({ address, contract_address: tron.usdt } as OrderRow),
    sunAt: (address) => tron.received({ address, contract_address: null } as OrderRow),
    async stake(sun) {
      await devnet.control.fund(wallet, { trxSun: sun });
      await devnet.control.stake(wallet, sun);
    },
    async lentOut() {
      const account = await post<{ account_resource?: { delegated_frozenV2_balance_for_energy?: number } }>(
        devnet.url,
        'getaccount',
        { address: wallet, visible: true },
      );
      return BigInt(account.account_resource?.delegated_frozenV2_balance_for_energy ?? 0);
    },
    async close() {
      for (const one of running) await one.stop();
      await books.stop();
      await tracker.close();
      await rabbit.drop();
      await shop.close();
      await tron.close();
    },
  };
  return world;
}

/** Of a chain whose coin is worth 0.3. */
function policyOf({ sweep = {}, asset = {} }: TronSignerOptions, coldAddress: Address): unknown {
  const high = '1000000';
  const limits = { maxPerPayout: high, maxPerHour: high, maxPerDay: high, maxPerMerchantPerDay: high };
  return {
    version: 1,
    chains: {
      [CHAIN]: {
        enabled: true,
        coldAddress,
        ...(sweep === null
          ? {}
          : {
              sweep: {
                nativePrice: '0.3',
                maxTopUp: '60',
                maxNativePerDay: '3000',
                maxCostShare: '0.5',
                minAgeMinutes: 0,
                ...sweep,
              },
            }),
        assets: { USDT: { ...limits, ...asset } },
      },
    },
  };
}
