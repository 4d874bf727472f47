import { randomUUID } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { openDatabase, type DatabaseOptions } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import type { KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import { createApp, type SignerApp } from '../../src/app.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { QUICK } from '../quick-timing.ts';

/** Nobody has its key. */
export const COLD = '0xc01dc01dc01dc01dc01dc01dc01dc01dc01dc01d' as Address;

/** Where a signer of the tests runs, and what it is told. */
export interface SweepingSigner {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly network: NetworkConfig;
  readonly keys: KeystoreSigner;
  readonly stateDirectory: string;
  /** What the policy says of sweeps besides what all tests say. */
  readonly sweep?: Readonly<Record<string, unknown>> | undefined;
  /** What it says of each token besides. */
  readonly asset?: Readonly<Record<string, unknown>> | undefined;
  readonly sender?: ((sender: WalletSender) => WalletSender) | undefined;
  readonly wrapPool?: DatabaseOptions['wrapPool'] | undefined;
  readonly metrics?: Metrics | undefined;
  readonly timing?: Readonly<Partial<typeof TIMING>> | undefined;
}

export interface RunningSigner {
  readonly app: SignerApp;
  stop(): Promise<void>;
}

/** Patient enough to be quick. */
const TIMING = { ...QUICK, planEveryMs: 50, leaseTtlMs: 1_500, depositsAtOnce: 8 };

/** The whole service as its process runs it, with a policy that has deposit addresses emptied. */
export function startSweepingSigner(options: SweepingSigner): RunningSigner {
  const { network, keys, wrapPool } = options;
  const db = openDatabase({
    url: options.databaseUrl,
    applicationName: 'sweeping signer',
    poolMax: 12,
    ...(wrapPool === undefined ? {} : { wrapPool }),
  });
  const level = process.env['TEST_LOG'] === undefined ? 'silent' : 'debug';
  const logger = createLogger({ service: 'payout-signer', level });
  const broker = connectBroker({ url: options.amqpUrl, logger, name: 'sweeping signer' });
  const terms = payoutTermsOf(network);
  if (terms === undefined) throw new Error('no terms');
  const plain = createEvmSender(network, { backend: keys });
  const app = createApp({
    db: db.kysely,
    broker,
    logger,
    metrics: options.metrics ?? createMetrics('payout-signer'),
    clock: systemClock,
    newId,
    networks: [
      {
        kind: 'NONCES',
        network,
        terms,
        codec: evmFamily.addressCodec,
        sender: options.sender?.(plain) ?? plain,
        reader: evmFamily.createReader(network, {}),
      },
    ],
    wallets: keys.addresses,
    keys,
    policy: policyFor(options),
    instanceId: randomUUID(),
    stateDirectory: options.stateDirectory,
    fail: (error) => {
      throw error;
    },
    timing: { ...TIMING, ...options.timing },
  });
  app.start();
  return {
    app,
    async stop() {
      await app.stop();
      await broker.close();
      await db.close();
    },
  };
}

/** As the sealed policy of the tests says. */
export function policyFor(options: Pick<SweepingSigner, 'network' | 'sweep' | 'asset'>): PolicyJudge {
  const surroundings = { networks: [options.network], codecs: [evmFamily.addressCodec] };
  return judgeByPolicy(parsePolicy(JSON.stringify(policyOf(options)), surroundings));
}

function policyOf({
  network,
  sweep = {},
  asset = {},
}: Pick<SweepingSigner, 'network' | 'sweep' | 'asset'>): unknown {
  const high = '1000000';
  const limits = { maxPerPayout: high, maxPerHour: high, maxPerDay: high, maxPerMerchantPerDay: high };
  const tokens = network.tokens.filter(({ contract }) => contract !== null);
  return {
    version: 1,
    chains: {
      [network.chain]: {
        enabled: true,
        coldAddress: COLD,
        sweep: {
          nativePrice: '1',
          maxTopUp: '0.1',
          maxNativePerDay: '10',
          maxCostShare: '0.5',
          minAgeMinutes: 0,
          ...sweep,
        },
        assets: Object.fromEntries(tokens.map(({ symbol }) => [symbol, { ...limits, ...asset }])),
      },
    },
  };
}
