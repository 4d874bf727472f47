import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startPaidGateway, type PaidGateway } from '../src/kubernetes/paid-gateway.ts';

// Postgres by CloudNativePG and RabbitMQ by its Cluster Operator, which the cluster of OPENTILL_TEST_KUBECONFIG runs. Their
// members get the images OPENTILL_TEST_CNPG_IMAGE and OPENTILL_TEST_RABBITMQ_IMAGE.

const INSTALL_WITHIN_MS = 1_800_000;
const CHANGE_WITHIN_MS = 600_000;
const PRIMARY = 'cnpg.io/cluster=opentill-database,cnpg.io/instanceRole=primary';
const INSTANCES = 3;

let paid: PaidGateway;

beforeAll(async () => {
  paid = await startPaidGateway('operators');
}, INSTALL_WITHIN_MS);

afterAll(async () => paid?.close(), INSTALL_WITHIN_MS);

async function read(resource: string, path: string): Promise<string> {
  return paid.cluster.kubectl(['get', ...resource.split(' '), '-o', `jsonpath={${path}}`]);
}

async function kill(pod: string): Promise<void> {
  await paid.cluster.kubectl(['delete', 'pod', pod, '--grace-period=0', '--force', '--wait=false']);
}

test('opens only the allowed connections', async () => {
  await paid.cluster.helm(['test', 'opentill', '--timeout', '10m']);
});

test(
  'loses and doubles nothing while the primary and a node of the broker are killed',
  async () => {
    const { problems } = await paid.payWhile('failover', async () => {
      const primary = async () => read(`pods -l ${PRIMARY}`, '.items[*].metadata.name');
      const first = await primary();
      expect(first).toMatch(/^opentill-database-\d$/);
      await kill(first);
      await waitUntil(
        'another instance is the primary',
        async () => ![first, ''].includes(await primary()),
        CHANGE_WITHIN_MS,
      );
      const ready = async () =>
        read('clusters.postgresql.cnpg.io opentill-database', '.status.readyInstances');
      await waitUntil(
        'all instances are ready',
        async () => Number(await ready()) === INSTANCES,
        CHANGE_WITHIN_MS,
      );
      const before = await read('pod opentill-broker-server-0', '.metadata.uid');
      await kill('opentill-broker-server-0');
      const isReplaced = async () => (await read('pod opentill-broker-server-0', '.metadata.uid')) !== before;
      await waitUntil('the pod is replaced', async () => isReplaced().catch(() => false), CHANGE_WITHIN_MS);
      await paid.cluster.kubectl([
        'rollout',
        'status',
        'statefulset/opentill-broker-server',
        '--timeout',
        '10m',
      ]);
    });
    expect(problems).toEqual([]);
  },
  INSTALL_WITHIN_MS,
);
