import { getContainerRuntimeClient, GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';

const POSTGRES_IMAGE = 'postgres:17-bookworm';
const RABBITMQ_IMAGE = 'rabbitmq:4-management';
/** Includes pulling the images. */
const START_DEADLINE_MS = 200_000;
const STOP_DEADLINE_MS = 10_000;
const TRUST_EVERYBODY = 'local all all trust\nhost all all all trust\n';
const HBA_FILE = '/tmp/pg_hba.conf';

export interface TestContainers {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly managementUrl: string;
  stop(): Promise<void>;
}

export async function hasContainerEngine(): Promise<boolean> {
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/** Starts both concurrently. If one fails, removes the other and throws. */
export async function startTestContainers(): Promise<TestContainers> {
  const results = await Promise.allSettled([startPostgres(), startRabbitMq()]);
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(
      started.map((container) => container.stop({ timeout: STOP_DEADLINE_MS, removeVolumes: true })),
    );
  };
  const [postgres, rabbitMq] = results;
  if (postgres.status === 'rejected' || rabbitMq.status === 'rejected') {
    await stop();
    throw postgres.status === 'rejected' ? postgres.reason : (rabbitMq as PromiseRejectedResult).reason;
  }
  const at = (container: StartedTestContainer, port: number) =>
    `opentill:opentill@${container.getHost()}:${container.getMappedPort(port)}`;
  return {
    databaseUrl: `postgres://${at(postgres.value, 5432)}/opentill`,
    amqpUrl: `amqp://${at(rabbitMq.value, 5672)}`,
    managementUrl: `http://${at(rabbitMq.value, 15_672)}`,
    stop,
  };
}

async function startPostgres(): Promise<StartedTestContainer> {
  const settings = ['max_connections=300', 'fsync=off', 'full_page_writes=off', `hba_file=${HBA_FILE}`];
  return new GenericContainer(POSTGRES_IMAGE)
    .withEnvironment({ POSTGRES_USER: 'opentill', POSTGRES_PASSWORD: 'opentill', POSTGRES_DB: 'opentill' })
    .withCopyContentToContainer([{ content: TRUST_EVERYBODY, target: HBA_FILE, mode: 0o644 }])
    .withCommand(['postgres', ...settings.flatMap((setting) => ['-c', setting])])
    .withExposedPorts(5432)
    .withStartupTimeout(START_DEADLINE_MS)
    .withWaitStrategy(
      // Checks TCP, because during initialisation the server listens only on a Unix socket.
      Wait.forSuccessfulCommand('pg_isready -q -h 127.0.0.1 -U opentill -d opentill'),
    )
    .start();
}

async function startRabbitMq(): Promise<StartedTestContainer> {
  return new GenericContainer(RABBITMQ_IMAGE)
    .withEnvironment({ RABBITMQ_DEFAULT_USER: 'opentill', RABBITMQ_DEFAULT_PASS: 'opentill' })
    .withExposedPorts(5672, 15_672)
    .withStartupTimeout(START_DEADLINE_MS)
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
}
