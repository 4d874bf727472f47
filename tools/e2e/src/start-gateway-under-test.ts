import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { createSuiUnderTest, type SuiUnderTest } from './sui-under-test.ts';
import { WAIT_MS } from './time-limits.ts';
import { createTronUnderTest, type TronUnderTest } from './tron-under-test.ts';

/** A whole gateway of processes with a merchant who buys, and hands on everything that happens. */
export interface GatewayUnderTest {
  readonly gateway: Gateway;
  readonly merchant: MerchantClient;
  readonly receiver: CallbackReceiver;
  readonly chains: Readonly<Record<EvmDevnetChain, ChainUnderTest>>;
  /** Undefined where nobody scans TRON. */
  readonly tron: TronUnderTest | undefined;
  /** Undefined where nobody scans SUI. */
  readonly sui: SuiUnderTest | undefined;
  /** The database as its owner, for looking. */
  readonly database: Database;
  readonly merchantToken: string;
  readonly webhookSecret: string;
  /** An order id that was not used before. */
  newOrderId(): string;
  /** What is wrong with ledger, chains and callbacks once everything has come to rest. */
  findProblems(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Starts everything in a temporary directory on free ports. `stop()` leaves neither process nor file. */
export async function startGatewayUnderTest(
  options: Partial<Omit<GatewayOptions, 'stateDir' | 'ports' | 'merchant'>> = {},
): Promise<GatewayUnderTest> {
  const stateDir = mkdtempSync(join(tmpdir(), 'opentill-e2e-'));
  chmodSync(stateDir, 0o711); // the servers' user passes through
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
    return createGatewayUnderTest({ gateway, token, webhookSecret, receiver, removeFiles });
  } catch (error) {
    await receiver.close();
    removeFiles();
    throw error;
  }
}

function createGatewayUnderTest(parts: {
  readonly gateway: Gateway;
  readonly token: string;
  readonly webhookSecret: string;
  readonly receiver: CallbackReceiver;
  readonly removeFiles: () => void;
}): GatewayUnderTest {
  const { gateway, token, webhookSecret, receiver, removeFiles } = parts;
  const database = openDatabase({ url: gateway.database.url, applicationName: 'e2e', poolMax: 4 });
  const chains = Object.fromEntries(
    gateway.chains.map((running) => [running.network.chain, createChainUnderTest(running)]),
  ) as Record<EvmDevnetChain, ChainUnderTest>;
  const tron = gateway.tron === undefined ? undefined : createTronUnderTest(gateway.tron);
  const sui = gateway.sui === undefined ? undefined : createSuiUnderTest(gateway.sui);
  const booked = [
    ...Object.values(chains),
    ...(tron === undefined ? [] : [tron]),
    ...(sui === undefined ? [] : [sui]),
  ];
  let orders = 0;
  return {
    gateway,
    receiver,
    chains,
    tron,
    sui,
    database,
    merchant: createPatientClient(createMerchantClient(gateway.apiUrl, token)),
    merchantToken: token,
    webhookSecret,
    newOrderId: () => `order-${(orders += 1)}-${randomBytes(3).toString('hex')}`,
    async findProblems() {
      const { kysely: db } = database;
      const find = async () => [
        ...(await findLedgerProblems(db)),
        ...(await findChainProblems(db, booked)),
        ...(await findPayoutProblems(db, booked, gateway.wallet)),
        ...(await findCallbackProblems(db, receiver.received)),
      ];
      let problems: string[] = ['nobody could look'];
      const isAtRest = async () => {
        const undelivered = await undeliveredCount(db);
        problems = await find();
        return undelivered === 0 && problems.length === 0;
      };
      // Whatever is still wrong at the deadline is wrong.
      await waitUntil('everything is at rest', isAtRest, WAIT_MS).catch(() => undefined);
      return problems;
    },
    async stop() {
      await database.close();
      await gateway.stop();
      await receiver.close();
      removeFiles();
    },
  };
}
