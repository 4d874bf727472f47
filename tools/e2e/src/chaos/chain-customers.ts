import { devAccount } from '@opentill/devnets/evm/accounts';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import { sendTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import type { ChainUnderTest } from '../chain-under-test.ts';
import { randomInteger, type Random } from '../random.ts';

/** Customers of one devnet. Payments are serialised. After a reorganisation customers repeat their lost payments. */
export interface ChainCustomers {
  readonly chain: ChainUnderTest;
  pay(payment: { readonly to: string; readonly symbol: string; readonly amount: string }): Promise<void>;
  /**
   * Replaces the last blocks. Their transactions are mined again, some in another block, and some vanish. Customers
   * repeat their vanished payments; the gateway must repeat its own. No customer pays during the reorganisation.
   */
  reorganise(depth: number): Promise<void>;
  /** Transactions that were ever in a replaced block. */
  readonly takenBack: ReadonlySet<string>;
  /** Recipients of these transactions, lower case. */
  readonly paidByTakenBack: ReadonlySet<string>;
}

interface RpcTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string;
  readonly input: string;
}

const ACCOUNTS = [2, 3, 4] as const;
/** Longest time for which the gateway can see the blocks before they are replaced. */
const SHOWN_MS = 800;
/** Share of the transactions that are not mined again. */
const VANISHING = 0.25;

export function createChainCustomers(chain: ChainUnderTest, random: Random): ChainCustomers {
  const takenBack = new Set<string>();
  const paidByTakenBack = new Set<string>();
  const keys = new Map(ACCOUNTS.map(devAccount).map((one) => [one.address.toLowerCase(), one.privateKey]));
  let queue: Promise<unknown> = Promise.resolve();
  /** Serialises payments and reorganisations: no nonce is used twice, and a reorganisation covers all transactions. */
  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = queue.then(work);
    queue = turn.catch(() => undefined);
    return turn;
  };

  async function replaceBlocks(depth: number): Promise<void> {
    await chain.mine(); // empties the node's pool
    await abortableDelay(randomInteger(random, 0, SHOWN_MS));
    const head = await chain.head();
    const replacements: { rawTransaction: string; blockOffset: number }[] = [];
    const vanished: RpcTransaction[] = [];
    /** Keeps the order of an account's transactions. All after a vanished one vanish too, so that nonces have no gap. */
    const earliest = new Map<string, number>();
    for (let offset = 0; offset < depth; offset += 1) {
      for (const transaction of await transactionsOf(chain, head - depth + 1 + offset)) {
        takenBack.add(transaction.hash);
        const recipient = recipientOf(transaction);
        if (recipient !== undefined) paidByTakenBack.add(recipient);
        const from = Math.max(offset, earliest.get(transaction.from) ?? 0);
        const place = from === depth || random() < VANISHING ? depth : randomInteger(random, from, depth - 1);
        earliest.set(transaction.from, place);
        if (place === depth) vanished.push(transaction);
        else
          replacements.push({
            rawTransaction: await chain.rawTransaction(transaction.hash),
            blockOffset: place,
          });
      }
    }
    await chain.reorg(depth, replacements);
    for (const { from, to, input } of vanished) {
      const fromKey = keys.get(from);
      if (fromKey !== undefined) await sendTransaction({ rpcUrl: chain.rpcUrl, fromKey, to, data: input });
      // The gateway repeats the hot wallet's transactions.
    }
  }

  return {
    chain,
    takenBack,
    paidByTakenBack,
    pay: async (payment) =>
      inTurn(
        async () =>
          void (await chain.pay({ ...payment, account: ACCOUNTS[randomInteger(random, 0, 2)] ?? 2 })),
      ),
    reorganise: async (depth) =>
      inTurn(async () => {
        await chain.mineByHand();
        try {
          await replaceBlocks(depth);
        } finally {
          await chain.mineByTime();
        }
      }),
  };
}

async function transactionsOf(chain: ChainUnderTest, height: number): Promise<readonly RpcTransaction[]> {
  const block = await callRpc<{ transactions: readonly RpcTransaction[] }>(
    chain.rpcUrl,
    'eth_getBlockByNumber',
    [`0x${height.toString(16)}`, true],
  );
  return block.transactions;
}

/** Returns undefined for an empty call, which cancels a nonce. */
function recipientOf({ input }: RpcTransaction): string | undefined {
  if (input === '0x') return undefined;
  const [to] = contractInterface('UsdcLike').decodeFunctionData('transfer', input);
  return String(to).toLowerCase();
}
