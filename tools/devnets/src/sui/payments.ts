import { GrpcWebFetchTransport, RpcError, SuiGrpcClient } from '@mysten/sui/grpc';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { DevTokenSymbol } from './genesis.ts';
import { waitUntil } from '@opentill/test-servers/poll-until';

/** `SUI_NOT_CHECKPOINTED`: no checkpoint contained the transaction in time. */
export type SuiPaymentErrorCode = 'SUI_DEVNET_REFUSED' | 'SUI_NOT_CHECKPOINTED';

export interface SuiGift {
  readonly url: string;
  readonly to: string;
  readonly mist?: bigint;
  readonly symbol?: DevTokenSymbol;
  readonly amountBaseUnits?: bigint;
  readonly form?: 'coin' | 'address';
}

const REQUEST_TIMEOUT_MS = 60_000;
const CHECKPOINTED_DEADLINE_MS = 90_000;
const POLL_INTERVAL_MS = 50;

/** Sends `POST /devnet/<name>` (names in README.md). Throws SUI_DEVNET_REFUSED. */
export async function controlSuiDevnet(
  url: string,
  name: string,
  body: object = {},
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${url}/devnet/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as Readonly<Record<string, unknown>>;
  const message = `devnet/${name}: ${text.slice(0, 300)}`;
  throw new GatewayError<SuiPaymentErrorCode>('SUI_DEVNET_REFUSED', message, { retryable: false });
}

/** Pays from the devnet's first account. Returns digests without waiting for a checkpoint. */
export async function payOnSuiDevnet({ url, to, ...gift }: SuiGift): Promise<readonly string[]> {
  const body = Object.entries(gift).map(([name, value]) => [name, String(value)]);
  const answer = await controlSuiDevnet(url, 'fund', { address: to, ...Object.fromEntries(body) });
  return (answer as { readonly digests: readonly string[] }).digests;
}

/** Base units in coins and address balance together. */
export async function suiBalance(url: string, coinType: string, holder: string): Promise<bigint> {
  const { balance } = await clientOf(url).getBalance({ owner: holder, coinType });
  return BigInt(balance.balance);
}

/** Returns the number of the checkpoint. Throws SUI_NOT_CHECKPOINTED. */
export async function waitForSuiCheckpoint(url: string, digest: string): Promise<number> {
  const { ledgerService } = clientOf(url);
  let checkpoint: bigint | undefined;
  const isThere = async (): Promise<boolean> => {
    const request = { digest, readMask: { paths: ['checkpoint'] } };
    try {
      const { response } = await ledgerService.getTransaction(request);
      checkpoint = response.transaction?.checkpoint;
    } catch (error) {
      // Nodes find transactions only after a checkpoint contains them.
      if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND') throw error;
    }
    return checkpoint !== undefined;
  };
  await waitUntil(isThere, { deadlineMs: CHECKPOINTED_DEADLINE_MS, pollIntervalMs: POLL_INTERVAL_MS });
  if (checkpoint !== undefined) return Number(checkpoint);
  const message = `no checkpoint contained ${digest} within ${CHECKPOINTED_DEADLINE_MS / 1_000} s`;
  throw new GatewayError<SuiPaymentErrorCode>('SUI_NOT_CHECKPOINTED', message, { retryable: true });
}

function clientOf(baseUrl: string): SuiGrpcClient {
  const transport = new GrpcWebFetchTransport({ baseUrl, format: 'binary' });
  return new SuiGrpcClient({ network: 'localnet', transport });
}
