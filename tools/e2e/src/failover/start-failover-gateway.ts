import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceName } from '@opentill/local/gateway-options';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgresPair, type PostgresPair } from '@opentill/test-servers/postgres-standby';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { queryServer } from '@opentill/testkit/query-server';
import { startTcpProxy, type TcpProxy } from '@opentill/testkit/tcp-proxy';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startGatewayUnderTest, type GatewayUnderTest } from '../start-gateway-under-test.ts';

/** The services as processes, whose DATABASE_URL names a primary and its synchronous standby. */
export interface FailoverGateway {
  readonly under: GatewayUnderTest;
  readonly pair: PostgresPair;
  /** The services' and the test's way to the primary. */
  readonly toPrimary: TcpProxy;
  /** The standby's way to the primary. */
  readonly replication: TcpProxy;
  /** A superuser's session on one server, past the proxies. */
  query<Row extends object>(server: 'primary' | 'standby', text: string): Promise<Row[]>;
  /** Services that logged the old primary as a second server that accepts writes. */
  sawOldPrimary(): readonly ServiceName[];
  stop(): Promise<void>;
}

export const FAILOVER_SERVICES = [
  'api',
  'scanner-evm',
  'confirmation-tracker',
  'webhook-sender',
  'payout-signer',
  'ops',
] as const satisfies readonly ServiceName[];

export async function startFailoverGateway(): Promise<FailoverGateway> {
  const dir = mkdtempSync(join(scratchParent(), 'opentill-failover-'));
  chmodSync(dir, 0o711); // lets the servers' user reach its subdirectories
  const undo: (() => Promise<void> | void)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    return await start(dir, undo, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(
  dir: string,
  undo: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<FailoverGateway> {
  const ports = [await findFreePort(), await findFreePort()] as const;
  const toPrimary = await startTcpProxy(ports[0]);
  undo.push(() => toPrimary.close());
  const replication = await startTcpProxy(ports[0]);
  undo.push(() => replication.close());
  const pair = await startPostgresPair({
    dir,
    ports,
    replicationPort: replication.port,
    synchronous: true,
    settings: { autovacuum: 'off' }, // it would use transaction ids, which the test counts
  });
  undo.push(() => pair.stop());
  const query = <Row extends object>(server: 'primary' | 'standby', text: string): Promise<Row[]> =>
    queryServer<Row>(pair[server].url, text);
  await waitUntil('the standby is synchronous', async () => {
    const rows = await query<{ sync: string }>(
      'primary',
      `select sync_state as sync from pg_stat_replication where state = 'streaming'`,
    );
    return rows[0]?.sync === 'sync';
  });
  const databaseUrl = `postgres://opentill@127.0.0.1:${toPrimary.port},127.0.0.1:${ports[1]}/opentill`;
  const under = await startGatewayUnderTest({ given: { databaseUrl }, services: FAILOVER_SERVICES });
  undo.push(() => under.stop());
  return {
    under,
    pair,
    toPrimary,
    replication,
    query,
    sawOldPrimary: () =>
      FAILOVER_SERVICES.filter((service) => {
        const log = readFileSync(join(under.gateway.directory.logs, `${service}.log`), 'utf8');
        return log
          .split('\n')
          .some((line) => line.includes('database primary') && line.includes('old primary'));
      }),
    stop,
  };
}
