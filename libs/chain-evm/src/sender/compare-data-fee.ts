import { readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { Transaction, type TransactionLike } from 'ethers/transaction';
import { blockRequest, receiptRequest } from '../block-requests.ts';
import type { EvmClient } from '../client.ts';
import { dataFeeOf, operatorFeeOf } from '../data-fee.ts';
import { DATA_PRICE_ROOM, oracleCall, orZero, wordOf } from './estimate-data-fee.ts';

/** In wei. */
export interface DataFeeComparison {
  readonly txHash: string;
  /** As the signer would have estimated it at that block. */
  readonly estimated: bigint;
  readonly charged: bigint;
  readonly operatorFee: { readonly byOracle: bigint; readonly byReceipt: bigint };
}

const BLOCKS = 5;
const DYNAMIC_FEE = '0x2';

interface FoundTransaction {
  readonly hash: string;
  readonly type: string;
  readonly blockNumber: string;
  readonly chainId: string;
  readonly nonce: string;
  readonly to: string | null;
  readonly value: string;
  readonly input: string;
  readonly gas: string;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
  readonly accessList?: TransactionLike['accessList'];
}

/**
 * Compares the oracle's answers with the receipt of a recent transaction. Undefined if the last blocks have none of type 2.
 * @throws ReaderError INCONSISTENT_ANSWER if the receipt is missing or lacks the fee
 */
export async function compareDataFee(
  client: EvmClient,
  head: number,
): Promise<DataFeeComparison | undefined> {
  for (let height = head; height > Math.max(0, head - BLOCKS); height -= 1) {
    const [block] = await client.batch([blockRequest(height, true)]);
    const { transactions = [] } = (block ?? {}) as { transactions?: readonly FoundTransaction[] };
    const found = transactions.find(({ type }) => type === DYNAMIC_FEE);
    if (found !== undefined) return compare(client, found);
  }
  return undefined;
}

async function compare(client: EvmClient, found: FoundTransaction): Promise<DataFeeComparison> {
  const [receipt] = await client.batch([receiptRequest(found.hash)]);
  if (receipt === null)
    throw readerError(
      'INCONSISTENT_ANSWER',
      `the node has no receipt of ${found.hash}, which its block lists`,
    );
  const charged = dataFeeOf(receipt as object, 'op-stack');
  const { gasUsed } = receipt as { readonly gasUsed: string };
  const [l1Answer, operatorAnswer] = await client.batch([
    oracleCall('getL1Fee', unsigned(found), found.blockNumber),
    oracleCall('getOperatorFee', BigInt(gasUsed), found.blockNumber),
  ]);
  const [l1Fee, byOracle] = [wordOf(l1Answer), wordOf(orZero(operatorAnswer))];
  if (l1Fee instanceof GatewayError) throw l1Fee;
  if (byOracle instanceof GatewayError) throw byOracle;
  return {
    txHash: found.hash,
    estimated: l1Fee * DATA_PRICE_ROOM + byOracle,
    charged,
    operatorFee: { byOracle, byReceipt: operatorFeeOf(receipt as object) },
  };
}

function unsigned({ nonce, gas, input, accessList = [], ...rest }: FoundTransaction): string {
  const { chainId, to, value, maxFeePerGas, maxPriorityFeePerGas } = rest;
  const { unsignedSerialized } = Transaction.from({
    type: 2,
    chainId,
    nonce: Number(nonce),
    to,
    value,
    data: input,
    gasLimit: gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    accessList,
  });
  return unsignedSerialized;
}
