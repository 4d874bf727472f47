import type { Channel } from 'amqplib';
import { DEAD_EXCHANGE, EVENTS_EXCHANGE, queues, type QueueDefinition } from '@opentill/contracts/topology';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { exists, openSession, type Session } from './broker-session.ts';
import { CANARY, sendCanary } from './send-canary.ts';

export interface TopologyOptions {
  /**
   * RabbitMQ writes a new queue's name to disk after it confirmed the declaration. A broker killed within about 1 s
   * came back with the queue empty and had lost every confirmed message. @default 3000
   */
  readonly settleMs?: number;
  /** Per broker call. @default 10 000 */
  readonly callTimeoutMs?: number;
}

export interface RestoreOptions {
  /** Per broker call. @default 5000 */
  readonly callTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface TopologyReport {
  readonly declared: readonly string[];
  readonly verified: readonly string[];
}

/** Operators may requeue dead letters any number of times. RabbitMQ 4 drops them after 20 returns; 3.10 rejects -1. */
const DEAD_LETTER_ARGUMENTS = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000 };

/**
 * Declares all and verifies that it works; safe to repeat while services run. Every queue must answer a command that
 * needs its leader: a passive declaration succeeds without one. A canary takes the path of an event and of a dead
 * letter through its own queue.
 * @throws GatewayError BROKER_UNAVAILABLE, BROKER_REFUSED; TOPOLOGY_BROKEN when a queue exists with other arguments or
 * does not answer. Repair it with `rabbitmq-queues`, or delete the queue: the services' polls restore its work.
 */
export async function declareTopology(url: string, options: TopologyOptions = {}): Promise<TopologyReport> {
  const session = await openSession(url, options.callTimeoutMs ?? 10_000);
  try {
    const definitions: DeclaredQueue[] = [...queues(), CANARY];
    const declared: string[] = [];
    const channel = await session.openChannel();
    await declareExchanges(session, channel);
    for (const definition of definitions)
      declared.push(...(await declareQueue(session, channel, definition)));
    if (declared.length > 0) await abortableDelay(options.settleMs ?? 3_000);
    const verified = definitions.flatMap((definition) => [definition.name, definition.deadLetterQueue]);
    for (const queue of verified) await verifyAnswers(session, channel, queue);
    await sendCanary(session);
    return { declared, verified };
  } finally {
    await session.close();
  }
}

/**
 * Declares what is missing without verifying it, for a service whose broker lost its data. A broker crash may lose
 * messages published to such a new queue; the services' polls restore that work. @throws GatewayError
 * BROKER_UNAVAILABLE; BROKER_REFUSED without permission; TOPOLOGY_BROKEN when a queue exists with other arguments
 */
export async function restoreTopology(
  url: string,
  { callTimeoutMs = 5_000, signal }: RestoreOptions = {},
): Promise<void> {
  const session = await openSession(url, callTimeoutMs, signal);
  try {
    const channel = await session.openChannel();
    await declareExchanges(session, channel);
    for (const definition of queues()) await assertQueues(session, channel, definition);
  } finally {
    await session.close();
  }
}

type DeclaredQueue = Omit<QueueDefinition, 'service' | 'type'>;

async function declareExchanges(session: Session, channel: Channel): Promise<void> {
  await session.call(EVENTS_EXCHANGE, () =>
    channel.assertExchange(EVENTS_EXCHANGE, 'topic', { durable: true }),
  );
  await session.call(DEAD_EXCHANGE, () => channel.assertExchange(DEAD_EXCHANGE, 'direct', { durable: true }));
}

async function declareQueue(
  session: Session,
  channel: Channel,
  definition: DeclaredQueue,
): Promise<string[]> {
  const declared: string[] = [];
  for (const queue of [definition.deadLetterQueue, definition.name])
    if (!(await exists(session, 'queue', queue))) declared.push(queue);
  await assertQueues(session, channel, definition);
  return declared;
}

/** The dead-letter queue comes first, so that a rejected message always has a destination. */
async function assertQueues(session: Session, channel: Channel, definition: DeclaredQueue): Promise<void> {
  const { name, deadLetterQueue, bindingKey } = definition;
  for (const [queue, queueArguments] of [
    [deadLetterQueue, DEAD_LETTER_ARGUMENTS],
    [name, definition.arguments],
  ] as const) {
    const declaration = { durable: true, arguments: queueArguments };
    await session.call(`declaring ${queue}`, () => channel.assertQueue(queue, declaration));
  }
  const bindDead = () => channel.bindQueue(deadLetterQueue, DEAD_EXCHANGE, deadLetterQueue);
  await session.call(`binding ${deadLetterQueue}`, bindDead);
  await session.call(`binding ${name}`, () => channel.bindQueue(name, EVENTS_EXCHANGE, bindingKey));
}

/** Only the leader counts messages, so a count above zero proves it. An empty queue is asked for a message. */
async function verifyAnswers(session: Session, channel: Channel, queue: string): Promise<void> {
  await session.call(`${queue} answering`, async () => {
    const { messageCount } = await channel.checkQueue(queue);
    if (messageCount > 0) return;
    const message = await channel.get(queue, { noAck: false });
    if (message !== false) channel.nack(message, false, true); // it arrived just now; requeue it
  });
}
