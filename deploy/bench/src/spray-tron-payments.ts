import { payOnTronDevnet } from '@opentill/devnet/tron-payments';
import type { Gateway } from '@opentill/local/start-gateway';
import { PAYMENT_BASE_UNITS, type Sprayer } from './spray-payments.ts';

/** A block is solid when so many are above it: as the local profile starts its devnet. */
const SOLID_LAG_BLOCKS = 3;
const AT_ONCE = 16;

/** Takes the devnet of TRON over: from now on it mines only when told. Every payment is a transaction of its own. */
export async function createTronSprayer({ tron }: Gateway): Promise<Sprayer> {
  if (tron === undefined) throw new Error('no devnet of TRON');
  const { url } = tron.node;
  const visibleAtMs = new Map<number, number>();
  const control = async <T>(name: string, body: object = {}): Promise<T> => {
    const response = await fetch(`${url}/devnet/${name}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`/devnet/${name}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  await control('pause');
  return {
    chain: 'TRON_TEST',
    blocksToSuccess: SOLID_LAG_BLOCKS,
    visibleAtMs,
    async queue(addresses) {
      for (let at = 0; at < addresses.length; at += AT_ONCE)
        await Promise.all(
          addresses
            .slice(at, at + AT_ONCE)
            .map((to) => payOnTronDevnet({ url, to, symbol: 'USDT', amountBaseUnits: PAYMENT_BASE_UNITS })),
        );
    },
    async mine() {
      const { head } = await control<{ readonly head: number }>('mine');
      visibleAtMs.set(head, performance.now());
      return head;
    },
    close: () => undefined,
  };
}
