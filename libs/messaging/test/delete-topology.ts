import { queues } from '@opentill/contracts/topology';
import type { TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';

/**
 * The consumer's queue `last`: by then all else is gone, and nobody declares what is still being deleted. The broker says that a
 * queue is deleted a moment before it is; who asks for it then is told that it is there.
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
