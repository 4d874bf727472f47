import { onNewFinding, type Finding } from '@opentill/chain/finding-changes';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { isTestNetwork, networkKindOf } from '@opentill/contracts/network-kind';
import { arePaidByGas, MAX_PAYOUT_GAS, type NetworkConfig } from '@opentill/contracts/network-config';
import {
  payoutTermsOf,
  suiPayoutTermsOf,
  tronPayoutTermsOf,
  type PayoutTerms,
} from '@opentill/contracts/payout-terms';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { findSourceRisks, requireSafeSources } from '@opentill/contracts/source-risks';
import { openDatabase } from '@opentill/db/database';
import type { NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger, type Logger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { startTracing } from '@opentill/runtime/start-tracing';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { openPolicy, type OpenedPolicy } from '@opentill/wallet/policy/sealed-policy';
import type { Policy } from '@opentill/wallet/policy/policy';
import { readPassphraseFile } from '@opentill/wallet/read-passphrase-file';
import { refuseSecretsInEnvironment } from '@opentill/wallet/refuse-secrets-in-environment';
import { createApp, type SignerDeps } from './app.ts';
import { readSignerConfig, selectNetworks, type SignerConfig } from './config.ts';
import { openWitnessKeyFile } from './expiring/witness-key-file.ts';
import { openSellers } from './energy/open-sellers.ts';
import { judgeByPolicy } from './policy/judge-by-policy.ts';
import type { PayingNetwork } from './payouts/paying-network.ts';

const SERVICE = 'payout-signer';
const CODECS = [evmFamily.addressCodec, tronFamily.addressCodec, suiFamily.addressCodec];

export const composePayoutSigner: Compose = async (env, { fail, sharesProcess }) => {
  refuseSecretsInEnvironment(env);
  const config = readSignerConfig(env);
  const { instanceId } = config;
  const logger = createLogger({ service: SERVICE, level: config.logLevel });
  const file = await readNetworkFile(config.networksFile, env);
  const kind = networkKindOf(file);
  const networks = selectNetworks(file, config.chains);
  const isLocal = config.profile === 'local';
  if (isLocal) refuseMainNetworks(file);
  requireSafeSources(networks, config.sourceRisksAccepted);
  for (const risk of findSourceRisks(networks)) logger.warn('source risk accepted', { ...risk });
  return openResources(async (onStop) => {
    onStop(await startTracing({ service: SERVICE, instanceId, settings: config.tracing, logger }));
    const { keys, policy, gasCaps } = await openKeys(config, file, kind, logger);
    onStop(() => Promise.resolve(keys.close()));
    const database = openDatabase({
      url: config.databaseUrl,
      applicationName: `${SERVICE} ${instanceId}`,
      poolMax: config.databasePoolMax,
      prepareStatements: config.databasePrepare,
      onConnectionLost: (error) => logger.warn('database connection lost', { error }),
      onPrimary: (news) => logger.warn('database primary', { ...news }),
    });
    onStop(() => database.close(STOP_LIMITS_MS.database));
    const broker = connectBroker({ url: config.amqpUrl, logger, name: `${SERVICE} ${instanceId}` });
    onStop(() => broker.close());
    const metrics = createMetrics(SERVICE, { ofProcess: !sharesProcess });
    observePools(metrics, database);
    const app = createApp({
      db: database.kysely,
      broker,
      logger,
      metrics,
      clock: systemClock,
      newId,
      ...sortNetworks(
        capGas(networks, gasCaps),
        { keys, policy, stateDirectory: config.stateDirectory },
        logger,
      ),
      wallets: keys.addresses,
      keys,
      policy: judgeByPolicy(policy, kind, { isLocal }),
      sellers: await openSellers(config, networks),
      instanceId,
      stateDirectory: config.stateDirectory,
      fail,
      // Services that share the process continue.
      ...(sharesProcess ? { onNoneUsable: () => undefined } : {}),
      timing: { inboxKeptSeconds: config.inboxKeptSeconds },
    });
    onStop(() => app.stop());
    app.start();
    const { healthPort: port, healthHost: host } = config;
    return { checks: app.checks, metrics, health: { port, host } };
  });
};

export type LocalProfileErrorCode =
  /** PROFILE=local signs without a policy, but a main network is enabled. */
  'PROFILE_LOCAL_ON_MAIN';

function refuseMainNetworks(networks: readonly NetworkConfig[]): void {
  const main = networks
    .filter((network) => network.enabled && !isTestNetwork(network))
    .map(({ chain }) => chain);
  if (main.length === 0) return;
  throw new GatewayError<LocalProfileErrorCode>(
    'PROFILE_LOCAL_ON_MAIN',
    `PROFILE=local is for local test networks, and the network file enables ${main.join(', ')}. Set PROFILE=production.`,
    { retryable: false, context: { main } },
  );
}

/** The passphrase does not outlive this function. */
async function openKeys(
  config: SignerConfig,
  networks: readonly NetworkConfig[],
  kind: NetworkKind,
  logger: Logger,
): Promise<{
  readonly keys: KeystoreSigner;
  readonly policy: Policy | undefined;
  readonly gasCaps: OpenedPolicy['gasCaps'];
}> {
  const { keystoreFile, passphraseFile, publicKeysFile, policyFile } = config;
  const passphrase = await readPassphraseFile(passphraseFile);
  const keys = await openKeystoreSigner({ keystoreFile, passphrase, codecs: CODECS, kind, publicKeysFile });
  logger.info('keystore opened', { fingerprint: keys.fingerprint, kind, wallets: keys.addresses });
  if (publicKeysFile === undefined)
    logger.warn('no public key file: deposit addresses are not checked against the keystore');
  if (policyFile === undefined) {
    if (config.profile === 'local')
      logger.warn('no policy: payouts are signed without limits, PROFILE=local');
    else logger.warn('no policy: no payout is signed');
    return { keys, policy: undefined, gasCaps: new Map() };
  }
  const { fingerprint } = keys;
  const { policy, digest, sealedAt, gasCaps } = await openPolicy({
    policyFile,
    passphrase,
    fingerprint,
    networks,
    codecs: CODECS,
  });
  logger.info('policy opened', { digest, sealedAt });
  for (const [chain, maxGas] of gasCaps)
    logger.warn('policy sealed without maxGas: seal it again', { chain, maxGas });
  return { keys, policy, gasCaps };
}

/** Applies the gas caps of policies that were sealed before they contained `maxGas`. */
function capGas(
  networks: readonly NetworkConfig[],
  gasCaps: OpenedPolicy['gasCaps'],
): readonly NetworkConfig[] {
  return networks.map((network) => {
    const { chain, payouts } = network;
    const cap = gasCaps.get(chain);
    if (cap === undefined || payouts === undefined || !arePaidByGas(payouts)) return network;
    return { ...network, payouts: { ...payouts, maxGas: Math.min(cap, payouts.maxGas ?? MAX_PAYOUT_GAS) } };
  });
}

interface KeyContext {
  readonly keys: KeystoreSigner;
  readonly policy: Policy | undefined;
  readonly stateDirectory: string;
}

function sortNetworks(
  networks: readonly NetworkConfig[],
  keyContext: KeyContext,
  logger: Logger,
): Pick<SignerDeps, 'networks' | 'unpayable'> {
  const sorted = networks.map((network) => {
    const codec = CODECS.find(({ family }) => family === network.family);
    if (codec === undefined) throw new TypeError(`family ${network.family} has no payouts`);
    return { network, codec, paying: payOn(network, keyContext, logger) };
  });
  return {
    networks: sorted.flatMap(({ paying }) => paying ?? []),
    unpayable: sorted.filter(({ paying }) => paying === undefined),
  };
}

function payOn(
  network: NetworkConfig,
  { keys: backend, policy, stateDirectory }: KeyContext,
  logger: Logger,
): PayingNetwork | undefined {
  const evmTerms = payoutTermsOf(network);
  if (evmTerms !== undefined) return payOnEvm(network, evmTerms, backend, logger);
  const senderDeps = { backend, ...logSources(network, logger) };
  const tronTerms = tronPayoutTermsOf(network);
  if (tronTerms !== undefined) {
    const { addressCodec: codec } = tronFamily;
    const sender = createTronSender(network, {
      ...senderDeps,
      witnessKeyStore: openWitnessKeyFile(stateDirectory, network.chain),
      onWitnessKey: (key) => logger.warn('witness signs with a new key', { chain: network.chain, ...key }),
    });
    return { kind: 'EXPIRING', network, terms: tronTerms, codec, sender };
  }
  const suiTerms = suiPayoutTermsOf(network);
  if (suiTerms === undefined) return undefined;
  const { addressCodec: codec } = suiFamily;
  const gasless = policy?.chains.get(network.chain)?.sweep?.gasless ?? true;
  const sender = createSuiSender(network, {
    ...senderDeps,
    gasless,
    onNotGathered: (why) => logger.warn('coins not gathered', { chain: network.chain, ...why }),
  });
  return { kind: 'EXPIRING', network, terms: suiTerms, codec, sender };
}

function payOnEvm(
  network: NetworkConfig,
  terms: PayoutTerms,
  backend: KeystoreSigner,
  logger: Logger,
): PayingNetwork {
  const { chain } = network;
  return {
    kind: 'NONCES',
    network,
    terms,
    codec: evmFamily.addressCodec,
    sender: createEvmSender(network, {
      backend,
      ...logSources(network, logger),
      onCountRefuted: (count) =>
        logger.error('source overstates a transaction count', {
          chain,
          ...count,
        }),
    }),
    reader: evmFamily.createReader(network, {}),
  };
}

function logSources({ chain }: NetworkConfig, logger: Logger) {
  return {
    onSendAnswer: (answer: { readonly outcome: string; readonly wrongHash?: true }) => {
      const isAlarming = answer.wrongHash === true || answer.outcome === 'REFUSED';
      logger[isAlarming ? 'warn' : 'debug']('broadcast answered', { chain, ...answer });
    },
    onSingleSource: ({ label }: { readonly label: string }) =>
      logger.debug('single source accepted', { chain, source: label }),
    onSourceChange: (change: SourceChange) => {
      const isRetryable = change.trouble === 'RESTING' || change.before === 'RESTING';
      logger[isRetryable ? 'debug' : 'info']('source changed', { chain, ...change });
    },
    onFinding: onNewFinding(({ source, kind, error }: Finding) =>
      logger.warn('source finding', { chain, source, kind, error }),
    ),
  };
}

interface SourceChange {
  readonly trouble: unknown;
  readonly before: unknown;
}
