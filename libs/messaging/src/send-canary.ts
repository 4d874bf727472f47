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

const NAME = 'opentill.canary';
/** What a run that was cut short left behind is thrown away after this. */
const STALE_MS = 60_000;
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

/** Publishes a message as an event is, receives it, rejects it, and receives it among the dead letters. */
export async function sendCanary(session: Session): Promise<void> {
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

function publish(channel: ConfirmChannel, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let returned = false;
    channel.on('return', () => (returned = true));
    const options = { messageId: id, persistent: true, mandatory: true, timestamp: Date.now() };
    channel.publish(EVENTS_EXCHANGE, `${NAME}._`, Buffer.from('canary'), options, (error) => {
      if (error !== null) reject(error as Error);
      else if (returned) reject(new Error('no queue took it'));
      else resolve();
    });
  });
}

/** Another run's canary goes back, unless it is so old that nobody waits for it. */
async function receive(channel: ConfirmChannel, queue: string, id: string): Promise<GetMessage> {
  const deadline = Date.now() + ARRIVAL_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const message = await channel.get(queue, { noAck: false });
    if (message !== false) {
      if (message.properties.messageId === id) return message;
      if (Date.now() - Number(message.properties.timestamp ?? 0) > STALE_MS) {
        channel.ack(message);
        continue;
      }
      channel.nack(message, false, true);
    }
    await abortableDelay(POLL_MS);
  }
  throw new Error(`nothing arrived in ${queue}`);
}
