import { randomBytes } from 'node:crypto';
import { connect, type ChannelModel, type ConfirmChannel, type GetMessage } from 'amqplib';
import type { ServiceName } from '@opentill/contracts/event-catalog';
import { permissions, EVENTS_EXCHANGE } from '@opentill/contracts/topology';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { AMQP_MANAGEMENT_URL_VARIABLE, AMQP_URL_VARIABLE } from './run/test-servers.ts';

export interface TestBroker {
  readonly url: string;
  /** URL of a user with only a service's permissions. */
  urlFor(service: ServiceName): Promise<string>;
  /** Messages in the queue without unacknowledged ones. */
  depth(queue: string): Promise<number>;
  consumers(queue: string): Promise<number>;
  /** Publishes any content to the events exchange and waits for the confirm. */
  publish(routingKey: string, content: Buffer | string): Promise<void>;
  take(queue: string): Promise<GetMessage[]>;
  /** Channel for setting up and inspecting; the same one until it closes. */
  channel(): Promise<ConfirmChannel>;
  /** Closes all clients' connections from the broker's side, like an operator. */
  cutConnections(): Promise<void>;
  /** Deletes the virtual host. Rejects if a connection is still open, because a test did not stop something. */
  drop(): Promise<void>;
}

export interface TestBrokerOptions {
  readonly declare?: boolean;
}

const STALE_AFTER_SECONDS = 3_600;
/** Maximum time until the broker no longer lists closed connections. */
const CLOSING_MS = 30_000;
const OWN_CONNECTION = 'opentill-testkit';

export async function createTestBroker(options: TestBrokerOptions = {}): Promise<TestBroker> {
  const api = createManagementApi();
  await dropStale(api);
  const name = `opentill-test-${Math.floor(Date.now() / 1000)}-${randomBytes(5).toString('hex')}`;
  await api.put(`/vhosts/${name}`, {});
  const url = amqpUrl(name);
  await api.put(`/permissions/${name}/${url.username}`, { configure: '.*', write: '.*', read: '.*' });
  if (options.declare !== false) await declareTopology(url.href, { settleMs: 0 });
  const users: string[] = [];
  const inspector = createInspector(url.href);
  return {
    url: url.href,
    channel: inspector.channel,
    async urlFor(service) {
      const user = `${name}-${service}`;
      const { write, read, topicWrite } = permissions(service);
      await api.put(`/users/${user}`, { password: 'test', tags: '' });
      users.push(user);
      await api.put(`/permissions/${name}/${user}`, { configure: '^$', write, read });
      const topic = { exchange: EVENTS_EXCHANGE, write: topicWrite, read: '^$' };
      await api.put(`/topic-permissions/${name}/${user}`, topic);
      const own = new URL(url);
      own.username = user;
      own.password = 'test';
      return own.href;
    },
    depth: async (queue) => (await (await inspector.channel()).checkQueue(queue)).messageCount,
    consumers: async (queue) => (await (await inspector.channel()).checkQueue(queue)).consumerCount,
    async publish(routingKey, content) {
      const channel = await inspector.channel();
      channel.publish(EVENTS_EXCHANGE, routingKey, Buffer.from(content), { persistent: true });
      await channel.waitForConfirms();
    },
    async take(queue) {
      const channel = await inspector.channel();
      const taken: GetMessage[] = [];
      for (;;) {
        const message = await channel.get(queue, { noAck: true });
        if (message === false) return taken;
        taken.push(message);
      }
    },
    async cutConnections() {
      await inspector.close();
      for (const connection of await connectionsTo(api, name)) await api.delete(`/connections/${connection}`);
    },
    async drop() {
      await inspector.close();
      const left = await connectionsLeft(api, name);
      await api.delete(`/vhosts/${name}`);
      for (const user of users) await api.delete(`/users/${user}`);
      if (left.length > 0)
        throw new Error(`connections left open at the end of the test: ${left.join('; ')}`);
    },
  };
}

function amqpUrl(virtualHost: string): URL {
  const url = new URL(environmentUrl(AMQP_URL_VARIABLE));
  url.pathname = `/${virtualHost}`;
  return url;
}

function environmentUrl(variable: string): string {
  const url = process.env[variable];
  if (url === undefined || url === '') {
    throw new Error(`${variable} is not set: run the tests by \`npm test\`, which starts RabbitMQ`);
  }
  return url;
}

interface ManagementApi {
  get<T>(path: string): Promise<T>;
  put(path: string, body: object): Promise<void>;
  /** Not found counts as success. */
  delete(path: string): Promise<void>;
}

function createManagementApi(): ManagementApi {
  const url = new URL(environmentUrl(AMQP_MANAGEMENT_URL_VARIABLE));
  const authorization = `Basic ${btoa(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`)}`;
  async function request(method: string, path: string, body?: object): Promise<Response> {
    const response = await fetch(`${url.origin}/api${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    if (!response.ok && !(method === 'DELETE' && response.status === 404)) {
      throw new Error(`RabbitMQ: ${method} ${path} answered ${response.status} ${await response.text()}`);
    }
    return response;
  }
  return {
    get: async <T>(path: string) => (await (await request('GET', path)).json()) as T,
    put: async (path, body) => void (await request('PUT', path, body)),
    delete: async (path) => void (await request('DELETE', path)),
  };
}

/** Deletes virtual hosts of killed runs, whose names contain their time of creation. */
async function dropStale(api: ManagementApi): Promise<void> {
  const oldest = Date.now() / 1_000 - STALE_AFTER_SECONDS;
  for (const { name } of await api.get<{ name: string }[]>('/vhosts')) {
    const second = /^opentill-test-(\d+)-/.exec(name)?.[1];
    if (second !== undefined && Number(second) < oldest) await api.delete(`/vhosts/${name}`);
  }
}

async function connectionsTo(api: ManagementApi, virtualHost: string): Promise<string[]> {
  const all = await api.get<{ name: string; vhost: string }[]>('/connections');
  return all.filter(({ vhost }) => vhost === virtualHost).map(({ name }) => encodeURIComponent(name));
}

/** Connections that remain after closing ones had time to close. */
async function connectionsLeft(api: ManagementApi, virtualHost: string): Promise<string[]> {
  const deadline = Date.now() + CLOSING_MS;
  for (;;) {
    const left = await connectionsTo(api, virtualHost);
    if (left.length === 0 || Date.now() > deadline) return left;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Connection of the testkit itself, opened lazily and reopened after a loss. */
function createInspector(url: string): { channel(): Promise<ConfirmChannel>; close(): Promise<void> } {
  interface Opened {
    readonly model: ChannelModel;
    readonly channel: ConfirmChannel;
  }
  let opened: Promise<Opened> | undefined;
  const openOnce = async (forget: () => void): Promise<Opened> => {
    const model = await connect(url, {
      noDelay: true,
      clientProperties: { connection_name: OWN_CONNECTION },
    });
    model.on('error', forget).on('close', forget);
    const channel = await model.createConfirmChannel();
    channel.on('error', forget).on('close', () => {
      forget();
      void model.close().catch(() => undefined);
    });
    return { model, channel };
  };
  /** Forgets a closed connection, but not its successor, which may open before all close events arrived. */
  const open = (): Promise<Opened> => {
    const opening = openOnce(() => {
      if (opened === opening) opened = undefined;
    });
    return opening;
  };
  return {
    channel: async () => (await (opened ??= open())).channel,
    async close() {
      const present = await opened?.catch(() => undefined);
      opened = undefined;
      await present?.model.close().catch(() => undefined);
    },
  };
}
