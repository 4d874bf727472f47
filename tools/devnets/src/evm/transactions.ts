import { Transaction, Wallet } from 'ethers';
import { GatewayError } from '@opentill/domain/gateway-error';
import { callRpc, callRpcBatch } from './json-rpc.ts';
import { waitUntil } from '@opentill/test-servers/poll-until';

/** `NONCE_RACE`: other senders repeatedly used the key's next nonce first. */
export type EvmTransactionErrorCode = 'NONCE_RACE' | 'RECEIPT_MISSING';

export interface TransactionRequest {
  readonly rpcUrl: string;
  readonly fromKey: string;
  /** null creates a contract from `data`. */
  readonly to: string | null;
  readonly data?: string;
  readonly valueWei?: bigint;
  /** Not estimated, so that transactions that will revert can be sent. @default 300,000 */
  readonly gasLimit?: bigint;
  /** @default the node's pending count, read again after a race with another sender of the key */
  readonly nonce?: number;
}

export interface EvmReceipt {
  readonly transactionHash: string;
  readonly status: '0x1' | '0x0';
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly contractAddress: string | null;
  readonly logs: readonly { readonly address: string; readonly topics: string[]; readonly data: string }[];
}

const DEFAULT_GAS_LIMIT = 300_000n;
const TIP_WEI = 1_000_000_000n;
const NONCE_ATTEMPTS = 20;
const RECEIPT_DEADLINE_MS = 90_000;

/** anvil's messages (1.7.1) for a nonce that another transaction of the key has used. */
const NONCE_RACES = /nonce too low|replacement transaction underpriced|already (known|imported)/i;

/** Signs and sends. Returns the hash without waiting for a block. */
export async function sendTransaction(request: TransactionRequest): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const raw = await signTransaction(request);
    try {
      return await callRpc<string>(request.rpcUrl, 'eth_sendRawTransaction', [raw]);
    } catch (error) {
      const isRace = error instanceof GatewayError && NONCE_RACES.test(error.message);
      if (!isRace || request.nonce !== undefined) throw error;
      if (attempt === NONCE_ATTEMPTS) {
        throw new GatewayError<EvmTransactionErrorCode>(
          'NONCE_RACE',
          'Other senders used every nonce of this key first. Send again.',
          {
            retryable: true,
            cause: error,
          },
        );
      }
    }
  }
}

/** Returns an EIP-1559 transaction in 0x hex without sending it. */
export async function signTransaction(request: TransactionRequest): Promise<string> {
  const wallet = new Wallet(request.fromKey);
  const [chainId, pendingCount, block] = (await callRpcBatch(request.rpcUrl, [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getTransactionCount', params: [wallet.address, 'pending'] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ])) as [string, string, { baseFeePerGas: string }];
  return wallet.signTransaction(
    Transaction.from({
      type: 2,
      chainId: BigInt(chainId),
      nonce: request.nonce ?? Number(pendingCount),
      to: request.to,
      data: request.data ?? '0x',
      value: request.valueWei ?? 0n,
      gasLimit: request.gasLimit ?? DEFAULT_GAS_LIMIT,
      maxPriorityFeePerGas: TIP_WEI,
      maxFeePerGas: BigInt(block.baseFeePerGas) * 2n + TIP_WEI,
    }),
  );
}

/** Also returns a receipt with status reverted. Throws GatewayError<EvmTransactionErrorCode>. */
export async function waitForReceipt(
  rpcUrl: string,
  txid: string,
  deadlineMs = RECEIPT_DEADLINE_MS,
): Promise<EvmReceipt> {
  let receipt: EvmReceipt | null = null;
  await waitUntil(
    async () =>
      (receipt = await callRpc<EvmReceipt | null>(rpcUrl, 'eth_getTransactionReceipt', [txid])) !== null,
    { deadlineMs, pollIntervalMs: 50 },
  );
  if (receipt !== null) return receipt;
  throw new GatewayError<EvmTransactionErrorCode>('RECEIPT_MISSING', `No block contains ${txid} yet.`, {
    retryable: true,
    context: { rpcUrl, txid, deadlineMs },
  });
}
