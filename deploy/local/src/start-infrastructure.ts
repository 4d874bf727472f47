import { writeFileSync } from 'node:fs';
import { findOrStartServers, type Servers } from '@opentill/test-servers/servers';
import { writeBrokerUsers } from '@opentill/messaging/write-broker-users';
import { roleUrl } from '@opentill/db/roles';
import { settleAll, rejectOnMemberEnd } from './settle-all.ts';
import { fundHotWallets } from './fund-hot-wallets.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { Members } from './gateway-parts.ts';
import { prepareKeys, type WalletFiles } from './prepare-keys.ts';
import { prepareMerchant } from './prepare-merchant.ts';
import { prepareOperator } from './prepare-operator.ts';
import { preparePolicy, type PolicyFiles } from './prepare-policy.ts';
import { resetGivenDatabase } from './reset-database.ts';
import { runOpentill } from './run-command.ts';
import { operatorEnvironment, setupEnvironment, type EnvironmentSource } from './service-environments.ts';
import { nodesOf, startChains, type RunningChains } from './start-chains.ts';
import { readOrMakeSecrets, type LocalSecrets, type StateDirectory } from './state-directory.ts';
import { timeStep } from './time-step.ts';
import { allNetworks, writeNetworks, type LocalNetworks } from './write-networks.ts';

const SETUP_DEADLINE_MS = 240_000;

export interface Infrastructure {
  readonly source: EnvironmentSource;
  readonly servers: Servers;
  readonly chains: RunningChains;
  readonly networks: LocalNetworks;
  readonly wallet: WalletFiles;
  readonly policy: PolicyFiles;
}

export async function startInfrastructure(
  options: GatewayOptions,
  networks: LocalNetworks,
  directory: StateDirectory,
  members: Members,
): Promise<Infrastructure> {
  const { signal } = options;
  const say = options.say ?? (() => undefined);
  const secrets = readOrMakeSecrets(directory);
  writeNetworks(directory.networksFile, networks);
  say(
    `database, broker, ${allNetworks(networks)
      .map(({ chain }) => chain)
      .join(', ')}`,
  );
  const [servers, chains, { wallet, policy }] = await settleAll([
    startServersFor(options, directory, members, secrets),
    startChainsFor(networks, options, directory, members),
    prepareWallet(directory, secrets, networks, options),
  ] as const);
  signal?.throwIfAborted();
  const source = environmentSource(options, directory, secrets, servers, wallet, policy);
  say(`setup (database: ${servers.database.origin}, broker: ${servers.broker.origin})`);
  if (servers.database.origin === 'given' && !options.keep) await resetGivenDatabase(servers.database.url);
  const setup = runOpentill({
    args: ['setup'],
    env: setupEnvironment(source),
    logs: directory.logs,
    deadlineMs: SETUP_DEADLINE_MS,
    signal,
  });
  await timeStep('setup', say, rejectOnMemberEnd(members, setup));
  writeFileSync(directory.operatorFile, JSON.stringify(operatorEnvironment(source)), { mode: 0o600 });
  say('hot wallets, operator, merchant');
  const funds = fundHotWallets({
    chains,
    wallet,
    file: directory.topUpsFile,
    databaseUrl: roleUrl(source.adminUrl, 'ops', secrets.rolePasswords.ops),
  });
  const operator = prepareOperator(servers.database.url, directory.operatorTokenFile);
  const merchant = prepareMerchant(servers.database.url, `http://localhost:${source.ports.shop}`);
  await timeStep('hot wallets, operator, merchant', say, settleAll([funds, operator, merchant]));
  return { source, servers, chains, networks, wallet, policy };
}

async function prepareWallet(
  directory: StateDirectory,
  secrets: LocalSecrets,
  networks: LocalNetworks,
  { signal, say }: GatewayOptions,
): Promise<{ readonly wallet: WalletFiles; readonly policy: PolicyFiles }> {
  const wallet = await prepareKeys(directory, secrets, signal, say);
  return { wallet, policy: await preparePolicy(directory, secrets, wallet, networks) };
}

async function startServersFor(
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
  secrets: LocalSecrets,
): Promise<Servers> {
  const servers = await findOrStartServers({
    dir: directory.servers,
    given: options.given,
    keepData: options.keep,
    durable: options.durable ?? true,
    management: true, // AMQP cannot create users
    signal: options.signal,
    ...(options.say === undefined ? {} : { say: options.say }),
  });
  if (servers.database.own) members.add('database', servers.database.own);
  if (servers.broker.own) members.add('chains and broker', servers.broker.own);
  options.signal?.throwIfAborted();
  const { managementUrl } = servers.broker;
  if (managementUrl !== undefined) await writeBrokerUsers(managementUrl, secrets.brokerPasswords);
  return servers;
}

async function startChainsFor(
  networks: LocalNetworks,
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
): Promise<RunningChains> {
  const chains = await startChains(networks, directory, options);
  for (const { network, node } of nodesOf(chains)) {
    const stop = async (): Promise<void> => node.stop(options.durable === false ? 'kill' : 'graceful');
    members.add('chains and broker', { ...node, name: `the devnet ${network.chain}`, stop });
  }
  return chains;
}

function environmentSource(
  options: GatewayOptions,
  directory: StateDirectory,
  secrets: LocalSecrets,
  servers: Servers,
  wallet: WalletFiles,
  policy: PolicyFiles,
): EnvironmentSource {
  return {
    adminUrl: servers.database.url,
    amqpUrl: servers.broker.url,
    secrets,
    ports: options.ports,
    merchant: options.merchant,
    networksFile: directory.networksFile,
    publicKeysFile: wallet.publicKeysFile,
    keystoreFile: wallet.keystoreFile,
    passphraseFile: wallet.passphraseFile,
    policyFile: policy.policyFile,
    operatorTokenFile: directory.operatorTokenFile,
    hasBrokerUsers: servers.broker.managementUrl !== undefined,
  };
}
