import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What keep-servers.ts prints and writes. */
export interface TestServerUrls {
  readonly pid: number;
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  /** RabbitMQ's HTTP API; absent when the environment gave the broker. */
  readonly managementUrl?: string;
}

/** The environment variables by which test workers find the servers: a superuser's database URL, AMQP, its HTTP API. */
export const DATABASE_URL_VARIABLE = 'OPENTILL_TEST_DATABASE_URL';
export const AMQP_URL_VARIABLE = 'OPENTILL_TEST_AMQP_URL';
export const AMQP_MANAGEMENT_URL_VARIABLE = 'OPENTILL_TEST_AMQP_MANAGEMENT_URL';

/** Where servers for tests come from: `containers` (or none), `local`, or `any` of the two, which is the default. */
export const SERVERS_FROM_VARIABLE = 'OPENTILL_TEST_SERVERS';

/** The file by which servers that a developer keeps running (keep-servers.ts --urls-file) are found; per checkout. */
export function keptServersFile(): string {
  const here = createHash('sha256')
    .update(import.meta.dirname)
    .digest('hex')
    .slice(0, 12);
  return join(tmpdir(), `opentill-test-servers-${process.getuid?.() ?? 0}-${here}.json`);
}
