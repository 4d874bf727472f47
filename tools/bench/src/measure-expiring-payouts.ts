import pg from 'pg';
import type { KeystoreSigner } from '@opentill/wallet/keystore-signer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ExpiringPaying } from '@opentill/payout-signer/signer-deps';
import { round2 } from './median.ts';
import {
  askForPayouts,
  makeKeys,
  numberOf,
  PAYOUTS,
  sendingSeconds,
  startPayoutServices,
  until,
  type PayoutDatabase,
} from './payout-bench.ts';

/** Payouts of one hot wallet whose transactions end by themselves, all asked for at once. */
export interface ExpiringPayoutFigures {
  readonly payouts: number;
  /** Most payouts on their way at once: from their signing until they are final. */
  readonly maxOpenPayouts: number;
  /** From the first authorisation to the last first send. */
  readonly broadcastPerSecond: number;
  /** Until the last of them was final in the database. */
  readonly secondsToFinal: number;
  /** Attempts that were made, and those that are settled, and receivers that have their amount: all the number of payouts. */
  readonly attempts: number;
  readonly settledAttempts: number;
  readonly receiversPaid: number;
}

/** What is particular of a chain. */
export interface ExpiringWorld {
  readonly dir: string;
  readonly database: PayoutDatabase;
  readonly amqpUrl: string;
  readonly network: NetworkConfig & { readonly family: 'TRON' | 'SUI' };
  /** What the wallet is paid in, on the chain. */
  readonly contract: string;
  /** Gives the wallet what all payouts take, fees too. */
  readonly fund: (wallet: string) => Promise<void>;
  readonly codec: ExpiringPaying['codec'];
  readonly payWith: (keys: KeystoreSigner) => Pick<ExpiringPaying, 'terms' | 'sender'>;
  readonly aReceiver: () => string;
  /** Receivers that hold exactly their amount. */
  readonly countPaid: (receivers: readonly string[]) => Promise<number>;
}

/** Pays all of them; throws when one took two attempts, or a receiver has not exactly its amount. */
export async function measureExpiringPayouts(world: ExpiringWorld): Promise<ExpiringPayoutFigures> {
  const { database, network, contract, codec } = world;
  const { chain, family } = network;
  const admin = new pg.Client({ connectionString: database.adminUrl, application_name: 'bench' });
  await admin.connect();
  const keys = await makeKeys(world.dir, codec);
  const wallet = keys.addresses[0] ?? '';
  await world.fund(wallet);
  const paying = { kind: 'EXPIRING', network, codec, ...world.payWith(keys) } as const;
  const services = startPayoutServices({ ...world, keys, paying });
  try {
    // The wallet's money must be final before it counts.
    const verified = `select count(*) n from chain_cursor where chain = '${chain}' and verified_height > 3`;
    await until('the scanner is under way', async () => (await numberOf(admin, verified)) === 1);
    const receivers = Array.from({ length: PAYOUTS }, world.aReceiver);
    await askForPayouts(admin, { chain, family, contract, wallet, receivers });
    const askedAtMs = performance.now();
    const settled = `select count(*) n from payout_attempt where state = 'SETTLED'`;
    await until('every payout is final', async () => (await numberOf(admin, settled)) === PAYOUTS);
    const secondsToFinal = (performance.now() - askedAtMs) / 1_000;
    const figures: ExpiringPayoutFigures = {
      payouts: PAYOUTS,
      maxOpenPayouts: paying.terms.maxOpenPayouts,
      broadcastPerSecond: round2(PAYOUTS / (await sendingSeconds(admin))),
      secondsToFinal: round2(secondsToFinal),
      attempts: await numberOf(admin, 'select count(*) n from payout_attempt'),
      settledAttempts: await numberOf(admin, settled),
      receiversPaid: await world.countPaid(receivers),
    };
    const { attempts, settledAttempts, receiversPaid } = figures;
    if (![attempts, settledAttempts, receiversPaid].every((n) => n === PAYOUTS))
      throw new Error(`payouts are missing or too many: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await services.stop();
    keys.close();
    await admin.end();
  }
}
