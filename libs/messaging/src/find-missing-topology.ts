import { DEAD_EXCHANGE, EVENTS_EXCHANGE, queues } from '@opentill/contracts/topology';
import { openSession, type Session } from './broker-session.ts';

/**
 * Looks which exchanges and queues of the gateway a broker does not have; declares nothing. What has messages or
 * consumers, and whether it works, declareTopology's canary shows.
 * @returns the names of what is missing
 * @throws GatewayError BROKER_UNAVAILABLE, BROKER_REFUSED, TOPOLOGY_BROKEN when the broker does not answer
 */
export async function findMissingTopology(url: string, callTimeoutMs = 10_000): Promise<readonly string[]> {
  const session = await openSession(url, callTimeoutMs);
  try {
    const missing: string[] = [];
    for (const exchange of [EVENTS_EXCHANGE, DEAD_EXCHANGE])
      if (!(await has(session, 'exchange', exchange))) missing.push(exchange);
    for (const name of queues().flatMap((queue) => [queue.name, queue.deadLetterQueue]))
      if (!(await has(session, 'queue', name))) missing.push(name);
    return missing;
  } finally {
    await session.close();
  }
}

/** Asking for what does not exist costs the channel. */
async function has(session: Session, kind: 'exchange' | 'queue', name: string): Promise<boolean> {
  const channel = await session.openChannel();
  const found = await session.call(`looking for ${name}`, async () => {
    try {
      await (kind === 'queue' ? channel.checkQueue(name) : channel.checkExchange(name));
      return true;
    } catch (error) {
      if ((error as { code?: number }).code === 404) return false;
      throw error;
    }
  });
  if (found) await session.call('closing a channel', () => channel.close());
  return found;
}
