import { sql } from 'kysely';
import { evmFamily } from '@opentill/chain-evm/family';
import type { Db } from '@opentill/db/database';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { DEV_TOKEN_ADDRESSES, payToken, tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { startLoop } from '@opentill/runtime/loop';
import { aCollection, type OrderRow } from '@opentill/testkit/scenario';
import { createTestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { depositBranch, depositXpub } from '@opentill/wallet/derivation';
import { keepBooks } from '../keep-books.ts';
import { PATIENCE_MS } from '../quick-timing.ts';
import { CHAIN, createSignerWorld, USDT, type SignerWorld } from '../nonce/signer-world.ts';
import { readSweeps, type SweepReading } from './read-sweeps.ts';
import { COLD, startSweepingSigner, type RunningSigner, type SweepingSigner } from './sweeping-signer.ts';

export { COLD };

export interface SignerOptions extends Pick<
  SweepingSigner,
  'sweep' | 'asset' | 'sender' | 'wrapPool' | 'metrics' | 'timing'
> {
  readonly leaseTtlMs?: number;
}

/** Tokens of the world, by their symbols. */
const CONTRACTS = { USDT, USDC: DEV_TOKEN_ADDRESSES.USDC.toLowerCase() } as const;
export type Token = keyof typeof CONTRACTS;

/** A chain with customers, a scanner, whoever keeps the books, and signers that sweep. */
export interface SweepWorld extends SweepReading {
  readonly signer: SignerWorld;
  readonly admin: Db;
  /** Of the broker, as the signer. */
  readonly amqpUrl: string;
  /** An order whose address is paid `amount` of a token (USDT) on the chain, verified and booked. */
  paid(amount: bigint, token?: Token): Promise<OrderRow>;
  /** Orders, each paid one of the amounts, all verified and booked. */
  paidMany(amounts: readonly bigint[]): Promise<readonly OrderRow[]>;
  /** More of it, verified and booked. @returns all that was ever paid there */
  paidAgain(order: OrderRow, amount: bigint): Promise<bigint>;
  /** More of it, in no block yet. */
  pay(order: OrderRow, amount: bigint): Promise<void>;
  start(options?: SignerOptions): Promise<RunningSigner>;
  /** Mines a block at a time until `isSo`. */
  mineUntil(what: string, isSo: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  tokensAt(address: string, token?: Token): Promise<bigint>;
  coinAt(address: string): Promise<bigint>;
  /** Ends every signer. */
  stopAll(): Promise<void>;
  close(): Promise<void>;
}

export async function createSweepWorld(): Promise<SweepWorld> {
  const signer = await createSignerWorld({ tokens: [tokenOf('USDT'), tokenOf('USDC'), COIN] });
  const rabbit = await createTestBroker();
  const amqpUrl = await rabbit.urlFor('payout-signer');
  const { admin, rpcUrl } = signer;
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    admin,
  );
  const tracker = signer.database.open('tracker');
  const books = startLoop({
    name: 'books',
    intervalMs: 30,
    run: () => keepBooks(admin, tracker.kysely, CHAIN, 'ETH'),
  });
  const branch = depositBranch(depositXpub(signer.seed, 'EVM', 'test'), 'test');
  const running = new Set<{ stop(): Promise<void> }>();
  let index = 1_000_000;

  const receivedAt = async ({ address, symbol }: OrderRow) => {
    const { rows } = await sql<{ received: bigint }>`
      select received from deposit_balance where address = ${address} and symbol = ${symbol}`.execute(admin);
    return rows[0]?.received ?? 0n;
  };
  const orderFor = async (token: Token): Promise<OrderRow> => {
    index += 1;
    const address = evmFamily.addressCodec.fromPublicKey(branch.derive(index).publicKey);
    const order = await aCollection(admin, {
      chain: CHAIN,
      symbol: token,
      contract_address: CONTRACTS[token],
      decimals: 6,
      address,
    });
    await sql`update deposit_address set derivation_index = ${index} where order_pk = ${order.order_pk}`.execute(
      admin,
    );
    return order;
  };

  const world: SweepWorld = {
    signer,
    admin,
    amqpUrl,
    async paid(amount, token = 'USDT') {
      const order = await orderFor(token);
      await world.paidAgain(order, amount);
      return order;
    },
    async paidMany(amounts) {
      const orders: OrderRow[] = [];
      for (const amount of amounts) {
        const order = await orderFor('USDT');
        await world.pay(order, amount);
        orders.push(order);
      }
      await world.mineUntil('all payments are booked', async () => {
        const received = await Promise.all(orders.map(receivedAt));
        return received.every((amount, place) => amount === amounts[place]);
      });
      return orders;
    },
    async paidAgain(order, amount) {
      const all = (await receivedAt(order)) + amount;
      await world.pay(order, amount);
      await world.mineUntil('the payment is booked', async () => (await receivedAt(order)) === all);
      return all;
    },
    async pay({ address, symbol }, amount) {
      await payToken({
        rpcUrl,
        token: CONTRACTS[symbol as Token],
        fromKey: devAccount(1).privateKey,
        to: address,
        amountBaseUnits: amount,
      });
    },
    start(options = {}) {
      const { leaseTtlMs, timing } = options;
      const signing = startSweepingSigner({
        ...signer,
        databaseUrl: signer.database.url('signer'),
        amqpUrl,
        ...options,
        timing: { ...timing, ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }) },
      });
      const runner = {
        app: signing.app,
        async stop() {
          if (running.delete(runner)) await signing.stop();
        },
      };
      running.add(runner);
      return Promise.resolve(runner);
    },
    mineUntil: (what, isSo, timeoutMs = PATIENCE_MS) =>
      waitUntil(
        what,
        async () => {
          if (await isSo()) return true;
          await signer.mine();
          await signer.scannerAtHead();
          return false;
        },
        timeoutMs,
      ),
    ...readSweeps(admin, CHAIN, 'USDT'),
    tokensAt: (address, token = 'USDT') => tokenBalance(rpcUrl, CONTRACTS[token], address),
    coinAt: async (address) => BigInt(await callRpc<string>(rpcUrl, 'eth_getBalance', [address, 'latest'])),
    async stopAll() {
      for (const one of running) await one.stop();
    },
    async close() {
      await world.stopAll();
      await books.stop();
      await tracker.close();
      await rabbit.drop();
      await signer.close();
    },
  };
  return world;
}

function tokenOf(symbol: Token) {
  return {
    symbol,
    contract: DEV_TOKEN_ADDRESSES[symbol],
    decimals: 6,
    displayDecimals: 2,
    minAmount: null,
    maxAmount: null,
  };
}
const COIN = { ...tokenOf('USDT'), symbol: 'ETH', contract: null, decimals: 18 };
