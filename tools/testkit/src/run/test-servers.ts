import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestServerUrls {
  readonly pid: number;
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly managementUrl?: string;
}

/** Environment variables of test workers: a superuser's database URL, the AMQP URL and RabbitMQ's HTTP API. */
export const DATABASE_URL_VARIABLE = 'OPENTILL_TEST_DATABASE_URL';
export const AMQP_URL_VARIABLE = 'OPENTILL_TEST_AMQP_URL';
export const AMQP_MANAGEMENT_URL_VARIABLE = 'OPENTILL_TEST_AMQP_MANAGEMENT_URL';

export const SERVERS_FROM_VARIABLE = 'OPENTILL_TEST_SERVERS';

/** Path of the file that keep-servers.ts --urls-file writes, one per checkout. */
export function keptServersFile(): string {
  const here = createHash('sha256')
    .update(import.meta.dirname)
    .digest('hex')
    .slice(0, 12);
  return join(tmpdir(), `opentill-test-servers-${process.getuid?.() ?? 0}-${here}.json`);
}
