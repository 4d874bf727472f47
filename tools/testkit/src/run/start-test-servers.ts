import { findOrStartServers } from '@opentill/test-servers/servers';

export interface TestServers {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly managementUrl: string | undefined;
  stop(): Promise<void>;
}

/** `any` prefers containers and falls back to local processes. */
export type TestServersFrom = 'containers' | 'local' | 'any';

export interface BringOptions {
  readonly from: TestServersFrom;
  readonly dir: string;
  /** Values of DATABASE_URL and AMQP_URL. Servers named there are used unchanged. */
  readonly given: { readonly databaseUrl?: string | undefined; readonly amqpUrl?: string | undefined };
  readonly say: (line: string) => void;
}

/** Starts database and broker with temporary data. Throws if `from` is containers and no engine responds. */
export async function startTestServers(options: BringOptions): Promise<TestServers> {
  const { from, given } = options;
  if (from === 'local' || given.databaseUrl || given.amqpUrl) return bringLocalServers(options);
  // Imported lazily, because loading it takes longer than most test files.
  const { hasContainerEngine, startTestContainers } = await import('./start-test-containers.ts');
  if (from === 'containers') return startTestContainers();
  if (!(await hasContainerEngine())) return bringLocalServers(options);
  try {
    return await startTestContainers();
  } catch (error) {
    options.say(`containers failed, using local servers: ${(error as Error).message}`);
    return bringLocalServers(options);
  }
}

async function bringLocalServers({ dir, given, say }: BringOptions): Promise<TestServers> {
  const options = { dir, given, keepData: false, durable: false, management: true, containers: false, say };
  const { database, broker, stop } = await findOrStartServers(options);
  return { databaseUrl: database.url, amqpUrl: broker.url, managementUrl: broker.managementUrl, stop };
}
