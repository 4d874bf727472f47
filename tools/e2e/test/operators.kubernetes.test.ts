import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { RequestCount } from '../src/kubernetes/keep-paying.ts';
import { startPaidGateway, type PaidGateway } from '../src/kubernetes/paid-gateway.ts';

// Postgres by CloudNativePG and RabbitMQ by its Cluster Operator, which the cluster of OPENTILL_TEST_KUBECONFIG runs.

const INSTALL_WITHIN_MS = 1_800_000;
const LONG_MS = 3_600_000;
const CHANGE_WITHIN_MS = 600_000;
const WATCH_EVERY_MS = 50;
/** Answers and callbacks that show that the gateway works again. */
const GO_ON = 50;
const WATCHED_QUEUE = 'webhook-sender.order-changed';
const PRIMARY = 'pods -l cnpg.io/cluster=opentill-database,cnpg.io/instanceRole=primary';
const MEMBERS = 3;

let paid: PaidGateway;

beforeAll(async () => {
  paid = await startPaidGateway('operators');
}, INSTALL_WITHIN_MS);

afterAll(async () => paid?.close(), INSTALL_WITHIN_MS);

async function read(resource: string, path: string): Promise<string> {
  return paid.cluster.kubectl(['get', ...resource.split(' '), '-o', `jsonpath=${path}`]);
}

/** SIGKILL after one second of grace. The controller starts no second pod before the first has ended. */
async function kill(pod: string): Promise<void> {
  await paid.cluster.kubectl(['delete', 'pod', pod, '--grace-period=1', '--wait=false']);
}

interface Queue {
  readonly name: string;
  readonly leader: string;
  readonly members: readonly string[];
}

async function queues(): Promise<readonly Queue[]> {
  const list = ['rabbitmqctl', 'list_queues', '--formatter', 'json', 'name', 'leader', 'members'];
  const text = await paid.cluster.kubectl([
    'exec',
    'opentill-broker-server-2',
    '-c',
    'rabbitmq',
    '--',
    ...list,
  ]);
  return JSON.parse(text.slice(text.indexOf('['))) as Queue[];
}

/** `<pod> <restarts>` of the gateway's services. */
async function services(): Promise<readonly string[]> {
  const line = '{range .items[*]}{.metadata.name} {.status.containerStatuses[0].restartCount}{"\\n"}{end}';
  const text = await read('pods -l app.kubernetes.io/name=opentill', line);
  return text.split('\n').filter((pod) => !/^$|-(setup|test)-/.test(pod));
}

test('opens only the allowed connections', async () => {
  await paid.cluster.helm(['test', 'opentill', '--timeout', '10m']);
});

test('gives each queue a member on every node of the broker', async () => {
  const all = await queues();
  expect(all.map(({ name }) => name)).toContain(WATCHED_QUEUE);
  expect(all.filter(({ members }) => members.length !== MEMBERS)).toEqual([]);
});

test(
  'loses and doubles nothing while the primary and nodes of the broker are killed',
  async () => {
    const before = await services();
    const { problems } = await paid.payWhile('failover', async (count) => {
      await underFault('the primary of Postgres', count, killPrimary);
      await underFault('a node of the broker', count, async () => killNode((pod, leader) => pod !== leader));
      await underFault("the leader's node", count, async () => killNode((pod, leader) => pod === leader));
    });
    expect(problems).toEqual([]);
    // They connected again by themselves.
    expect(await services()).toEqual(before);
  },
  LONG_MS,
);

/** Reports the longest times without an answer and without a callback, up to the time when both arrive again after the fault. */
async function underFault(name: string, count: RequestCount, fault: () => Promise<object>): Promise<void> {
  const watched = { answers: () => count.answered, callbacks: () => paid.receiver.received.length };
  const pauses = Object.entries(watched).map(([what, read]) => ({ what, ...watchPauses(read) }));
  try {
    const times = await fault();
    for (const { what, total } of pauses) {
      const enough = total() + GO_ON;
      await waitUntil(`${what} go on`, () => total() > enough, CHANGE_WITHIN_MS);
    }
    const longest = Object.fromEntries(pauses.map(({ what, longestMs }) => [what, seconds(longestMs())]));
    process.stderr.write(`${name}: ${JSON.stringify({ ...times, without: longest })}\n`);
  } finally {
    for (const { close } of pauses) close();
  }
}

function watchPauses(total: () => number) {
  let [last, changedAt, longest] = [total(), performance.now(), 0];
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - changedAt);
    if (total() !== last) [last, changedAt] = [total(), now];
  };
  const timer = setInterval(look, WATCH_EVERY_MS);
  return { total, longestMs: () => longest, close: () => clearInterval(timer) };
}

async function killPrimary(): Promise<object> {
  const primary = async () => read(PRIMARY, '{.items[*].metadata.name}');
  const first = await primary();
  expect(first).toMatch(/^opentill-database-\d$/);
  const startedAt = performance.now();
  await kill(first);
  const isPromoted = async () => ![first, ''].includes(await primary());
  await waitUntil('another instance is the primary', isPromoted, CHANGE_WITHIN_MS);
  const promoted = seconds(performance.now() - startedAt);
  const state = '{.metadata.labels.cnpg\\.io/instanceRole} {.status.containerStatuses[0].ready}';
  const isStandby = async () => (await read(`pod ${first}`, state)) === 'replica true';
  await waitUntil('the old primary is a standby', isStandby, CHANGE_WITHIN_MS);
  return { promoted, standby: seconds(performance.now() - startedAt) };
}

async function killNode(choose: (pod: string, leader: string) => boolean): Promise<object> {
  const before = await queueOf(WATCHED_QUEUE);
  const [pod = ''] = before.members.map(podOf).filter((name) => choose(name, podOf(before.leader)));
  const uid = async () => read(`pod ${pod} --ignore-not-found`, '{.metadata.uid}');
  const old = await uid();
  const startedAt = performance.now();
  await kill(pod);
  await waitUntil('the pod is replaced', async () => !['', old].includes(await uid()), CHANGE_WITHIN_MS);
  const rollout = ['rollout', 'status', 'statefulset/opentill-broker-server', '--timeout', '10m'];
  await paid.cluster.kubectl(rollout);
  const allNodes = seconds(performance.now() - startedAt);
  const after = await queueOf(WATCHED_QUEUE);
  return { killed: pod, leader: podOf(before.leader), allNodes, leaderAfter: podOf(after.leader) };
}

/** While members start, the broker gives no answer or no leader. */
async function queueOf(name: string): Promise<Queue> {
  let found: Queue | undefined;
  const isKnown = async () => {
    found = (await queues()).find((queue) => queue.name === name && queue.leader !== '');
    return found !== undefined;
  };
  await waitUntil(`${name} has a leader`, isKnown, CHANGE_WITHIN_MS);
  return found!;
}

function podOf(node: string): string {
  return /^rabbit@([^.]+)/.exec(node)?.[1] ?? '';
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
