import { findOrBringServers } from '@opentill/test-servers/servers';

/** Servers for a test run, wherever they come from. */
export interface TestServers {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  /** RabbitMQ's HTTP API; undefined when the environment gave the broker. */
  readonly managementUrl: string | undefined;
  stop(): Promise<void>;
}

/**
 * - `containers`: in containers, or not at all.
 * - `local`: processes of this machine.
 * - `any`: containers where an engine answers and brings them up, else local ones.
 */
export type TestServersFrom = 'containers' | 'local' | 'any';

export interface BringOptions {
  readonly from: TestServersFrom;
  /** For local servers' data and logs. */
  readonly dir: string;
  /** DATABASE_URL and AMQP_URL: what the environment names is used as it is. */
  readonly given: { readonly databaseUrl?: string | undefined; readonly amqpUrl?: string | undefined };
  readonly say: (line: string) => void;
}

/** Brings a database and a broker with throw-away data. Throws when `from` is containers and there is no engine. */
export async function bringTestServers(options: BringOptions): Promise<TestServers> {
  const { from, given } = options;
  if (from === 'local' || given.databaseUrl || given.amqpUrl) return bringLocalServers(options);
  // Loaded where it is needed: it takes longer than most test files.
  const { hasContainerEngine, startTestContainers } = await import('./start-test-containers.ts');
  if (from === 'containers') return startTestContainers();
  if (!(await hasContainerEngine())) return bringLocalServers(options);
  try {
    return await startTestContainers();
  } catch (error) {
    options.say(`containers did not come up, local servers are used: ${(error as Error).message}`);
    return bringLocalServers(options);
  }
}

async function bringLocalServers({ dir, given, say }: BringOptions): Promise<TestServers> {
  const options = { dir, given, keepData: false, durable: false, management: true, containers: false, say };
  const { database, broker, stop } = await findOrBringServers(options);
  return { databaseUrl: database.url, amqpUrl: broker.url, managementUrl: broker.managementUrl, stop };
}
