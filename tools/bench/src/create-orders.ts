import { randomBytes } from 'node:crypto';
import type { DevnetChain } from '@opentill/local/gateway-options';
import type { BenchGateway } from './start-bench-gateway.ts';
import { signedCollection } from './signed-request.ts';

export interface BenchOrder {
  readonly orderId: string;
  readonly address: string;
}

const CONNECTIONS = 16;

/** Creates orders of 12.50 USDT through the API, on ETH_SEPOLIA unless said; limits must have been lifted. */
export async function createOrders(
  bench: Pick<BenchGateway, 'gateway' | 'token'>,
  count: number,
  token: string = bench.token,
  chain: DevnetChain = 'ETH_SEPOLIA',
): Promise<BenchOrder[]> {
  const run = randomBytes(4).toString('hex');
  const orders: BenchOrder[] = [];
  let next = 0;
  const createNext = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      orders[index] = await createOrder(
        bench.gateway.apiUrl,
        { token, chain, orderId: `${run}-${index}` },
        index,
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONNECTIONS, count) }, createNext));
  return orders;
}

async function createOrder(
  apiUrl: string,
  {
    token,
    chain,
    orderId,
  }: { readonly token: string; readonly chain: DevnetChain; readonly orderId: string },
  index: number,
): Promise<BenchOrder> {
  const response = await fetch(`${apiUrl}/v1/order/createCollection`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `10.1.${(index >> 8) & 255}.${index & 255}`,
    },
    body: signedCollection(token, orderId, chain),
  });
  const answer = (await response.json()) as { code: number; msg: string; data: { address: string } };
  if (answer.code !== 200) throw new Error(`createCollection was refused: ${answer.code} ${answer.msg}`);
  return { orderId, address: answer.data.address };
}
