import { devAccount } from '@opentill/devnets/evm/accounts';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { DEV_TOKEN_ADDRESSES, payToken, tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { NoncePaying } from '../../src/payouts/paying-network.ts';
import { createSignerWorld, networkOf, USDT } from '../nonce/signer-world.ts';
import type { ServiceOptions } from '../world/start-service.ts';
import { openSweepParts } from '../world/sweep-parts.ts';
import { COLD, sweepPolicy, type SweepTerms } from './sweep-policy.ts';

export { COLD };

const CONTRACTS = { USDT, USDC: DEV_TOKEN_ADDRESSES.USDC.toLowerCase() } as const;
export type Token = keyof typeof CONTRACTS;

export interface SignerOptions extends ServiceOptions<NoncePaying>, SweepTerms {}
export type SweepWorld = Awaited<ReturnType<typeof createSweepWorld>>;

export async function createSweepWorld() {
  const [usdt, coin] = networkOf('').tokens;
  const usdc = { ...usdt!, symbol: 'USDC', contract: DEV_TOKEN_ADDRESSES.USDC };
  const signer = await createSignerWorld({ tokens: [usdt!, usdc, coin!] });
  const { closeBooks, ...parts } = await openSweepParts(signer);
  const { rpcUrl } = signer;
  const mineUntil = (what: string, isSo: () => Promise<boolean>, timeoutMs?: number) =>
    signer.mineUntil(what, isSo, timeoutMs);
  const pay = async ({ address, symbol }: OrderRow, amount: bigint) => {
    await payToken({
      rpcUrl,
      token: CONTRACTS[symbol as Token],
      fromKey: devAccount(1).privateKey,
      to: address,
      amountBaseUnits: amount,
    });
  };
  const paidAgain = async (order: OrderRow, amount: bigint): Promise<bigint> => {
    const all = (await parts.receivedAt(order)) + amount;
    await pay(order, amount);
    await mineUntil('the payment is booked', async () => (await parts.receivedAt(order)) === all);
    return all;
  };
  return {
    ...parts,
    signer,
    admin: signer.admin,
    mineUntil,
    pay,
    paidAgain,
    async paid(amount: bigint, token: Token = 'USDT'): Promise<OrderRow> {
      const order = await parts.orderFor(token);
      await paidAgain(order, amount);
      return order;
    },
    async paidMany(amounts: readonly bigint[]): Promise<readonly OrderRow[]> {
      const orders: OrderRow[] = [];
      for (const amount of amounts) {
        const order = await parts.orderFor();
        await pay(order, amount);
        orders.push(order);
      }
      await mineUntil('all payments are booked', async () => {
        const received = await Promise.all(orders.map(parts.receivedAt));
        return received.every((amount, place) => amount === amounts[place]);
      });
      return orders;
    },
    start: ({ sweep = {}, asset = {}, ...options }: SignerOptions = {}) =>
      signer.serve({ ...options, policy: sweepPolicy({ sweep, asset }) }),
    tokensAt: (address: string, token: Token = 'USDT') => tokenBalance(rpcUrl, CONTRACTS[token], address),
    coinAt: async (address: string) =>
      BigInt(await callRpc<string>(rpcUrl, 'eth_getBalance', [address, 'latest'])),
    stopAll: () => signer.stopAll(),
    async close() {
      await signer.stopAll();
      await closeBooks();
      await signer.close();
    },
  };
}
