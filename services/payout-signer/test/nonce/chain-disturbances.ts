import { sql } from 'kysely';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { SignerWorld } from './signer-world.ts';

export interface DisturbanceCounts {
  blocksTaken: number;
  transactionsTaken: number;
  /** The gateway considered these final. */
  finalTaken: number;
  drops: number;
  spikes: number;
}

export interface ChainDisturbances {
  readonly times: DisturbanceCounts;
  forget(): Promise<void>;
  spike(): Promise<void>;
  /** Replaces the newest blocks by empty ones if they contain own transactions. */
  reorganise(depth: number): Promise<void>;
}

const SPIKE_WEI = '0x12a05f2000';

export function createChainDisturbances({ rpcUrl, wallet, admin }: SignerWorld): ChainDisturbances {
  const times: DisturbanceCounts = {
    blocksTaken: 0,
    transactionsTaken: 0,
    finalTaken: 0,
    drops: 0,
    spikes: 0,
  };
  const count = async (block: 'latest' | 'pending') =>
    Number(await callRpc<string>(rpcUrl, 'eth_getTransactionCount', [wallet, block]));

  async function ownIn(depth: number): Promise<readonly (readonly string[])[]> {
    const head = Number(await callRpc<string>(rpcUrl, 'eth_blockNumber', []));
    const blocks = await Promise.all(
      Array.from({ length: depth }, (_, i) =>
        callRpc<{ transactions: { from: string; hash: string }[] }>(rpcUrl, 'eth_getBlockByNumber', [
          `0x${(head - i).toString(16)}`,
          true,
        ]),
      ),
    );
    return blocks.map(({ transactions }) =>
      transactions.filter(({ from }) => from === wallet).map(({ hash }) => hash),
    );
  }
  return {
    times,
    async forget() {
      if ((await count('pending')) === (await count('latest'))) return;
      await callRpc(rpcUrl, 'anvil_dropAllTransactions', []);
      times.drops += 1;
    },
    async spike() {
      await callRpc(rpcUrl, 'anvil_setNextBlockBaseFeePerGas', [SPIKE_WEI]);
      times.spikes += 1;
    },
    async reorganise(depth) {
      const blocks = (await ownIn(depth)).filter((hashes) => hashes.length > 0);
      if (blocks.length === 0) return;
      const hashes = blocks.flat();
      const { rows } = await sql<{ final: number }>`
        select count(*)::int as final from own_transaction_fate
        where state = 'VERIFIED' and tx_hash = any(${hashes}::text[])`.execute(admin);
      await reorg({ rpcUrl, depth });
      const receipts = await Promise.all(
        hashes.map((hash) => callRpc<unknown>(rpcUrl, 'eth_getTransactionReceipt', [hash])),
      );
      const gone = receipts.filter((receipt) => receipt === null).length;
      times.blocksTaken += gone > 0 ? blocks.length : 0;
      times.transactionsTaken += gone;
      times.finalTaken += gone > 0 ? (rows[0]?.final ?? 0) : 0;
    },
  };
}
