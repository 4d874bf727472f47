import { createECDH, randomBytes } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender, SignedExpiring } from '@opentill/chain/expiring-sender';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { parseCoinType } from '@opentill/chain-sui/coin-type';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { startSuiDevnet, type SuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { signHash } from '@opentill/devnets/tron/chain/signature';
import { baseUnits } from '@opentill/domain/money';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';
import { SUI_DEVNET_PAYOUTS, suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sql } from 'kysely';
import { createRestoredBooks, storeAttempt, type RestoredBooks } from './restored-ledger.ts';

export const CHAIN = 'SUI_TEST';
export const USDC = 1_000_000n;
const ONE_SUI = 10n ** 9n;

export type Signed = SignedExpiring & { readonly intent: PaymentIntent };

/** A SUI hot wallet with ledger and scanner, on a node whose checkpoints and epochs come on demand. */
export interface SuiBooks extends Omit<RestoredBooks, 'close'> {
  readonly devnet: SuiDevnet;
  readonly admin: Db;
  readonly wallet: Address;
  readonly sender: ExpiringSender;
  /** Reserved, not signed. */
  payout(amount?: bigint): Promise<OrderRow>;
  /** The wallet's sender signs for it, too. */
  newKey(): Address;
  /** Signs like an earlier process of the signer, without a record. */
  sign(pays: Partial<PaymentIntent>): Promise<Signed>;
  signFor(order: OrderRow): Promise<Signed>;
  /** Coins that were received in USDC or SUI. */
  gather(symbol?: 'USDC' | 'SUI'): Promise<Pick<SignedExpiring, 'txHash' | 'raw'>>;
  send(signed: Pick<SignedExpiring, 'txHash' | 'raw'>): Promise<void>;
  store(order: OrderRow, signed: Signed): Promise<void>;
  /** Creates one, and waits until the scanner has verified it. */
  checkpoint(): Promise<void>;
  bookTopUps(): Promise<void>;
  /** Waits until the scanner has verified a checkpoint of the next epoch. */
  passEpoch(): Promise<void>;
  close(): Promise<void>;
}

export const randomAddress = (): Address => `0x${randomBytes(32).toString('hex')}` as Address;

export async function openSuiBooks(suiForm: 'address' | 'coin' = 'address'): Promise<SuiBooks> {
  const [devnet, database] = await Promise.all([startSuiDevnet({ checkpointMs: 0 }), createTestDatabase()]);
  const adminDatabase = database.open('admin');
  const scanDatabase = database.open('scanner_sui');
  const admin = adminDatabase.kysely;
  const keys = new Map<string, Buffer>();
  const newKey = (): Address => {
    const pair = createECDH('secp256k1');
    pair.generateKeys();
    const address = suiFamily.addressCodec.fromPublicKey(
      pair.getPublicKey(undefined, 'compressed') as Buffer,
    );
    keys.set(address, Buffer.from(pair.getPrivateKey('hex').padStart(64, '0'), 'hex'));
    return address;
  };
  const wallet = newKey();
  const usdc = devnet.tokens.USDC as TokenContract;
  await devnet.control.fund(wallet, { symbol: 'USDC', amountBaseUnits: 1_000n * USDC, form: 'address' });
  await devnet.control.fund(wallet, { mist: 100n * ONE_SUI, form: suiForm });
  const network = suiDevnetNetwork(devnet, { payouts: SUI_DEVNET_PAYOUTS });
  const restored = await createRestoredBooks(database, admin, JSON.stringify({ networks: [network] }));
  await sql`insert into hot_wallet (family, address) values ('SUI', ${wallet})`.execute(admin);
  await sql`select book_top_up(${`${CHAIN}:1:USDC`}, ${CHAIN}, 'USDC', ${1_000n * USDC})`.execute(admin);
  const sender = createSuiSender(network, {
    backend: {
      addresses: [wallet],
      holds: (address) => keys.has(address),
      sign: (address, digest) => Promise.resolve(signHash(digest, keys.get(address)!)),
    },
  });
  const scan = startChainScan({
    network: scanNetworkOf(network, parseCoinType),
    reader: suiFamily.createReader(network, {}),
    store: createScanStore({ db: scanDatabase.kysely, schema: 'scanner_sui', clock: systemClock, newId }),
    observe: createObserve({
      logger: createLogger({ service: 'scanner-sui', level: 'silent' }),
      metrics: createMetrics('scanner-sui'),
      clock: systemClock,
    }),
    clock: systemClock,
    lease: keepLease({
      db: scanDatabase.kysely,
      schema: 'scanner_sui',
      name: `chain:${CHAIN}`,
      holder: 'books',
      ttlMs: 5_000,
    }),
    leaseIntervalMs: 1_000,
    onCommitted: () => undefined,
    gates: createChainGates(systemClock, (error) => {
      throw error;
    }),
  });
  let uniqueMs = Date.now();
  const verified = async () => {
    const { rows } = await sql<{ height: number; hash: string; epoch: number }>`
      select verified_height as height, verified_hash as hash, verified_epoch as epoch from chain_cursor where chain = ${CHAIN}`.execute(
      admin,
    );
    return rows[0];
  };
  const caughtUp = () =>
    waitUntil('the scanner has verified it', async () => {
      const { checkpoint } = devnet.control.summary();
      return (await verified())?.height === checkpoint;
    });
  const validity = async () => {
    const { height, hash, epoch } = (await verified())!;
    uniqueMs += 1;
    return {
      ...(await sender.epochs!.currentWindow(epoch)),
      reference: { height, hash: hash as never },
      uniqueMs,
    };
  };

  const books: SuiBooks = {
    ...restored,
    devnet,
    admin,
    wallet,
    sender,
    newKey,
    async payout(amount = 5n * USDC) {
      const order = await aPayout(admin, {
        chain: CHAIN,
        family: 'SUI',
        symbol: 'USDC',
        contract_address: usdc,
        decimals: 6,
        amount,
        accepted_amount: amount,
        address: randomAddress(),
        source_address: wallet,
      });
      await sql`select reserve(${order.order_pk})`.execute(admin);
      return order;
    },
    async sign(pays) {
      const intent: PaymentIntent = {
        from: wallet,
        contract: usdc,
        to: randomAddress(),
        amountBaseUnits: baseUnits(5n * USDC),
        ...pays,
      };
      const [prepared] = await sender.prepare([intent]);
      if (prepared?.kind !== 'READY') throw new Error(`not ready: ${JSON.stringify(prepared)}`);
      const { feeLimitBaseUnits, funding } = prepared;
      return { ...(await sender.sign(intent, await validity(), feeLimitBaseUnits, funding)), intent };
    },
    signFor: ({ address: to, amount }) =>
      books.sign({ to: to as Address, amountBaseUnits: baseUnits(amount) }),
    async gather(symbol = 'USDC') {
      const contract = symbol === 'USDC' ? usdc : null;
      const gathering = await sender.gathering!.signGathering(wallet, contract, await validity());
      if (gathering === undefined) throw new Error('nothing to gather');
      return gathering;
    },
    async send(signed) {
      const [outcome] = await sender.broadcast([signed as SignedExpiring]);
      if (outcome !== 'ACCEPTED') throw new Error(`not taken: ${outcome}`);
    },
    store: (order, signed) =>
      storeAttempt(admin, order, {
        chain: CHAIN,
        family: 'SUI',
        wallet,
        contract: usdc,
        cost: '50000000',
        ...signed,
      }),
    async checkpoint() {
      devnet.control.checkpoint();
      await caughtUp();
    },
    async bookTopUps() {
      await sql`select settle_hot_wallet_deposits((
        select coalesce(jsonb_agg(jsonb_build_object('transferId', t.transfer_id, 'version', t.version)), '[]') from transfer t
        where t.chain = ${CHAIN} and t.to_address = ${wallet}))`.execute(admin);
    },
    async passEpoch() {
      devnet.control.advanceEpoch();
      devnet.control.checkpoint();
      await caughtUp();
    },
    async close() {
      await scan.stop();
      await scanDatabase.close();
      await adminDatabase.close();
      await database.drop();
      await devnet.close();
      restored.close();
    },
  };
  await books.checkpoint();
  await books.checkpoint();
  return books;
}
