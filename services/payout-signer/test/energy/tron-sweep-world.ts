import type { Address } from '@opentill/chain/address-codec';
import { startEnergySeller } from '@opentill/devnets/tron/start-energy-seller';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { EnergySeller } from '../../src/energy/energy-seller.ts';
import { createTronsaveSeller } from '../../src/energy/tronsave-seller.ts';
import type { ExpiringPaying } from '../../src/payouts/paying-network.ts';
import { CHAIN, createTronWorld, ONE_TRX, post } from '../expiring/tron-world.ts';
import type { ServiceOptions } from '../world/start-service.ts';
import { openSweepParts } from '../world/sweep-parts.ts';
import type { TestPolicy } from '../world/test-policy.ts';

export { CHAIN, ONE_TRX };

export interface TronSignerOptions
  extends Omit<ServiceOptions<ExpiringPaying>, 'sellers'>, Pick<TestPolicy, 'sweep' | 'asset'> {
  readonly seller?: (seller: EnergySeller) => EnergySeller;
  readonly energyWaitMs?: number;
}
export type TronSweepWorld = Awaited<ReturnType<typeof createTronSweepWorld>>;

const API_KEY = 'devnet';
const SWEEP = { nativePrice: '0.3', maxTopUp: '60', maxNativePerDay: '3000' };

export async function createTronSweepWorld({ usdt }: { readonly usdt?: bigint } = {}) {
  const tron = await createTronWorld({}, usdt === undefined ? {} : { usdt });
  const { devnet, wallet, mineUntil } = tron;
  const { closeBooks, ...parts } = await openSweepParts(tron);
  const account = devnet.accounts[9]!;
  await devnet.control.stake(account.address, 10_000_000n * ONE_TRX);
  const shop = await startEnergySeller({ nodeUrl: devnet.url, account, apiKey: API_KEY });
  // As on the main network, the token's energy penalty makes a transfer cost 4.4 times its energy.
  await devnet.control.setEnergyFactor(tron.usdt, 34_000);
  const cold = devnet.accounts[2]!.address as Address;
  return {
    ...parts,
    tron,
    admin: tron.admin,
    shop,
    cold,
    mineUntil,
    /** The payment is verified and booked. The address is an account if `trxSun` is positive. */
    async paid(amount: bigint, trxSun = 0n): Promise<OrderRow> {
      const order = await parts.orderFor();
      await devnet.control.fund(order.address, { trxSun, symbol: 'USDT', amountBaseUnits: amount });
      await mineUntil('the payment is booked', async () => (await parts.receivedAt(order)) === amount);
      return order;
    },
    start({ sweep = {}, asset = {}, seller, energyWaitMs = 120_000, ...options }: TronSignerOptions = {}) {
      const plain = createTronsaveSeller({ url: shop.url, apiKey: API_KEY, timeoutMs: 1_000 });
      return tron.serve({
        ...options,
        timing: { ...options.timing, energyWaitMs },
        sellers: new Map([[CHAIN, seller?.(plain) ?? plain]]),
        policy: {
          coldAddress: cold,
          sweep: sweep && { ...SWEEP, ...sweep },
          asset,
          symbols: ['USDT'],
        },
      });
    },
    tokensAt: (address: string) => tron.received({ address, contract_address: tron.usdt }),
    sunAt: (address: string) => tron.received({ address, contract_address: null }),
    async stake(sun: bigint) {
      await devnet.control.fund(wallet, { trxSun: sun });
      await devnet.control.stake(wallet, sun);
    },
    /** In sun. */
    async lentOut(): Promise<bigint> {
      const owner = { address: wallet, visible: true };
      const { account_resource: resource } = await post<{
        account_resource?: { delegated_frozenV2_balance_for_energy?: number };
      }>(devnet.url, 'getaccount', owner);
      return BigInt(resource?.delegated_frozenV2_balance_for_energy ?? 0);
    },
    async close() {
      await tron.stopAll();
      await closeBooks();
      await shop.close();
      await tron.close();
    },
  };
}
