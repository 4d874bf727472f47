import { callRpc } from '@opentill/devnets/evm/json-rpc';

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** Transfer log of a token on the node, read without the scanner's code. */
export interface EvmTransferLog {
  readonly tx: string;
  readonly token: string;
  readonly to: string;
  readonly amount: bigint;
  readonly height: number;
  readonly block: string;
  readonly logIndex: string;
}

/** Includes zero amounts. */
export async function readEvmTransfers(
  rpcUrl: string,
  tokens: readonly string[],
  range: { readonly from?: number; readonly to?: number } = {},
): Promise<readonly EvmTransferLog[]> {
  const blocks = {
    fromBlock: `0x${(range.from ?? 0).toString(16)}`,
    toBlock: range.to === undefined ? 'latest' : `0x${range.to.toString(16)}`,
  };
  const logs = await callRpc<
    {
      transactionHash: string;
      blockHash: string;
      blockNumber: string;
      logIndex: string;
      address: string;
      topics: string[];
      data: string;
    }[]
  >(rpcUrl, 'eth_getLogs', [{ ...blocks, address: tokens, topics: [TRANSFER_TOPIC] }]);
  return logs
    .filter(({ topics }) => topics.length === 3)
    .map((log) => ({
      tx: log.transactionHash,
      token: log.address,
      to: `0x${log.topics[2]!.slice(26)}`,
      amount: BigInt(log.data),
      height: Number(log.blockNumber),
      block: log.blockHash,
      logIndex: log.logIndex,
    }));
}
