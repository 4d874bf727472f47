import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
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

/** What left the wallet, by the chain alone: every block and receipt is read, without any code of the gateway. */
interface ChainTruth {
  /** Amounts by token and receiver, one for each Transfer log, or value of a transaction. */
  readonly payments: ReadonlyMap<string, readonly bigint[]>;
  /** Of the wallet's transactions, in the order of the chain. */
  readonly nonces: readonly number[];
}

async function readTruth({ rpcUrl, wallet }: Source): Promise<ChainTruth> {
  const payments = new Map<string, bigint[]>();
  const nonces: number[] = [];
  const pay = (token: string, to: string, amount: bigint) =>
    payments.set(`${token} ${to}`, [...(payments.get(`${token} ${to}`) ?? []), amount]);
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
      if (receipt?.status === '0x1' && BigInt(value) > 0n && to !== null) pay(NATIVE, to, BigInt(value));
    }
    // Whoever sent the transaction: tokens of the wallet that anybody moved are gone.
    for (const { address, topics, data } of receipts.flatMap(({ logs }) => logs))
      if (topics[0] === TRANSFER && `0x${topics[1]?.slice(26)}` === wallet)
        pay(address, `0x${topics[2]?.slice(26)}`, BigInt(data));
  }
  return { payments, nonces };
}

/**
 * Counts what left the wallet for whom.
 * @returns how many payouts there were, and what is not as it must be: not paid, paid twice, paid wrongly, paid to others,
 * a nonce left out or used twice
 */
export async function checkChain(
  source: Source,
  orders: readonly OrderRow[],
): Promise<{ readonly payouts: number; readonly wrong: readonly string[] }> {
  const { payments, nonces } = await readTruth(source);
  const others = new Map(payments);
  const wrong = orders.flatMap(({ address, contract_address: token, amount, order_id: id }) => {
    const account = `${token ?? NATIVE} ${address}`;
    const paid = others.get(account) ?? [];
    others.delete(account);
    return paid.length === 1 && paid[0] === amount ? [] : [`${id}: ${paid.join(' and ') || 'nothing'}`];
  });
  for (const [to, amounts] of others) wrong.push(`to nobody's order: ${to} ${amounts.join(' and ')}`);
  for (const [place, nonce] of nonces.entries())
    if (nonce !== place) wrong.push(`nonce ${nonce} in the place of ${place}`);
  return { payouts: orders.length, wrong };
}
