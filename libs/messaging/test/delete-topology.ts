import { queues } from '@opentill/contracts/topology';
import type { TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';

/**
 * `last` goes at the end: RabbitMQ reports a queue as deleted slightly too early, and a service would still find it.
 */
export async function deleteTopology(server: TestBroker, last: string): Promise<void> {
  const channel = await server.channel();
  await channel.deleteExchange('opentill.events');
  await channel.deleteExchange('opentill.dead');
  const names = queues()
    .flatMap(({ name, deadLetterQueue }) => [deadLetterQueue, name])
    .filter((name) => name !== last);
  for (const name of names) await channel.deleteQueue(name);
  for (const name of names)
    await waitUntil(`${name} is gone`, () =>
      server.depth(name).then(
        () => false,
        () => true,
      ),
    );
  await (await server.channel()).deleteQueue(last);
}
