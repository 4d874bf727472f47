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
/** Whoever has this queue is the only one who sends and receives canaries; it goes with his connection. */
const TURN = `${NAME}.turn`;
/** A run takes about a second. */
const TURN_TIMEOUT_MS = 30_000;
const POLL_MS = 20;
const ARRIVAL_TIMEOUT_MS = 8_000;

/** A queue like the services' own, that only the topology's declaration uses. */
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
 * Publishes a message as an event is, receives it, rejects it, and receives it among the dead letters. One run at a time, until the
 * session is closed: a message that another one gave back would come first again for ever, or die of having been given back too often.
 */
export async function sendCanary(session: Session): Promise<void> {
  await takeTurn(session);
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

async function takeTurn(session: Session): Promise<void> {
  const deadline = Date.now() + TURN_TIMEOUT_MS;
  while (!(await isMine(session)))
    if (Date.now() < deadline) await abortableDelay(5 * POLL_MS);
    else
      throw messagingError('TOPOLOGY_BROKEN', 'somebody else is declaring the topology, without an end', {});
}

/** Being refused costs the channel: each try has its own. */
async function isMine(session: Session): Promise<boolean> {
  const channel = await session.openChannel();
  return session.call(`declaring ${TURN}`, async () => {
    try {
      await channel.assertQueue(TURN, { exclusive: true, durable: false });
      return true;
    } catch (error) {
      if ((error as { code?: number }).code === RESOURCE_LOCKED) return false;
      throw error;
    }
  });
}

/** AMQP 0-9-1, 1.2.1: of an exclusive queue of another connection. */
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

/** What a run that was cut short left behind is thrown away. */
async function receive(channel: ConfirmChannel, queue: string, id: string): Promise<GetMessage> {
  const deadline = Date.now() + ARRIVAL_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const message = await channel.get(queue, { noAck: false });
    if (message !== false && message.properties.messageId === id) return message;
    if (message === false) await abortableDelay(POLL_MS);
    else channel.ack(message);
  }
  throw new Error(`nothing arrived in ${queue}`);
}
