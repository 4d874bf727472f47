import { randomUUID } from 'node:crypto';
import type { ConfirmChannel, GetMessage } from 'amqplib';
import {
  DEAD_EXCHANGE,
  DELIVERY_LIMIT,
  EVENTS_EXCHANGE,
  type QueueDefinition,
} from '@opentill/contracts/topology';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import type { Session } from './broker-session.ts';
import { messagingError } from './messaging-error.ts';

const NAME = 'opentill.canary';
/** Exclusive queue used as a lock: only its owner sends and receives canaries. Deleted with its connection. */
const LOCK_QUEUE = `${NAME}.turn`;
const LOCK_TIMEOUT_MS = 30_000;
const POLL_MS = 20;
const ARRIVAL_TIMEOUT_MS = 8_000;

/** With the arguments of the services' queues. */
export const CANARY: Omit<QueueDefinition, 'service' | 'type'> = {
  name: NAME,
  bindingKey: `${NAME}.*`,
  deadLetterQueue: `${NAME}.dead`,
  arguments: {
    'x-queue-type': 'quorum',
    'x-delivery-limit': DELIVERY_LIMIT,
    'x-dead-letter-exchange': DEAD_EXCHANGE,
    'x-dead-letter-routing-key': `${NAME}.dead`,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  },
};

/**
 * Sends a canary, rejects it, and receives it as a dead letter. One run at a time until the session closes: concurrent
 * runs would requeue each other's canary endlessly, or past its delivery limit.
 */
export async function sendCanary(session: Session): Promise<void> {
  await acquireLock(session);
  const channel = await session.openConfirmChannel();
  const id = randomUUID();
  await session.call('publishing the canary', () => publish(channel, id));
  await session.call('receiving the canary', async () => {
    channel.reject(await receive(channel, CANARY.name, id), false);
  });
  await session.call('receiving the dead canary', async () => {
    channel.ack(await receive(channel, CANARY.deadLetterQueue, id));
  });
  await session.call('closing a channel', () => channel.close());
}

async function acquireLock(session: Session): Promise<void> {
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  while (!(await tryLock(session)))
    if (Date.now() < deadline) await abortableDelay(5 * POLL_MS);
    else
      throw messagingError(
        'TOPOLOGY_BROKEN',
        `another process has been declaring the topology for ${LOCK_TIMEOUT_MS} ms: stop it and try again`,
        {},
      );
}

/** Opens a channel for each try, since a refusal closes it. */
async function tryLock(session: Session): Promise<boolean> {
  const channel = await session.openChannel();
  return session.call(`declaring ${LOCK_QUEUE}`, async () => {
    try {
      await channel.assertQueue(LOCK_QUEUE, { exclusive: true, durable: false });
      return true;
    } catch (error) {
      if ((error as { code?: number }).code === RESOURCE_LOCKED) return false;
      throw error;
    }
  });
}

/** AMQP 0-9-1, 1.2.1: the queue is exclusive to another connection. */
const RESOURCE_LOCKED = 405;

function publish(channel: ConfirmChannel, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let returned = false;
    channel.on('return', () => (returned = true));
    const options = { messageId: id, persistent: true, mandatory: true };
    channel.publish(EVENTS_EXCHANGE, `${NAME}._`, Buffer.from('canary'), options, (error) => {
      if (error !== null) reject(error as Error);
      else if (returned) reject(new Error('no queue took it'));
      else resolve();
    });
  });
}

/** Discards canaries of an interrupted run. */
async function receive(channel: ConfirmChannel, queue: string, id: string): Promise<GetMessage> {
  const deadline = Date.now() + ARRIVAL_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const message = await channel.get(queue, { noAck: false });
    if (message !== false && message.properties.messageId === id) return message;
    if (message === false) await abortableDelay(POLL_MS);
    else channel.ack(message);
  }
  throw new Error(`no canary arrived in ${queue} within ${ARRIVAL_TIMEOUT_MS} ms`);
}
