import { controlSuiDevnet, payOnSuiDevnet } from '@opentill/devnets/sui/payments';
import { controlTronDevnet, payOnTronDevnet } from '@opentill/devnets/tron/payments';
import type { Gateway } from '@opentill/local/start-gateway';
import { PAYMENT_BASE_UNITS, type Sprayer } from './spray-payments.ts';

/** A devnet of ours, which can be told to make blocks. */
interface TalkingDevnet extends Pick<Sprayer, 'chain' | 'blocksToSuccess'> {
  pause(): Promise<unknown>;
  /** A payment of what createOrders asks for. */
  pay(address: string): Promise<unknown>;
  /** Makes a block; its height. */
  mine(): Promise<number>;
}

/** A block of TRON is solid when so many are above it: as the local profile starts its devnet. */
const SOLID_LAG_BLOCKS = 3;
const AT_ONCE = 16;
const PAYMENT = { symbol: 'USDT', amountBaseUnits: PAYMENT_BASE_UNITS } as const;

/** Takes the devnet of TRON over: from now on it mines only when told. Every payment is a transaction of its own. */
export async function createTronSprayer({ tron }: Gateway): Promise<Sprayer> {
  if (tron === undefined) throw new Error('no devnet of TRON');
  const { url } = tron.node;
  return createDevnetSprayer({
    chain: 'TRON_TEST',
    blocksToSuccess: SOLID_LAG_BLOCKS,
    pause: () => controlTronDevnet(url, 'pause'),
    pay: (to) => payOnTronDevnet({ url, to, ...PAYMENT }),
    mine: async () => ((await controlTronDevnet(url, 'mine')) as { readonly head: number }).head,
  });
}

/** The same for SUI, where a payment is credited by its own checkpoint. */
export async function createSuiSprayer({ sui }: Gateway): Promise<Sprayer> {
  if (sui === undefined) throw new Error('no devnet of SUI');
  const { url } = sui.node;
  return createDevnetSprayer({
    chain: 'SUI_TEST',
    blocksToSuccess: 0,
    pause: () => controlSuiDevnet(url, 'pause'),
    pay: (to) => payOnSuiDevnet({ url, to, ...PAYMENT }),
    mine: async () =>
      ((await controlSuiDevnet(url, 'checkpoint')) as { readonly checkpoint: number }).checkpoint,
  });
}

async function createDevnetSprayer({ pause, pay, mine, ...rest }: TalkingDevnet): Promise<Sprayer> {
  const visibleAtMs = new Map<number, number>();
  await pause();
  return {
    ...rest,
    visibleAtMs,
    async queue(addresses) {
      for (let at = 0; at < addresses.length; at += AT_ONCE)
        await Promise.all(addresses.slice(at, at + AT_ONCE).map(pay));
    },
    async mine() {
      const height = await mine();
      visibleAtMs.set(height, performance.now());
      return height;
    },
    close: () => undefined,
  };
}
