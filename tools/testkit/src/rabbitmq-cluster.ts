import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPortMapper, type PortMapper } from '@opentill/test-servers/port-mapper';
import { answersAmqp } from '@opentill/test-servers/probe-server';
import { startRabbitMq, type RabbitMqServer } from '@opentill/test-servers/rabbitmq';
import { signalDescendants } from '@opentill/test-servers/signal-descendants';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const NAMES = ['one', 'two', 'three'] as const;
export type NodeName = (typeof NAMES)[number];

const COMMAND_MS = 300_000;

export interface RabbitMqCluster {
  /** Names all nodes, for AMQP_URL. */
  readonly url: string;
  /** True if the nodes keep their metadata in Khepri; then a node without a majority continues to serve clients. */
  usesKhepri(asked: NodeName): Promise<boolean>;
  /** True while the node accepts connections of clients. */
  acceptsClients(node: NodeName): Promise<boolean>;
  /** False after the asked node has declared the other one down. */
  isUp(node: NodeName, asked: NodeName): Promise<boolean>;
  /** The node with the queue's leader, by the answer of another node. */
  leaderOf(queue: string, asked: NodeName): Promise<NodeName>;
  /** Number of nodes with a copy of the queue. */
  membersOf(queue: string): Promise<number>;
  kill(node: NodeName): Promise<void>;
  start(node: NodeName): Promise<void>;
  freeze(node: NodeName): void;
  thaw(node: NodeName): void;
  /** Drops all bytes between the node and the others without closing connections. Clients still reach it. */
  isolate(node: NodeName): void;
  heal(node: NodeName): void;
  /** Runs rabbitmqctl. */
  ctl(node: NodeName, ...args: string[]): Promise<string>;
  /** Runs rabbitmq-queues, which adds and removes members. */
  queues(node: NodeName, ...args: string[]): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Three nodes of one RabbitMQ cluster. Each has its own port mapper, which sends it to the other nodes through proxies
 * of Erlang's distribution ports; so a partition needs neither a firewall nor root.
 */
export async function startRabbitMqCluster(dir: string, netTickSeconds: number): Promise<RabbitMqCluster> {
  const cookie = randomBytes(16).toString('hex');
  const ports = new Map<NodeName, { readonly amqp: number; readonly distribution: number }>();
  for (const name of NAMES)
    ports.set(name, { amqp: await findFreePort(), distribution: await findFreePort() });
  const portsOf = (name: NodeName) => ports.get(name) ?? { amqp: 0, distribution: 0 };
  const links: { readonly from: NodeName; readonly to: NodeName; readonly proxy: TcpProxy }[] = [];
  for (const from of NAMES)
    for (const to of NAMES)
      if (from !== to) links.push({ from, to, proxy: await startTcpProxy(portsOf(to).distribution) });
  const mappers = new Map<NodeName, PortMapper>();
  for (const from of NAMES)
    mappers.set(
      from,
      await startPortMapper(
        (name) => links.find((link) => link.from === from && link.to === name)?.proxy.port,
      ),
    );
  const servers = new Map<NodeName, RabbitMqServer>();

  async function start(name: NodeName): Promise<void> {
    const server = await startRabbitMq({
      dir: join(dir, name),
      port: portsOf(name).amqp,
      cluster: {
        name,
        names: NAMES,
        cookie,
        portMapperPort: mappers.get(name)?.port ?? 0,
        distributionPort: portsOf(name).distribution,
        netTickSeconds,
      },
    });
    servers.set(name, server);
  }
  const serverOf = (name: NodeName): RabbitMqServer => {
    const server = servers.get(name);
    if (server === undefined) throw new Error(`the node ${name} does not run`);
    return server;
  };
  const linksOf = (name: NodeName) => links.filter(({ from, to }) => from === name || to === name);

  async function run(name: NodeName, program: string, args: readonly string[]): Promise<string> {
    const { command, env } = serverOf(name).ctl;
    const { stdout } = await promisify(execFile)(join(dirname(command), program), args, {
      env: { ...process.env, ...env },
      timeout: COMMAND_MS,
    });
    return stdout;
  }
  const ctl = (name: NodeName, ...args: string[]): Promise<string> => run(name, 'rabbitmqctl', args);
  /** Reads the node's own record of the queue: list_queues asks every queue, and waits for those without a leader. */
  async function readQueue(asked: NodeName, queue: string, read: string): Promise<string> {
    const found = `{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"${queue}">>))`;
    return (await ctl(asked, 'eval', `${found}, ${read}.`)).trim();
  }

  const started = await Promise.allSettled(NAMES.map(start));
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }

  async function stop(): Promise<void> {
    await Promise.all([...servers.values()].map((server) => server.stop('kill')));
    await Promise.all(links.map(({ proxy }) => proxy.close()));
    await Promise.all([...mappers.values()].map((mapper) => mapper.close()));
  }

  return {
    url: `amqp://guest:guest@${NAMES.map((name) => `127.0.0.1:${portsOf(name).amqp}`).join(',')}`,
    usesKhepri: async (asked) =>
      /^khepri_db\s+enabled$/m.test(await ctl(asked, 'list_feature_flags', 'name', 'state')),
    acceptsClients: async (name) => answersAmqp(portsOf(name).amqp),
    isUp: async (name, asked) =>
      (await ctl(asked, 'eval', `lists:member('${name}@localhost', nodes()).`)).trim() === 'true',
    async leaderOf(queue, asked) {
      const leader = await readQueue(asked, queue, 'atom_to_list(element(2, amqqueue:get_pid(Q)))');
      const name = NAMES.find((one) => leader === `"${one}@localhost"`);
      if (name === undefined) throw new Error(`${queue} has the leader ${leader}`);
      return name;
    },
    membersOf: async (queue) =>
      Number(await readQueue('one', queue, 'length(maps:get(nodes, amqqueue:get_type_state(Q)))')),
    async kill(name) {
      await serverOf(name).stop('kill');
      servers.delete(name);
    },
    start,
    freeze: (name) => signalDescendants(serverOf(name).pid, 'SIGSTOP'),
    thaw: (name) => signalDescendants(serverOf(name).pid, 'SIGCONT'),
    isolate(name) {
      for (const { proxy } of linksOf(name)) proxy.mode = 'blackhole';
    },
    heal(name) {
      for (const { proxy } of linksOf(name)) {
        proxy.mode = 'pass';
        proxy.reset();
      }
    },
    ctl,
    queues: (name, ...args) => run(name, 'rabbitmq-queues', args),
    stop,
  };
}
