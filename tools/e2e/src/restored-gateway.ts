import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE_ROLES, type RoleName } from '@opentill/db/service-schema';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgres, type PostgresServer } from '@opentill/test-servers/postgres';
import { SERVICE_NAMES, type ServiceName } from '@opentill/local/gateway-options';
import type { Gateway } from '@opentill/local/start-gateway';
import { runOpentill, type CommandResult } from './run-opentill.ts';

/** A second machine for the gateway: an empty database server, and a directory for restored files. */
export interface AnotherMachine {
  readonly directory: string;
  /** With the rights of the database owner. */
  readonly adminUrl: string;
  readonly operatorEnvironment: Readonly<Record<string, string>>;
  opentill(args: readonly string[]): Promise<CommandResult>;
  /** Runs `opentill setup` and starts all services with the restored keys. Chains and broker stay the same. */
  startServices(): Promise<void>;
  stop(): Promise<void>;
}

const SCHEMA_OF: Readonly<Partial<Record<ServiceName, RoleName>>> = {
  api: 'api',
  'scanner-evm': 'scanner_evm',
  'scanner-tron': 'scanner_tron',
  'scanner-sui': 'scanner_sui',
  'confirmation-tracker': 'tracker',
  'webhook-sender': 'webhook',
  'payout-signer': 'signer',
  ops: 'ops',
  rates: 'rates',
};

/** Starts an empty database server in addition to the gateway's. `stop()` removes its files. */
export async function prepareAnotherMachine(gateway: Gateway): Promise<AnotherMachine> {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-restored-'));
  chmodSync(directory, 0o711); // lets the server's user reach its subdirectories
  let server: PostgresServer;
  try {
    server = await startPostgres({
      dir: join(directory, 'postgres'),
      port: await findFreePort(),
      durable: false,
    });
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  const roleUrl = (schema: RoleName): string => {
    const url = new URL(gateway.roleUrl(schema));
    const { host, pathname } = new URL(server.url);
    return Object.assign(url, { host, pathname }).toString();
  };
  const operatorEnvironment = {
    ...gateway.operatorEnvironment,
    OPS_DATABASE_URL: roleUrl('ops'),
    DATABASE_ADMIN_URL: server.url,
    ...Object.fromEntries(
      SERVICE_ROLES.map((schema) => [
        `DATABASE_PASSWORD_${schema.toUpperCase()}`,
        decodeURIComponent(new URL(roleUrl(schema)).password),
      ]),
    ),
  };
  delete (operatorEnvironment as { AMQP_URL?: string }).AMQP_URL; // the broker already has its queues
  const opentill = async (args: readonly string[]) => runOpentill({ operatorEnvironment }, args);
  return {
    directory,
    adminUrl: server.url,
    operatorEnvironment,
    opentill,
    async startServices() {
      const { code, errors } = await opentill(['setup']);
      if (code !== 0) throw new Error(`setup: ${errors}`);
      for (const service of SERVICE_NAMES) {
        const schema = SCHEMA_OF[service];
        const env = {
          ...(schema === undefined ? {} : { DATABASE_URL: roleUrl(schema) }),
          ...(service === 'payout-signer'
            ? { KEYSTORE_FILE: join(directory, 'keystore.json'), POLICY_FILE: join(directory, 'policy.json') }
            : {}),
          ...(service === 'api' || service === 'payout-signer'
            ? { PUBLIC_KEYS_FILE: join(directory, 'public-keys.json') }
            : {}),
        };
        await gateway.startService(service, { env });
      }
    },
    async stop() {
      await server.stop('immediate');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
