import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { Payments } from '../world/compare-payments.ts';
import type { SignerWorld } from './signer-world.ts';

interface RawTransaction {
  readonly from: string;
  readonly to: string | null;
  readonly value: string;
  readonly nonce: string;
  readonly hash: string;
}
interface RawReceipt {
  readonly transactionHash: string;
  readonly status: string;
  readonly logs: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}
type Source = Pick<SignerWorld, 'rpcUrl' | 'wallet'>;

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const NATIVE = 'native coin';

export async function checkChain({ rpcUrl, wallet }: Source, orders: readonly OrderRow[]) {
  const payments = new Payments();
  const nonces: number[] = [];
  const head = Number(await callRpc<string>(rpcUrl, 'eth_blockNumber', []));
  for (let height = 1; height <= head; height += 1) {
    const number = `0x${height.toString(16)}`;
    const { transactions } = await callRpc<{ transactions: RawTransaction[] }>(
      rpcUrl,
      'eth_getBlockByNumber',
      [number, true],
    );
    if (transactions.length === 0) continue;
    const receipts = await callRpc<RawReceipt[]>(rpcUrl, 'eth_getBlockReceipts', [number]);
    for (const { hash, from, to, value, nonce } of transactions) {
      if (from !== wallet) continue;
      nonces.push(Number(nonce));
      const receipt = receipts.find(({ transactionHash }) => transactionHash === hash);
      if (receipt?.status === '0x1' && BigInt(value) > 0n && to !== null)
        payments.add(`${NATIVE} ${to}`, BigInt(value));
    }
    for (const { address, topics, data } of receipts.flatMap(({ logs }) => logs))
      if (topics[0] === TRANSFER && `0x${topics[1]?.slice(26)}` === wallet)
        payments.add(`${address} 0x${topics[2]?.slice(26)}`, BigInt(data));
  }
  const { payouts, wrong } = payments.compare(
    orders,
    ({ address, contract_address: token }) => `${token ?? NATIVE} ${address}`,
  );
  for (const [place, nonce] of nonces.entries())
    if (nonce !== place) wrong.push(`nonce ${nonce} in the place of ${place}`);
  return { payouts, wrong };
}
