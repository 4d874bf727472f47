import { randomBytes } from 'node:crypto';
import { connect, type ChannelModel, type ConfirmChannel, type GetMessage } from 'amqplib';
import type { ServiceName } from '@opentill/contracts/event-catalog';
import { permissions, EVENTS_EXCHANGE } from '@opentill/contracts/topology';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { AMQP_MANAGEMENT_URL_VARIABLE, AMQP_URL_VARIABLE } from './run/test-servers.ts';

/** A virtual host of one test file's own, topology declared. */
export interface TestBroker {
  /** As a user who may do everything. */
  readonly url: string;
  /** As a user with a service's permissions and no others. */
  urlFor(service: ServiceName): Promise<string>;
  /** Messages that wait in a queue; those in a consumer's hands do not count. */
  depth(queue: string): Promise<number>;
  consumers(queue: string): Promise<number>;
  /** Publishes to the events exchange whatever it is given, and waits for the confirm. */
  publish(routingKey: string, content: Buffer | string): Promise<void>;
  /** Takes everything out of a queue. */
  take(queue: string): Promise<GetMessage[]>;
  /** A channel for arranging and looking; the same one until it closes. */
  channel(): Promise<ConfirmChannel>;
  /** Closes every client's connection from the broker's side, as an operator can. */
  cutConnections(): Promise<void>;
  /** Deletes the virtual host. Rejects when a connection to it is still open: something was not stopped. */
  drop(): Promise<void>;
}

export interface TestBrokerOptions {
  /** @default true */
  readonly declare?: boolean;
}

const STALE_AFTER_SECONDS = 3_600;
/** How long closed connections may take to vanish from the broker's view. */
const CLOSING_MS = 30_000;
const OWN_CONNECTION = 'opentill-testkit';

/** Creates a virtual host and declares the gateway's queues in it: about half a second. Call `drop` in afterAll. */
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
  /** Not found counts as done. */
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

/** Virtual hosts that killed runs left are named by the second they were made in. */
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

/** Who is still connected, once the connections that are just closing had time to close. */
async function connectionsLeft(api: ManagementApi, virtualHost: string): Promise<string[]> {
  const deadline = Date.now() + CLOSING_MS;
  for (;;) {
    const left = await connectionsTo(api, virtualHost);
    if (left.length === 0 || Date.now() > deadline) return left;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The testkit's own connection, opened when first needed and again after it was lost. */
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
  /** One that ends is forgotten; not the next one, which may be open before all of its end is told. */
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
