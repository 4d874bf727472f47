import { callRpc } from '@opentill/devnet/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { SignerWorld } from './signer-world.ts';

interface RawTransaction {
  readonly from: string;
  readonly to: string | null;
  readonly value: string;
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

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/**
 * Reads every block and receipt of the chain, without any code of the gateway, and counts what left the wallet for whom.
 * @returns how many payouts there were, and what is not as it must be: not paid, paid twice, paid wrongly, paid to others
 */
export async function checkChain(
  { rpcUrl, wallet }: Pick<SignerWorld, 'rpcUrl' | 'wallet'>,
  orders: readonly OrderRow[],
): Promise<{ readonly payouts: number; readonly wrong: readonly string[] }> {
  const payments = new Map<string, bigint[]>();
  const pay = (to: string, amount: bigint) => payments.set(to, [...(payments.get(to) ?? []), amount]);
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
    for (const { hash, from, to, value } of transactions) {
      const receipt = receipts.find(({ transactionHash }) => transactionHash === hash);
      if (from !== wallet || receipt?.status !== '0x1') continue;
      if (BigInt(value) > 0n && to !== null) pay(to, BigInt(value));
      for (const { topics, data } of receipt.logs)
        if (topics[0] === TRANSFER && `0x${topics[1]?.slice(26)}` === wallet)
          pay(`0x${topics[2]?.slice(26)}`, BigInt(data));
    }
  }
  const wrong = orders.flatMap(({ address, amount, order_id: id }) => {
    const paid = payments.get(address) ?? [];
    payments.delete(address);
    return paid.length === 1 && paid[0] === amount ? [] : [`${id}: ${paid.join(' and ') || 'nothing'}`];
  });
  for (const [to, amounts] of payments) wrong.push(`to nobody's order: ${to} ${amounts.join(' and ')}`);
  return { payouts: orders.length, wrong };
}
