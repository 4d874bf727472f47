import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasOrPullsImage, isDockerAnswering, removeVolume, startContainer } from './docker.ts';
import { findFreePort } from './free-port.ts';
import { startPostgres } from './postgres.ts';
import { answersAmqp, answersPostgres } from './probe-server.ts';
import type { ProcessGroup } from './process-group.ts';
import { startRabbitMq } from './rabbitmq.ts';

/** Named by the environment, or started here as a container or local process. */
export type ServerOrigin = 'given' | 'container' | 'local';

export interface ServersOptions {
  /** Contains the servers' data and logs: `postgres/`, `rabbitmq/`, and `binaries/`, which later runs reuse. */
  readonly dir: string;
  readonly given: { readonly databaseUrl?: string | undefined; readonly amqpUrl?: string | undefined };
  /** Ports on 127.0.0.1 for started servers. @default free ports */
  readonly ports?: { readonly database?: number; readonly broker?: number };
  /** True continues with the data of the last run in this directory. False starts empty. */
  readonly keepData: boolean;
  /** False, for temporary data, skips syncing to disk and ends servers at once. @default true */
  readonly durable?: boolean;
  /** Also provides RabbitMQ's HTTP API, which creates virtual hosts and users. @default false */
  readonly management?: boolean;
  /** False never uses containers. @default true */
  readonly containers?: boolean;
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface OwnServer {
  readonly name: string;
  readonly logFile: string;
  readonly exited: Promise<unknown>;
  isRunning(): boolean;
  lastLogLines(count: number): string;
  stop(): Promise<void>;
}

export interface FoundServer {
  readonly url: string;
  readonly origin: ServerOrigin;
  /** RabbitMQ's HTTP API, if requested and the broker was started here. */
  readonly managementUrl?: string;
  readonly own?: OwnServer;
}

export interface Servers {
  readonly database: FoundServer;
  readonly broker: FoundServer;
  /** Stops the broker, then the database. Servers named by the environment keep running. */
  stop(): Promise<void>;
}

const POSTGRES_IMAGE = 'postgres:17-bookworm';
const RABBITMQ_IMAGE = 'rabbitmq:4-management';
const CONTAINER_DEADLINE_MS = 60_000;

/** Prefers a given URL, then a container, then a local process. If one server fails, stops the other. */
export async function findOrStartServers(options: ServersOptions): Promise<Servers> {
  const say = options.say ?? (() => {});
  const isAllGiven = Boolean(options.given.databaseUrl && options.given.amqpUrl);
  const hasEngine = !isAllGiven && options.containers !== false && (await isDockerAnswering());
  const [database, broker] = await Promise.allSettled([
    reportTime(findOrBringDatabase(options, hasEngine, say), say),
    reportTime(findOrBringBroker(options, hasEngine, say), say),
  ]);
  const stop = async (): Promise<void> => {
    for (const result of [broker, database]) {
      if (result.status === 'fulfilled') await result.value.own?.stop();
    }
  };
  if (database.status === 'fulfilled' && broker.status === 'fulfilled') {
    return { database: database.value, broker: broker.value, stop };
  }
  await stop();
  throw database.status === 'rejected' ? database.reason : (broker as PromiseRejectedResult).reason;
}

async function reportTime(server: Promise<FoundServer>, say: (line: string) => void): Promise<FoundServer> {
  const beganAt = performance.now();
  const found = await server;
  if (found.own) say(`${found.own.name}: ${((performance.now() - beganAt) / 1000).toFixed(1)} s`);
  return found;
}

async function findOrBringDatabase(
  options: ServersOptions,
  hasEngine: boolean,
  say: (line: string) => void,
): Promise<FoundServer> {
  if (options.given.databaseUrl) return { url: options.given.databaseUrl, origin: 'given' };
  const port = options.ports?.database ?? (await findFreePort());
  const dir = join(options.dir, 'postgres');
  if (!options.keepData) await rm(dir, { recursive: true, force: true });
  if (hasEngine && (await hasOrPullsImage(POSTGRES_IMAGE, say))) {
    const container = await bringContainer(options, async () => startPostgresContainer(options, port));
    if (container !== undefined) return container;
  }
  const durable = options.durable ?? true;
  const server = await startPostgres({
    dir,
    port,
    durable,
    binariesDir: join(options.dir, 'binaries'),
    signal: options.signal,
  });
  const stop = async (): Promise<void> => server.stop(durable ? 'fast' : 'immediate');
  return { url: server.url, origin: 'local', own: { ...server, name: 'Postgres', stop } };
}

async function findOrBringBroker(
  options: ServersOptions,
  hasEngine: boolean,
  say: (line: string) => void,
): Promise<FoundServer> {
  if (options.given.amqpUrl) return { url: options.given.amqpUrl, origin: 'given' };
  const port = options.ports?.broker ?? (await findFreePort());
  const managementPort = options.management ? await findFreePort() : undefined;
  const dir = join(options.dir, 'rabbitmq');
  if (!options.keepData) await rm(dir, { recursive: true, force: true });
  if (hasEngine && (await hasOrPullsImage(RABBITMQ_IMAGE, say))) {
    const container = await bringContainer(options, async () =>
      startRabbitMqContainer(options, port, managementPort),
    );
    if (container !== undefined) return container;
  }
  const server = await startRabbitMq({
    dir,
    port,
    say,
    signal: options.signal,
    ...(managementPort === undefined ? {} : { managementPort }),
  });
  const stop = async (): Promise<void> => server.stop(options.durable === false ? 'kill' : 'graceful');
  return {
    url: server.url,
    origin: 'local',
    ...(server.managementUrl === undefined ? {} : { managementUrl: server.managementUrl }),
    own: { ...server, name: 'RabbitMQ', stop },
  };
}

async function bringContainer(
  { say, signal }: ServersOptions,
  start: () => Promise<FoundServer>,
): Promise<FoundServer | undefined> {
  try {
    return await start();
  } catch (error) {
    signal?.throwIfAborted();
    say?.(`container failed, using a local server: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

async function startPostgresContainer(options: ServersOptions, port: number): Promise<FoundServer> {
  const volume = await prepareVolume(options, 'postgres');
  const settings = [
    'max_connections=300',
    ...(options.durable === false ? ['fsync=off', 'full_page_writes=off'] : []),
  ];
  const group = await startContainer({
    name: 'postgres',
    image: POSTGRES_IMAGE,
    ports: [{ host: port, container: 5432 }],
    env: { POSTGRES_USER: 'opentill', POSTGRES_PASSWORD: 'opentill', POSTGRES_DB: 'opentill' },
    volume: { name: volume, path: '/var/lib/postgresql/data' },
    args: ['postgres', ...settings.flatMap((setting) => ['-c', setting])],
    stopSignal: 'SIGINT', // Postgres' fast shutdown
    dir: options.dir,
    isReady: async () => answersPostgres(port, 'opentill'),
    readyDeadlineMs: CONTAINER_DEADLINE_MS,
    signal: options.signal,
  });
  return {
    url: `postgres://opentill:opentill@127.0.0.1:${port}/opentill`,
    origin: 'container',
    own: ownContainer('Postgres', group, options, volume),
  };
}

async function startRabbitMqContainer(
  options: ServersOptions,
  port: number,
  managementPort: number | undefined,
): Promise<FoundServer> {
  const volume = await prepareVolume(options, 'rabbitmq');
  const group = await startContainer({
    name: 'rabbitmq',
    image: RABBITMQ_IMAGE,
    ports: [
      { host: port, container: 5672 },
      ...(managementPort === undefined ? [] : [{ host: managementPort, container: 15672 }]),
    ],
    env: { RABBITMQ_DEFAULT_USER: 'opentill', RABBITMQ_DEFAULT_PASS: 'opentill' },
    volume: { name: volume, path: '/var/lib/rabbitmq' },
    hostname: 'opentill', // part of the node's name, which data contain
    stopSignal: 'SIGTERM',
    dir: options.dir,
    isReady: async () => answersAmqp(port),
    readyDeadlineMs: CONTAINER_DEADLINE_MS,
    signal: options.signal,
  });
  return {
    url: `amqp://opentill:opentill@127.0.0.1:${port}`,
    origin: 'container',
    ...(managementPort === undefined
      ? {}
      : { managementUrl: `http://opentill:opentill@127.0.0.1:${managementPort}` }),
    own: ownContainer('RabbitMQ', group, options, volume),
  };
}

function ownContainer(name: string, group: ProcessGroup, options: ServersOptions, volume: string): OwnServer {
  const stop = async (): Promise<void> => {
    if (options.durable !== false) return group.stop();
    await group.stop({ signal: 'SIGKILL' });
    await removeVolume(volume);
  };
  return { ...group, name, stop };
}

/** Named volume of the state directory. Empties it unless data are kept. */
async function prepareVolume(options: ServersOptions, server: string): Promise<string> {
  const name = `opentill-${server}-${createHash('sha256').update(options.dir).digest('hex').slice(0, 12)}`;
  if (!options.keepData) await removeVolume(name);
  return name;
}
