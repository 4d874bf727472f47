import { DEAD_EXCHANGE, EVENTS_EXCHANGE, queues } from '@opentill/contracts/topology';
import { exists, openSession } from './broker-session.ts';

/**
 * Read-only. @throws GatewayError BROKER_UNAVAILABLE, BROKER_REFUSED; TOPOLOGY_BROKEN when the broker does not answer
 */
export async function findMissingTopology(url: string, callTimeoutMs = 10_000): Promise<readonly string[]> {
  const session = await openSession(url, callTimeoutMs);
  try {
    const missing: string[] = [];
    for (const exchange of [EVENTS_EXCHANGE, DEAD_EXCHANGE])
      if (!(await exists(session, 'exchange', exchange))) missing.push(exchange);
    for (const name of queues().flatMap((queue) => [queue.name, queue.deadLetterQueue]))
      if (!(await exists(session, 'queue', name))) missing.push(name);
    return missing;
  } finally {
    await session.close();
  }
}
