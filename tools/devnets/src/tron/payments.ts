import { GatewayError } from '@opentill/domain/gateway-error';
import type { DevTokenSymbol } from './genesis.ts';
import { accountKey, fromBase58 } from './tron-address.ts';
import { waitUntil } from '@opentill/test-servers/poll-until';

/** `TRON_NOT_MINED`: no block contained the transaction in time. */
export type TronPaymentErrorCode = 'TRON_DEVNET_REFUSED' | 'TRON_NOT_MINED';

export interface TronGift {
  readonly url: string;
  readonly to: string;
  readonly trxSun?: bigint;
  readonly symbol?: DevTokenSymbol;
  readonly amountBaseUnits?: bigint;
}

const REQUEST_TIMEOUT_MS = 60_000;
const MINED_DEADLINE_MS = 90_000;
const POLL_INTERVAL_MS = 100;

/** Sends `POST /devnet/<name>` (names in README.md). Throws TRON_DEVNET_REFUSED. */
export async function controlTronDevnet(
  url: string,
  name: string,
  body: object = {},
): Promise<Readonly<Record<string, unknown>>> {
  return post(url, `devnet/${name}`, body);
}

/** Pays from the devnet's first account. Returns transaction ids without waiting for a block. */
export async function payOnTronDevnet({ url, to, ...gift }: TronGift): Promise<readonly string[]> {
  const body = Object.entries(gift).map(([name, value]) => [name, String(value)]);
  const answer = await controlTronDevnet(url, 'fund', { address: to, ...Object.fromEntries(body) });
  return (answer as { readonly txids: readonly string[] }).txids;
}

/** Base units at the head block. */
export async function tronTokenBalance(url: string, contract: string, holder: string): Promise<bigint> {
  const answer = (await post(url, 'wallet/triggerconstantcontract', {
    owner_address: holder,
    contract_address: contract,
    function_selector: 'balanceOf(address)',
    parameter: accountKey(fromBase58(holder)).padStart(64, '0'),
    visible: true,
  })) as { readonly constant_result?: readonly string[] };
  const [word] = answer.constant_result ?? [];
  if (word === undefined || word === '') throw refused(`balanceOf(${holder})`, JSON.stringify(answer));
  return BigInt(`0x${word}`);
}

/** Sun at the head block. */
export async function tronBalance(url: string, holder: string): Promise<bigint> {
  const answer = (await post(url, 'wallet/getaccount', { address: holder, visible: true })) as {
    readonly balance?: number;
  };
  return BigInt(answer.balance ?? 0);
}

/** Returns the node's receipt. Throws TRON_NOT_MINED. */
export async function waitForTronReceipt(
  url: string,
  txid: string,
): Promise<Readonly<Record<string, unknown>>> {
  let receipt: Readonly<Record<string, unknown>> = {};
  const isMined = async (): Promise<boolean> => {
    receipt = await post(url, 'wallet/gettransactioninfobyid', { value: txid });
    return 'id' in receipt;
  };
  if (await waitUntil(isMined, { deadlineMs: MINED_DEADLINE_MS, pollIntervalMs: POLL_INTERVAL_MS }))
    return receipt;
  const seconds = MINED_DEADLINE_MS / 1_000;
  throw new GatewayError<TronPaymentErrorCode>(
    'TRON_NOT_MINED',
    `no block contained ${txid} within ${seconds} s`,
    {
      retryable: true,
    },
  );
}

async function post(url: string, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${url}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  const answer = response.ok ? (JSON.parse(text) as Readonly<Record<string, unknown>>) : undefined;
  if (answer === undefined || 'Error' in answer) throw refused(path, text);
  return answer;
}

function refused(path: string, text: string): GatewayError<TronPaymentErrorCode> {
  return new GatewayError('TRON_DEVNET_REFUSED', `${path}: ${text.slice(0, 300)}`, { retryable: false });
}
