import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase, type Database } from '@opentill/db/database';
import { findFreePort } from '@opentill/test-servers/free-port';
import { findFreePorts } from '@opentill/local/find-free-ports';
import type { EvmDevnetChain, GatewayOptions } from '@opentill/local/gateway-options';
import { startGateway, type Gateway } from '@opentill/local/start-gateway';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startCallbackReceiver, type CallbackReceiver } from './callback-receiver.ts';
import { createChainUnderTest, type ChainUnderTest } from './chain-under-test.ts';
import {
  findCallbackProblems,
  findChainProblems,
  findLedgerProblems,
  findPayoutProblems,
  undeliveredCount,
} from './check-books.ts';
import { createMerchantClient, createPatientClient, type MerchantClient } from './merchant-client.ts';
import type { RunningGateway } from './running-gateway.ts';
import { createSuiUnderTest, type SuiUnderTest } from './sui-under-test.ts';
import { WAIT_MS } from './time-limits.ts';
import { createTronUnderTest, type TronUnderTest } from './tron-under-test.ts';

export interface GatewayUnderTest<Running extends RunningGateway = Gateway> {
  readonly gateway: Running;
  readonly merchant: MerchantClient;
  readonly receiver: CallbackReceiver;
  /** The EVM devnets, or the EVM networks of `ownNodes`. */
  readonly chains: Readonly<Record<EvmDevnetChain, ChainUnderTest>>;
  readonly tron: TronUnderTest | undefined;
  readonly sui: SuiUnderTest | undefined;
  /** With the rights of the owner. */
  readonly database: Database;
  readonly merchantToken: string;
  readonly webhookSecret: string;
  newOrderId(): string;
  /** Waits until the gateway is at rest, and returns one line per problem of ledger, chains and callbacks. */
  findProblems(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Starts in a temporary directory on free ports. `stop()` removes it. */
export async function startGatewayUnderTest(
  options: Partial<Omit<GatewayOptions, 'stateDir' | 'ports' | 'merchant'>> = {},
): Promise<GatewayUnderTest> {
  const stateDir = mkdtempSync(join(tmpdir(), 'opentill-e2e-'));
  chmodSync(stateDir, 0o711); // lets the servers' user reach its subdirectories
  const token = randomBytes(16).toString('hex');
  const webhookSecret = randomBytes(16).toString('hex');
  const receiver = await startCallbackReceiver(await findFreePort(), webhookSecret);
  const removeFiles = (): void => rmSync(stateDir, { recursive: true, force: true });
  try {
    const gateway = await startGateway({
      keep: false,
      given: {},
      durable: false,
      ...options,
      stateDir,
      ports: await findFreePorts(),
      merchant: { token, webhookSecret, callbackUrl: receiver.url, version: 'V3' },
    });
    receiver.forwardTo(`${gateway.shopUrl}/callbacks`);
    const stop = async (): Promise<void> => {
      await gateway.stop();
      await receiver.close();
      removeFiles();
    };
    return createGatewayUnderTest({ gateway, merchantToken: token, webhookSecret, receiver, stop });
  } catch (error) {
    await receiver.close();
    removeFiles();
    throw error;
  }
}

function chainUnderTest(network: NetworkConfig): ChainUnderTest {
  const [endpoint] = rpcEndpointsOf(network);
  if (endpoint === undefined) throw new Error(`${network.chain} has no endpoint`);
  return createChainUnderTest({ network, node: { rpcUrl: endpoint.url } });
}

export function createGatewayUnderTest<Running extends RunningGateway>(parts: {
  readonly gateway: Running;
  readonly merchantToken: string;
  readonly webhookSecret: string;
  readonly receiver: CallbackReceiver;
  readonly stop: () => Promise<void>;
}): GatewayUnderTest<Running> {
  const { gateway, receiver } = parts;
  const database = openDatabase({
    url: gateway.database.url,
    applicationName: 'e2e',
    poolMax: 4,
    connectTimeoutMs: WAIT_MS,
  });
  const evm = gateway.networks.filter(({ family }) => family === 'EVM').map(chainUnderTest);
  const chains = Object.fromEntries(evm.map((chain) => [chain.chain, chain])) as GatewayUnderTest['chains'];
  const tron = gateway.tron === undefined ? undefined : createTronUnderTest(gateway.tron);
  const sui = gateway.sui === undefined ? undefined : createSuiUnderTest(gateway.sui);
  const booked = [...evm, ...(tron === undefined ? [] : [tron]), ...(sui === undefined ? [] : [sui])];
  let orders = 0;
  return {
    ...parts,
    chains,
    tron,
    sui,
    database,
    merchant: createPatientClient(createMerchantClient(gateway.apiUrl, parts.merchantToken)),
    newOrderId: () => `order-${(orders += 1)}-${randomBytes(3).toString('hex')}`,
    async findProblems() {
      const { kysely: db } = database;
      const find = async () => [
        ...(await findLedgerProblems(db)),
        ...(await findChainProblems(db, booked)),
        ...(await findPayoutProblems(db, booked, gateway.wallet)),
        ...(await findCallbackProblems(db, receiver.received)),
      ];
      let problems: string[] = ['not checked'];
      const isAtRest = async () => {
        const undelivered = await undeliveredCount(db);
        problems = await find();
        return undelivered === 0 && problems.length === 0;
      };
      await waitUntil('everything is at rest', isAtRest, WAIT_MS).catch(() => undefined);
      return problems;
    },
    async stop() {
      await database.close();
      await parts.stop();
    },
  };
}
